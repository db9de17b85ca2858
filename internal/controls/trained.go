package controls

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/floats"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/namedsets"
)

// Trained returns audits of the recipe of `pate dpsgd`, with canaries among the training records. Each audit
// takes about a minute. [Default] omits these audits.
func Trained() []Target { return []Target{mnist().target()} }

// BrokenTrained returns audits of a training with too little noise. Each audit must refute the claim.
func BrokenTrained() []Target {
	t := mnist()
	t.name, t.noise = "dpsgd-mnist-quarter-noise", 0.25
	return []Target{t.target().mistaken("noise a quarter of what is accounted")}
}

type trained struct {
	name     string
	share    float64 // fraction of MNIST
	canaries int
	guesses  int
	epsilon  float64 // epsilon of the recipe at delta
	delta    float64
	noise    float64 // actual noise divided by accounted noise
	train    func(recipe.Shape) dpsgd.Config
}

func mnist() trained {
	return trained{
		name: "dpsgd-mnist", share: 1, canaries: 3000, guesses: 300, epsilon: 2, delta: 1e-5, noise: 1,
		train: func(s recipe.Shape) dpsgd.Config {
			return recipe.Default(s, features.NameDeskewedHOG, recipe.Linear, 2).Train
		},
	}
}

func (t trained) target() Target {
	return Target{Name: t.name, Method: ByCanaries, On: fmt.Sprintf("MNIST and %d canaries, each in or out", t.canaries), audit: t.audit}
}

func (t trained) audit(ctx context.Context, e effort) (audit.Finding, error) {
	// A fair coin decides for each canary whether it is among the images. The only feature of a canary is in
	// no other record, and its value is the norm of a whole image. The weights of this feature depend on
	// other records only through the predictions, which the auditor sees.
	images, err := t.images(ctx)
	if err != nil {
		return audit.Finding{}, err
	}
	present, in := e.coins(t.canaries)
	size := math.Sqrt(float64(images.x.Cols)) // the norm of a whole image
	data := withCanaries(images, size, present, in)
	cfg, err := t.config(ctx, images)
	if err != nil {
		return audit.Finding{}, err
	}
	claim := profile(cfg.Event(), accountant.AddRemove)
	m := cfg.Optimizer
	if (m.Method != "" && m.Method != optim.SGD) || m.Nesterov || m.WeightDecay != 0 || cfg.Clipping.PerGroup ||
		cfg.Clipping.Adaptive.Quantile != 0 {
		return audit.Finding{}, errors.New("the auditor cannot take the steps of this recipe back")
	}
	cfg.NoiseMultiplier *= t.noise
	cfg.Workers = runtime.GOMAXPROCS(0)
	model, err := nn.NewSoftmax(data.X.Cols, images.classes)
	if err != nil {
		return audit.Finding{}, err
	}
	w := newWeightWatch(cfg, model.Parameters(), images, data.X, size)
	return e.guess(ctx, claim, model, data, cfg, w.look, in, t.guesses)
}

func (t trained) config(ctx context.Context, images labelled) (dpsgd.Config, error) {
	cfg := t.train(recipe.Shape{Kind: dataset.Handwriting, Records: images.x.Rows, Columns: images.x.Cols,
		Classes: images.classes, Image: images.shape})
	target := accountant.Target{Epsilon: t.epsilon, Delta: t.delta}
	var err error
	cfg.NoiseMultiplier, _, err = accountant.CalibrateNoise(ctx, accountant.PLDConfig{Relation: accountant.AddRemove}.NewAccount, target,
		func(noise float64) (accountant.Event, error) {
			try := cfg
			try.NoiseMultiplier = noise
			return try.Event(), nil
		})
	return cfg, err
}

type labelled struct {
	x       blas32.General
	y       []int
	classes int
	shape   dataset.Shape
}

func (t trained) images(ctx context.Context) (labelled, error) {
	found, err := namedsets.Open("mnist", dataset.Options{}, false)
	if err != nil {
		return labelled{}, err
	}
	task, err := found.Task(dataset.Literature)
	if err != nil {
		return labelled{}, err
	}
	set := task.Private
	if t.share < 1 {
		if set, err = set.Sample(t.share); err != nil {
			return labelled{}, err
		}
	}
	extractor, err := features.Named(features.NameDeskewedHOG, task.Image)
	if err != nil {
		return labelled{}, err
	}
	images := labelled{y: set.Y, classes: len(set.Classes), shape: task.Image}
	images.x, err = features.Apply(ctx, set, extractor, runtime.GOMAXPROCS(0))
	return images, err
}

// withCanaries adds one column per canary, and one row of class 0 per canary i with in[i] set. The number of
// these canaries is `present`.
func withCanaries(images labelled, size float64, present int, in []bool) dpsgd.Data {
	n, d := images.x.Rows, images.x.Cols
	cols := d + len(in)
	data := dpsgd.Data{
		X: blas32.General{Rows: n + present, Cols: cols, Stride: cols, Data: make([]float32, (n+present)*cols)},
		Y: append(make([]int, 0, n+present), images.y...),
	}
	for i := range n {
		copy(data.X.Data[i*cols:], images.x.Data[i*images.x.Stride:][:d])
	}
	row := n
	for i, v := range in {
		if v {
			data.X.Data[row*cols+d+i] = float32(size)
			row++
		}
	}
	data.Y = data.Y[:n+present] // canaries have class 0
	return data
}

// weightWatch computes the gradient of a step from the iterates and the momentum. In the direction of a
// canary the gradient is noise around 0, or around the clipped gradient if the canary was sampled.

// weightWatch scores the canaries of a linear model by the log-likelihood ratio of the weights during
// training.
type weightWatch struct {
	cfg      dpsgd.Config
	clip     dpsgd.Clip
	expected float64 // expected number of records in a batch
	live     []float32
	before   []float64 // last iterate
	velocity []float64
	scores   []float64

	cols, first, classes int // number of columns, index of the first canary's column, number of classes
	size                 float64
}

func newWeightWatch(cfg dpsgd.Config, live []float32, images labelled, x blas32.General, size float64) *weightWatch {
	return &weightWatch{
		cfg:      cfg,
		clip:     dpsgd.Clip{Norms: []float64{cfg.ClipNorm}, Stabilizer: cfg.Clipping.Stabilizer},
		expected: cfg.SamplingProbability * float64(x.Rows),
		live:     live, before: make([]float64, len(live)), velocity: make([]float64, len(live)),
		scores: make([]float64, x.Cols-images.x.Cols),
		cols:   x.Cols, first: images.x.Cols, classes: images.classes, size: float64(float32(size)),
	}
}

func (w *weightWatch) look(rate float64) []float64 {
	if rate == 0 {
		return w.scores // the weights show nothing
	}
	probability, sigma := make([]float64, w.classes), w.cfg.NoiseMultiplier*w.clip.Norm()
	for i := range w.scores {
		delta := w.gradient(probability, i)
		norm := floats.Norm(delta, 2)
		scale, _ := w.clip.Scale(0, norm*math.Hypot(w.size, 1))
		shift := scale * norm * w.size // shift by the canary in its direction
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
