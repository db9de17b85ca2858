// Package analysis computes the private report of a PATE run: what its queries cost
// on the votes that were actually cast, beside what they cost on any votes.
//
// When nearly all teachers agree, noise hardly ever changes the answer, and one vote more or less changes
// hardly anything: the Rényi divergence on those votes is far below the worst case that a ledger charges.
// [Analyze] sums, query by query, the published bounds of that divergence, the divergence itself, and
// the price of publishing the sum:
//
//	m, err := analysis.Of("confident", map[string]float64{"threshold": 200, "sigma1": 150, "sigma2": 40})
//	r, err := analysis.Analyze(ctx, m, votes, analysis.Options{Delta: 1e-5})
//
// The report explains a run to those who may see the votes. It is never a claim: its
// numbers are of types that no accountant, ledger or statement takes.
//
// One number may leave: a [Sanitizer] adds noise to the data-dependent cost, once, under parameters that
// were fixed before anybody looked, after the ledger was charged for it:
//
//	s, err := analysis.NewSanitizer(analysis.SanitizerConfig{
//		Mechanism: m, Queries: 640, Teachers: 250, Classes: 10, Delta: 1e-5, Margin: 2})
//	r, err := l.Reserve(s.Event())
//	out, err := s.Release(ctx, r, key, votes)
//	…
//	err = l.Commit(r, text) // and only then it leaves
//
// # Guarantee
//
// For the histogram h of one query and each neighbour h', one vote moved:
//
//   - Costs.DataDependent bounds D_a(M(h)||M(h')) by Theorem 6 of Papernot et al. 2018 (GNMax and the
//     threshold test) or Theorem 3 of Papernot et al. 2017 (LNMax), with all their conditions, where a
//     published implementation drops one. The theorems are one-sided: D_a(M(h')||M(h)) exceeded Theorem 6
//     in 305 of 1750 random cases, by up to 60,000 times.
//   - Exact is the divergence itself, by integration of the output law, in both
//     directions; it is usually 2 to 30 times below Theorem 6.
//
// Sums over queries hold for queries chosen without looking at votes or noise.
//
// What [Sanitizer.Release] returns costs accountant.GNSS: the noise is a normal variable of exactly its
// law, rounded to a public grid without ever being a float64, with a standard deviation in proportion to
// a smooth bound of the sensitivity of the cost (Nissim, Raskhodnikova, Smith 2007; Papernot et al. 2018,
// appendix B). That bound holds for teachers who vote otherwise, abstain, or no longer do, and needs of
// the cost only that it grows with the flip bound. It is computed in float64, with slack for rounding
// that is argued and tested, not proven.
//
// Noise is continuous, as in the papers; Options.IntegerNoise computes the exact divergences of the
// integer noise and tie rule of package aggregate. The published bounds are about continuous noise: integer
// noise lets some losers win ties, and at a sigma below 3 votes its forward divergence can be above them.
//
// # Caveats
//
// An epsilon made of data-dependent costs protects nobody but by chance: it measures how well these votes
// hide a record, and neighbouring votes may hide it less. The number is a function of the votes, so
// publishing it, stopping at it or choosing sigma by it leaks ([Number]). Where the rule to stop is a
// data-dependent cost, two neighbours stop after different numbers of answers, and counting the answers
// separates them with certainty (a test shows it).
//
// The expected cost of Confident-GNMax, the number most papers print, is not a bound
// of anything ([Expected]); neither is the data-dependent cost of the answers that
// were given ([Realised]). Report.All bounds both: every query charged as answered.
//
// Smooth sensitivity is known for GNMax and the threshold test only. The published theorem has conditions
// that fail where the order is high for the noise ([ConditionError]); there, and for every release, it is
// bounded in another way, checked like the theorem against enumeration. The published cost of releasing with
// it is too small near the end of its range, so it is shown as published and accountant.GNSS is what counts.
//
// A release is still one-sided, and protects nobody: it shows how the votes turned out. With few queries it
// is hardly ever below the worst case; 640 queries of 250 teachers at sigma 40, with the defaults, come to
// epsilon 3.8 at delta 1e-5 where the worst case is 4.2 and the private number 2.0.
//
// The data-independent numbers are the published ones. For LNMax that is a curve above what a ledger charges:
// accountant.LNMax has the tight one.
package analysis
