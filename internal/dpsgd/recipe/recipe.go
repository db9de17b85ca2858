package recipe

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dpsgd/charged"
	"github.com/pate-go/pate/rng"
)

// Recipe is everything about a model that is fixed before the data are seen, apart from the noise.
type Recipe struct {
	Features string `json:"features"` // one of FeatureSets()
	// Statistics are learned from private rows, by the features that do, and how gradients are made. Their
	// parts follow from Features; Records, Workers, Cache and Progress are not taken.
	Statistics charged.Config `json:"statistics,omitzero"`
	Model      string         `json:"model"` // "linear", "cnn", "mlp:128", "mlp:128,64", ...
	// Views, if above 1, is the number of randomly shifted views of an image, whose gradients are averaged;
	// for raw features. It costs time and no privacy.
	Views int `json:"views,omitzero"`
	// Train is how it is trained. NoiseMultiplier, NonPrivate, Workers, Checkpoint and callbacks are not
	// taken.
	Train dpsgd.Config `json:"train"`
}

// Shape holds the public numbers of a task, the only ones that a recipe may depend on.
type Shape struct {
	Kind    dataset.Kind
	Records int // private ones, one a unit
	Columns int
	Classes int
	Image   dataset.Shape // zero if the rows are not images
}

// ShapeOf returns the shape of a task.
func ShapeOf(t dataset.Task) Shape {
	return Shape{
		Kind: t.Kind, Records: t.Private.UnitCount(), Columns: t.Private.X.Cols, Classes: len(t.Classes), Image: t.Image,
	}
}

// Validate reports the first thing that does not fit a task of this shape.
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

// Plan is a recipe with a budget or noise.
type Plan struct {
	Recipe Recipe `json:"recipe"`
	// Epsilon is the target, for which noise is chosen; 0 if NoiseMultiplier is given, or on a shared ledger,
	// where noise is chosen to fit the rest.
	Epsilon         float64 `json:"epsilon,omitzero"`
	NoiseMultiplier float64 `json:"noise_multiplier,omitzero"`
	// NonPrivate trains without noise, and without clipping where the recipe's ClipNorm is +Inf.
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

// events returns all charges of the plan: statistics, then the training.
func (p Plan) events(noise float64) []accountant.Event {
	var events []accountant.Event
	if learned, ok := p.Recipe.learned(Shape{Records: 1}); ok && !p.NonPrivate {
		events = learned.Events()
	}
	return append(events, p.train(noise).Event())
}

// Event returns all charges of one model of the plan with this noise, in one composition.
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
