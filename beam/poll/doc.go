// Package poll counts teachers' votes in Apache Beam if the votes do not fit on one machine. See
// [CountVotes], [CheckVotes] and [WriteCounts]. [CastVotes] also trains the teachers in Beam.
//
// Noise, key and ledger stay on the machine that runs `pate label --counts`. So a bundle that Beam repeats
// draws no noise and charges nothing. The output of a pipeline depends only on the votes.
//
// # Guarantee
//
// Concatenated, the files of [WriteCounts] equal the output of `pate votes counts` and `pate votes sql` on
// the same votes, byte for byte. These bytes do not depend on the runner or on the order of the votes. If a
// check of [CheckVotes] fails, no file is written.
//
// # Caveats
//
// The counts, the engine's logs and the data that workers exchange are as secret as the votes. So the engine
// must belong to the votes' owner.
//
// No check can verify that teachers used disjoint partitions of the private data.
//
// # Use
//
//	votes := poll.Lines{Form: poll.CSV}.Votes(s, textio.Read(s, "gs://bucket/votes-*.csv"))
//	counts := poll.CountVotes(s, poll.Poll{Queries: 1e7, Teachers: 100, Classes: 10}, votes)
//	poll.WriteCounts(s, counts, poll.Sharded{Prefix: "gs://bucket/counts", Shards: 16})
//
// As usual in Beam, these transforms panic for invalid arguments.
package poll
