// Package poll counts the votes of teachers in Apache Beam, for votes that do not fit on one machine. See
// [CountVotes], [CheckVotes] and [WriteCounts]. [CastVotes] also trains the teachers in Beam.
//
// Beam only counts votes. Noise, key and ledger stay on the machine that runs `pate label --counts`, so a
// repeated bundle can neither draw noise twice nor charge twice. The output of a pipeline depends only on the
// votes.
//
// # Guarantee
//
// The concatenated files of [WriteCounts] are the bytes that `pate votes counts` and `pate votes sql` compute
// from the same votes. These bytes do not depend on the runner or on the order of the votes. If a check of
// [CheckVotes] fails, no file is written.
//
// # Caveats
//
// The counts, the engine's logs and the data that workers exchange are as secret as the votes, so the engine
// must belong to the owner of the votes.
//
// No check can verify that teachers used disjoint partitions of the private data.
//
// # Use
//
//	votes := poll.Lines{Form: poll.CSV}.Votes(s, textio.Read(s, "gs://bucket/votes-*.csv"))
//	counts := poll.CountVotes(s, poll.Poll{Queries: 1e7, Teachers: 100, Classes: 10}, votes)
//	poll.WriteCounts(s, counts, poll.Sharded{Prefix: "gs://bucket/counts", Shards: 16})
//
// As usual in Beam, these transforms panic for invalid arguments, because a pipeline is built before it runs.
package poll
