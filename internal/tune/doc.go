// Package tune searches over hyper-parameters and accounts for the whole search as one event. It runs a
// private mechanism a random number of times, each time with a random setting. It releases only the best run.
//
//	law, err := tune.Poisson(20)                     // expected runs; their number stays secret
//	price, err := tune.PriceOf(ctx, law, relation, accountant.Target{Epsilon: 2, Delta: 1e-5}, event)
//	r, err := budget.Reserve(law.Event(run))         // before the first run
//	best, err := tune.Select(ctx, tune.Search{Law: law, Settings: 20, Event: run, Run: train, ...}, r, key)
//
// # Guarantee
//
// Every run draws its setting uniformly, with replacement and independently of the data. So all runs use the
// same mechanism. The outcome of a run includes the setting, and the cost of a run is Search.Event. The
// number of runs is drawn from Law by exact arithmetic and a secret key. This number does not depend on the
// data. Only the output and the score of the best run are released. [Law.Event] is the event of this release.
// Neighbours and the unit of privacy are as for Search.Event. Papernot and Steinke (2022) bound the Rényi
// divergences of the release: Theorem 2 (truncated negative binomial) and Theorem 6 (Poisson). Liu and Talwar
// (2019) proved a bound for the geometric distribution. In a tie the earlier run wins, which is a random
// choice because runs are independent and identically distributed.
//
// # Caveats
//
// The score is part of the outcome of a run. If scores use private rows, Search.Event must include their
// cost, which this package cannot check. The event covers the search only if the number of runs is drawn from
// Law. Do not look at other runs or stop at a good score.
//
// The running time reveals information about the secret number of runs. If Search.Every is set, a search ends
// only at multiples of this time. Processor load and disk use reveal even more, so show them only to trusted
// people.
package tune
