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
// number of runs has the distribution Law. The number is drawn by exact arithmetic from a secret key and
// does not depend on the data. Only the output and the score of the best run are released. [Law.Event] is
// the event of this release. Neighbours and the unit of privacy are those of Search.Event. Papernot and
// Steinke (2022) bound the Rényi divergences of the release: Theorem 2 (truncated negative binomial) and
// Theorem 6 (Poisson). Liu and Talwar (2019) proved a bound for the geometric distribution. In a tie the
// earlier run wins. Since runs are independent and identically distributed, this is a random choice.
//
// # Caveats
//
// The score is part of the outcome of a run. If scores use private rows, Search.Event must include their
// cost, which this package cannot check. The event holds only if the number of runs is drawn from Law. It
// covers neither a look at other runs nor a stop at a good score.
//
// The running time reveals information about the secret number of runs. If Search.Every is set, a search ends
// only at multiples of this time. Processor load and disk use reveal even more, so show them only to trusted
// people.
package tune
