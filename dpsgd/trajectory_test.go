package dpsgd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/testkit"
)

// network is a layer of tanh units under a softmax, with cross-entropy loss. Its gradients
// are written out, one record at a time.
type network struct {
	W1 [][]float64 `json:"W1"`
	B1 []float64   `json:"b1"`
	W2 [][]float64 `json:"W2"`
	B2 []float64   `json:"b2"`
}

func (n network) flat() (f []float64) {
	for _, r := range n.W1 {
		f = append(f, r...)
	}
	f = append(f, n.B1...)
	for _, r := range n.W2 {
		f = append(f, r...)
	}
	return append(f, n.B2...)
}

// gradient returns the gradient of one record's loss at parameters laid out as flat does.
func (n network) gradient(p, x []float64, label int) []float64 {
	in, hidden, out := len(n.W1[0]), len(n.W1), len(n.W2)
	w1, rest := p[:in*hidden], p[in*hidden:]
	b1, rest := rest[:hidden], rest[hidden:]
	w2, b2 := rest[:hidden*out], rest[hidden*out:]
	h := make([]float64, hidden)
	for i := range h {
		for j, v := range x {
			h[i] += w1[i*in+j] * v
		}
		h[i] = math.Tanh(h[i] + b1[i])
	}
	delta, total := make([]float64, out), 0.0
	for k := range delta {
		for i, v := range h {
			delta[k] += w2[k*hidden+i] * v
		}
		delta[k] = math.Exp(delta[k] + b2[k])
		total += delta[k]
	}
	for k := range delta {
		delta[k] /= total
	}
	delta[label]--
	back := make([]float64, hidden)
	for i := range back {
		for k, d := range delta {
			back[i] += d * w2[k*hidden+i]
		}
		back[i] *= 1 - h[i]*h[i]
	}
	var g []float64
	for _, d := range back {
		for _, v := range x {
			g = append(g, d*v)
		}
	}
	g = append(g, back...)
	for _, d := range delta {
		for _, v := range h {
			g = append(g, d*v)
		}
	}
	return append(g, delta...)
}

type trajectoryGolden struct {
	Inputs   [][]float64 `json:"inputs"`
	Labels   []int       `json:"labels"`
	Start    network     `json:"params0"`
	Batches  [][]int     `json:"batches"`
	Expected float64     `json:"expected_batch_size"`
	Sigma    float64     `json:"sigma"`
	Noise    []network   `json:"noise"`
	Clip     float64     `json:"C0"`
	Adaptive struct {
		Rate       float64   `json:"lr"`
		Quantile   float64   `json:"quantile"`
		CountNoise float64   `json:"sigma_b"`
		Noise      []float64 `json:"count_noise"`
	} `json:"adaptive_settings"`
	Runs map[string][]struct {
		Clip     float64   `json:"C"`
		Norms    []float64 `json:"norms"`
		Gradient network   `json:"noisy_mean_grad"`
		Share    float64   `json:"noisy_fraction_below"`
		Next     float64   `json:"C_next"`
		Params   network   `json:"params"`
		Average  network   `json:"ema"`
	} `json:"runs"`
}

// TestGoldenTrajectories follows all eight runs in double precision with the rules of the
// trainer (Clip.Scale, Adaptive.next, optim), under the given batches and noise.
func TestGoldenTrajectories(t *testing.T) {
	var g trajectoryGolden
	testkit.ReadJSON(t, "testdata/trajectory.json", &g)
	adaptive := Adaptive{Quantile: g.Adaptive.Quantile, LearningRate: g.Adaptive.Rate, CountNoise: g.Adaptive.CountNoise}
	runs := map[string]Config{
		"sgd":                           {LearningRate: 0.5},
		"sgd_momentum":                  {LearningRate: 0.3, Optimizer: optim.Config{Momentum: 0.9}},
		"sgd_nesterov":                  {LearningRate: 0.3, Optimizer: optim.Config{Momentum: 0.9, Nesterov: true}},
		"sgd_weight_decay":              {LearningRate: 0.5, Optimizer: optim.Config{WeightDecay: 0.01}},
		"adam":                          {LearningRate: 0.05, Optimizer: optim.Config{Method: optim.Adam}},
		"adamw":                         {LearningRate: 0.05, Optimizer: optim.Config{Method: optim.AdamW, WeightDecay: 0.1}},
		"sgd_adaptive_clip":             {LearningRate: 0.5, Clipping: Clipping{Adaptive: adaptive}},
		"sgd_automatic_clip_gamma_0.01": {LearningRate: 0.5, Clipping: Clipping{Stabilizer: 0.01}},
	}
	require.Len(t, g.Runs, len(runs))
	near := func(want, got []float64) { require.InDeltaSlice(t, want, got, 1e-9) }
	for name, cfg := range runs {
		p := g.Start.flat()
		average := append([]float64(nil), p...)
		o, err := optim.New(cfg.Optimizer, len(p))
		require.NoError(t, err)
		clip := Clip{Norms: []float64{g.Clip}, Stabilizer: cfg.Clipping.Stabilizer}
		for step, want := range g.Runs[name] {
			require.InDelta(t, want.Clip, clip.Norm(), 1e-9, name)
			sum, below := make([]float64, len(p)), 0.0
			for i, r := range g.Batches[step] {
				one := g.Start.gradient(p, g.Inputs[r], g.Labels[r])
				norm := normOf(one)
				require.InDelta(t, want.Norms[i], norm, 1e-9, name)
				scale, clipped := clip.Scale(0, norm)
				if !clipped {
					below++
				}
				for j, v := range one {
					sum[j] += scale * v
				}
			}
			for j, z := range g.Noise[step].flat() {
				sum[j] = (sum[j] + g.Sigma*clip.Norm()*z) / g.Expected
			}
			near(want.Gradient.flat(), sum)
			require.True(t, optim.Step(o, p, sum, cfg.LearningRate))
			optim.Average(average, p, 0.9)
			near(want.Params.flat(), p)
			near(want.Average.flat(), average)
			if adaptive := cfg.Clipping.Adaptive; adaptive.on() {
				share := (below + adaptive.CountNoise*g.Adaptive.Noise[step]) / g.Expected
				require.InDelta(t, want.Share, share, 1e-9)
				clip = FlatClip(adaptive.next(clip.Norm(), share))
				require.InDelta(t, want.Next, clip.Norm(), 1e-9)
			}
		}
	}
}
