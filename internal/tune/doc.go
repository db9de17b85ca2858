// Package tune runs a private mechanism a random number of times, each time with one of several settings, and
// releases only the best run: a search over hyper-parameters whose whole cost is one event.
//
//	law, err := tune.Poisson(20)                     // expected runs; their number stays secret
//	price, err := tune.PriceOf(ctx, law, relation, accountant.Target{Epsilon: 2, Delta: 1e-5}, event)
//	r, err := book.Reserve(law.Event(run))           // before the first run
//	best, err := tune.Select(ctx, tune.Search{Law: law, Settings: 20, Event: run, Run: train, ...}, r, key)
//
// # Guarantee
//
// Every run draws its setting uniformly, with replacement, from public randomness: it is one mechanism, whose
// outcome contains its setting, and costs Search.Event. The number of runs is drawn from Law, by exact
// arithmetic on the bits of a secret key, and does not depend on the data. Only the best run is released,
// with its score. Then Papernot and Steinke (2022), Theorem 2 for the truncated negative binomial laws and
// Theorem 6 for the Poisson law, bound the Rényi divergence of the release; Liu and Talwar (2019) did so for
// the geometric law. [Law.Event] is the event with this bound. Neighbours and unit are the same as for the
// runs. In a tie the earlier run wins, which is a random run with this score, as runs are independent and
// identically distributed.
//
// # Caveats
//
// The score is a part of the outcome of a run. A score on private rows must be charged in Search.Event: this
// package cannot see whether it was. The cost exceeds the event if the number of runs is chosen, if other
// runs are looked at, or if the search ends at a good score; the tests have all three.
//
// The time of a search reveals information about the number of runs, which is not released. With Search.Every
// it ends only at multiples of a time. Other traces on the machine, such as its load or its disk, must be
// visible only to people trusted with the data.
package tune
