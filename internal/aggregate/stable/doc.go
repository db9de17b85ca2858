// Package stable applies the mechanisms of packages stability and svt to votes. The plurality is released
// unchanged if many votes would have to move before another class won; otherwise it is refused.
//
//	task := stable.Task{Mechanism: stable.SVT, Queries: 10_000, Failures: 20, Delta: 1e-6}
//	cfg, err := stable.Fit(task, least)
//	m, err := stable.New(cfg)
//	session, err := m.Start(reservation, key) // reservation, err := ledger.Reserve(m.Event())
//	answer, err := session.Ask(query, votes)
//
// The distance is [stability.Plurality] for votes that move and ties that go to the lowest index.
//
// # Guarantee
//
// The guarantee of the mechanism holds for one changed record that moves at most one vote on each query,
// always of the same teacher: see packages stability and svt. The worst case, Event, is charged before
// anything is drawn.
//
// # Caveats
//
// A refusal costs as much as an answer, or more: [SVT] and [MSvec] stop after Failures refusals. If teachers
// or queries are few, or queries are often contested, a noisy argmax of package aggregate gives more labels
// for the same epsilon (package regime compares). The released plurality is exact, but only as accurate as
// the teachers' plurality is.
package stable
