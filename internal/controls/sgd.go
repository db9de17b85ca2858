package controls

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/accountant/audit"
)

// sgdTargets returns DP-SGD as shipped.
func sgdTargets() []Target {
	return []Target{canaries("dpsgd", canaryConfig(), unchanged, canaryConfig().NoiseMultiplier)}
}

func unchanged(m dpsgd.Model) dpsgd.Model { return m }

// canaryConfig returns a short run with an epsilon of 2.3 at delta 1e-8, small enough for four times as
// much to be seen: a quarter of the noise is refuted in 9999 of 10,000 audits, going by the spread of their
// bounds.
func canaryConfig() dpsgd.Config {
	return dpsgd.Config{SamplingProbability: 0.5, NoiseMultiplier: 5.5, ClipNorm: 1, Steps: 20, Workers: 1}
}

const (
	canaryCount  = 6000
	canaryWeight = 100  // of a canary's one feature: its gradient is large, and clipped
	canaryRate   = 1e-4 // how far one clipped gradient moves a weight: the model stays what it was
)

// canaries returns one run of DP-SGD on softmax regression with two classes. A canary is a record with one
// feature that no other record has, so that all its weights tell is whether it was there; a fair coin puts
// it into the data, which hold nothing else. The auditor sees every iterate, as the claim allows. cfg is
// what is claimed, noise the noise multiplier of the run; model wraps what is trained.
//
// A tenth of the canaries is guessed about, those with the highest and the lowest scores. The score of a
// canary is the log-likelihood ratio of what its weights showed: each step has seen noise, or with the
// sampling probability noise about one clipped gradient.
func canaries(name string, cfg dpsgd.Config, model func(dpsgd.Model) dpsgd.Model, noise float64) Target {
	return Target{Name: name, Method: ByCanaries, On: fmt.Sprintf("%d canaries, each in or out", canaryCount),
		audit: func(ctx context.Context, e effort) (audit.Finding, error) {
			claim, err := claimAt(cfg.Event(), accountant.AddRemove, e.delta)
			if err != nil {
				return audit.Finding{}, err
			}
			coins, in := e.key.Derive("coins").Stream(), make([]bool, canaryCount)
			var present []int
			for i := range in {
				if in[i] = coins.Uint64N(2) == 1; in[i] {
					present = append(present, i)
				}
			}
			data := dpsgd.Data{
				X: blas32.General{Rows: len(present), Cols: canaryCount, Stride: canaryCount, Data: make([]float32, len(present)*canaryCount)},
				Y: make([]int, len(present)),
			}
			for row, i := range present {
				data.X.Data[row*canaryCount+i] = canaryWeight
			}
			softmax, err := nn.NewSoftmax(canaryCount, 2)
			if err != nil {
				return audit.Finding{}, err
			}
			run := cfg
			run.NoiseMultiplier = noise
			run.LearningRate = canaryRate * run.SamplingProbability * float64(len(present))
			w := watch{cfg: run, weights: softmax.Parameters(), before: make([]float64, canaryCount), scores: make([]float64, canaryCount)}
			run.Observe = func(m dpsgd.Metrics) {
				w.look()
				e.progress(weightOfOthers * m.Step / m.Steps)
			}
			if err := trainInMemory(ctx, model(softmax), data, run, e.key.Derive("run")); err != nil {
				return audit.Finding{}, err
			}
			g, err := audit.Guess(w.scores, in, canaryCount/10)
			if err != nil {
				return audit.Finding{}, err
			}
			return audit.OneRun(g, claim, e.alpha)
		}}
}

// watch keeps score of the canaries while a model is trained.
type watch struct {
	cfg     dpsgd.Config
	weights []float32 // live; of the first class, then of the second
	before  []float64
	scores  []float64
}

func (w *watch) look() {
	q, sigma := w.cfg.SamplingProbability, w.cfg.NoiseMultiplier
	for i := range w.scores {
		now := (float64(w.weights[i]) - float64(w.weights[canaryCount+i])) / math.Sqrt2
		x := (now - w.before[i]) / (canaryRate * w.cfg.ClipNorm) // 1 if the canary was sampled, and noise
		w.before[i] = now
		w.scores[i] += math.Log1p(q * math.Expm1((2*x-1)/(2*sigma*sigma)))
	}
}
