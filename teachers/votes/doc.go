// Package votes reads, checks and holds the votes of teachers on public queries.
//
//   - [Open] reads votes from CSV, NPY or Parquet as a stream of histograms in bounded memory. The error for
//     another format suggests a conversion.
//   - [Check] reports votes outside the classes, and teachers that are silent, constant or equal.
//   - [Matrix] holds votes in memory, such as the votes from package teachers.
//
// A row of votes becomes an aggregate.Histogram. Other packages add the noise.
//
// # Guarantee
//
// All votes of a [Source] are classes or abstentions. A file that changes between two reads is refused. Each
// teacher has one vote per query. So if each silo trains one teacher, a silo affects one vote in every
// histogram. Package manifest checks that no person is in two silos.
//
// # Caveats
//
// Released labels reveal the names and the number of the classes. So the caller must state both without using
// the votes.
//
// Votes are as secret as the data. The packages fmt and slog print only the shape of a [Matrix] or [Source],
// files have mode 0600, and errors quote no vote. A [Report] is private too. Hashes have no key, so a small
// matrix can be guessed from its hash.
//
// # Use
//
//	source, err := votes.Open(ctx, []string{"votes.npy"}, votes.Options{Classes: 10})
//	for ballot, err := range source.Histograms(ctx) { ... }
package votes
