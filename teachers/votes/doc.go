// Package votes reads, checks and holds the votes of teachers on public queries.
//
//   - [Open] reads the votes of models that were trained elsewhere, from CSV or NPY, as a stream of
//     histograms in bounded memory; it refuses other formats with an error that suggests a conversion;
//   - [Check] reports unusual votes: outside the classes, or by teachers that are silent, constant or equal;
//   - [Matrix] holds the votes that package teachers gathers in memory.
//
// A row of votes becomes an aggregate.Histogram. Noise, accounting and release follow from there: nothing in
// this package adds noise.
//
// # Guarantee
//
// An opened source holds valid votes only: numbers of classes, or abstentions. A file that changes between
// two reads is refused. Each teacher has one vote per query. So if each silo trained one teacher, one silo
// can move one vote in every histogram; package manifest checks that no person is in two silos.
//
// # Caveats
//
// The names and number of classes are given by the caller and never taken from votes, because released labels
// reveal them.
//
// Votes are as secret as the data: fmt and slog print only the shape of a [Matrix] or [Source], files are
// written with mode 0600, and errors quote no vote. A [Report] is private too. Hashes have no key: a small
// matrix can be guessed from its hash.
//
// # Use
//
//	source, err := votes.Open(ctx, []string{"votes.npy"}, votes.Options{Classes: 10})
//	for ballot, err := range source.Histograms(ctx) { ... }
package votes
