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
// number of runs has the distribution Law. The number is drawn by exact arithmetic from a secret key and does
// not depend on the data. Only the output and the score of the best run are released. [Law.Event] is the
// event of this release, for the neighbours and units of Search.Event. Papernot and Steinke (2022) bound the
// Rényi divergences of the release: Theorem 2 for the truncated negative binomial distribution, and Theorem 6
// for the Poisson distribution. Liu and Talwar (2019) proved a bound for the geometric distribution. In a tie
// the earlier run wins. Since runs are independent and identically distributed, this is a random choice.
//
// # Caveats
//
// The score is part of the outcome of a run. If scores use private rows, Search.Event must include their
// cost, which this package cannot check. The event does not cover a number of runs that is not drawn from
// Law, a look at other runs, or a stop at a good score.
//
// The running time reveals information about the secret number of runs. If Search.Every is set, a search ends
// only at multiples of this time. Processor load and disk use reveal even more, so show them only to trusted
// people.
package tune
