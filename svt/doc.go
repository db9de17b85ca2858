// Package svt answers many questions and pays for few: sparse vector techniques.
//
// A [SparseVector] says of any number of queries whether they reach a threshold, and
// is charged for those that do. Turned round, it releases any number of stable answers
// and is charged for refusals: an answer far from changing (package stability measures
// how far) is free, and a contested one is refused. [StableSVT] is the one to use;
// [MSvec] is the one in the literature.
//
//	cfg, err := svt.CalibrateStableSVT(1, 1e-6, 20, 0.01) // epsilon, delta, refusals, chance to refuse
//	m, err := svt.NewStableSVT(cfg)
//	session, err := svt.Start[int](m, reservation, key) // reservation, err := ledger.Reserve(m.Event())
//	answer, err := session.Ask(query, winner, distance) // of stability.Plurality
//
// All of them compare "value + noise" with "threshold + noise", and so have one [Law],
// which is computed exactly, by summation or quadrature.
//
// # Guarantee
//
// A run is charged for its worst case before its threshold noise is drawn, and that is
// before it sees anything. Then, for any number of adaptively chosen queries, between
// neighbours whose values differ by at most the sensitivity, or whose distances differ
// by at most 1 and are 0 where answers differ,
//
//	SparseVector  pure Epsilon
//	StableSVT     pure 1/B1 + 2 Failures/B2, except with probability e^(-(Threshold+1)/B1)
//	MSvec         Failures times pure 2/Lambda, except with probability Failures p
//
// Proofs stand beside the types, with what is cited and what is derived here;
// docs/claims.md says who checked them, and how. Noise is exact integer noise. Tests
// enumerate all transcripts of small worlds and compare exact hockey-stick divergences
// with the claims; the broken variants of the literature are refuted the same way.
//
// # Caveats
//
// A run that stops is over: another run is another charge, and there is no refund for
// one that has not. Refusals are part of what is released. Stable queries are refused
// too, now and then, and use the run up: for n queries choose a chance of
// Failures/(2n) at most, which is where the number of queries comes in.
//
// With few queries, or many contested ones, noisy argmax is better (package aggregate):
// at epsilon 1, delta 1e-6 and 1000 queries of two classes it needs a gap of 471
// votes, StableSVT with 20 refusals 591, and M_svec as printed 9247. At epsilon 2 and
// 10000 queries it is 784, 411 and 5069.
//
// A key must not be used for two data sets, or the same noise would cover both: derive
// it from a hash of the data ([Key].DeriveBytes). Answers under a key from [SeedKey]
// are for experiments. The order of the queries matters for which of them come after
// the end, and in MSvec for the answers; a resumed run asks in the same order.
package svt
