package recipe

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/charged"
	"github.com/pate-go/pate/rng"
)

type Recipe struct {
	Features string `json:"features"` // one of FeatureSets()
	// Statistics configures oriented gradients and statistics of the private rows. Features overrides the
	// fields Scattering, HOG and Deskew. Records and Workers are ignored. Cache and Progress must be nil.
	Statistics charged.Config `json:"statistics,omitzero"`
	Model      string         `json:"model"` // "linear", "cnn", "mlp:128", "mlp:128,64", ...
	// Views, if above 1, is the number of randomly shifted views of each image. Gradients are averaged over
	// the views, at no privacy cost. If Views is above 1, Features must be "pixels".
	Views int `json:"views,omitzero"`
	// Train configures the training. Noise, Workers, Checkpoint and callbacks are not part of a recipe.
	Train dpsgd.Config `json:"train"`
}

// Shape holds the public numbers of a task. A recipe depends on the data only through its Shape.
type Shape struct {
	Kind    dataset.Kind
	Records int // number of private units
	Columns int
	Norm    int // expected squared length of a table row; 0 stands for Columns
	Classes int
	Image   dataset.Shape // zero if rows are not images
	// Directions and Distance describe public rows of a table (see [Shape.Seen]). They are 0 if unknown.
	Directions, Distance float64
}

func ShapeOf(t dataset.Task) Shape {
	s := Shape{
		Kind: t.Kind, Records: t.Private.UnitCount(), Columns: t.Private.X.Cols, Classes: len(t.Classes), Image: t.Image,
	}
	if t.Encoder != nil {
		s.Norm = t.Encoder.SquaredNorm()
	}
	return s
}

// Validate returns an error if a setting of r does not suit a task of shape s.
func (r Recipe) Validate(s Shape) error {
	t, f := r.Train, r.Statistics
	if t.Observe != nil || t.Public.X.Rows > 0 || t.Checkpoint != "" || f.Progress != nil || f.Cache != nil {
		return errors.New("callbacks, checkpoint, public data and cache are not part of a recipe")
	}
	columns, err := r.Columns(s)
	if err != nil {
		return err
	}
	m, err := r.newModel(s, columns, rng.SeedKey(0))
	if err != nil {
		return err
	}
	if _, err := r.trained(m, s, rng.SeedKey(0)); err != nil {
		return err
	}
	train := r.Train
	train.NonPrivate = math.IsInf(train.ClipNorm, 1)
	train.NoiseMultiplier = 1
	if train.NonPrivate {
		train.NoiseMultiplier = 0
	}
	return train.Validate()
}

// Plan is a recipe with a target epsilon or with a noise multiplier.
type Plan struct {
	Recipe Recipe `json:"recipe"`
	// Epsilon is the target for which noise is chosen, or 0 if NoiseMultiplier is set. If Epsilon,
	// NoiseMultiplier and NonPrivate are unset, the target is the remaining budget of a shared ledger.
	Epsilon         float64 `json:"epsilon,omitzero"`
	NoiseMultiplier float64 `json:"noise_multiplier,omitzero"`
	// NonPrivate turns noise off. Gradients are still clipped unless Recipe.Train.ClipNorm is +Inf.
	NonPrivate bool `json:"non_private,omitzero"`
}

func (p Plan) validate(s Shape, shared bool) error {
	if err := p.Recipe.Validate(s); err != nil {
		return err
	}
	given := func(x float64) bool { return x != 0 }
	switch {
	case p.NonPrivate && (given(p.Epsilon) || given(p.NoiseMultiplier)):
		return errors.New("without privacy there is neither an epsilon nor noise")
	case p.NonPrivate && shared:
		return errors.New("a model without privacy cannot be charged to a ledger")
	case p.NonPrivate:
		return nil
	case math.IsInf(p.Recipe.Train.ClipNorm, 1):
		return errors.New("a private model needs a finite clip norm")
	case given(p.Epsilon) && given(p.NoiseMultiplier):
		return errors.New("epsilon and noise multiplier: one follows from the other")
	case given(p.Epsilon) && (!(p.Epsilon > 0) || math.IsInf(p.Epsilon, 1)):
		return fmt.Errorf("epsilon %v must be finite and above 0", p.Epsilon)
	case given(p.NoiseMultiplier):
		train := p.Recipe.Train
		train.NoiseMultiplier = p.NoiseMultiplier
		return train.Validate()
	case !given(p.Epsilon) && !shared:
		return errors.New("neither an epsilon nor a noise multiplier is given")
	}
	return nil
}

func (p Plan) train(noise float64) dpsgd.Config {
	c := p.Recipe.Train
	c.NoiseMultiplier, c.NonPrivate = noise, p.NonPrivate
	return c
}

func (p Plan) events(noise float64) []accountant.Event {
	var events []accountant.Event
	if learned, ok := p.Recipe.learned(Shape{Records: 1}); ok && !p.NonPrivate {
		events = learned.Events()
	}
	return append(events, p.train(noise).Event())
}

// Event returns the composition of all charges for one model, at the given noise multiplier.
func (p Plan) Event(noise float64) accountant.Event { return whole(p.events(noise)) }

func whole(events []accountant.Event) accountant.Event {
	if len(events) == 1 {
		return events[0]
	}
	return accountant.Composed{Events: events}
}

func (p Plan) name() string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	switch {
	case p.NonPrivate:
		return "non-private"
	case p.NoiseMultiplier != 0:
		return "noise-" + number(p.NoiseMultiplier)
	case p.Epsilon != 0:
		return "epsilon-" + number(p.Epsilon)
	}
	return "left"
}

