// Package kernel holds the dense products of training: everything a model
// spends its time on goes through the handful of functions here.
//
// Matrices are row-major slices with a stride, the distance between rows in
// elements, which is at least the number of columns: element (i, j) of a is
// a[i*lda+j]. Slices may end with the last element. Functions panic when a slice
// is too short for its dimensions, and write nothing outside the elements of
// dst, which must not overlap the factors. NaN and infinities go through as
// IEEE 754 has them. Nothing here allocates (a [Packed] does, when it grows),
// starts goroutines or keeps state: callers share a product among goroutines by
// taking rows, or columns, of dst each.
//
// # Row exactness
//
// A private mechanism adds up contributions of records, and its proof needs a
// record's contribution to be a function of that record and of public state
// alone - to the last bit, because rounding that moves with the company a row
// keeps would move the contributions of all records when one is removed. So
// [MulBT], [MulAB], [Packed.Mul] and [SquaredNorms] promise: a row of the
// result depends on that row of a and on the other factor only, not on how many
// rows are computed together, on their order or place, on addresses, or on the
// number of goroutines; on machines of one kind.
//
// It holds because the order of operations on an element is fixed by n and k,
// the dimensions of the other factor; tiles of all shapes and places keep it. A
// general matrix product that picks its blocking by the size of the whole batch
// has no such order, and neither has a dot product that starts with a scalar
// prologue up to an aligned address.
//
// # Depth
//
// [MulBT], [MulAB] and [Packed.Mul] sum products in chains of 256 and then the
// chains (where columns are few, in the lanes of a vector, with chains no
// longer).
// [AddATB] and [AddRows] sum over rows, in runs of 32 and then over the runs, so
// no term passes through more than 32 + k/32 roundings: at most 64 for k of at
// most 1024.
//
// # Which to call
//
// A factor that is used again, such as the weights of a layer during a step, is
// worth a [Packed]: pack it once, then multiply by it as often as there are
// examples. A packed product of 25 x 64 by 64 x 16 then spends its time on
// arithmetic. The others lay panels out within the call, which costs little from
// some 50 rows, or, where the columns of a transposed factor are at most 16,
// nothing. Sums of weighted rows are an AddATB with m = 1.
//
// # Assembly
//
// On amd64 with AVX2 and FMA, unless built with the tag noasm, the loops on
// float32 are in assembly, written by the module in gen (go generate runs it);
// elsewhere, and for float64, they are in portable Go. Dimensions are checked in
// Go before. Matrix products differ
// in the last bits between the two, for one fuses multiplications and additions
// and the other, on all machines, does not; the functions on vectors and rows do
// not differ.
package kernel
