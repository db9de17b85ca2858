// Package stability releases answers that one record could not have changed.
//
// The distance to instability is the number of records that must change before the answer of a function can
// change. [MStab] adds noise to this distance. If the noisy distance exceeds a threshold, MStab releases the
// answer itself, without noise. For the plurality of votes, [Plurality] computes the distance:
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
//   - [Gate] runs a mechanism only on data where its privacy cost is small.
//   - [PTR] releases a number with noise for its local sensitivity.
//   - [SmoothMedian] releases a median with noise for its smooth sensitivity, and never refuses.
//   - [Mean] clips records, sums them and adds noise. It needs no distance.
//
// # Guarantee
//
// Event returns the worst-case cost of a mechanism. Start, Release, Pass and Propose check a reservation of
// this cost before they read private data. Each query has the following guarantee between any two neighbours,
// where T is the threshold and r = e^(-Epsilon):
//
//	MStab, Laplace     pure Epsilon, except with probability r^(T+1)/(1+r) <= Delta
//	MStab, Gaussian    Rényi divergence a/(2 Sigma^2) of order a,
//	                   except with probability P[noise > T] <= Delta
//	MStab, OneShot     (Epsilon, Delta)
//	Gate, PTR          the Cost of the mechanism behind the test, plus the cost of MStab, Laplace
//	SmoothMedian       (Epsilon, Delta)
//	Mean               the cost of the discrete Laplace or Gaussian noise on the clipped sum
//
// For neighbours with equal answers, MStab costs only the noise. For neighbours with different answers, it
// costs only the failure probability. MStab.Event charges for the noise and for the failure probability. The
// comments of the types contain the proofs and define neighbours. The ledger must use the relation of the
// mechanism: accountant.ReplaceOne if the number of records is public. All noise is exact integer noise.
//
// # Caveats
//
//   - Each release of votes, of gaps between vote counts, or of distances (even noisy ones) needs a charge.
//   - A refusal costs as much as an answer.
//   - Many queries are expensive. For 1000 queries at a total epsilon 1 and delta 1e-6, MStab needs a gap of
//     thousands of votes. For two classes, noisy argmax (package aggregate) needs a gap of 471 votes.
//     svt.StableSVT charges for refusals only.
//   - Do not use one key for two data sets, because both would get the same noise. Derive the key from a hash
//     of the data ([rng.Key.DeriveBytes]). Keys from [rng.SeedKey] are for experiments only.
//   - Results of Law depend on private values. They are for tests, planning and teaching.
//   - The running time of a private function is visible, and is not charged.
package stability
