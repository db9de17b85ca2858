package dpsgd

import "math"

// Clip says how a [Worker] bounds what a record contributes. The parameters form one group.
// The groups of a [Grouped] model may be clipped one by one.
type Clip struct {
	// Norms holds the clip norm C of each group. Each is positive, and +Inf does not clip.
	// A single norm applies to the gradient as a whole.
	Norms []float64
	// Stabilizer, if positive, gives every contribution nearly the same norm: the gradient
	// g is scaled by C/(|g| + Stabilizer) whatever its norm (automatic clipping, Bu et al.
	// 2023). Zero means the usual rule, min(1, C/|g|).
	Stabilizer float64
}

// FlatClip returns the rule that clips the gradient as a whole to norm.
func FlatClip(norm float64) Clip { return Clip{Norms: []float64{norm}} }

// maxScale keeps the factors of a Worker within the range of float32.
const maxScale = 0x1p60

// Scale returns the factor, at most 2^60, for a group's gradient of the given norm. It also
// reports whether that norm is above C. The norm must be finite.
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

// Norm returns a bound on the Euclidean norm of a contribution over all groups.
func (c Clip) Norm() float64 {
	square := 0.0
	for _, n := range c.Norms {
		square += n * n
	}
	return math.Sqrt(square)
}

// Grouped is a [Model] whose parameters fall into groups, usually layers. The groups can be
// clipped one by one.
type Grouped interface {
	Model
	// Groups returns the number of parameters of each group, in the order of
	// Parameters.
	Groups() []int
}
