// Package votes reads, checks and holds the votes of teachers on public queries.
//
//   - [Open] reads the votes of models that were trained elsewhere, from CSV or NPY, as a stream of
//     histograms in bounded memory; it refuses other formats with a remedy;
//   - [Check] reports odd votes: outside the classes, or of teachers that are silent, constant or equal;
//   - [Matrix] holds the votes that package teachers gathers in memory.
//
// A row of votes becomes an aggregate.Histogram. Noise, accounting and release begin there: nothing in this
// package adds noise.
//
// # Guarantee
//
// A source that was opened holds valid votes only: whole numbers that name a class, or abstentions. A file
// that changes between two reads is refused. Each teacher has one vote a query, so one silo moves one vote
// in every histogram, if one silo trained one teacher; package manifest checks that silos share nobody.
//
// # Caveats
//
// What classes are called, and how many there are, is stated and never taken from votes: released labels
// show it.
//
// Votes are as secret as the data: what fmt and slog print of a [Matrix] or a [Source] is its shape, files
// are written with mode 0600, and errors quote no vote. A [Report] is private too. Hashes are fingerprints
// without a key: a small matrix can be guessed from one.
//
// # Use
//
//	source, err := votes.Open(ctx, []string{"votes.npy"}, votes.Options{Classes: 10})
//	for ballot, err := range source.Histograms(ctx) { ... }
package votes
