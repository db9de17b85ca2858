// Package aggregate turns the votes of an ensemble into private labels. It contains the noisy argmax
// mechanisms of PATE and their exact output distributions.
//
// Every teacher votes for one class of a public record. A [Histogram] holds the vote counts. A mechanism adds
// exact integer noise to the counts and releases the winning class, or declines. [Mechanism].Event returns
// the worst-case privacy cost, which is fixed at construction. After the charge, Start returns a [Session],
// which answers queries one at a time:
//
//	m, err := aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 40, Queries: 1000})
//	session, err := m.Start(reservation, key) // reservation, err := ledger.Reserve(m.Event())
//	answer, err := session.Ask(query, votes)  // votes, err := aggregate.CountVotes(labels, classes)
//
// [Session].AskBatch answers many consecutive queries on all cores.
//
// The mechanisms:
//
//	LNMax             largest count plus discrete Laplace noise
//	GNMax             largest count plus discrete Gaussian noise
//	ConfidentGNMax    GNMax, if the largest count plus noise reaches a threshold
//	InteractiveGNMax  GNMax, if the largest excess of a count over its prediction,
//	                  plus noise, reaches a threshold; else the student's
//	                  label, if the student is sure
//	Exponential       class j with probability proportional to exp(n_j/Scale)
//	PermuteAndFlip    the first accepted class in random order; class j is
//	                  accepted with probability exp((n_j - max)/Scale)
//
// A session draws all noise of a query before it reads the votes. Exponential and PermuteAndFlip draw a
// random sequence of classes with a distance for each. The winner is the first class in the sequence whose
// count plus distance reaches the largest count. Equal noisy counts go to the class with the lowest index.
// The noise depends only on the key, the ledger entry, the mechanism's parameters, the query number and a
// rounded prediction. So a repeated query gets the same answer, also in a resumed session.
//
// A Law method returns the exact probability of every answer on known votes, for planning, teaching and
// tests. The probabilities are logarithms and stay accurate below 1e-300.
//
// # Guarantee
//
// Let one record change at most one teacher. Then the record changes at most one vote of every query. This
// moves one vote from class a to class b. All answers of a session together then have Rényi divergence of
// order a at most
//
//	GNMax             Queries a/Sigma^2
//	ConfidentGNMax    Queries a/(2 Sigma1^2) + Answers a/Sigma2^2
//	InteractiveGNMax  Queries a/(2 Sigma1^2) + Answers a/Sigma2^2
//	LNMax             Queries min(pure(2/Scale), 2 pure(1/Scale))
//	Exponential       Queries range(2/Scale), which is at most Queries a/(2 Scale^2)
//	PermuteAndFlip    Queries pure(2/Scale)
//
// between any two neighbours, for queries chosen adaptively. Here pure(e) is the divergence of randomised
// response with log-ratio e. range(e) is the largest divergence of two distributions whose log-ratios lie in
// an interval of length e. Both curves approach e at large orders. Sources: Papernot et al. 2018, Proposition
// 8 and Algorithms 1 and 2 (integer noise: Canonne, Kamath, Steinke 2020, Proposition 5); Papernot et al.
// 2017; McSherry, Talwar 2007 and Durfee, Rogers 2019; McKenna, Sheldon 2020. Tests compare these bounds with
// the exact divergences of all histograms of up to six teachers and three classes. No divergence exceeds the
// bound. The tests also detect wrong charges. Examples are LNMax at 1/Scale, GNMax with sensitivity 1 (1.8
// times too low) and PermuteAndFlip with the curve of Exponential (3.6 times too low).
//
// The privacy unit is the unit by which data are assigned to teachers: record or user. Add/remove and
// replace-one cost the same if the new record keeps the unit id of the old record, because then one vote
// moves. Under a different id the two records may belong to two teachers, and two votes move.
//
// # Which one
//
// The table shows the least noise for a total guarantee of (2, 1e-5) by Rényi accounting. The other columns
// are for one class that leads nine equal classes. They show the lead in votes at which the class wins with
// probability 95 and 99.9 percent:
//
//	answers             1                 100                1000
//	                noise  95%  99.9%  noise  95%  99.9%  noise  95%  99.9%
//	LNMax            1.0     6     11   30.1  163    301   96.0  519    958
//	GNMax            3.0    11     17   30.4  105    159   96.1  330    500
//	Exponential      1.0     6     10   21.4  110    195   67.9  350    619
//	PermuteAndFlip   1.0     5      9   42.2  189    356  135.7  607   1142
//
// PermuteAndFlip is best for one answer. GNMax is best for many answers, because of its thin tail. With two
// classes and 1000 answers, Exponential needs a smaller lead than GNMax for 95 percent (200 against 225) but
// a larger lead for 99.9. If teachers often disagree, ConfidentGNMax answers only queries on which they
// agree, and InteractiveGNMax only queries that the student gets wrong.
//
// # Caveats
//
// Teachers must not share private data, random streams or anything fitted on all private data. Package
// teachers ensures this. Do not use a key for two vote files, because two histograms would get the same
// noise. Derive the key from a hash of the votes ([rng.Key.DeriveBytes]). A prediction for [InteractiveGNMax]
// must come from public data and earlier answers. Answers under a key from [rng.SeedKey] are for experiments
// ([Session].Releasable is false). The results of Law and the vote counts are private.
//
// Running time is not constant. The time to draw noise depends on the noise, but not on the votes. The
// comparison of noise with votes takes a fixed number of steps, but the branches depend on noise and votes.
// The guarantee does not cover an adversary who can measure such times.
package aggregate
