// Package votes reads, checks and holds the votes of teachers on public queries.
//
//   - [Open] reads votes from CSV, NPY or Parquet as a stream of histograms in bounded memory.
//   - [Check] reports votes outside the classes, and teachers that are silent, constant or equal.
//   - [Matrix] holds votes in memory, such as the votes from package teachers.
//
// Package aggregate turns the histogram of the votes on a query into a label with noise.
//
// # Guarantee
//
// All votes of a [Source] are classes or abstentions. A file that changes between two reads is refused. Each
// teacher has one vote per query. Package manifest checks that no person is in two silos.
//
// # Caveats
//
// The caller must choose the names and the number of the classes without the votes, because released labels
// reveal both.
//
// Votes are as secret as the data. The packages fmt and slog print only the shape of a [Matrix] or [Source].
// [Matrix.Save] writes with mode 0600. A [Report] is private. A hash of votes is also private: it has no key,
// so a small matrix can be guessed from its hash.
//
// # Use
//
//	source, err := votes.Open(ctx, []string{"votes.npy"}, votes.Options{Classes: 10})
//	for ballot, err := range source.Histograms(ctx) { ... }
package votes
