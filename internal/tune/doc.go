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
// Every run draws its setting uniformly, with replacement and independently of the data. So all runs are one
// mechanism, whose outcome includes the setting and whose cost is Search.Event. The number of runs has the
// distribution Law. The number is drawn by exact arithmetic from a secret key and does not depend on the
// data. Only the best run is released, with its score. Papernot and Steinke (2022) bound the Rényi divergence
// of the release. Theorem 2 is for the truncated negative binomial distribution and Theorem 6 for the Poisson
// distribution. Liu and Talwar (2019) proved a bound for the geometric distribution. [Law.Event] is the event
// with this bound. It has the neighbours and units of Search.Event. In a tie the earlier run wins. Runs are
// independent and identically distributed, so the winner is a random one of the tied runs.
//
// # Caveats
//
// The score is part of the outcome of a run. Search.Event must include a score on private rows, and this
// package cannot check it. The event does not cover a chosen number of runs, looking at other runs, or
// stopping at a good score. The tests include all three cases.
//
// The running time reveals information about the secret number of runs. With Search.Every a search ends only
// at multiples of this time. Load and disk use reveal more, so only trusted people may see them.
package tune