// The numbers in this file are constants or functions of public numbers. They cost no privacy on data that
// did not influence them. They were chosen on the development splits of MNIST and Fashion-MNIST (`pate dpsgd
// --split development`), without test rows. docs/comparing.md lists the trials. Epsilon does not cover this
// choice for these public benchmarks, as everywhere in the literature.

// Default returns the recipe for a task of shape s at a target epsilon, or without privacy if epsilon is
// +Inf. If featureSet or model is empty, Default chooses it.
func Default(s Shape, featureSet, model string, epsilon float64) Recipe {
	model = cmp.Or(model, Linear)
	switch {
	case featureSet != "":
	case model == CNN:
		featureSet = features.NamePixels
	case s.Image.Rows == 0 && model == Linear:
		featureSet = s.cosines()
	default:
		featureSet = defaultFeatures(s)
	}
	r := Recipe{Features: featureSet, Statistics: statistics(s), Model: model}
	columns, err := r.Columns(s)
	if err != nil { // Validate rejects this recipe
		columns = s.Columns
	}
	if math.IsInf(epsilon, 1) {
		r.Train = r.unprotected(s, columns)
	} else {
		r.Train = r.protected(s, columns, epsilon)
	}
	return r
}

func defaultFeatures(s Shape) string {
	const least = 16 // smallest side of an image for which scattering and gradients are useful
	switch {
	case s.Image.Rows < least || s.Image.Cols < least:
		return features.NamePixels
	case s.Image.Planes() > 1:
		return features.NameHOG
	case s.Kind == dataset.Handwriting: // slant carries no meaning
		return deskewed + ScatteringHOG
	default:
		return ScatteringHOG
	}
}

func statistics(s Shape) charged.Config {
	c := charged.Default(s.Records)
	c.SecondNoise, c.MeanNoise, c.HOGMeanNoise = 30, 60, 60
	c.Gradients = features.StandardHOG()
	c.Gradients.Cell = 3
	if s.Kind == dataset.Handwriting {
		c.Gradients.Cell = 5
	}
	return c
}

// batch is the expected batch size if there are at least 8192 records (De et al. 2022).
const batch = 8192

func samplingProbability(batch float64, records int) float64 {
	return math.Min(1, batch/float64(records))
}

func (r Recipe) protected(s Shape, columns int, epsilon float64) dpsgd.Config {
	// A row of large norm has a gradient of large norm. At clip norm 0.1, almost every record contributes a
	// vector of the clip norm, even if the record is classified well. The weights then grow as in a
	// perceptron, and neither momentum nor a falling learning rate helps. The step length in logits
	// determines the accuracy: learning rate x clip norm x norm of a row. With more records or a larger
	// epsilon there is less noise, and steps may be longer. If classes overlap, steps must be shorter, and
	// more steps are needed.
	c := dpsgd.Config{
		SamplingProbability: samplingProbability(batch, s.Records),
		ClipNorm:            1,
		Steps:               int(math.Min(200, math.Max(50, 200*math.Sqrt(float64(s.Records)/60000)))),
		LearningRate:        0.5,
		Optimizer:           optim.Config{Momentum: 0.9},
	}
	if table := s.Image.Rows == 0; table || r.Features == features.NamePixels {
		if norm := cmp.Or(s.Norm, s.Columns); table && r.Model == Linear {
			if columns > s.Columns { // cosines add the squared norm of the columns
				norm *= 2
			}
			c.LearningRate = tableRate(c, s.Records, norm, epsilon)
		}
		return c
	}
	c.ClipNorm, c.LearningRate = 0.1, math.Min(10, 5*math.Pow(epsilon/2, 0.7))
	if r.Model == Linear {
		budget := math.Min(8, epsilon*float64(s.Records)/50000)
		step := 220 * math.Pow(budget, 0.75)
		c.Steps, c.Optimizer.Momentum = 200, 0
		if s.Kind == dataset.Handwriting { // classes hardly overlap
			step = 220 * budget
			c.Steps = 100
		}
		c.LearningRate = step / (c.ClipNorm * math.Sqrt(float64(columns))) // a row has norm sqrt(columns)
	}
	return c
}

func tableRate(c dpsgd.Config, records, norm int, epsilon float64) float64 {
	// The argument norm is the squared norm of a row. The noise of all steps together has a standard
	// deviation of about Steps/(0.27 epsilon^0.87 records), at a delta near 1e-5 and clip norm 1. The
	// constants were fitted on the tables FIT of experiments/peers/tables.py.

	const deviation, most = 2, 5 // standard deviation of the noise of a logit; largest learning rate
	signal := 0.27 * math.Pow(epsilon, 0.87) * float64(records)
	rate := deviation * signal * (1 - c.Optimizer.Momentum) / (float64(c.Steps) * math.Sqrt(float64(norm)))
	return math.Min(most, rate)
}

// unprotected returns the training settings without privacy, for columns of standard deviation 1.
func (r Recipe) unprotected(s Shape, columns int) dpsgd.Config {
	c := dpsgd.Config{
		SamplingProbability: samplingProbability(batch, s.Records),
		ClipNorm:            math.Inf(1),
		Steps:               200,
		LearningRate:        0.5 / math.Sqrt(float64(columns)),
		Optimizer:           optim.Config{Momentum: 0.9},
	}
	if r.Model == Linear && s.Image.Rows > 0 {
		c.SamplingProbability, c.Steps, c.LearningRate = samplingProbability(batch/8, s.Records), 2*c.Steps, c.LearningRate/2
	}
	return c
}
