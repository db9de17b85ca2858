package nn

import "math/rand/v2"

// Layer is a stage of a model: a function of its input and of parameters. It is a plain value with settings
// and no state. Its working memory is a [Pass].
//
// To write your own layer, implement this interface with one generic type that is a Pass. Float32 and Float64
// are then one line each. The tests of package nntest check all of these promises.
type Layer interface {
	// String names the layer and every setting that shapes its function. It distinguishes
	// models whose gradients may differ: see Fingerprint of [dpsgd.Model].
	String() string
	// Output returns the shape of the output for an input of the given shape, or an error that names the
	// setting that does not fit.
	Output(in Shape) (Shape, error)
	// Tensors returns the number of values of each tensor of parameters, in the order of their layout, or nil
	// if there are none. Here and below, in is a shape that Output accepts.
	Tensors(in Shape) []int
	// Init sets the parameters to where training starts.
	Init(parameters []float64, in Shape, rnd *rand.Rand)
	// Workspace returns roughly how many values for each row a Pass keeps in memory of its
	// own. It decides how many rows are computed together.
	Workspace(in Shape) int
	// Float32 and Float64 return working memory for up to the given number of rows at a time.
	Float32(in Shape, rows int) Pass[float32]
	Float64(in Shape, rows int) Pass[float64]
}

// Pass computes one layer, for one goroutine. The calls for some rows come in the order Forward, Backward,
// AddScaled. Later ones may be left out. Matrices are dense and row-major with one row for each example. The
// buffers x and dy of a layer with parameters stay as they are until AddScaled has returned. The buffer y
// stays only until the next layer's Forward. A Pass does not change its inputs.
//
// Row exactness: the results for one row depend on parameters and on this row's inputs alone, to the last
// bit: not on the number of rows, on the row's place among them, or on addresses. This holds for y and dx of
// the row, for its squares, and for the sum of AddScaled if it is the only row. See obligation 1 of
// [dpsgd.Worker].
type Pass[T Float] interface {
	// Start announces new parameters. They stay valid and fixed until the next Start.
	Start(parameters []T)
	// Forward sets y to the layer's values at x.
	Forward(y, x []T, rows int)
	// Backward computes dx, the gradient of each row's loss by x, from dy, the gradient by y. If dx is nil,
	// it is not needed.
	//
	// Let g be the gradient of row i's loss by tensor k, as AddScaled will add it for a scale of one.
	// Backward adds a number to squares[k][i]: not below the squared norm of g times 1 - 2^-22, and not above
	// the squared norm by more than the layer documents. The number is NaN or +Inf if g is not finite, or if
	// scaling could lose relative precision in g to underflow. If squares is nil, it is not needed.
	Backward(dx, dy []T, rows int, squares [][]float64)
	// AddScaled adds the gradients of all rows to sum, with tensor k of row i scaled by scales[k][i]. The
	// slice sum is laid out as the parameters. Tensors with the same scales share one slice. If Backward got
	// no squares, scales is nil and every scale is one.
	//
	// Scales are in [0, 2^60], above one where clipping lengthens short gradients. The scaled gradient of a
	// row whose squares are finite is finite, and so are all intermediate results: a scale applied to a
	// factor of the gradient must not overflow there, not even if the other factor is zero.
	//
	// The rounding error is at most gamma_n times the sum of the norms of the scaled gradients, where n is
	// rows + 2 up to 48 rows and rows/48 + 51 above, gamma_n = n u/(1 - n u), and u is the unit roundoff. To
	// achieve this, rows are summed in runs of at most 48, and then the runs are summed. A gradient that is
	// itself a sum over positions is therefore computed for its row first, alone.
	AddScaled(sum []T, rows int, scales [][]T)
}

// InPlace is implemented by a [Layer] whose passes can work in place, which saves memory traffic. Its input
// and output have one size. Forward may have y == x, and Backward dx == dy. Backward needs no x. It may read
// y of Forward, which nobody changes before: unlike other layers' buffers, the buffers of such a layer are
// its own.
type InPlace interface {
	Layer
	// InPlace does nothing. It marks a layer that meets these obligations.
	InPlace()
}
