// Package svt answers many questions and pays for few, by sparse vector techniques.
//
// A [SparseVector] reports for any number of queries whether they reach a threshold, and is charged only for
// the queries that do. The reverse releases any number of stable answers and is charged for refusals
// ([StableSVT]): an answer that is far from changing (package stability measures how far) is free, and a
// contested one is refused. [MSvec] is the mechanism of the literature.
//
//	// epsilon, delta, refusals, chance to refuse
//	cfg, err := svt.CalibrateStableSVT(1, 1e-6, 20, 0.01)
//	m, err := svt.NewStableSVT(cfg)
//	reservation, err := ledger.Reserve(m.Event())
//	session, err := svt.Start[int](m, reservation, key)
//	answer, err := session.Ask(query, winner, distance) // of stability.Plurality
//
// All mechanisms compare "value + noise" with "threshold + noise", and share one exact [Law].
//
// # Guarantee
//
// A run is charged for its worst case before its threshold noise is drawn. Neighbours are data sets whose
// values differ by at most the sensitivity, or whose distances differ by at most 1 and are 0 where answers
// differ. Between neighbours, for any number of adaptively chosen queries, a run costs
//
//	SparseVector  pure Epsilon
//	StableSVT     pure 1/B1 + 2 Failures/B2, except with probability e^(-(Threshold+1)/B1)
//	MSvec         Failures times pure 2/Lambda, except with probability Failures p
//
// Proofs stand beside the types; docs/claims.md lists who checked them, and how. Noise is exact integer
// noise. Tests enumerate all transcripts of small worlds and compare exact hockey-stick divergences with the
// claims, and refute the broken variants of the literature.
//
// # Caveats
//
//   - A run that stops is over: another run is another charge. There is no refund for a run
//     that has not stopped.
//   - Refusals are released too.
//   - Stable queries are refused too, now and then, and use up the run. For n queries
//     choose a chance to refuse of at most Failures/(2n).
//   - With few queries, or many contested ones, noisy argmax is better (package aggregate). At epsilon 1,
//     delta 1e-6 and 1000 queries of two classes it needs a gap of 471 votes, StableSVT with 20 refusals
//     591, and M_svec as printed 9247. At epsilon 2 and 10000 queries the gaps are 784, 411 and 5069.
//   - A key must not be used for two data sets, because the same noise would cover both.
//     Derive it from a hash of the data ([Key].DeriveBytes).
//   - Answers under a key from [SeedKey] are for experiments.
//   - The order of the queries decides which queries come after the end. In MSvec it also
//     changes the answers. A resumed run must ask in the same order.
package svt
