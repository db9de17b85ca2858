// Package quota answers questions that arrive one at a time, by votes of private units. A question is a
// public row with a public radius. A unit votes if one of its rows is within the radius, but at most Votes
// times in total. The vote is the class of the unit's nearest row.
//
//	m, err := quota.New(quota.Config{Votes: 8, Sigma: 6, Classes: 10})
//	s, err := m.Start(reservation, key, rows) // ledger.Reserve(m.Event())
//	answers, err := s.Ask(ctx, questions)     // write the questions to a journal, then release the answers
//
//	err = s.Resume(ctx, journal) // after a restart, before the first Ask
//
// # Guarantee
//
// Neighbours differ by one added or removed unit u. The rows of a unit and the questions so far determine the
// votes of the unit. Other units have no influence on these votes. So for equal questions, adding unit u
// raises one count by one at each of at most Votes questions. All other counts stay the same.
//
// A simulator with the rows of all units can produce the answers from a list of numbers with length Votes.
// Without u, each number has the distribution of the noise. With u, each number has the distribution of the
// noise plus 1. The simulator counts the votes of the other units. If u would vote, the simulator adds the
// next number to the count for the class of u's vote. All other noise is fresh and does not depend on u. The
// next question may depend on all earlier answers. So the answers are post-processing of Votes independent
// numbers. The event Repeated{DiscreteGaussian{Sigma, 1}, Votes} dominates the answers. The event does not
// depend on the number or the choice of questions.
//
// Individual filters stop a record at a bound on its summed losses (Feldman, Zrnic 2021, for Rényi
// divergences; Koskela, Tobaben, Honkela 2023, for Gaussian noise). Here all losses of a unit are equal, so
// counting votes is enough. The proof above requires no theorem on filters and holds for any noise.
//
// Labels and all other functions of the noisy counts have no further cost.
//
// # Removed units
//
// If the rows of a unit are missing after a restart, the unit does not vote again. The event covers its
// earlier votes, because the simulator needs at most Votes numbers. The votes of other units do not change.
//
// # Caveats
//
// Radius and features must be public functions of a question, of public rows and of earlier answers. Write
// questions to durable storage before releasing their answers. After a restart, Resume counts the votes of
// each unit again from these questions and the private rows. Running time depends on the number of near
// units, but not on their remaining votes.
package quota
