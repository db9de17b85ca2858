// Package analysis computes the private report of a PATE run: the cost of its queries on the votes that were
// actually cast, next to the cost on any votes.
//
// If nearly all teachers agree, noise hardly ever changes the answer, and one vote more or less changes
// hardly anything. The Rényi divergence on those votes is then far below the worst case that a ledger
// charges. [Analyze] sums over the queries the published bounds of that divergence, the divergence itself,
// and the price of publishing the sum:
//
//	m, err := analysis.Of("confident", map[string]float64{"threshold": 200, "sigma1": 150, "sigma2": 40})
//	r, err := analysis.Analyze(ctx, m, votes, analysis.Options{Delta: 1e-5})
//
// The report explains a run to readers who may see the votes. It is never a claim: no accountant, ledger or
// statement accepts the types of its numbers.
//
// One number may be released: a [Sanitizer] adds noise to the data-dependent cost, once, with parameters that
// were fixed before anybody saw the votes, after the ledger was charged for it:
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
// For the histogram h of one query and each neighbour h', one vote moved:
//
//   - Costs.DataDependent bounds D_a(M(h)||M(h')) by Theorem 6 of Papernot et al. 2018 (GNMax and the
//     threshold test) or Theorem 3 of Papernot et al. 2017 (LNMax), with all their conditions; a
//     published implementation drops one. The theorems are one-sided: D_a(M(h')||M(h)) exceeded Theorem 6
//     in 305 of 1750 random cases, by up to 60,000 times.
//   - Exact is the divergence itself, by integration of the output distribution, in both
//     directions; it is usually 2 to 30 times below Theorem 6.
//
// Sums over queries hold for queries chosen without looking at votes or noise.
//
// [Sanitizer.Release] costs accountant.GNSS. Its noise is an exact normal variable, rounded to a public grid
// without ever being a float64. The standard deviation is proportional to a smooth bound of the sensitivity
// of the cost (Nissim, Raskhodnikova, Smith 2007; Papernot et al. 2018, appendix B). That bound holds for
// teachers who change their vote, start to abstain, or stop, and only requires that the cost grows with the
// flip bound. It is computed in float64, with slack for rounding that is argued and tested, not proven.
//
// Noise is continuous, as in the papers; Options.IntegerNoise computes the exact divergences of the integer
// noise and tie rule of package aggregate. The published bounds are for continuous noise: with integer noise
// some losers win ties, and at a sigma below 3 votes the forward divergence can exceed the bounds.
//
// # Caveats
//
// An epsilon computed from data-dependent costs protects nobody except by chance: it measures how well these
// votes hide a record, and neighbouring votes may hide it less. The number is a function of the votes, so
// publishing it, stopping at it or choosing sigma by it leaks ([Number]). If a run stops at a data-dependent
// cost, two neighbours stop after different numbers of answers, and counting the answers distinguishes them
// with certainty (a test shows it).
//
// The expected cost of Confident-GNMax, the number most papers print, is not a bound of anything
// ([Expected]). Nor is the data-dependent cost of the answers that were given ([Realised]). Report.All bounds
// both: it charges every query as answered.
//
// Smooth sensitivity is known for GNMax and the threshold test only. The published theorem has conditions
// that fail if the order is high for the noise ([ConditionError]). Then, and for every release, the
// sensitivity is bounded in another way, checked like the theorem against enumeration. The published cost of
// such a release, shown as published, is too small near the end of its range; accountant.GNSS is charged.
//
// A release is still one-sided, and protects nobody: it shows how the votes turned out. With few queries it
// is hardly ever below the worst case. For 640 queries of 250 teachers at sigma 40, with the defaults, it is
// epsilon 3.8 at delta 1e-5; the worst case is 4.2 and the private number 2.0.
//
// The data-independent numbers are the published ones. For LNMax that is a curve above the charge of a
// ledger: accountant.LNMax has the tight curve.
package analysis
