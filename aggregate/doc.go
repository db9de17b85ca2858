// Package aggregate turns the votes of an ensemble into private labels. It has every noisy argmax mechanism
// of PATE, with exact output distributions.
//
// For one public record every teacher votes for a class; the counts are a [Histogram]. A mechanism adds
// exact integer noise to the counts and releases the winner, or declines. Its worst-case cost is fixed when
// it is made ([Mechanism].Event). Once the cost is charged, the mechanism starts a [Session], which answers
// queries one at a time:
//
//	m, err := aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 40, Queries: 1000})
//	session, err := m.Start(reservation, key) // reservation, err := ledger.Reserve(m.Event())
//	answer, err := session.Ask(query, votes)  // votes, err := aggregate.CountVotes(labels, classes)
//
// [Session].AskBatch answers many consecutive queries, on all cores.
//
// The mechanisms:
//
//	LNMax             largest count plus discrete Laplace noise
//	GNMax             largest count plus discrete Gaussian noise
//	ConfidentGNMax    GNMax, if the largest count plus noise reaches a threshold
//	InteractiveGNMax  GNMax, if the largest count beyond the student's prediction
//	                  plus noise reaches a threshold; else the student's label,
//	                  if the student is sure
//	Exponential       class j with probability proportional to exp(n_j/Scale)
//	PermuteAndFlip    classes in random order, the first that is accepted, j with
//	                  probability exp((n_j - max)/Scale)
//
// Randomness is drawn before the votes are read, for all classes and the threshold, whatever the outcome.
// For the last two it is the order in which classes take turns, and how far below the largest count each
// turn still accepts. Equal noisy counts go to the class with the lowest index; in Exponential and
// PermuteAndFlip the earlier turn wins. The randomness of a query is a function of the key, the mechanism's
// parameters, the query's number and, if there is one, the rounded prediction. So a query that is asked
// again, in this session or in a resumed one, gets the same answer.
//
// The Law methods return the exact probability of every answer on given votes, for planning, teaching and
// tests. The probabilities are logarithms, accurate from 1 to 1e-300 and below.
//
// # Guarantee
//
// Let one record change at most one teacher, and so at most one vote of every query: n_a falls by one and
// n_b rises by one ("one vote moves"). Then all answers of a session together have Rényi divergence of order
// a at most
//
//	GNMax             Queries a/Sigma^2
//	ConfidentGNMax    Queries a/(2 Sigma1^2) + Answers a/Sigma2^2
//	InteractiveGNMax  Queries a/(2 Sigma1^2) + Answers a/Sigma2^2
//	LNMax             Queries min(pure(2/Scale), 2 pure(1/Scale))
//	Exponential       Queries range(2/Scale), which is at most Queries a/(2 Scale^2)
//	PermuteAndFlip    Queries pure(2/Scale)
//
// between any two neighbours, for queries chosen adaptively. Here pure(e) is the divergence of randomised
// response with log-ratio e, and range(e) is the largest divergence of two distributions whose log-ratios lie
// in some interval of length e. Both approach e at large orders. Sources: Papernot et al. 2018, Proposition 8
// and Algorithms 1 and 2, for integer noise on integer counts by Canonne, Kamath, Steinke 2020, Proposition
// 5; Papernot et al. 2017; McSherry, Talwar 2007 and Durfee, Rogers 2019; McKenna, Sheldon 2020. Tests
// enumerate every histogram of up to six teachers and three classes and compare exact divergences with these
// claims. No order exceeds them, and the tests detect wrong charges: LNMax at 1/Scale, as if one count
// changed (1.8 times too little in these worlds, twice in the limit); GNMax with sensitivity 1 (the same
// factors); PermuteAndFlip by the curve of Exponential (3.6 times too little).
//
// The privacy unit is the unit by which data are assigned to teachers: record or user. Add/remove and
// replace-one cost the same if a record is replaced under its own unit id, because then one vote moves
// either way. Under another id the old and the new record may belong to two teachers, and two votes move.
//
// # Which one
//
// The table has the noise that a total of (2, 1e-5) allows by Rényi accounting, and the lead in votes with
// which one of ten classes, over nine equal ones, is answered with probability 95 and 99.9 percent:
//
//	answers             1                 100                1000
//	                noise  95%  99.9%  noise  95%  99.9%  noise  95%  99.9%
//	LNMax            1.0     6     11   30.1  163    301   96.0  519    958
//	GNMax            3.0    11     17   30.4  105    159   96.1  330    500
//	Exponential      1.0     6     10   21.4  110    195   67.9  350    619
//	PermuteAndFlip   1.0     5      9   42.2  189    356  135.7  607   1142
//
// PermuteAndFlip is best for one answer, GNMax for many, because of its thin tail. With two classes
// Exponential needs a smaller lead than GNMax for 95 percent (200 against 225 at 1000 answers) and a larger
// one for 99.9. Where teachers often disagree, ConfidentGNMax spends its answers on the other queries, and
// InteractiveGNMax on the queries that the student gets wrong.
//
// # Caveats
//
// Teachers must not share private data, random streams or anything fitted on all the private data; package
// teachers ensures this. A key must not be used for two vote files, because the same noise would cover two
// different histograms: derive it from a hash of the votes ([Key].DeriveBytes). A prediction given to an
// [InteractiveSession] must come from public data and earlier answers. Answers under a key from [SeedKey]
// are for experiments ([Session].Releasable is false). Laws and counts are functions of the private votes,
// not private releases.
//
// Timing is not constant. The time to draw noise does not depend on the votes. But the samplers reject and
// loop, so this time reveals something about the noise that hides the votes. Comparing noise with votes
// takes a number of steps that depends on neither, but branches on both. An adversary who can time single
// queries to that precision is outside the claim.
package aggregate
