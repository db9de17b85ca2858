package dpsgd

import "math"

// Model is a vector of parameters and a loss for every record. Package nn builds models out of layers.
type Model interface {
	// Parameters returns the live parameters in a fixed order. Train writes them between steps, never while
	// a Worker runs.
	Parameters() []float32
	// Check returns an error for data that the model cannot use: a wrong number of columns, or a label out of
	// range.
	Check(data Data) error
	// Worker returns the working memory of one goroutine.
	Worker() Worker
	// Fingerprint returns bytes that identify every setting that shapes the loss. They must distinguish the
	// model from all others whose Workers may add something else for the same parameters: two models with
	// equal fingerprints under one key get the same noise, and if the models differ, the difference of their
	// releases has no noise.
	Fingerprint() []byte
}

// Grouped is a [Model] whose parameters form groups, usually layers, that can be clipped one by one.
type Grouped interface {
	Model
	// Groups returns the number of parameters of each group, in the order of Parameters.
	Groups() []int
}

// Worker computes clipped gradients for one goroutine. The guarantee of [Train] rests on the three
// obligations of AddClipped.
type Worker interface {
	// Start is called once in a step, before the first AddClipped. The parameters have changed since the
	// last step.
	Start()
	// AddClipped adds to sum, which is zero, the contributions of at most [MaxRows] rows of data. A row
	// contributes the gradient of its loss with respect to the parameters, where every group is multiplied by
	// clip.Scale of the group's Euclidean norm. One backward pass suffices: compute norms from the deltas and
	// activations, scale the rows of deltas, and take one product.
	//
	//  1. What a call adds depends on parameters, clip and the contents of its rows, in their order, and on
	//     nothing else, to the last bit: not on a row's index or address, nor on earlier calls. Whether a row
	//     counts as clipped or as not finite depends on parameters, clip and that row alone.
	//  2. In no group does a row's contribution have a norm above the clip norm times 1 + 2^-20. If the
	//     gradient is not finite, the contribution is zero, and counted.
	//  3. The sum of all rows' contributions has an error of norm at most gamma_64 times the sum of their
	//     norms, where gamma_n = n u/(1 - n u) and u = 2^-24. Single-precision sums satisfy this if no term
	//     passes through more than 64 additions. See AddATB of internal/kernel.
	AddClipped(sum []float32, data Data, rows []int, clip Clip) Tally
}

// MaxRows bounds the number of rows in one call of AddClipped.
const MaxRows = 256

// Tally counts what happened to rows. It is private.
type Tally struct {
	Clipped   int64   // scaled down
	NonFinite int64   // gradient not finite: counted as zero
	Loss      float64 // sum of the finite losses
}

func (t *Tally) add(u Tally) {
	t.Clipped += u.Clipped
	t.NonFinite += u.NonFinite
	t.Loss += u.Loss
}

// Clip sets how a [Worker] bounds the contribution of a record. The parameters form one group, or the groups
// of a [Grouped] model.
type Clip struct {
	// Norms holds the positive clip norm C of each group; +Inf does not clip. A single norm applies to the
	// gradient as a whole.
	Norms []float64
	// Stabilizer, if positive, gives every contribution nearly the same norm: the gradient g is scaled by
	// C/(|g| + Stabilizer) whatever its norm (automatic clipping, Bu et al. 2023). Zero means the usual
	// rule, min(1, C/|g|).
	Stabilizer float64
}

// FlatClip returns the rule that clips the gradient as a whole to norm.
func FlatClip(norm float64) Clip { return Clip{Norms: []float64{norm}} }

// maxScale bounds the factors of a Worker, so that they stay within the range of float32.
const maxScale = 0x1p60

// Scale returns the factor, at most 2^60, for a group's gradient of the given finite norm, and whether the
// norm is above C.
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
