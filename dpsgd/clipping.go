package dpsgd

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Clipping configures how gradients are clipped. With the zero value, the whole gradient g is multiplied by
// min(1, C/|g|), where C is Config.ClipNorm.
type Clipping struct {
	// PerGroup clips the gradient of each group of a [Grouped] model separately. The clip norm of each group
	// is ClipNorm divided by the square root of the number of groups. So ClipNorm bounds the norm of the
	// whole gradient.
	PerGroup bool `json:"per_group,omitzero"`
	// GroupNorms, if not empty, holds the clip norm of each group of a [Grouped] model. ClipNorm must then be
	// zero. The Euclidean norm of GroupNorms bounds the norm of the whole gradient.
	GroupNorms []float64 `json:"group_norms,omitempty"`
	// Stabilizer, if positive, multiplies every gradient g by C/(|g| + Stabilizer) with clip norm C
	// (automatic clipping, Bu et al. 2023). It must be in [2^-40, 2^40].
	Stabilizer float64 `json:"stabilizer,omitzero"`
	// Adaptive changes the clip norm after every step. With the zero value the clip norm is constant.
	Adaptive Adaptive `json:"adaptive,omitzero"`
}

// Adaptive moves the clip norm C towards a quantile of the gradient norms (Andrew et al. 2021). Every step
// releases the noisy fraction of unclipped records, and sets
//
//	C = C exp(-LearningRate (fraction - Quantile))
//
// The fraction is the noisy count of records with |g| <= C, divided by the expected batch size. Config.Event
// includes the cost of the count. C starts at Config.ClipNorm.
type Adaptive struct {
	// Quantile is the desired fraction of unclipped records, in (0, 1). If Quantile is 0, the clip norm is
	// constant.
	Quantile     float64 `json:"quantile,omitzero"`
	LearningRate float64 `json:"learning_rate,omitzero"` // speed of the change of C, in (0, 10]
	// CountNoise, in [2^-10, 2^20], is the standard deviation of the noise on the count. A step is
	// charged as one Gaussian release with noise multiplier (NoiseMultiplier^-2 + CountNoise^-2)^-1/2. If
	// CountNoise is much larger than NoiseMultiplier, the count costs almost nothing.
	CountNoise float64 `json:"count_noise,omitzero"`
}

func (a Adaptive) on() bool { return a.Quantile != 0 }

func (a Adaptive) next(clip, share float64) float64 {
	return min(max(clip*math.Exp(-a.LearningRate*(share-a.Quantile)), minClip), maxClip)
}

func (c Config) validateClipping() error {
	clipping, adaptive := c.Clipping, c.Clipping.Adaptive
	if len(clipping.GroupNorms) > 0 {
		if c.ClipNorm != 0 || clipping.PerGroup {
			return errors.New("dpsgd: Config.Clipping.GroupNorms stand in for ClipNorm and PerGroup, which must not be set")
		}
		for i, n := range clipping.GroupNorms {
			if err := within(fmt.Sprintf("Config.Clipping.GroupNorms[%d]", i), n, minClip, maxClip); err != nil {
				return err
			}
		}
		norm := (Clip{Norms: clipping.GroupNorms}).Norm()
		if err := within("Config.Clipping.GroupNorms together", norm, minClip, maxClip); err != nil {
			return err
		}
	} else if !c.NonPrivate || !math.IsInf(c.ClipNorm, 1) {
		if err := within("Config.ClipNorm", c.ClipNorm, minClip, maxClip); err != nil {
			return err
		}
	}
	if clipping.Stabilizer != 0 {
		if err := within("Config.Clipping.Stabilizer", clipping.Stabilizer, 0x1p-40, 0x1p40); err != nil {
			return err
		}
	}
	if adaptive == (Adaptive{}) {
		return nil
	}
	err := cmp.Or(
		within("Config.Clipping.Adaptive.Quantile", adaptive.Quantile, 0x1p-20, 1-0x1p-20),
		within("Config.Clipping.Adaptive.LearningRate", adaptive.LearningRate, 0x1p-20, 10),
		within("Config.Clipping.Adaptive.CountNoise", adaptive.CountNoise, minNoise, maxNoise),
	)
	switch {
	case err != nil:
		return err
	case clipping.PerGroup || len(clipping.GroupNorms) > 0 || clipping.Stabilizer > 0:
		return errors.New("dpsgd: Config.Clipping.Adaptive is for the norm as a whole: not with PerGroup, GroupNorms or Stabilizer")
	case c.Laplace || c.NonPrivate:
		return errors.New("dpsgd: Config.Clipping.Adaptive needs Gaussian noise: not with Laplace or NonPrivate")
	}
	return nil
}

func (c Config) clip(model Model) (Clip, error) {
	clipping := c.Clipping
	if !clipping.PerGroup && len(clipping.GroupNorms) == 0 {
		return Clip{Norms: []float64{c.ClipNorm}, Stabilizer: clipping.Stabilizer}, nil
	}
	grouped, ok := model.(Grouped)
	if !ok {
		return Clip{}, fmt.Errorf("dpsgd: Config.Clipping clips by group, but a %T has no groups", model)
	}
	sizes := grouped.Groups()
	parameters := 0
	for _, n := range sizes {
		parameters += n
	}
	if len(sizes) == 0 || parameters != len(model.Parameters()) {
		return Clip{}, fmt.Errorf("dpsgd: the groups of the model hold %d parameters, it has %d", parameters, len(model.Parameters()))
	}
	norms := clipping.GroupNorms
	if clipping.PerGroup {
		norms = slices.Repeat([]float64{c.ClipNorm / math.Sqrt(float64(len(sizes)))}, len(sizes))
	}
	if len(norms) != len(sizes) {
		return Clip{}, fmt.Errorf("dpsgd: Config.Clipping.GroupNorms has %d norms, the model %d groups", len(norms), len(sizes))
	}
	return Clip{Norms: norms, Stabilizer: clipping.Stabilizer}, nil
}
