package tokens

import (
	"cmp"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// ScreenConfig holds the parameters of a [Screen]. All fields except Threshold are required.
type ScreenConfig struct {
	B1        float64 // scale of the threshold noise, in votes; [2^-10, 2^40]
	B2        float64 // scale of the noise of a query, in votes; [2^-10, 2^40]
	Threshold int64   // for the distance, in votes; [0, 2^40]
	Failures  int64   // refusals in an epoch; [1, 2^30]
	Epochs    int64   // number of epochs; the whole number is charged; [1, 2^30]
}

// Screen answers with the public model's token if most teachers vote for this token. Otherwise another
// mechanism answers. Ask queries in sequence, each with a State that counts all earlier answers.
type Screen struct {
	cfg    ScreenConfig
	rho    *rng.DiscreteLaplace
	nu     *rng.DiscreteLaplace
	voting Mechanism
}

// NewScreen returns the mechanism for cfg. The mechanism `voting` answers queries that the Screen refuses.
// Its cap must be exactly Failures*Epochs queries.
func NewScreen(cfg ScreenConfig, voting Mechanism) (*Screen, error) {
	rho, err := rng.NewDiscreteLaplace(cfg.B1)
	nu, failed := rng.NewDiscreteLaplace(cfg.B2)
	if err = cmp.Or(err, failed); err != nil {
		return nil, fmt.Errorf("tokens: B1, B2 (measured in votes): %w", err)
	}
	const most = 1 << 30
	switch {
	case cfg.Threshold < 0 || cfg.Threshold > maxVotes:
		return nil, fmt.Errorf("tokens: Threshold must be in [0, 2^40] votes, not %d", cfg.Threshold)
	case cfg.Failures < 1 || cfg.Failures > most || cfg.Epochs < 1 || cfg.Epochs > most:
		return nil, fmt.Errorf("tokens: Failures and Epochs must be in [1, 2^30], not %d and %d", cfg.Failures, cfg.Epochs)
	case voting.Left(State{}).Queries != cfg.Failures*cfg.Epochs:
		return nil, fmt.Errorf("tokens: %d refusals are charged, but the mechanism for them answers %d queries",
			cfg.Failures*cfg.Epochs, voting.Left(State{}).Queries)
	}
	return &Screen{cfg, rho, nu, voting}, nil
}

// Event implements [Mechanism]. It charges every epoch, and the mechanism that answers refused queries.
func (m *Screen) Event() accountant.Event {
	// Let d be half the lead of the public token over all other tokens, rounded down. With rho >= 0 drawn for
	// each epoch, P[rho = k] ~ e^(-k/B1), and nu >= 0 for each query, P[nu = k] ~ e^(-k/B2), the rule is
	//
	//	public token  iff  d - nu > Threshold - rho;  otherwise refuse;  new epoch after Failures refusals.
	//
	// An epoch is epsilon-differentially private for any number of queries, with epsilon = 1/B1 + 2
	// Failures/B2. The proof is that of svt.StableSVT. A record changes d by at most 1. Couple rho = z with
	// rho = z+1. Then no public answer is less likely, each refusal is less likely by a factor of at most
	// e^(2/B2), and P[rho = z] = e^(1/B1) P[rho = z+1]. The public token does not depend on private data, so
	// unlike there, no released answer reveals more, and there is no failure probability.
	//
	// Queries of an epoch and answers of the other mechanism alternate. A pure mechanism is a post-processing
	// of one randomised response also if it is interactive (Vadhan, Wang 2021). So the costs are those of a
	// sequence.
	epsilon := mathx.Up((1/m.cfg.B1 + 2*float64(m.cfg.Failures)/m.cfg.B2) * (1 + 4e-16))
	return accountant.Composed{Events: []accountant.Event{
		accountant.Repeated{Event: accountant.PureDP{Epsilon: epsilon}, Count: m.cfg.Epochs}, m.voting.Event(),
	}}
}

func refused(s State) State { return State{Voted: s.Voted, Declined: s.Declined} }

// Left implements [Mechanism]. The result's Queries is [Unlimited], or 0 after Failures*Epochs refusals.
func (m *Screen) Left(s State) Left {
	left := m.voting.Left(refused(s))
	if left.Queries > 0 {
		left.Queries = Unlimited
	}
	return left
}

// Start implements [Mechanism].
func (m *Screen) Start(key rng.Key) Session {
	key = key.Derive("tokens screen", math.Float64bits(m.cfg.B1), math.Float64bits(m.cfg.B2), uint64(m.cfg.Threshold), uint64(m.cfg.Failures))
	return &screenSession{Screen: m, epoch: -1, thresholds: key.Streams("threshold"), streams: key.Streams("query"),
		session: m.voting.Start(key.Derive("refused"))}
}

type screenSession struct {
	*Screen
	epoch      int64
	noise      int64 // rho of epoch
	thresholds *rng.Streams
	streams    *rng.Streams
	session    Session
}

func (c *screenSession) Answer(s State, query uint64, in Input) (Answer, error) {
	if err := cmp.Or(c.Left(s).check(), in.Counts.Check(), in.checkPublic()); err != nil {
		return Answer{}, err
	}
	if epoch := (s.Voted + s.Declined) / c.cfg.Failures; epoch != c.epoch {
		c.epoch, c.noise = epoch, c.rho.Geometric(c.thresholds.Of(uint64(epoch)))
	}
	nu := c.nu.Geometric(c.streams.Of(query, in.Name))
	if in.Public != None && in.Counts.distance(in.Public)-nu > c.cfg.Threshold-c.noise {
		return Answer{in.Public, Public}, nil
	}
	return c.session.Answer(refused(s), query, in)
}

func (in Input) checkPublic() error {
	if in.Public != None && (in.Public < 0 || in.Public >= in.Counts.Size) {
		return fmt.Errorf("tokens: the public token %d is outside the universe", in.Public)
	}
	return nil
}

// distance returns half the lead of a token over all others, rounded down. A moved or removed vote changes
// the distance by at most 1.
func (c Counts) distance(token int) int64 {
	var own, most int64
	for i, t := range c.Tokens {
		if t == token {
			own = c.Votes[i]
		} else {
			most = max(most, c.Votes[i])
		}
	}
	return (own - most) >> 1
}
