// Package neighbours labels public rows by nearby private rows. A question is a public row to label.
//
// [KNearest] is private k-NN (Zhu, Yu, Chandraker, Wang 2020, "Private-kNN"). It draws a Poisson sample of
// the units for each question. The K nearest units of the sample vote, and the noisy argmax is released.
//
// With [NearestQuestions], each unit votes at its nearest questions. The number of these questions is Votes.
// The count of every question and class is released with noise. Private Evolution (Lin et al. 2024) ranks
// synthetic images by such counts, with one vote per record.
//
//	config := neighbours.NearestQuestionsConfig{Votes: 8, Sigma: 6, Questions: 1000}
//	m, err := neighbours.NewNearestQuestions(config)
//	votes, err := neighbours.Cast(ctx, rows, questions, 8)
//	counts, err := m.Release(reservation, key, rows.Classes, votes) // ledger.Reserve(m.Event())
//	labels := counts.Labels()
//
// # Units
//
// A unit with any number of rows has one vote at a question. The vote is the class of the unit's nearest row.
// If two rows, units or questions are equally near, the earlier one wins. Units are in the order of their
// first rows. Distances are Euclidean, in float32. Every bit of a distance depends only on its two rows (see
// [github.com/pate-go/pate/internal/kernel]). So removing a unit keeps the order of all other units by
// distance to a question.
//
// # Guarantee
//
// Neighbouring data sets differ by one added or removed unit, so the number of units is private. The noise
// and the events do not depend on this number. The questions and the parameters of a mechanism are public and
// fixed before the first answer. To choose parameters, use a declared number of units, not the true number.
//
// For KNearest, let S be the sample without unit u, listed by distance to the question. Let h(S) be the vote
// counts of the first K units in S. Let e_c be the counts of a single vote for class c. Adding u moves at
// most one other unit out of the first K, and changes h(S) by a vector v(S). If u is not among the first K,
// v(S) = 0. If u with class b replaces a unit with class a, v(S) = e_b - e_a. If S has fewer than K units,
// v(S) = e_b. At most two counts change, each by one. So the L2 sensitivity is at most sqrt(2), as for
// [accountant.GNMax]. Let q be the sampling probability, and M the noisy argmax. The output has
//
//	distribution with u     = E_S[ (1-q) M(h(S)) + q M(h(S)+v(S)) ]
//	distribution without u  = E_S[ M(h(S)) ]
//
// S has the same distribution in both lines, because units are drawn independently. Let (P, Q) = (M(h+v),
// M(h)). Hockey-stick divergences and moments of the likelihood ratio are jointly convex. So in both
// directions the divergence is at most the average over S of the divergence between (1-q) Q + q P and Q.
//
// The argmax is post-processing, so the pair of noisy counts dominates (P, Q). Ignoring a noisy count is
// post-processing, so a pair with two changed counts dominates a pair with one. Domination also holds after
// sampling (Zhu, Dong, Wang 2022, Theorem 11). So the event of a question is PoissonSampled{q, GNMax{Sigma}}.
// The events of the questions compose, because each question has its own sample.
//
// For NearestQuestions, the votes of a unit depend only on this unit and on public rows. Let V be the
// parameter Votes. Adding a unit raises V counts by one, each at a different question. The counts have
// independent noise. So the event of the release is Repeated{DiscreteGaussian{Sigma, 1}, V}, for any number
// of questions. Functions of the released counts, such as labels, have no extra cost. Each silo may cast the
// votes of its own units ([Cast]), because votes of disjoint units add up. If up to g silos may count the
// same unit, Group{g} charges for g units.
//
// A ledger with the relation replace_one is refused, because replacing a unit may change 2V counts.
//
// # Caveats
//
// Features must be public functions of a row. Private rows must not influence the choice of questions. Derive
// the key from a hash of rows and questions. Running time is not constant.
package neighbours
