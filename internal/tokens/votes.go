package tokens

import (
	"cmp"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/rng"
)

// GNMax adds discrete Gaussian noise to the count of each token, and answers with the token of the largest
// sum. The answers of GNMax and [aggregate.GNMax] have the same distribution. The lowest token wins a tie.
type GNMax struct {
	dense   *aggregate.GNMax
	noise   *rng.DiscreteGaussian
	queries int64
}

const maxSigma = 1 << 12

// NewGNMax returns the mechanism for cfg. Sigma must be at most 2^12.
func NewGNMax(cfg aggregate.GNMaxConfig) (*GNMax, error) {
	dense, err := aggregate.NewGNMax(cfg)
	noise, failed := noiseOf("Sigma", cfg.Sigma)
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	return &GNMax{dense, noise, int64(cfg.Queries)}, nil
}

func noiseOf(field string, sigma float64) (*rng.DiscreteGaussian, error) {
	if sigma > maxSigma {
		return nil, fmt.Errorf("tokens: %s must be at most %d votes, not %g", field, maxSigma, sigma)
	}
	return rng.NewDiscreteGaussian(sigma)
}

// Event implements [Mechanism].
func (m *GNMax) Event() accountant.Event { return m.dense.Event() }

// Left implements [Mechanism].
func (m *GNMax) Left(s State) Left {
	left := max(0, m.queries-s.Voted)
	return Left{left, left}
}

// Start implements [Mechanism].
func (m *GNMax) Start(key rng.Key) Session {
	key = key.Derive("tokens gnmax", math.Float64bits(m.noise.Sigma()))
	return &gnmaxSession{m, noisyVotes{noise: m.noise}, key.Streams("query")}
}

type gnmaxSession struct {
	*GNMax
	votes   noisyVotes
	streams *rng.Streams
}

func (g *gnmaxSession) Answer(s State, query uint64, in Input) (Answer, error) {
	if err := cmp.Or(g.Left(s).check(), in.Counts.Check()); err != nil {
		return Answer{}, err
	}
	return Answer{g.votes.winner(in.Counts, g.streams.Of(query, in.Name)), Vote}, nil
}

type noisyVotes struct {
	noise *rng.DiscreteGaussian
	room  []int64
}

func (v *noisyVotes) winner(c Counts, s *rng.Stream) int {
	n := len(c.Tokens)
	if cap(v.room) < n {
		v.room = make([]int64, 2*n)
	}
	noise := v.room[:n]
	v.noise.Fill(noise, s)
	best, most := None, int64(math.MinInt64)
	if others := c.Size - n; others > 0 {
		// Draw the largest noise of the unlisted tokens, and the rank of the first token with this noise.
		value, rank := v.noise.Largest(uint64(others), s)
		best, most = c.unlisted(int(rank)), value
	}
	for i, token := range c.Tokens {
		if sum := c.Votes[i] + noise[i]; sum > most || sum == most && token < best {
			best, most = token, sum
		}
	}
	return best
}

// Confident is [aggregate.ConfidentGNMax] on sparse counts. It declines if the largest count plus noise of
// standard deviation Sigma1 is below Threshold. Otherwise it answers like GNMax with Sigma2.
type Confident struct {
	dense     *aggregate.ConfidentGNMax
	cfg       aggregate.ConfidentGNMaxConfig
	threshold int64
	test      *rng.DiscreteGaussian
	noise     *rng.DiscreteGaussian
}

// NewConfident returns the mechanism for cfg. Sigma2 must be at most 2^12.
func NewConfident(cfg aggregate.ConfidentGNMaxConfig) (*Confident, error) {
	dense, err := aggregate.NewConfidentGNMax(cfg)
	if err != nil {
		return nil, err
	}
	test, err := rng.NewDiscreteGaussian(cfg.Sigma1)
	noise, failed := noiseOf("Sigma2", cfg.Sigma2)
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	return &Confident{dense, cfg, int64(math.Ceil(cfg.Threshold)), test, noise}, nil
}

// Event implements [Mechanism]. It charges a threshold test for each query and an argmax for each answer.
func (m *Confident) Event() accountant.Event { return m.dense.Event() }

// Left implements [Mechanism].
func (m *Confident) Left(s State) Left {
	return Left{max(0, int64(m.cfg.Queries)-s.Voted-s.Declined), max(0, int64(m.cfg.Answers)-s.Voted)}
}

// Start implements [Mechanism].
func (m *Confident) Start(key rng.Key) Session {
	key = key.Derive("tokens confident", math.Float64bits(m.cfg.Threshold), math.Float64bits(m.cfg.Sigma1), math.Float64bits(m.cfg.Sigma2))
	return &confidentSession{m, noisyVotes{noise: m.noise}, key.Streams("query")}
}

type confidentSession struct {
	*Confident
	votes   noisyVotes
	streams *rng.Streams
}

// Answer draws all noise before the test, so that declining is not faster than answering.
func (c *confidentSession) Answer(s State, query uint64, in Input) (Answer, error) {
	if err := cmp.Or(c.Left(s).check(), in.Counts.Check()); err != nil {
		return Answer{}, err
	}
	stream := c.streams.Of(query, in.Name)
	test := c.test.Sample(stream)
	token := c.votes.winner(in.Counts, stream)
	if in.Counts.largest()+test < c.threshold {
		return Answer{None, Declined}, nil
	}
	return Answer{token, Vote}, nil
}
