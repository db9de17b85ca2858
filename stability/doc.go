// Package stability releases answers that one record could not have changed.
//
// A function of private data has a distance to instability on each data set. The distance is the number of
// records that must change before the answer can change. It is private, but the result of a noisy comparison
// with a threshold may be released. If the noisy distance exceeds the threshold, the answer is released
// without noise ([MStab]). For the plurality of votes the distance has a closed form ([Plurality]):
//
//	cfg := stability.MStabConfig{Noise: stability.Laplace, Epsilon: 1, Delta: 1e-6, Questions: 1}
//	m, err := stability.NewMStab(cfg)
//	reservation, err := ledger.Reserve(m.Event())
//	session, err := stability.Start[int](m, reservation, key)
//	winner, distance, err := stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex)
//	answer, err := session.Ask(query, winner, distance)
//
// Related mechanisms:
//
//   - [SubsampleAggregate] makes any function stable by evaluating it on many small parts of the data.
//   - [Gate] runs a mechanism only on data where the privacy cost is small.
//   - [PTR] adds noise for a local sensitivity.
//   - [SmoothMedian] scales the noise and never refuses.
//   - [Mean] clips, sums and adds noise, and needs no distance.
//
// # Guarantee
//
// Event returns the worst-case cost of a mechanism. Start, Release, Pass and Propose first check a
// reservation of this cost. Only then do they read private data. Let T be the threshold and r = e^(-Epsilon).
// Then each query has this guarantee between any two neighbours:
//
//	MStab, Laplace     pure Epsilon, except with probability r^(T+1)/(1+r) <= Delta
//	MStab, Gaussian    Rényi divergence a/(2 Sigma^2),
//	                   except with probability P[noise > T] <= Delta
//	MStab, OneShot     (Epsilon, Delta)
//	Gate, PTR          the Cost of the mechanism behind the test, plus the cost of MStab, Laplace
//	SmoothMedian       (Epsilon, Delta)
//	Mean               discrete Laplace or Gaussian noise on a sum of known sensitivity
//
// The first four rows have two parts. One part is for neighbours with equal answers, the other part for
// neighbours with different answers. Both are charged. The comments of the types contain the proofs and
// define neighbours. The ledger must use the same relation. With a public number of records the relation is
// accountant.ReplaceOne. All noise is exact integer noise. Tests enumerate small worlds and compare exact
// hockey-stick divergences with these guarantees.
//
// # Caveats
//
//   - The distance, its noisy value, the votes and the gap are private. Each release of them needs a charge.
//   - A refusal costs as much as an answer.
//   - Many queries are expensive. At epsilon 1 and delta 1e-6, 1000 queries need a gap of thousands of votes,
//     but noisy argmax needs 471. Package svt charges for refusals only.
//   - Do not use a key for two data sets, because the same noise would cover both. Derive the key from a hash
//     of the data ([rng.Key.DeriveBytes]). Answers under a key from [rng.SeedKey] are for experiments.
//   - Results of Law depend on private values. They are for tests, planning and teaching.
//   - The running time of a private function is visible.
package stability
