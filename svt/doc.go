// Package svt answers many queries at the cost of a few queries, by sparse vector techniques.
//
// A [SparseVector] reports, for any number of queries, whether a value reaches a threshold. Only values that
// reach the threshold are charged. A [StableSVT] releases any number of stable answers, and is charged only
// for refusals. An answer is stable if many records must change before the answer can change (see package
// stability). [MSvec] is the mechanism of the literature.
//
//	// arguments: epsilon, delta, refusals, probability of a refusal
//	cfg, err := svt.CalibrateStableSVT(1, 1e-6, 20, 0.01)
//	m, err := svt.NewStableSVT(cfg)
//	reservation, err := ledger.Reserve(m.Event())
//	session, err := svt.Start[int](m, reservation, key)
//	answer, err := session.Ask(query, winner, distance) // from stability.Plurality
//
// All mechanisms compare "value + noise" with "threshold + noise". A [Law] describes a mechanism.
//
// # Guarantee
//
// A run is charged for its worst case before it draws the threshold noise. For a SparseVector, assume that
// the values on two neighbours differ by at most Sensitivity. For StableSVT and MSvec, assume that the
// distances on two neighbours differ by at most 1. If the answers on two neighbours differ, assume that both
// distances are 0. For any number of adaptive queries, a run then costs
//
//	SparseVector  pure Epsilon
//	StableSVT     pure 1/B1 + 2 Failures/B2, except with probability e^(-(Threshold+1)/B1)
//	MSvec         Failures times pure 2/Lambda, except with probability Failures·P[rho + nu > Threshold]
//
// Here rho is the threshold noise and nu is the query noise. The source has a proof next to each type. The
// file docs/claims.md lists how the proofs were checked. Noise is drawn exactly, as integers. Tests enumerate
// all transcripts of small examples and compare exact hockey-stick divergences with these bounds. The same
// tests refute the broken variants of the literature.
//
// # Caveats
//
//   - After a run has stopped, more queries need a new run with a new charge. No part of a charge is
//     refunded.
//   - A refusal is also a release: everyone may see which queries were refused.
//   - Even a stable query is refused with a small probability, and this refusal counts. For n queries choose
//     a probability of at most Failures/(2n).
//   - With few queries, or many unstable queries, noisy argmax is better (package aggregate). For example,
//     for 1000 queries at epsilon 1, delta 1e-6 and two classes, noisy argmax needs a gap of 471 votes.
//     StableSVT with 20 refusals needs 591, and [PrintedMSvec] 9247. For 10000 queries at epsilon 2, these
//     gaps are 784, 411 and 5069 votes.
//   - Do not use one key for two data sets, because both would get the same noise. Derive the key from a hash
//     of the data ([rng.Key.DeriveBytes]). Keys from [rng.SeedKey] are for experiments only.
//   - A resumed run must repeat the order of the queries. The order decides which queries come after the
//     stop, and changes the answers of MSvec.
package svt
