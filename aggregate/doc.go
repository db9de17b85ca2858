// Package aggregate turns the votes of an ensemble into private labels: the
// noisy argmax mechanisms of PATE, and their exact output laws.
//
// For one public record every teacher votes for a class; the counts are a
// [Histogram]. A mechanism adds exact integer noise to the counts and releases
// the winner, or declines: [GNMax] always answers, [ConfidentGNMax] first asks,
// noisily, whether the largest count reaches a threshold. A mechanism fixes its
// worst case when it is made ([Mechanism].Event), is charged for all of it, and
// only then starts a [Session], which answers queries one at a time:
//
//	m, err := aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 40, Queries: 1000})
//	session, err := m.Start(reservation, key) // reservation, err := ledger.Reserve(m.Event())
//	answer, err := session.Ask(query, votes)  // votes, err := aggregate.CountVotes(labels, classes)
//
// Noise is discrete Gaussian, drawn before the votes are looked at, for all
// classes and the threshold whatever comes out. Equal noisy counts go to the
// class with the lowest index. The noise of a query is a function of the key,
// the mechanism's parameters and the query's number: asking again, in this
// session or in a resumed one, gives the same answer.
//
// # Guarantee
//
// Let one record change at most one teacher, and so at most one vote of every
// query: n_a falls by one and n_b rises by one ("one vote moves"). Then all
// answers of a session together have Rényi divergence of order a at most
//
//	GNMax            Queries a/Sigma^2
//	Confident-GNMax  Queries a/(2 Sigma1^2) + Answers a/Sigma2^2
//
// between any two neighbours, for queries chosen adaptively (Papernot et al.
// 2018, Proposition 8 and Algorithm 1; the bounds hold for integer noise on
// integer counts by Canonne, Kamath, Steinke 2020, Proposition 5). The unit is
// what one teacher's data are partitioned by: record or user. Add/remove and
// replace-one cost the same if a record is replaced under its own unit id, because
// then a vote moves either way; under another id the old and the new record may
// belong to two teachers, and two votes move. Tests enumerate every histogram of
// small ensembles and compare exact divergences with these.
//
// # Caveats
//
// Teachers must not share private data, random streams or anything fitted on
// all the private data; package teachers keeps that. A key must not be used for
// two vote files: derive it from a hash of the votes ([Key].DeriveBytes), or the
// same noise would cover two different histograms. Answers under a key from
// [SeedKey] are for experiments ([Session.Releasable] is false). Laws and counts
// are functions of the private votes, not private releases. How long the
// arithmetic takes is not constant beyond the order of the steps above.
package aggregate
