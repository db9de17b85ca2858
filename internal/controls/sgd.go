package controls

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/accountant/audit"
)

func sgdTargets() []Target {
	return []Target{canaries("dpsgd", canaryConfig(), unchanged, canaryConfig().NoiseMultiplier)}
}

func unchanged(m dpsgd.Model) dpsgd.Model { return m }

func canaryConfig() dpsgd.Config {
	return dpsgd.Config{SamplingProbability: 0.5, NoiseMultiplier: 5.5, ClipNorm: 1, Steps: 20, Workers: 1}
}

const (
	canaryCount  = 6000
	canaryWeight = 100  // value of a canary's only feature; its gradient is large and clipped
	canaryRate   = 1e-4 // change of a weight by one clipped gradient; too small to change the model
)

func canaries(name string, cfg dpsgd.Config, model func(dpsgd.Model) dpsgd.Model, noise float64) Target {
	// A canary is a record with a feature that no other record has, so the weights of this feature show only
	// whether the canary is in the data. A fair coin decides this for each canary. The auditor sees every
	// iterate. The claim is the cost of cfg, the training uses the noise multiplier noise, and the function
	// model wraps the trained model.
	//
	// The auditor guesses only for the tenth of the canaries with the highest and the lowest scores.
	return Target{Name: name, Method: ByCanaries, On: fmt.Sprintf("%d canaries, each in or out", canaryCount),
		audit: func(ctx context.Context, e effort) (audit.Finding, error) {
			coins, in := e.coins(canaryCount)
			none := labelled{classes: 2}
			data := withCanaries(none, canaryWeight, coins, in)
			softmax := must(nn.NewSoftmax(canaryCount, 2))
			run := cfg
			run.NoiseMultiplier = noise
			run.LearningRate = canaryRate * run.SamplingProbability * float64(coins)
			w := newWeightWatch(run, softmax.Parameters(), none, data.X, canaryWeight)
			claim := profile(cfg.Event(), accountant.AddRemove)
			return e.guess(ctx, claim, model(softmax), data, run, w.look, in, canaryCount/10)
		}}
}

func (e effort) coins(n int) (heads int, in []bool) {
	coins := e.key.Derive("coins").Stream()
	for range n {
		in = append(in, coins.Uint64N(2) == 1)
		if in[len(in)-1] {
			heads++
		}
	}
	return heads, in
}

func (e effort) guess(ctx context.Context, claim claimer, model dpsgd.Model, data dpsgd.Data, cfg dpsgd.Config,
	look func(rate float64) []float64, in []bool, guesses int) (audit.Finding, error) {
	claimed, err := claim(e.delta)
	if err != nil {
		return audit.Finding{}, err
	}
	var scores []float64
	cfg.Observe = func(m dpsgd.Metrics) {
		scores = look(m.LearningRate)
		e.progress(weightOfOthers * m.Step / m.Steps)
	}
	l := must(ledger.New(ledger.Config{Unit: "canary", Relation: accountant.AddRemove, Epsilon: 1e15, Delta: 0.5}))
	r, err := l.Reserve(cfg.Event())
	if err != nil {
		return audit.Finding{}, err
	}
	if _, err = dpsgd.Train(ctx, model, data, cfg, r, e.key.Derive("run")); err != nil {
		return audit.Finding{}, err
	}
	g, err := audit.Guess(scores, in, guesses)
	if err != nil {
		return audit.Finding{}, err
	}
	return audit.OneRun(g, claimed, e.alpha)
}
