package dpsgd

import "math"

// Clip is how a [Worker] bounds what a record contributes. The parameters are
// one group, or, for a model that is [Grouped], may be clipped group by group.
type Clip struct {
	// Norms holds the clip norm C of each group, positive; +Inf does not clip.
	// One norm stands for the gradient as a whole.
	Norms []float64
	// Stabilizer, if positive, makes every contribution of nearly the same norm:
	// g is scaled by C/(|g| + Stabilizer) whatever its norm (automatic clipping,
	// Bu et al. 2023). Zero is the usual rule, min(1, C/|g|).
	Stabilizer float64
}

// FlatClip clips the gradient as a whole to norm.
func FlatClip(norm float64) Clip { return Clip{Norms: []float64{norm}} }

// maxScale keeps what a Worker multiplies within the range of float32.
const maxScale = 0x1p60

// Scale is the factor for a group's gradient of the given norm, which must be
// finite: at most 2^60. clipped says whether that norm is above C.
func (c Clip) Scale(group int, norm float64) (scale float64, clipped bool) {
	bound := c.Norms[group]
	switch {
	case math.IsInf(bound, 1):
		return 1, false
	case c.Stabilizer > 0:
		return math.Min(bound/(norm+c.Stabilizer), maxScale), norm > bound
	case norm > bound:
		return bound / norm, true
	}
	return 1, false
}

// Norm bounds the Euclidean norm of a contribution over all groups.
func (c Clip) Norm() float64 {
	square := 0.0
	for _, n := range c.Norms {
		square += n * n
	}
	return math.Sqrt(square)
}

// Grouped is a [Model] whose parameters fall into groups, usually layers, that
// can be clipped one by one.
type Grouped interface {
	Model
	// Groups returns the number of parameters of each group, in the order of
	// Parameters.
	Groups() []int
}
