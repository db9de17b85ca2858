package dpsgd

import "math"

// Model has parameters, and a loss for every record. Package nn builds models from layers.
type Model interface {
	// Parameters returns the parameters, not a copy. Train changes them while no Worker runs.
	Parameters() []float32
	// Check returns an error if the model cannot use data, for example for a label that is out of range.
	Check(data Data) error
	// Worker returns a new Worker, for one goroutine.
	Worker() Worker
	// Fingerprint identifies every setting that affects the loss. Models whose Workers may compute different
	// sums must have different fingerprints. Otherwise both models would get equal noise under one key, and
	// the difference of their releases would have no noise.
	Fingerprint() []byte
}

// Grouped is a [Model] with groups of parameters, usually layers. Gradients can be clipped by group.
type Grouped interface {
	Model
	// Groups returns the size of each group, in the order of Parameters.
	Groups() []int
}

// Worker computes clipped gradients in one goroutine. The guarantee of [Train] requires the three obligations
// in the comment of AddClipped.
type Worker interface {
	// Start is called once per step before AddClipped. The parameters may have changed.
	Start()
	// AddClipped adds the clipped gradients of at most [MaxRows] rows of data to sum, which is zero before.
	// In every group, the gradient of a row's loss is multiplied by clip.Scale(group, norm). AddClipped must
	// satisfy three obligations:
	//
	//   1. To the last bit, the sum depends only on the parameters, clip, and the contents and order of the
	//      rows. The sum does not depend on indices, addresses or earlier calls. The parameters, clip and a
	//      row alone decide whether this row counts as clipped or as not finite.
	//   2. In every group the norm of a row's contribution is at most the clip norm times 1 + 2^-20. A row
	//      with a gradient that is not finite contributes zero and is counted.
	//   3. The rounding error of the sum has norm at most gamma_64 times the sum of the contributions' norms.
	//      Here gamma_n = n u/(1 - n u) and u = 2^-24. A single-precision sum satisfies this bound if every
	//      term passes through at most 64 additions. See AddATB of internal/kernel.
	AddClipped(sum []float32, data Data, rows []int, clip Clip) Tally
}

// MaxRows is the largest number of rows in one call of AddClipped.
const MaxRows = 256

// Tally holds private counts and the loss of the rows of a batch.
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

// Clip holds the clip norm of a whole gradient, or of each group of a [Grouped] model.
type Clip struct {
	// Norms holds one clip norm for the whole gradient, or one for each group. A clip norm of +Inf has no
	// effect.
	Norms []float64
	// Stabilizer, if positive, selects automatic clipping (Bu et al. 2023). Every gradient g is then
	// multiplied by C/(|g| + Stabilizer), where C is the clip norm. If Stabilizer is zero, the factor is
	// min(1, C/|g|).
	Stabilizer float64
}

// FlatClip returns a Clip for whole gradients.
func FlatClip(norm float64) Clip { return Clip{Norms: []float64{norm}} }

const maxScale = 0x1p60

// Scale returns the factor that clips a gradient with the given norm in the given group. The factor is at
// most 2^60. The second result is true if norm > c.Norms[group].
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

// Norm returns an upper bound on the norm of a whole clipped gradient.
func (c Clip) Norm() float64 {
	square := 0.0
	for _, n := range c.Norms {
		square += n * n
	}
	return math.Sqrt(square)
}
