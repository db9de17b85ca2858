// Package stable applies the mechanisms of packages stability and svt to votes. A mechanism releases the
// plurality without noise if many votes must move before another class wins. Otherwise the mechanism refuses.
//
//	task := stable.Task{Mechanism: stable.SVT, Queries: 10_000, Failures: 20, Delta: 1e-6}
//	cfg, err := stable.Fit(task, least)
//	m, err := stable.New(cfg)
//	session, err := m.Start(reservation, key) // reservation, err := ledger.Reserve(m.Event())
//	answer, err := session.Ask(query, votes)
//
// The distance of a query is the largest number of moved votes that never changes the winner (see
// [stability.Plurality]). In a tie the lowest index wins.
//
// # Guarantee
//
// Neighbours differ in one record. This record moves at most one vote on each query. All moved votes belong
// to one teacher (see packages stability and svt). The worst case, [Mechanism.Event], is charged before
// anything is drawn.
//
// # Caveats
//
// A refusal never costs less than an answer. [SVT] and [MSvec] stop after Failures refusals. With few
// teachers, few queries or many unstable queries, noisy argmax gives more labels at the same epsilon. Package
// regime compares the mechanisms. The released plurality is exact, but it can be a wrong label.
package stable
