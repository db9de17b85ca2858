// Package aggregate turns the votes of an ensemble into private labels: every
// noisy argmax mechanism of PATE, and their exact output laws.
//
// For one public record every teacher votes for a class; the counts are a [Histogram]. A mechanism adds
// exact integer noise to the counts and releases the winner, or declines. A mechanism fixes its worst
// case when it is made ([Mechanism].Event), is charged for it, and only then starts a [Session],
// which answers queries one at a time:
//
//	m, err := aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 40, Queries: 1000})
//	session, err := m.Start(reservation, key) // reservation, err := ledger.Reserve(m.Event())
//	answer, err := session.Ask(query, votes)  // votes, err := aggregate.CountVotes(labels, classes)
//
// [Session].AskBatch asks many that follow each other, on all cores.
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
// Randomness is drawn before the votes are looked at, for all classes and the threshold whatever comes
// out; for the last two it is the order in which classes take their turn and how far below the largest
// count each turn would accept. Equal noisy counts go to the class with the lowest index; Exponential and
// PermuteAndFlip have no ties, the earlier turn wins. The randomness of a query is a function of the key,
// the mechanism's parameters, the query's number and, if there is one, the rounded prediction: asking
// again, in this session or in a resumed one, gives the same answer.
//
// The Law methods give the exact probability of every answer on given votes, as
// logarithms: for planning, teaching and tests, from 1 to 1e-300 and below.
//
// # Guarantee
//
// Let one record change at most one teacher, and so at most one vote of every
// query: n_a falls by one and n_b rises by one ("one vote moves"). Then all
// answers of a session together have Rényi divergence of order a at most
//
//	GNMax             Queries a/Sigma^2
//	ConfidentGNMax    Queries a/(2 Sigma1^2) + Answers a/Sigma2^2
//	InteractiveGNMax  Queries a/(2 Sigma1^2) + Answers a/Sigma2^2
//	LNMax             Queries min(pure(2/Scale), 2 pure(1/Scale))
//	Exponential       Queries range(2/Scale), which is at most Queries a/(2 Scale^2)
//	PermuteAndFlip    Queries pure(2/Scale)
//
// between any two neighbours, for queries chosen adaptively. Here pure(e) is the divergence of randomised
// response with log-ratio e, and range(e) the largest divergence of two laws whose log-ratios lie in some
// interval of length e; both stop at e for large orders. Sources: Papernot et al. 2018, Proposition 8 and
// Algorithms 1 and 2, for integer noise on integer counts by Canonne, Kamath, Steinke 2020, Proposition 5;
// Papernot et al. 2017; McSherry, Talwar 2007 and Durfee, Rogers 2019; McKenna, Sheldon 2020. Tests enumerate
// every histogram of up to six teachers and three classes and compare exact divergences with these claims: no
// order exceeds them, and each mechanism charged wrongly is found out. Wrong charges that are easily made:
// LNMax at 1/Scale, as if one count changed (1.8 times too little in these worlds, twice in the limit); GNMax
// with sensitivity 1 (the same); PermuteAndFlip by the curve of Exponential (3.6 times too little).
//
// The unit is what one teacher's data are partitioned by: record or user. Add/remove and replace-one cost
// the same if a record is replaced under its own unit id, because then a vote moves either way; under
// another id the old and the new record may belong to two teachers, and two votes move.
//
// # Which one
//
// The noise that a total of (2, 1e-5) allows by Rényi accounting, and the lead in votes the right one of
// ten classes then needs over nine equal ones to be answered with probability 95 and 99.9 percent:
//
//	answers             1                 100                1000
//	                noise  95%  99.9%  noise  95%  99.9%  noise  95%  99.9%
//	LNMax            1.0     6     11   30.1  163    301   96.0  519    958
//	GNMax            3.0    11     17   30.4  105    159   96.1  330    500
//	Exponential      1.0     6     10   21.4  110    195   67.9  350    619
//	PermuteAndFlip   1.0     5      9   42.2  189    356  135.7  607   1142
//
// For one answer PermuteAndFlip is best, for many GNMax, by its thin tail; with two
// classes Exponential needs less than GNMax for 95 percent (200 against 225 at 1000
// answers) and more for 99.9. Where teachers often disagree, ConfidentGNMax spends
// its answers on the rest, and InteractiveGNMax on what the student gets wrong.
//
// # Caveats
//
// Teachers must not share private data, random streams or anything fitted on all the private data;
// package teachers keeps that. A key must not be used for two vote files: derive it from a hash of the
// votes ([Key].DeriveBytes), or the same noise would cover two different histograms. A prediction given
// to an [InteractiveSession] must come from public data and answers released before. Answers under a key
// from [SeedKey] are for experiments ([Session].Releasable is false). Laws and counts are functions of
// the private votes, not private releases.
//
// Timing is not constant. How long drawing takes does not depend on the votes, but the samplers reject
// and loop, so it shows something of the randomness that hides them. Comparing randomness with votes
// takes a number of steps that neither influences, but of ordinary branches on both. Who can time single
// queries to that precision is outside the claim.
package aggregate
