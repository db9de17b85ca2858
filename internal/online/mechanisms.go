package online

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
)

// described adapts a mechanism of package tokens to the interface [aggregate.Mechanism]. The choice of noise
// needs only the method Event.
type described struct{ tokens.Mechanism }

var errOnline = errors.New("online: the mechanism answers single questions alone")

func (described) Start(*ledger.Reservation, rng.Key) (aggregate.Session, error) {
	return nil, errOnline
}

func (described) Law(aggregate.Histogram) (aggregate.Law, error) { return aggregate.Law{}, errOnline }

func making[M tokens.Mechanism](one func(aggregate.Setting) (M, error)) func(aggregate.Setting) (aggregate.Mechanism, error) {
	return func(s aggregate.Setting) (aggregate.Mechanism, error) {
		m, err := one(s)
		return described{m}, err
	}
}

const mostNoise = 1 << 12 // as in package tokens

func noise(name, doc string, ratio float64) aggregate.Parameter {
	return aggregate.Parameter{Name: name, Doc: doc, Unit: "votes", Kind: "noise", Min: 0x1p-10, Max: mostNoise, Ratio: ratio}
}

func limit(name, doc string, most, usual float64) aggregate.Parameter {
	p := aggregate.Parameter{Name: name, Doc: doc, Kind: "cap", Min: 1, Max: most, Whole: true}
	if usual > 0 {
		p.Default, p.DefaultDoc = func(int) float64 { return usual }, fmt.Sprint(usual)
	}
	return p
}

func numberOfTeachers() aggregate.Parameter {
	p := limit("teachers", "number of teachers; needed unless the noise is given", 1<<40, 0)
	p.Min, p.Default, p.DefaultDoc = 0, func(int) float64 { return 0 }, "0"
	return p
}

// Mechanisms describes the mechanisms that answer questions one at a time, except [Quota].
func Mechanisms() []aggregate.Description {
	own := func(name string) aggregate.Description {
		d, err := mechanisms.Find(name)
		if err != nil {
			panic(err)
		}
		d.Parameters = slices.Clone(d.Parameters)
		for i, p := range d.Parameters {
			if p.Kind == "noise" {
				d.Parameters[i].Max = mostNoise
			}
		}
		return d
	}
	gnmax, confident := own("gnmax"), own("confident")
	gnmax.Parameters, confident.Parameters = append(gnmax.Parameters, numberOfTeachers()), append(confident.Parameters, numberOfTeachers())
	gnmax.New = making(func(s aggregate.Setting) (*tokens.GNMax, error) {
		return tokens.NewGNMax(aggregate.GNMaxConfig{Sigma: s.Values["sigma"], Queries: s.Queries})
	})
	confident.New = making(func(s aggregate.Setting) (*tokens.Confident, error) {
		return tokens.NewConfident(aggregate.ConfidentGNMaxConfig{Threshold: s.Values["threshold"], Sigma1: s.Values["sigma1"],
			Sigma2: s.Values["sigma2"], Queries: s.Queries, Answers: int(s.Values["answers"])})
	})
	return []aggregate.Description{gnmax, confident, screenDescription(), limitedDescription(), clippedDescription()}
}

func screenDescription() aggregate.Description {
	return aggregate.Description{
		Name: "screen", Short: "the public token while the votes do not contradict it, and otherwise as gnmax",
		Parameters: []aggregate.Parameter{
			// With these ratios and failures = 1, the threshold test of an epoch and the votes of the epoch
			// each cost about 1/sigma^2 of zCDP.
			noise("b1", "noise of the threshold of an epoch", 1.6), noise("b2", "noise of each question in the threshold test", 2.54),
			noise("sigma", "noise on each count", 1),
			{Name: "threshold", Doc: "threshold for half of the public token's lead", Unit: "votes", Kind: "threshold",
				Max: 1 << 40, Whole: true, Default: func(int) float64 { return 0 }, DefaultDoc: "0"},
			limit("failures", "number of answers by votes that end an epoch", 1<<30, 1),
			limit("epochs", "number of epochs, all of which are charged", 1<<30, 0), numberOfTeachers(),
		},
		New: making(func(s aggregate.Setting) (*tokens.Screen, error) {
			v := s.Values
			voting, err := tokens.NewGNMax(aggregate.GNMaxConfig{Sigma: v["sigma"], Queries: int(v["failures"] * v["epochs"])})
			if err != nil {
				return nil, err
			}
			return tokens.NewScreen(tokens.ScreenConfig{B1: v["b1"], B2: v["b2"], Threshold: int64(v["threshold"]),
				Failures: int64(v["failures"]), Epochs: int64(v["epochs"])}, voting)
		}),
	}
}

func limitedDescription() aggregate.Description {
	return aggregate.Description{
		Name: "limited", Short: "one of the tokens with the most votes, or none", Declines: true,
		Parameters: []aggregate.Parameter{
			{Name: "scale", Doc: "difference of counts that changes the odds by a factor of e", Unit: "votes", Kind: "scale",
				Min: 0x1p-10, Max: 0x1p40},
			limit("domain", "how many of the tokens with the most votes may be the answer", 1<<16, 0),
			limit("margin", "votes by which declining leads the first token outside --domain", 1<<40, 0),
		},
		New: making(func(s aggregate.Setting) (*tokens.Limited, error) {
			return tokens.NewLimited(tokens.LimitedConfig{Scale: s.Values["scale"], Domain: int(s.Values["domain"]),
				Margin: int64(s.Values["margin"]), Queries: int64(s.Queries)})
		}),
	}
}

// clippedSteps is the number of grid steps from 0 to the clip. Rounding to the grid changes a value by at
// most 1e-6 of the clip.
const clippedSteps = 1 << 19

func clippedDescription() aggregate.Description {
	return aggregate.Description{
		Name: "clipped", Short: "a token of a public list, by clipped log-probabilities of the teachers",
		Parameters: []aggregate.Parameter{
			{Name: "clip", Doc: "clip bound of log-probability differences", Kind: "share", Min: 0x1p-10, Max: 1e6},
			limit("teachers", "number of teachers, by which the sum is divided", 1<<30, 0),
			{Name: "temperature", Doc: "temperature of the answers", Kind: "noise", Min: 0x1p-10, Max: 1e6},
		},
		New: making(func(s aggregate.Setting) (*tokens.Clipped, error) {
			return tokens.NewClipped(tokens.ClippedConfig{Clip: s.Values["clip"], Steps: clippedSteps, Teachers: int64(s.Values["teachers"]),
				Temperature: s.Values["temperature"], Queries: int64(s.Queries)})
		}),
	}
}
