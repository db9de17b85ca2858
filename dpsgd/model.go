package dpsgd

// Model is what Train trains: a vector of parameters and a loss for every record. Package
// nn builds models out of layers.
type Model interface {
	// Parameters returns the live parameters in a fixed order. Train writes them between
	// steps, never while a Worker runs.
	Parameters() []float32
	// Check returns an error that says what makes data unusable for the model: the number
	// of columns, or a label out of range.
	Check(data Data) error
	// Worker returns the working memory of one goroutine.
	Worker() Worker
	// Fingerprint returns bytes that name every setting that shapes the loss. They must
	// tell the model from all others whose Workers may add something else for the same
	// parameters. Two models with equal fingerprints under one key meet the same noise. If
	// the two models differ, the difference of what they release is bare.
	Fingerprint() []byte
}

// Worker computes clipped gradients for one goroutine. The guarantee of [Train] rests on
// the three obligations of AddClipped.
type Worker interface {
	// Start is called once in a step, before the first AddClipped. The parameters have
	// changed since the last step.
	Start()
	// AddClipped adds to sum, which is zero, the contributions of the given rows of data. A
	// row contributes the gradient of its loss by the parameters, every group of it times
	// clip.Scale of the group's Euclidean norm. There are at most [MaxRows] rows. It takes
	// one backward pass: norms from the deltas and activations, rows of deltas scaled, one
	// product.
	//
	//  1. What a call adds depends on parameters, clip and the contents of its rows, in
	//     their order, and on nothing else, to the last bit. It does not depend on a row's
	//     index or address, nor on earlier calls. Whether a row counts as clipped or as not
	//     finite depends on parameters, clip and that row alone.
	//  2. In no group does a row's contribution have a norm above the clip norm times
	//     1 + 2^-20. If the gradient is not finite, the contribution is zero, and counted.
	//  3. The rows together give the sum of their single contributions up to an error of
	//     norm at most gamma_64 times the sum of their norms, where gamma_n = n u/(1 - n u)
	//     and u = 2^-24. Single-precision sums do this if no term passes through more than
	//     64 additions. See AddATB of internal/kernel.
	AddClipped(sum []float32, data Data, rows []int, clip Clip) Tally
}

// MaxRows bounds the number of rows in one call of AddClipped.
const MaxRows = 256

// Tally counts what happened to rows. It is private.
type Tally struct {
	Clipped   int64 // scaled down
	NonFinite int64 // gradient not finite: counted as zero
	// Loss is the sum of the losses that are finite.
	Loss float64
}

func (t *Tally) add(u Tally) {
	t.Clipped += u.Clipped
	t.NonFinite += u.NonFinite
	t.Loss += u.Loss
}
