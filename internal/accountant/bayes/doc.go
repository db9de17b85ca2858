// Package bayes bounds the privacy loss of a typical record in a training, by the Bayesian accountant of
// Triastcyn and Faltings (ICML 2020). That is not differential privacy and cannot be mistaken for it: a
// [Figure] is no number, no event and no bound of package accountant.
//
// A step of DP-SGD releases a sum with Gaussian noise. For a record whose presence moves the sum by d, with
// noise of standard deviation s and sampling probability q, the log moment of the privacy loss at integer
// order lambda is
//
//	K(d) = log E_{k ~ Bin(lambda+1, q)} exp((k^2 - k) d^2/(2 s^2)).
//
// Differential privacy takes the largest d, the clip norm. Here d is random, for one more record drawn from
// the law of the data. The moment of T steps together is at most the sum over steps of
//
//	c = log(E e^(T K(d)))/T        (Hölder's inequality)
//
// and E is estimated from the distances of a sample, as an upper limit that fails with probability Failure.
// Then, by Markov's inequality,
//
//	eps_mu = min over lambda of (sum of c - log(delta_mu - orders x T x Failure))/lambda.
//
// Everything is computed in log space, relative to the largest distance, so it is finite for any noise.
//
// # Guarantee
//
// Let the planned number of steps, the orders and Failure be fixed in advance. Let the distances of each
// step be independent draws from the law of d for a fresh record, given everything released before. Let the
// estimator be Bernstein, and Bound hold. Then for a record drawn from the law of the data, with
// probability at least 1 - delta_mu over the record, the distances and the noise, the privacy loss of all
// steps is at most eps_mu.
//
// That is a statement about an average, without unit and neighbours: it does not hold for every record, as
// differential privacy does. If all distances equal Bound, eps_mu is the epsilon of the moments accountant
// at delta_mu - orders x T x Failure; the Figure never exceeds its epsilon at delta_mu.
//
// # Where the sources err
//
//   - The printed estimator (equation 14) drops the T that the cost (equation 10) has.
//   - The printed cost of the reverse direction is a valid bound of first order in q, and in
//     a maximum it destroys the amplification by sampling. The forward direction dominates
//     (Mironov, Talwar, Zhang 2019, Theorem 5), so it is used alone.
//   - delta_mu must pay for the failure of every estimate: a union over steps and orders.
//     The authors' code adds up over steps, and not at all if a target epsilon is given.
//   - The proof of composition treats the moments of a step as constants given the record.
//     They depend on what earlier steps released. The Guarantee above assumes it away too.
//   - Student's interval needs normal numbers. See [StudentT] for how far it misses.
//   - The authors' published notebook clips the gradient of the batch, not of the
//     examples, so that its noise bounds nothing.
//
// # Caveats
//
//   - Outliers are not protected, and attacks aim at outliers.
//   - Records must be exchangeable. Rows that a model was trained on have other gradients
//     than fresh ones, so the distances of a batch are of the right law only as far as the
//     model has not learned its rows by heart. Compare them on training and test rows.
//   - Distances are private, and so is every Figure.
//   - Settings chosen by looking at a Figure are not covered by the next one.
//   - With Bernstein the estimate is below the worst case only where T K(Bound) is small
//     beside log(m) for m distances. Otherwise a few unseen records at Bound could decide
//     the mean, and no method can exclude them.
//
// # Use
//
//	a, err := bayes.New(bayes.Config{Steps: 1000, Delta: 1e-10, Bound: 1})
//	err = a.Add(bayes.Step{SamplingProbability: 0.017, Noise: 1.1}, distances) // for every step
//	fmt.Print(bayes.Report(a.Figure()))
package bayes
