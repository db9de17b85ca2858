// Package aggregate turns the votes of an ensemble into private labels. It contains the noisy argmax
// mechanisms of PATE and their exact output distributions.
//
// Every teacher votes for one class of a public record. A [Histogram] holds the vote counts. A mechanism adds
// exact integer noise to the counts and releases the winning class, or declines. [Mechanism].Event returns
// the worst-case privacy cost, which does not depend on votes. Start takes a ledger reservation of this cost
// and returns a [Session]. A session answers queries one at a time:
//
//	m, err := aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 40, Queries: 1000})
//	session, err := m.Start(reservation, key) // reservation, err := ledger.Reserve(m.Event())
//	answer, err := session.Ask(query, votes)  // votes, err := aggregate.CountVotes(labels, classes)
//
// [Session].AskBatch answers many consecutive queries on all cores.
//
// Class j has n_j votes. InteractiveGNMax has a student model, which predicts m_j votes for class j. The
// mechanisms:
//
//	LNMax             largest count plus discrete Laplace noise
//	GNMax             largest count plus discrete Gaussian noise
//	ConfidentGNMax    GNMax, if the largest count plus noise reaches a threshold
//	InteractiveGNMax  GNMax, if max_j (n_j - m_j) plus noise reaches a threshold;
//	                  else the student's label, if the student is sure
//	Exponential       class j with probability proportional to exp(n_j/Scale)
//	PermuteAndFlip    the first accepted class in random order; class j is
//	                  accepted with probability exp((n_j - max)/Scale)
//
// A session draws all noise of a query before it reads the votes. If two noisy counts are equal, the class
// with the lower index wins. The noise depends only on the key, the ledger entry, the mechanism's parameters,
// the query number and, for InteractiveGNMax, the rounded prediction. So a repeated query gets the same
// answer, even after a restart.
//
// The Law methods return the exact log probability of every answer on given votes.
//
// # Guarantee
//
// Assume that one record changes at most one teacher. Then one record moves at most one vote of every query
// between classes. Neighbours are data sets that differ by one record. Queries may be adaptive. The next
// table bounds the Rényi divergence of order a > 1 between all answers of a session on two neighbours.
// Queries and Answers are the caps in the mechanism's config:
//
//	GNMax             Queries a/Sigma^2
//	ConfidentGNMax    Queries a/(2 Sigma1^2) + Answers a/Sigma2^2
//	InteractiveGNMax  Queries a/(2 Sigma1^2) + Answers a/Sigma2^2
//	LNMax             Queries min(pure(2/Scale), 2 pure(1/Scale))
//	Exponential       Queries range(2/Scale), which is at most Queries a/(2 Scale^2)
//	PermuteAndFlip    Queries pure(2/Scale)
//
// The term pure(e) is the divergence of randomised response with log-ratio e. The term range(e) is the
// largest divergence of two distributions with log-ratios in an interval of length e. Sources: Papernot et
// al. 2018, Proposition 8 and Algorithms 1 and 2; Papernot et al. 2017 (LNMax); Canonne, Kamath, Steinke
// 2020, Proposition 5 (integer noise); McSherry, Talwar 2007 and Durfee, Rogers 2019 (Exponential); McKenna,
// Sheldon 2020 (PermuteAndFlip). Tests compare the bounds with exact divergences between neighbouring
// histograms, for up to six teachers and three classes.
//
// The privacy unit is the unit by which data are assigned to teachers: record or user. An added or removed
// record changes one teacher. If a replaced record keeps its unit id, the replacement changes one teacher, at
// the same cost. If the unit id changes, two teachers may change, and two votes may move.
//
// # Which one
//
// The column "noise" shows the least noise for a total guarantee of (2, 1e-5) by Rényi accounting. Let one of
// ten classes lead nine others with equal counts. The columns "95%" and "99.9%" show the lead in votes that
// wins with this probability:
//
//	answers             1                 100                1000
//	                noise  95%  99.9%  noise  95%  99.9%  noise  95%  99.9%
//	LNMax            1.0     6     11   30.1  163    301   96.0  519    958
//	GNMax            3.0    11     17   30.4  105    159   96.1  330    500
//	Exponential      1.0     6     10   21.4  110    195   67.9  350    619
//	PermuteAndFlip   1.0     5      9   42.2  189    356  135.7  607   1142
//
// PermuteAndFlip is best for one answer. GNMax is best for many answers, because its noise has a thin tail.
// With two classes and 1000 answers, Exponential needs a smaller lead than GNMax at 95%. Use ConfidentGNMax
// or InteractiveGNMax if the teachers disagree on many queries. ConfidentGNMax answers queries on which the
// teachers agree. InteractiveGNMax answers queries that the student gets wrong.
//
// # Caveats
//
// Teachers must not share private data, random streams or anything fitted on all private data. Package
// teachers ensures this. Do not use a key for two vote files, because two histograms would get the same
// noise. Derive the key from a hash of the votes ([rng.Key.DeriveBytes]). Predictions for [InteractiveGNMax]
// must depend on nothing but public data and earlier answers. Answers under a key from [rng.SeedKey] must not
// be released ([Session].Releasable is false). The vote counts and the results of Law are private.
//
// The guarantee does not cover an adversary who can measure running time, which depends on noise and votes.
package aggregate
