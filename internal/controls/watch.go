package controls

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/floats"

	"github.com/pate-go/pate/dpsgd"
)

// weightWatch scores the canaries of a linear model while it is trained, by the log-likelihood ratio of the
// weights: a step's gradient, taken back from the iterates and the momentum, has in a canary's direction
// noise, or with the sampling probability noise about its clipped gradient.
type weightWatch struct {
	cfg      dpsgd.Config
	clip     dpsgd.Clip
	expected float64 // records in a batch
	live     []float32
	before   []float64 // the last iterate
	velocity []float64
	scores   []float64

	cols, first, classes int // columns, of them the first canary's
	size                 float64
}

func newWeightWatch(cfg dpsgd.Config, live []float32, images labelled, x blas32.General) *weightWatch {
	return &weightWatch{
		cfg:      cfg,
		clip:     dpsgd.Clip{Norms: []float64{cfg.ClipNorm}, Stabilizer: cfg.Clipping.Stabilizer},
		expected: cfg.SamplingProbability * float64(x.Rows),
		live:     live, before: make([]float64, len(live)), velocity: make([]float64, len(live)),
		scores: make([]float64, x.Cols-images.x.Cols),
		cols:   x.Cols, first: images.x.Cols, classes: images.classes, size: float64(canarySize(images)),
	}
}

// look takes a step of the given learning rate into account.
func (w *weightWatch) look(rate float64) []float64 {
	if rate == 0 {
		return w.scores // the weights show nothing
	}
	probability, sigma := make([]float64, w.classes), w.cfg.NoiseMultiplier*w.clip.Norm()
	for i := range w.scores {
		delta := w.gradient(probability, i)
		norm := floats.Norm(delta, 2)
		scale, _ := w.clip.Scale(0, norm*math.Hypot(w.size, 1))
		shift := scale * norm * w.size // of the canary, along its direction
		seen := 0.0
		for k, d := range delta {
			at := k*w.cols + w.first + i
			velocity := (w.before[at] - float64(w.live[at])) / rate
			seen += (velocity - w.cfg.Optimizer.Momentum*w.velocity[at]) * w.expected * d / norm
			w.velocity[at] = velocity
		}
		ratio := shift * (2*seen - shift) / (2 * sigma * sigma)
		q := w.cfg.SamplingProbability
		w.scores[i] += math.Log1p(q * math.Expm1(ratio))
	}
	for i, v := range w.live {
		w.before[i] = float64(v)
	}
	return w.scores
}

// gradient returns the gradient of canary i's loss by the logits, of class 0, before the step.
func (w *weightWatch) gradient(p []float64, i int) []float64 {
	total := 0.0
	for k := range p {
		logit := w.before[k*w.cols+w.first+i]*w.size + w.before[w.classes*w.cols+k]
		p[k] = math.Exp(logit)
		total += p[k]
	}
	for k := range p {
		p[k] /= total
	}
	p[0]--
	return p
}
