// Package neighbours labels public rows by the private rows near them: PATE's question,
// asked of the data themselves, with no teachers to train.
//
// [KNearest] is private k-NN (Zhu, Yu, Chandraker, Wang 2020, "Private-kNN"). Each
// question draws a Poisson sample of the units; the K units of the sample nearest to it
// vote, and the noisy argmax of the votes is released.
//
// [NearestQuestions] turns the neighbourhood around: each unit votes for the class of its own rows at the
// Votes questions that are nearest to it, and nowhere else. All counts are released with noise. Lin et
// al. 2024 (Private Evolution, the nearest-neighbour histogram) rank synthetic images by such a histogram
// with one vote for each record; here the cells are questions and classes.
//
//	config := neighbours.NearestQuestionsConfig{Votes: 8, Sigma: 6, Questions: 1000}
//	m, err := neighbours.NewNearestQuestions(config)
//	counts, err := m.Release(ctx, reservation, key, rows, questions) // ledger.Reserve(m.Event())
//	labels := counts.Labels()
//
// # Units
//
// A unit votes once at a question, whatever the number of its rows: its nearest row counts,
// and its vote is the class of that row. Of equal distances within a unit the earlier row counts; of equal
// distances of units the one whose first row is earlier, and of questions the earlier one. Distances are
// Euclidean, in float32, from products that are row exact ([github.com/pate-go/pate/internal/kernel]): the
// distance of a row to a question does not depend, to the last bit, on any other private row. So removing a
// unit removes one element from a list whose order does not change otherwise.
//
// # Guarantee
//
// The relation is that one unit is added or removed; the number of units and the questions
// are public and fixed before the first answer. The unit is what Rows.Units names.
//
// KNearest. Let S be the sample without the unit u in question. Adding u to S puts one
// element into the ordered list of the sample and pushes at most one off its first K
// places. So the counts h(S) move by v(S), which is 0, e_b (S has fewer than K units) or
// e_b - e_a: each of at most two counts by one, a Euclidean length of at most sqrt(2), which
// is how a moved vote of PATE looks to [accountant.GNMax]. With M the noisy argmax,
//
//	law with u     = E_S[ (1-q) M(h(S)) + q M(h(S)+v(S)) ]
//	law without u  = E_S[ M(h(S)) ]
//
// with the same law of S in both, since units are drawn independently. Hockey-stick divergences, and
// moments of the likelihood ratio, are jointly convex. So between the two laws they are, in either order, at
// most the average over S between (1-q) Q + q P and Q, where (P, Q) = (M(h+v), M(h)). The noisy
// counts dominate that pair, two counts that move dominate one, and domination carries over to the
// mixture (Zhu, Dong, Wang 2022, Theorem 11). A question is therefore PoissonSampled{q, GNMax{Sigma}},
// and questions compose, because each draws a sample of its own. One sample for all questions is another,
// dearer event. A sensitivity of 1 would hold only if no vote were pushed out.
//
// NearestQuestions. Which questions a unit votes at, and for which class, depends on that unit and on
// public rows alone. Adding it raises Votes of the counts by one, each at another question, and leaves
// all others as they are. The noise of the counts is independent, so the release costs what Votes
// releases of one count cost, each with sensitivity 1: it is Repeated{DiscreteGaussian{Sigma, 1}, Votes},
// whatever the number of questions. Unlike above it is no argmax that is released: labels, or what else
// follows from the noisy counts, cost nothing more.
//
// Replacing a unit is another relation: it may move twice as many counts. No event here
// stands for it, and a ledger of that relation is refused.
//
// # Caveats
//
// Features must be public functions of a row. Questions must not be chosen by private rows. A key must not
// be used for two sets of rows or questions: derive it from their hash. The time taken is not constant.
package neighbours
