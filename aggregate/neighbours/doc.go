// Package neighbours labels public rows by the private rows near them. It answers the question of PATE
// directly from the data, without training teachers.
//
// [KNearest] is private k-NN (Zhu, Yu, Chandraker, Wang 2020, "Private-kNN"). Each question draws a Poisson
// sample of the units. The K units of the sample nearest to it vote, and the noisy argmax of the votes is
// released.
//
// [NearestQuestions] reverses the neighbourhood: each unit votes for the class of its own rows at the Votes
// questions nearest to it, and nowhere else. All counts are released with noise. Lin et al. 2024 (Private
// Evolution, the nearest-neighbour histogram) rank synthetic images by such a histogram with one vote per
// record; here the cells are pairs of question and class.
//
//	config := neighbours.NearestQuestionsConfig{Votes: 8, Sigma: 6, Questions: 1000}
//	m, err := neighbours.NewNearestQuestions(config)
//	counts, err := m.Release(ctx, reservation, key, rows, questions) // ledger.Reserve(m.Event())
//	labels := counts.Labels()
//
// # Units
//
// A unit votes once at a question, whatever the number of its rows: its vote is the class of its nearest row.
// Of equal distances within a unit the earlier row counts. Of equal distances of units the unit with the
// earlier first row counts, and of equal distances of questions the earlier question. Distances are
// Euclidean, in float32, from products that are row exact ([github.com/pate-go/pate/internal/kernel]): the
// distance of a row to a question does not depend, to the last bit, on any other private row. So removing a
// unit removes one element from a list whose order does not change otherwise.
//
// # Guarantee
//
// The relation is that one unit is added or removed. The number of units and the questions are public and
// fixed before the first answer. Rows.Units names the unit of each row.
//
// KNearest. Let S be the sample without the unit u in question. Adding u to S puts one element into the
// ordered list of the sample and pushes at most one out of its first K places. So the counts h(S) change by
// v(S), which is 0, e_b (if S has fewer than K units) or e_b - e_a. At most two counts change, each by one: a
// Euclidean length of at most sqrt(2), the same as a moved vote of PATE under [accountant.GNMax]. With M the
// noisy argmax, the output has
//
//	distribution with u     = E_S[ (1-q) M(h(S)) + q M(h(S)+v(S)) ]
//	distribution without u  = E_S[ M(h(S)) ]
//
// S has the same distribution in both, since units are drawn independently. Hockey-stick divergences, and
// moments of the likelihood ratio, are jointly convex. So, in either order, the divergence between the two is
// at most the average over S of the divergence between (1-q) Q + q P and Q, where (P, Q) = (M(h+v), M(h)).
// The noisy counts dominate that pair, two counts that change dominate one, and domination carries over to
// the mixture (Zhu, Dong, Wang 2022, Theorem 11). A question is therefore PoissonSampled{q, GNMax{Sigma}},
// and questions compose, because each draws its own sample. One sample for all questions would be another,
// more expensive event. A sensitivity of 1 would hold only if no vote were pushed out.
//
// NearestQuestions. Which questions a unit votes at, and for which class, depends on that unit and on public
// rows alone. Adding it raises Votes of the counts by one, each at another question, and leaves all other
// counts unchanged. The noise of the counts is independent, so the release costs as much as Votes releases of
// one count, each with sensitivity 1: it is Repeated{DiscreteGaussian{Sigma, 1}, Votes}, whatever the number
// of questions. Unlike in KNearest, all counts are released: labels, or anything else computed from the noisy
// counts, cost nothing more.
//
// Replacing a unit is another relation, which may change twice as many counts. No event of this package
// covers it, and a ledger of that relation is refused.
//
// # Caveats
//
// Features must be public functions of a row. Private rows must not influence the choice of questions. A key
// must not be used for two sets of rows or questions: derive it from their hash. Running time is not
// constant.
package neighbours
