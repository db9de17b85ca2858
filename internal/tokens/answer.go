package tokens

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
)

// Counts is a sparse histogram of votes for the tokens 0, 1, ..., Size-1. Tokens that are not listed have no
// votes.
type Counts struct {
	Size   int     // number of tokens of the public universe, in [2, 2^31]
	Tokens []int   // strictly increasing, each in [0, Size)
	Votes  []int64 // for each of Tokens, in [0, 2^40]
}

const (
	maxSize  = 1 << 31
	maxVotes = 1 << 40
)

// Check returns an error if c is not a valid histogram.
func (c Counts) Check() error {
	switch {
	case c.Size < 2 || c.Size > maxSize:
		return fmt.Errorf("tokens: the universe must have 2 to 2^31 tokens, not %d", c.Size)
	case len(c.Tokens) != len(c.Votes):
		return errors.New("tokens: the lists of tokens and of votes must be equally long")
	}
	last := -1
	for i, token := range c.Tokens {
		if token <= last || token >= c.Size {
			return errors.New("tokens: tokens with votes must be increasing and below the size of the universe")
		}
		if c.Votes[i] < 0 || c.Votes[i] > maxVotes {
			return errors.New("tokens: a number of votes is outside [0, 2^40]")
		}
		last = token
	}
	return nil
}

func (c Counts) largest() (votes int64) {
	for _, n := range c.Votes {
		votes = max(votes, n)
	}
	return votes
}

// unlisted returns the token of the given rank among the tokens without an entry in c. Ranks count from 0.
func (c Counts) unlisted(rank int) int {
	for _, token := range c.Tokens {
		if token > rank {
			break
		}
		rank++
	}
	return rank
}

// None means no token.
const None = -1

// Input is one question. Each mechanism reads only some of the fields.
type Input struct {
	Counts Counts  // private votes
	Public int     // token of the public model, or None
	List   []int   // public list of tokens
	Base   []int64 // public score of each token of List, or nil
	Scores []int64 // private score of each token of List: sum over the teachers
	// Name is a hash of the inputs under a secret, or 0. After the loss of a journal, a query number may be
	// reused with other inputs. A different Name then gives different noise.
	Name uint64
}

// Source is where an answer comes from.
type Source string

const (
	Vote     Source = "vote"     // of the teachers
	Public   Source = "public"   // the public model's token
	Declined Source = "declined" // no token
)

// Answer is the released result of one query.
type Answer struct {
	Token  int // None if declined
	Source Source
}

// State holds the public numbers of earlier answers of a run, by source. If teachers form fixed disjoint
// batches, keep a State for each batch. A record is in one batch, so the event of one batch covers all
// batches (parallel composition).
type State struct{ Voted, Public, Declined int64 }

// Count adds an answer.
func (s *State) Count(a Answer) {
	switch a.Source {
	case Vote:
		s.Voted++
	case Public:
		s.Public++
	default:
		s.Declined++
	}
}

// Left holds the numbers of further queries, and of further answers from teachers' votes, that the caps
// allow.
type Left struct{ Queries, Answers int64 }

// Unlimited marks a field of [Left] without a cap.
const Unlimited = -1

// ErrExhausted matches the error of a query after a cap was used up.
var ErrExhausted = errors.New("tokens: exhausted")

func (l Left) check() error {
	switch {
	case l.Queries == 0:
		return fmt.Errorf("%w: all charged queries were asked", ErrExhausted)
	case l.Answers == 0:
		return fmt.Errorf("%w: all charged answers were given", ErrExhausted)
	}
	return nil
}

// Mechanism answers queries. The noise and the caps fix the privacy cost.
type Mechanism interface {
	// Event returns the worst-case event of a run that uses up the caps.
	Event() accountant.Event
	// Left returns the queries and answers that the caps still allow after state s.
	Left(s State) Left
	// Start begins to answer with the noise of key. Sessions with equal keys give equal answers. Derive the
	// key from the run and the ledger entry. Each batch of teachers (see State) needs its own key.
	Start(key rng.Key) Session
}

// Session answers queries. Concurrent use is not safe: start one session for each goroutine.
type Session interface {
	// Answer answers one query. State s counts the earlier answers. The answer is a function of the key and
	// of the arguments. Query numbers are public: use each number for one input only.
	Answer(s State, query uint64, in Input) (Answer, error)
}
