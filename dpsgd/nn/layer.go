package nn

import "math/rand/v2"

// Layer is a stage of a model: a function of its input and of parameters,
// described by a plain value with settings and no state. Its working memory is
// a [Pass].
//
// A layer of one's own implements this interface with one generic type that is
// a Pass; Float32 and Float64 are then one line each. The tests of package
// nntest check all that is promised here.
type Layer interface {
	// String names the layer and every setting that shapes its function. It
	// distinguishes models whose gradients may differ: see Fingerprint of
	// [dpsgd.Model].
	String() string
	// Output is the shape for an input of the given shape, or an error that
	// says which setting does not fit.
	Output(in Shape) (Shape, error)
	// Tensors returns the number of values of each tensor of parameters, in the
	// order in which they are laid out; nil if there are none. in is a shape that
	// Output accepts, here and below.
	Tensors(in Shape) []int
	// Init sets the parameters to where training starts from.
	Init(parameters []float64, in Shape, rnd *rand.Rand)
	// Workspace is roughly how many values for each row a Pass keeps in memory
	// of its own. It decides how many rows are computed together.
	Workspace(in Shape) int
	// Float32 and Float64 return working memory for up to the given number of
	// rows at a time.
	Float32(in Shape, rows int) Pass[float32]
	Float64(in Shape, rows int) Pass[float64]
}

// Pass computes one layer, for one goroutine. The calls for some rows come in
// the order Forward, Backward, AddScaled; any of the later ones may be left
// out. Matrices are dense and row-major with one row for each example. The
// buffers x and dy of a layer with parameters stay as they are until AddScaled
// has returned, y only until the next layer's Forward. Inputs are not changed.
//
// Row exactness: what is computed for one row (its y and dx, its squares, and
// what AddScaled adds for it if it is the only row) depends on parameters and on
// this row's inputs alone, to the last bit. Not on the number of rows or the
// row's place among them, and not on addresses. See obligation 1 of
// [dpsgd.Worker].
type Pass[T Float] interface {
	// Start says that the parameters have changed. They stay valid and fixed
	// until the next Start.
	Start(parameters []T)
	// Forward sets y to the layer's values at x.
	Forward(y, x []T, rows int)
	// Backward takes dy, the gradient of each row's loss by y, to dx, that by x.
	// dx is nil if nobody needs it.
	//
	// Let g be the gradient of row i's loss by tensor k, as AddScaled will add
	// it for a scale of one. Backward adds to squares[k][i] a number not below
	// the squared norm of g times 1 - 2^-22, and not above it by more than the
	// layer documents; NaN or +Inf if g is not finite, or if scaling could lose
	// relative precision in it to underflow. squares is nil if nobody needs it.
	Backward(dx, dy []T, rows int, squares [][]float64)
	// AddScaled adds to sum, laid out as the parameters, the gradient of every
	// row with tensor k scaled by scales[k][i]; tensors scaled alike share one
	// slice. scales is nil, meaning one throughout, if Backward got no squares.
	// Scales are in [0, 2^60], and above one where clipping lengthens short
	// gradients. The scaled gradient of a row whose squares are finite is finite,
	// and so is whatever it is computed from: a scale applied to a factor of the
	// gradient must not overflow there, not even if the other factor is zero.
	//
	// The rounding error is at most gamma_n times the sum of the norms of the
	// scaled gradients, with n = rows + 2 up to 32 rows and rows/32 + 35 above,
	// gamma_n = n u/(1 - n u), u the unit roundoff: rows are summed in runs of at
	// most 32, and the runs then. A gradient that is itself a sum over positions
	// is therefore computed for its row first, alone.
	AddScaled(sum []T, rows int, scales [][]T)
}

// overwriting marks layers whose Forward may have y == x and whose Backward dx
// == dy, and which need nothing but y of the one call in the other. Sharing
// saves memory traffic.
type overwriting interface{ overwrites() }
