// Package tune runs one of several settings of a private mechanism a random number of times and releases
// the best run alone: a search over hyper-parameters whose whole cost is one event.
//
//	law, err := tune.Poisson(20)                     // runs expected; nobody learns how many
//	price, err := tune.PriceOf(ctx, law, relation, accountant.Target{Epsilon: 2, Delta: 1e-5}, event)
//	r, err := book.Reserve(law.Event(run))           // before the first run
//	best, err := tune.Select(ctx, tune.Search{Law: law, Settings: 20, Event: run, Run: train, ...}, r, key)
//
// # Guarantee
//
// Every run draws its setting uniformly, with replacement, by public chance: it is one mechanism, whose
// outcome names its setting, and costs Search.Event. The number of runs is drawn from Law, by exact
// arithmetic on the bits of a secret key, and does not depend on the data. Only the best run is released,
// with its score. Then Papernot and Steinke (2022), Theorem 2 for the truncated negative binomial laws and
// Theorem 6 for the Poisson law, bound the Rényi divergence of the release; Liu and Talwar (2019) did so
// for the geometric law. [Law.Event] is that event. Neighbours and unit are the same as for the runs. A tie
// goes to the earlier run, which is any run of that score, as runs are independent and alike.
//
// # Caveats
//
// The score is a part of the outcome of a run. A score on private rows must be charged in Search.Event:
// this package cannot see whether it was. A number of runs that somebody picks, other runs that somebody
// looks at, or a search that ends when a score is good cost more than the event; the tests have all three.
//
// The time of a search leaks the number of runs, which is not released. Search.Every lets it end at
// multiples of a time only. Other traces on the machine, such as its load or its disk, are for people
// trusted with the data.
package tune
