// Package stability releases answers that one record could not have changed.
//
// Take a function of the private data. On each data set it has a distance to instability: the number of
// records that would have to change before the answer could change. The distance is private, but a noisy
// comparison of the distance with a threshold may be released. If the distance passes, the answer itself may
// be released, with no noise on it at all ([MStab]). For the plurality of votes the distance is a formula
// ([Plurality]):
//
//	cfg := stability.MStabConfig{Noise: stability.Laplace, Epsilon: 1, Delta: 1e-6, Questions: 1}
//	m, err := stability.NewMStab(cfg)
//	reservation, err := ledger.Reserve(m.Event())
//	session, err := stability.Start[int](m, reservation, key)
//	winner, distance, err := stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex)
//	answer, err := session.Ask(question, winner, distance)
//
// The same idea in other places:
//
//   - [SubsampleAggregate] makes any function stable, by evaluating it on many small parts of the data.
//   - [Gate] runs any mechanism whose cost happens to be small on these data.
//   - [PTR] adds noise for a local sensitivity.
//   - [SmoothMedian] never refuses and scales the noise instead.
//   - [Mean] needs no distance: it clips, sums and adds noise.
//
// # Guarantee
//
// A mechanism is charged for its worst case before it touches anything private. Its Event is that
// worst case. Start and Release take the reservation. Then the following holds between any two
// neighbours, per question, where T is the threshold and r = e^(-Epsilon):
//
//	MStab, Laplace     pure Epsilon, except with probability r^(T+1)/(1+r) <= Delta
//	MStab, Gaussian    Rényi divergence a/(2 Sigma^2),
//	                   except with probability P[noise > T] <= Delta
//	MStab, OneShot     (Epsilon, Delta)
//	Gate, PTR          pure Epsilon of the test and the Cost behind it, except as MStab, Laplace
//	SmoothMedian       (Epsilon, Delta)
//	Mean               discrete Laplace or Gaussian noise on a sum of known sensitivity
//
// The first four rows have two parts. Each part covers one kind of neighbours, and both are charged for all
// neighbours. Proofs stand beside the types. The types define neighbours: votes that move, records that are
// replaced, units that come and go. The ledger must have the same relation; with a public number of records
// it is accountant.ReplaceOne. All noise is exact integer noise. Tests enumerate small worlds and compare
// exact hockey-stick divergences with the claims.
//
// # Caveats
//
//   - The distance, its noisy value, the votes and the gap are private. Releasing one of
//     them, even after the answer, is another question at another price.
//   - A refusal costs as much as an answer.
//   - Many questions are expensive. At epsilon 1 and delta 1e-6, 1000 questions need a gap of thousands of
//     votes where a noisy argmax needs 471. Package svt charges for refusals instead.
//   - A key must not be used for two data sets, because the same noise would cover both.
//     Derive it from a hash of the data ([Key].DeriveBytes).
//   - Answers under a key from [SeedKey] are for experiments.
//   - Laws are functions of private numbers. They are for tests, planning and teaching.
//   - The running time of a private function is not hidden.
package stability
