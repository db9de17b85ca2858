// Package quota answers questions that arrive one at a time by votes of private units. A question is a
// public row with a public radius. A unit votes if one of its rows is within the radius, and votes at most
// Votes times ever. The vote is the class of the unit's nearest row.
//
//	m, err := quota.New(quota.Config{Votes: 8, Sigma: 6, Classes: 10})
//	s, err := m.Start(reservation, key, rows) // ledger.Reserve(m.Event())
//	answers, err := s.Ask(ctx, questions)     // write the questions to a journal, then release the answers
//
//	err = s.Resume(ctx, journal) // after a restart, before the first Ask
//
// # Guarantee
//
// Neighbours differ by one added or removed unit u. Fix the rows of all other units. The votes of a unit
// depend on its own rows and on the questions so far, but on no other unit. So adding unit u raises one
// count by one at each of at most Votes questions. All other counts stay the same. The rows of u and the
// questions so far determine whether u votes at a question, and for which class.
//
// A simulator that knows the rows of all units can produce the answers from at most Votes numbers. Without
// u, each number has the distribution of the noise. With u, each number has the distribution of the noise
// plus 1. At each question, the simulator finds whether u would vote. If u would vote, the simulator takes
// the next number as the noise of the count that the vote would raise. All other noise is fresh and does not
// depend on u. The next question may depend on all earlier answers. So the answers are post-processing of
// Votes independent numbers, and the event Repeated{DiscreteGaussian{Sigma, 1}, Votes} dominates the
// answers. The event depends neither on the number of questions nor on the way in which questions are
// chosen.
//
// Individual filters stop a record at a bound on its summed losses (Feldman, Zrnic 2021, for Rényi
// divergences; Koskela, Tobaben, Honkela 2023, for Gaussian noise). Here all losses of a unit are equal,
// so counting votes is enough. The proof above requires no theorem on filters and holds for any noise.
//
// Labels and all other functions of the noisy counts have no further cost.
//
// # Removed units
//
// A unit whose rows are missing after a restart votes no more. Its earlier votes stay in the answers, and
// the event covers them: the simulator needs no more than Votes numbers. The votes of other units do not
// change.
//
// # Caveats
//
// Radius and features must be public functions of a question, of public rows and of earlier answers. Write
// questions to durable storage before releasing their answers. After a restart, Resume counts the votes of
// each unit again from these questions and the private rows. Running time depends on the number of near
// units, but not on the numbers of votes that are left.
package quota
