// Package poll counts the votes of teachers in Apache Beam, for votes that outgrow a machine: [CountVotes],
// [CheckVotes], [WriteCounts], and [CastVotes] to train the teachers there too.
//
// The engine counts, and `pate label --counts` answers. Noise, key and charge stay with the ledger on one
// machine; no worker has access to these. So a bundle that is run twice can neither draw noise twice nor
// charge twice: all output of a pipeline is a function of the votes, and counts that are written again are
// the same bytes.
//
// # Guarantee
//
// The files of [WriteCounts], one after the other, are the bytes that `pate votes counts` and the SQL of
// `pate votes sql` make of the same votes, on any runner and in any order of the votes. They are not
// written if a teacher voted twice on a query, or if another check of [CheckVotes] fails.
//
// # Caveats
//
// Counts, and what travels between workers, are as secret as the votes: the engine must be the owner's. Its
// logs may name a teacher and a query where a check fails.
//
// That teachers saw disjoint parts of the private data, no vote can show.
//
// # Use
//
//	votes := poll.Lines{Form: poll.CSV}.Votes(s, textio.Read(s, "gs://bucket/votes-*.csv"))
//	counts := poll.CountVotes(s, poll.Poll{Queries: 1e7, Teachers: 100, Classes: 10}, votes)
//	poll.WriteCounts(s, counts, poll.Sharded{Prefix: "gs://bucket/counts", Shards: 16})
//
// Transforms panic at arguments that are wrong in themselves, as the transforms of Beam do: a pipeline is
// built before anything runs. Functions are registered in init, where workers look for them.
package poll
