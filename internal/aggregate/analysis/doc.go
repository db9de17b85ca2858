// Package analysis computes a private report of a PATE run. The report compares the privacy cost of the
// queries on the actual votes with the worst-case cost on any votes.
//
// If nearly all teachers agree, noise and one changed vote hardly affect the answer. Then the Rényi
// divergence is far below the worst case that a ledger charges. [Analyze] adds up published bounds on this
// divergence over all queries, and separately the exact divergences. Analyze estimates the cost of publishing
// the sum of the bounds:
//
//	m, err := analysis.Of("confident", map[string]float64{"threshold": 200, "sigma1": 150, "sigma2": 40})
//	r, err := analysis.Analyze(ctx, m, votes, analysis.Options{Delta: 1e-5})
//
// The report is for readers who may see the votes. It is no guarantee, and no accountant, ledger or statement
// accepts its numbers.
//
// One number may be released, once: the data-dependent cost with the noise of a [Sanitizer]. Before anybody
// sees the votes, the parameters must be fixed. Before the noise is drawn, the ledger must be charged:
//
//	s, err := analysis.NewSanitizer(analysis.SanitizerConfig{
//		Mechanism: m, Queries: 640, Teachers: 250, Classes: 10, Delta: 1e-5, Margin: 2})
//	r, err := l.Reserve(s.Event())
//	out, err := s.Release(ctx, r, key, votes)
//	…
//	err = l.Commit(r, text) // only then may it be released
//
// # Guarantee
//
// Let h be the histogram of one query, and let h' be a neighbour with one moved vote.
//
//   - Costs.DataDependent bounds D_a(M(h)||M(h')) by Theorem 6 of Papernot et al. 2018 (GNMax and the
//     threshold test) or Theorem 3 of Papernot et al. 2017 (LNMax). All conditions of the theorems are
//     checked. The theorems are one-sided. In 305 of 1750 random cases, D_a(M(h')||M(h)) exceeded the bound
//     of Theorem 6, by a factor of up to 60,000.
//   - Exact holds the divergences themselves, from the output distributions, in both directions. They are
//     usually 2 to 30 times smaller than the bound of Theorem 6.
//
// Sums over queries are valid if the choice of queries depends on neither votes nor noise.
//
// [Sanitizer.Release] costs one accountant.GNSS event. Its noise is an exact normal variable, rounded to a
// public grid and never to a float64. The standard deviation is proportional to a smooth bound on the
// sensitivity of the cost (Nissim, Raskhodnikova, Smith 2007; Papernot et al. 2018, appendix B). The smooth
// bound covers teachers that change their vote, start to abstain or stop abstaining. Let q bound the
// probability that noise changes the answer. If the cost grows with q, the smooth bound is valid. A small
// increase of the bound covers rounding errors. Its size is tested, not proven.
//
// The analysis assumes continuous noise, as in the papers. With Options.IntegerNoise, exact divergences are
// for the integer noise and the tie rule of package aggregate. Below a sigma of 3 votes, these integer-noise
// divergences can exceed the published bounds even in the direction D_a(M(h)||M(h')).
//
// # Caveats
//
// An epsilon from data-dependent costs is no guarantee. Neighbouring votes may have a larger cost. A run that
// publishes this epsilon, stops at it or chooses sigma from it reveals votes ([Number]). If a run stops at a
// data-dependent cost, the number of answers can distinguish two neighbours with certainty.
//
// [Expected], the cost in most papers on Confident-GNMax, is no bound. The data-dependent cost of the
// released answers, in [Realised], is no bound. Report.All is a bound.
//
// Smooth sensitivity is known only for GNMax and the threshold test. The conditions of its theorem (Papernot
// et al. 2018, appendix B) fail if the order is too high for the noise ([ConditionError]). A release uses
// another bound on the sensitivity. At orders above about 1/(4 Beta), a release's published cost is too
// small, so a release charges accountant.GNSS.
//
// A released cost covers only the direction D_a(M(h)||M(h')), and is no guarantee for the votes. With few
// queries it is rarely much below the worst case. For 640 queries, 250 teachers, sigma 40, delta 1e-5 and the
// defaults, the released epsilon is 3.8, and the worst case 4.2. Without noise, epsilon is 2.0, but private.
//
// For LNMax, a ledger charges less than the published data-independent cost, because the curve of
// accountant.LNMax is tighter.
package analysis
