package charged

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/moments"
)

// Config selects features and the noise multipliers of their statistics. A statistic with multiplier 0 is not
// computed.
type Config struct {
	Scattering bool `json:"scattering,omitzero"` // scattering transform
	HOG        bool `json:"hog,omitzero"`        // oriented gradients, after the scattering features
	// Deskew straightens every image before the features are computed. It is meant for handwriting.
	Deskew bool `json:"deskew,omitzero"`
	// Gradients configures the oriented gradients. The default is [features.StandardHOG].
	Gradients features.HOG `json:"gradients,omitzero"`

	// SecondNoise is the noise multiplier of the second-moment matrix. This matrix whitens the channels of
	// the scattering transform.
	SecondNoise float64 `json:"second_noise,omitzero"`
	// SecondClip is the clip norm of one image's matrix of second moments, in Frobenius norm. The matrix has
	// a norm and a trace of at most 81.
	SecondClip float64 `json:"second_clip,omitzero"`
	// Ridge is the argument `ridge` of [moments.SecondMoment.Whitening].
	Ridge float64 `json:"ridge,omitzero"`
	// MeanNoise is the noise multiplier of the mean of the scattering features. HOGMeanNoise is the noise
	// multiplier of the mean of the oriented gradients. A mean of d features has clip norm sqrt(d).
	MeanNoise    float64 `json:"mean_noise,omitzero"`
	HOGMeanNoise float64 `json:"hog_mean_noise,omitzero"`

	Records int             `json:"-"` // public number of training records; divides sums
	Workers int             `json:"-"` // at least 1
	Cache   *features.Cache `json:"-"` // nil for no cache
	// Progress, if not nil, is called at the start of each stage.
	Progress func(stage string) `json:"-"`
}

// Default returns a Config with scattering, oriented gradients and all statistics, for MNIST and
// Fashion-MNIST. Tramer and Boneh (2021) also normalise the scattering channels by noisy statistics.
func Default(records int) Config {
	return Config{
		Scattering: true, HOG: true,
		SecondNoise: 20, SecondClip: 40.5, Ridge: 0.003, MeanNoise: 30, HOGMeanNoise: 30,
		Records: records, Workers: 1,
	}
}

const groups = features.Channels / 3

var errNeither = errors.New("charged: Config has neither Scattering nor HOG")

// Validate returns an error for a field that is missing or out of range.
func (c Config) Validate() error {
	if !c.Scattering && !c.HOG {
		return errNeither
	}
	if c.Records < 1 {
		return fmt.Errorf("charged: Config.Records is %d, want the public number of records", c.Records)
	}
	if c.Workers < 1 {
		return fmt.Errorf("charged: Config.Workers is %d, at least 1 needed", c.Workers)
	}
	for _, f := range []struct {
		name  string
		value float64
		used  bool
	}{
		{"SecondNoise", c.SecondNoise, c.Scattering}, {"MeanNoise", c.MeanNoise, c.Scattering},
		{"HOGMeanNoise", c.HOGMeanNoise, c.HOG},
	} {
		switch {
		case !(f.value >= 0) || math.IsInf(f.value, 0):
			return fmt.Errorf("charged: Config.%s is %g, want a noise multiplier, or 0 for none", f.name, f.value)
		case f.value > 0 && !f.used:
			return fmt.Errorf("charged: Config.%s is %g for features that are not made", f.name, f.value)
		}
	}
	if c.SecondNoise > 0 && (!(c.Ridge > 0) || math.IsInf(c.Ridge, 0)) {
		return fmt.Errorf("charged: Config.Ridge is %g, must be positive", c.Ridge)
	}
	for _, m := range c.releases() {
		if err := m.Validate(); err != nil {
			return fmt.Errorf("charged: %w", err)
		}
	}
	return nil
}

// Events returns the events of the statistics. [Prepare] expects a reservation for each event, in this
// order.
func (c Config) Events() []accountant.Event {
	var events []accountant.Event
	for _, m := range c.releases() {
		events = append(events, m.Event())
	}
	return events
}

func (c Config) releases() []moments.Config {
	var all []moments.Config
	for _, r := range []struct {
		used        bool
		noise, clip float64
	}{{c.Scattering, c.SecondNoise, c.SecondClip}, {c.Scattering, c.MeanNoise, 1}, {c.HOG, c.HOGMeanNoise, 1}} {
		if r.used && r.noise > 0 {
			all = append(all, c.release(r.noise, r.clip))
		}
	}
	return all
}

func (c Config) release(noise, clip float64) moments.Config {
	return moments.Config{ClipNorm: clip, NoiseMultiplier: noise, Records: c.Records, Workers: c.Workers}
}

// Name identifies the features and their settings in reports.
func (c Config) Name() string {
	name := ""
	if c.Scattering {
		name = fmt.Sprintf("scattering(whiten=%g,clip=%g,ridge=%g,mean=%g)", c.SecondNoise, c.SecondClip, c.Ridge, c.MeanNoise)
	}
	if c.HOG {
		if name != "" {
			name += "+"
		}
		name += fmt.Sprintf("%s(mean=%g)", c.gradients().Name(), c.HOGMeanNoise)
	}
	if c.Deskew {
		name = "deskew+" + name
	}
	return name
}

func (c Config) gradients() features.HOG {
	if c.Gradients == (features.HOG{}) {
		return features.StandardHOG()
	}
	return c.Gradients
}

const (
	maxSide    = 1 << 12
	maxHOG     = 1 << 10
	maxColumns = 1 << 24
)

func (c Config) extractors(shape dataset.Shape) (scattering, hog features.Extractor, err error) {
	g := c.gradients()
	switch {
	case !c.Scattering && !c.HOG:
		return nil, nil, errNeither
	case shape.Rows < 1 || shape.Cols < 1 || max(shape.Rows, shape.Cols) > maxSide:
		return nil, nil, fmt.Errorf("charged: images of %dx%d, sides must be from 1 to %d", shape.Rows, shape.Cols, maxSide)
	case max(g.Bins, g.Cell, g.Block) > maxHOG:
		return nil, nil, fmt.Errorf("charged: Config.Gradients is %s, no parameter may be above %d", g.Name(), maxHOG)
	}
	if c.Scattering {
		s, err := features.NewScattering(shape)
		if err != nil {
			return nil, nil, fmt.Errorf("charged: %w", err)
		}
		scattering = features.GroupNorm{Of: c.straight(s), Groups: groups}
	}
	if c.HOG {
		hog = features.Standardize{Of: c.straight(c.gradients())}
		if hog.Dim(shape) == 0 {
			return nil, nil, fmt.Errorf("charged: images of %dx%d are too small for oriented gradients", shape.Rows, shape.Cols)
		}
	}
	if dim := dimOf(shape, scattering, hog); dim > maxColumns {
		return nil, nil, fmt.Errorf("charged: %d features, more than %d", dim, maxColumns)
	}
	return scattering, hog, nil
}

func (c Config) straight(e features.Extractor) features.Extractor {
	if c.Deskew {
		return features.Deskew{Of: e}
	}
	return e
}

func (c Config) Dim(shape dataset.Shape) (int, error) {
	scattering, hog, err := c.extractors(shape)
	if err != nil {
		return 0, err
	}
	return dimOf(shape, scattering, hog), nil
}

func dimOf(shape dataset.Shape, parts ...features.Extractor) int {
	dim := 0
	for _, e := range parts {
		if e != nil {
			dim += e.Dim(shape)
		}
	}
	return dim
}
