// Package svt answers many queries at the cost of a few queries, by sparse vector techniques.
//
// A [SparseVector] reports for any number of queries whether the value reaches a threshold. It is charged
// only for the values that reach the threshold. A [StableSVT] releases any number of stable answers and is
// charged only for refusals. An answer is stable if it can change only after many records have changed (see
// package stability). [MSvec] is the mechanism of the literature.
//
//	// arguments: epsilon, delta, refusals, probability of a refusal
//	cfg, err := svt.CalibrateStableSVT(1, 1e-6, 20, 0.01)
//	m, err := svt.NewStableSVT(cfg)
//	reservation, err := ledger.Reserve(m.Event())
//	session, err := svt.Start[int](m, reservation, key)
//	answer, err := session.Ask(query, winner, distance) // from stability.Plurality
//
// All mechanisms compare "value + noise" with "threshold + noise", so one [Law] describes them all.
//
// # Guarantee
//
// A run is charged for its worst case before it draws the threshold noise. For a SparseVector, the values on
// neighbours differ by at most the sensitivity. For StableSVT and MSvec, the distances on neighbours differ
// by at most 1. If the answers differ, both distances are 0. For any number of adaptive queries a run costs
//
//	SparseVector  pure Epsilon
//	StableSVT     pure 1/B1 + 2 Failures/B2, except with probability e^(-(Threshold+1)/B1)
//	MSvec         Failures times pure 2/Lambda, except with probability Failures p
//
// The comments of the types contain the proofs. docs/claims.md lists how the proofs were checked. Noise is
// exact integer noise. Tests enumerate all transcripts of small worlds, compare exact hockey-stick
// divergences with the bounds above, and refute the broken variants of the literature.
//
// # Caveats
//
//   - A run that has stopped stays stopped, and a new run is a new charge. No part of a charge is refunded.
//   - Refusals are released, too.
//   - A stable query is refused with a small probability, and this refusal counts, too. For n queries
//     choose a probability of refusal of at most Failures/(2n).
//   - With few queries, or many unstable queries, noisy argmax is better (package aggregate). For two classes
//     at delta 1e-6, the gaps in votes that noisy argmax, StableSVT with 20 refusals and MSvec as printed
//     need are 471, 591 and 9247 (epsilon 1, 1000 queries), and 784, 411 and 5069 (epsilon 2, 10000 queries).
//   - Do not use a key for two data sets, because the same noise would cover both. Derive the key from a hash
//     of the data ([rng.Key.DeriveBytes]). Answers under a key from [rng.SeedKey] are for experiments.
//   - The order of the queries decides which queries come after the stop. In MSvec it also changes the
//     answers. A resumed run must repeat the order.
package svt
