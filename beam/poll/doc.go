// Package poll counts the votes of teachers in Apache Beam, for votes that do not fit on one machine. See
// [CountVotes], [CheckVotes] and [WriteCounts]. [CastVotes] also trains the teachers in Beam.
//
// Beam only counts votes, and `pate label --counts` releases labels. Noise, key and ledger stay on one
// machine, and no worker has access to them. So repeating a bundle can neither draw noise twice nor charge
// twice. The output of a pipeline depends only on the votes.
//
// # Guarantee
//
// The concatenated files of [WriteCounts] are the bytes that `pate votes counts` and `pate votes sql` compute
// from the same votes. These bytes do not depend on the runner or on the order of the votes. The files are
// not written if a check of [CheckVotes] fails, for example if a teacher voted twice on a query.
//
// # Caveats
//
// Counts and the data that workers exchange are as secret as the votes, so the engine must belong to the
// owner. Logs of the engine may contain a teacher and a query of a failed check.
//
// Votes cannot show that teachers used disjoint partitions of the private data.
//
// # Use
//
//	votes := poll.Lines{Form: poll.CSV}.Votes(s, textio.Read(s, "gs://bucket/votes-*.csv"))
//	counts := poll.CountVotes(s, poll.Poll{Queries: 1e7, Teachers: 100, Classes: 10}, votes)
//	poll.WriteCounts(s, counts, poll.Sharded{Prefix: "gs://bucket/counts", Shards: 16})
//
// As usual in Beam, these transforms panic for invalid arguments, because a pipeline is built before it runs.
// Functions are registered in init, so that workers find them.
package poll
