package tokens

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/aggregate/acceptance"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// LimitedConfig holds the parameters of a [Limited] mechanism. All fields except Appears are required.
type LimitedConfig struct {
	Scale   float64 // difference of counts that changes the odds by a factor e, in votes; [2^-10, 2^40]
	Domain  int     // number of tokens with the most votes that may be answered; [1, 2^16]
	Margin  int64   // of the threshold above the next count, in votes; [1, 2^40]
	Queries int64   // cap on queries; the whole cap is charged; [1, 2^53]
	// Appears states that a teacher abstains without the record, so a record only adds or removes a vote.
	// Appears requires the relation [accountant.AddRemove]. By default a record can move a vote.
	Appears bool
}

// Limited answers with one of the Domain tokens with the most votes, or declines (Durfee, Rogers 2019). An
// option has a probability proportional to exp(votes/Scale). Declining is an option with Margin more votes
// than the token at rank Domain+1.
type Limited struct {
	cfg       LimitedConfig
	distances *rng.DiscreteLaplace
}

// MarginFor returns the least Margin at which the failure probability of a query is at most delta.
func (cfg LimitedConfig) MarginFor(delta float64) int64 {
	margin := cfg.moved() + int64(math.Ceil(-math.Log(delta)*cfg.Scale))
	for cfg.Margin = margin; cfg.failure() > delta; cfg.Margin++ {
	}
	return max(1, cfg.Margin)
}

// moved returns the largest change that one record makes to a difference of two counts.
func (cfg LimitedConfig) moved() int64 {
	if cfg.Appears {
		return 1
	}
	return 2
}

func (cfg LimitedConfig) failure() float64 {
	return math.Min(1, mathx.Up(math.Exp(-float64(cfg.Margin-cfg.moved())/cfg.Scale)*(1+1e-12)))
}

// NewLimited returns a [Limited] mechanism with the parameters cfg.
func NewLimited(cfg LimitedConfig) (*Limited, error) {
	distances, err := rng.NewDiscreteLaplace(cfg.Scale)
	switch {
	case err != nil:
		return nil, fmt.Errorf("tokens: Scale (measured in votes): %w", err)
	case cfg.Domain < 1 || cfg.Domain > 1<<16:
		return nil, fmt.Errorf("tokens: Domain must be in [1, 2^16] tokens, not %d", cfg.Domain)
	case cfg.Margin < 1 || cfg.Margin > maxVotes:
		return nil, fmt.Errorf("tokens: Margin must be in [1, 2^40] votes, not %d", cfg.Margin)
	case !(cfg.failure() < 1):
		return nil, fmt.Errorf("tokens: Margin must be above %d votes: it bounds the failure probability", cfg.moved())
	}
	return &Limited{cfg, distances}, checkQueries(cfg.Queries)
}

func checkQueries(n int64) error {
	if n < 1 || n > 1<<53 {
		return fmt.Errorf("tokens: Queries must be in [1, 2^53], not %d: it is what will be charged for", n)
	}
	return nil
}

// Event implements [Mechanism]. Declined queries are charged too.
func (m *Limited) Event() accountant.Event {
	// Let h_(1) >= h_(2) >= ... be the counts, where a tie goes to the lower token, and k = Domain. If a vote
	// moves, at most one token u leaves the first k, and one token v enters. The count of v after the change
	// differs by at most 1 from the count of u before it:
	//
	//	u lost the vote, v won it:            h_u >= h_v  and  h_v + 1 >= h_u - 1
	//	u lost it, v was next:                h_u >= h_v >= h_u - 1
	//	v won it, u was the last of the k:    h_u >= h_v  and  h_v + 1 >= h_u
	//
	// The other scores, also of declining, change by at most 1. So if v is called u, both distributions are
	// those of an exponential mechanism whose scores change by at most 1. The log-ratios have range 2/Scale,
	// also on the answers other than u before and v after the change. In all cases h_u <= h_(k+1) + 2. So the
	// probability of u is at most exp(-(Margin-2)/Scale), and by symmetry that of v. This is the failure
	// probability.
	//
	// If a vote appears, all scores change by 0 or 1 in one direction, and h_u <= h_(k+1) + 1. So the range
	// is 1/Scale, and the failure probability exp(-(Margin-1)/Scale). With epsilon = 1/Scale and Margin = 1 +
	// log(1/delta)/epsilon this is the theorem of the paper for users with one vote.
	one := accountant.ExponentialMechanism{Epsilon: mathx.DivUp(float64(m.cfg.moved()), m.cfg.Scale)}
	return accountant.Repeated{Event: accountant.WithFailure{Event: one, Delta: m.cfg.failure()}, Count: m.cfg.Queries}
}

// Left implements [Mechanism].
func (m *Limited) Left(s State) Left {
	left := max(0, m.cfg.Queries-s.Voted-s.Declined)
	return Left{left, left}
}

// Start implements [Mechanism].
func (m *Limited) Start(key rng.Key) Session {
	key = key.Derive("tokens limited", math.Float64bits(m.cfg.Scale), uint64(m.cfg.Domain), uint64(m.cfg.Margin))
	return &limitedSession{Limited: m, streams: key.Streams("query")}
}

type limitedSession struct {
	*Limited
	turns   []int64
	streams *rng.Streams
	ranked  []counted
	scores  []int64
}

func (l *limitedSession) Answer(s State, query uint64, in Input) (Answer, error) {
	if err := cmp.Or(l.Left(s).check(), in.Counts.Check()); err != nil {
		return Answer{}, err
	}
	if in.Counts.Size <= l.cfg.Domain {
		return Answer{}, fmt.Errorf("tokens: the universe must have more than %d tokens, not %d", l.cfg.Domain, in.Counts.Size)
	}
	l.ranked = in.Counts.first(l.ranked[:0], l.cfg.Domain+1)
	l.scores = l.scores[:0]
	for _, c := range l.ranked {
		l.scores = append(l.scores, c.votes)
	}
	l.scores[l.cfg.Domain] += l.cfg.Margin
	l.turns = acceptance.Draw(l.turns[:0], len(l.scores), l.distances, l.streams.Of(query, in.Name))
	if i := acceptance.First(l.scores, l.turns); i < l.cfg.Domain {
		return Answer{l.ranked[i].token, Vote}, nil
	}
	return Answer{None, Declined}, nil
}

type counted struct {
	token int
	votes int64
}

// first returns the n tokens with the most votes, in descending order. A tie goes to the lower token. The
// argument `ranked` must be empty.
func (c Counts) first(ranked []counted, n int) []counted {
	for i, token := range c.Tokens {
		if c.Votes[i] > 0 {
			ranked = append(ranked, counted{token, c.Votes[i]})
		}
	}
	voted := len(ranked)
	for token, i := 0, 0; len(ranked) < n; token++ {
		if i < voted && ranked[i].token == token {
			i++
			continue
		}
		ranked = append(ranked, counted{token, 0})
	}
	slices.SortFunc(ranked, func(a, b counted) int { return cmp.Or(cmp.Compare(b.votes, a.votes), a.token-b.token) })
	return ranked[:n]
}
