package dpsgd

import "math"

// Model has a vector of parameters and a loss for every record. Package nn builds models from layers.
type Model interface {
	// Parameters returns the parameters themselves, not a copy. Train changes them while no Worker runs.
	Parameters() []float32
	// Check returns an error if the model cannot use data, for example if a label is out of range.
	Check(data Data) error
	// Worker returns a new Worker for one goroutine.
	Worker() Worker
	// Fingerprint returns bytes that identify every setting that affects the loss. Two models whose Workers
	// may return different sums must have different fingerprints. Otherwise both models get the same noise
	// under one key, and the difference of their releases has no noise.
	Fingerprint() []byte
}

// Grouped is a [Model] whose parameters form groups, usually layers. Each group can be clipped separately.
type Grouped interface {
	Model
	// Groups returns the size of each group, in the order of Parameters.
	Groups() []int
}

// Worker computes clipped gradients in one goroutine. The guarantee of [Train] depends on the three
// obligations of AddClipped.
type Worker interface {
	// Start is called once per step, before AddClipped. The parameters may have changed since the last step.
	Start()
	// AddClipped adds the contributions of at most [MaxRows] rows of data to sum. The caller passes a sum of
	// zeros. A row contributes the gradient of the row's loss. In every group the gradient is multiplied by
	// clip.Scale of the gradient's Euclidean norm in this group. AddClipped must satisfy three obligations:
	//
	//  1. To the last bit, the sum depends only on the parameters, clip, and the contents and order of the
	//     rows. The sum does not depend on indices, addresses or earlier calls. Whether a row counts as
	//     clipped or as not finite depends only on parameters, clip and this row.
	//  2. In every group the norm of a row's contribution is at most the clip norm times 1 + 2^-20. A row
	//     whose gradient is not finite contributes zero and is counted.
	//  3. The rounding error of the sum has norm at most gamma_64 times the sum of the contributions' norms.
	//     Here gamma_n = n u/(1 - n u) and u = 2^-24. A single-precision sum satisfies this bound if every
	//     term passes through at most 64 additions. See AddATB of internal/kernel.
	AddClipped(sum []float32, data Data, rows []int, clip Clip) Tally
}

// MaxRows is the largest number of rows in one call of AddClipped.
const MaxRows = 256

// Tally holds counts and the loss of the rows in a batch. It is private.
type Tally struct {
	Clipped   int64   // rows whose gradient was scaled down
	NonFinite int64   // rows whose gradient is not finite and counts as zero
	Loss      float64 // sum of the finite losses
}

func (t *Tally) add(u Tally) {
	t.Clipped += u.Clipped
	t.NonFinite += u.NonFinite
	t.Loss += u.Loss
}

// Clip bounds the norm of a record's gradient, or its norm in each group of a [Grouped] model.
type Clip struct {
	// Norms holds one clip norm for the whole gradient, or one for each group. +Inf disables clipping.
	Norms []float64
	// Stabilizer, if positive, scales every gradient g by C/(|g| + Stabilizer), where C is the clip norm
	// (automatic clipping, Bu et al. 2023). If Stabilizer is zero, the factor is min(1, C/|g|).
	Stabilizer float64
}

// FlatClip returns a Clip with a single clip norm, for the whole gradient.
func FlatClip(norm float64) Clip { return Clip{Norms: []float64{norm}} }

const maxScale = 0x1p60

// Scale returns the factor for a gradient that has the given finite norm in a group. The factor is at most
// 2^60. The result clipped is true if norm exceeds the group's clip norm.
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

// Norm returns an upper bound on the Euclidean norm of a whole contribution.
func (c Clip) Norm() float64 {
	square := 0.0
	for _, n := range c.Norms {
		square += n * n
	}
	return math.Sqrt(square)
}
