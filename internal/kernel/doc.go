// Package kernel computes the matrix products that take nearly all of the time of training.
//
// Matrices are row-major slices with a stride, the distance between rows in elements. The stride is at least
// the number of columns. Element (i, j) of a is a[i*lda+j]. A slice may end at the last matrix element.
//
//   - Functions panic if a slice is too short for its dimensions.
//   - Functions write only to the elements of dst, which must not overlap the factors.
//   - NaN and infinities propagate as in IEEE 754.
//   - No function starts goroutines. Callers can compute parts of the rows or columns of dst in parallel.
//   - [Packed] allocates when it grows. Other products use pooled buffers: 1.2 MB for [AddATB], else 50 kB.
//
// # Row exactness
//
// A private mechanism sums contributions of records. The proof of privacy requires that a contribution
// depends only on its record and on public state, to the last bit. If rounding depended on other rows of a
// batch, removing one record would change all contributions.
//
// So [MulBT], [MulAB], [Packed.Mul] and [SquaredNorms] guarantee row exactness: a row of the result depends
// only on the same row of a and on the other factor. It does not depend on the number, order or place of
// rows computed together, on addresses, or on goroutines. All machines with AVX2 give the same row.
//
// Row exactness holds because the order of operations on an element depends only on the dimensions n and
// k of the other factor. A product whose blocks depend on the batch size would not be row exact. A dot
// product that treats elements before an aligned address separately would not be row exact either.
//
// # Depth
//
// [MulBT], [MulAB] and [Packed.Mul] sum products in chains of 256 and then sum the chains. If the result
// has few columns, assembly sums 1024 products at a time, in eight chains of at most 128.
//
// [AddATB] and [AddRows] sum over k rows in runs of 48, and then sum the runs. So a term passes through at
// most 48 + ⌈k/48⌉ roundings. For k <= 768 there are at most 64 roundings.
//
// # Which to call
//
// For a factor that is used repeatedly, such as the weights of a layer, use [Packed]: pack it once per
// step and multiply by it for every group of examples. Other functions can copy a factor in every call.
// The copy costs little time if the factor a has 50 rows or more. In assembly, MulBT copies nothing for
// n <= 16 and k >= 32. To sum weighted rows, call AddATB with m = 1.
//
// # Assembly
//
// On amd64 with AVX2 and FMA, the loops on float32 are assembly, unless the build tag noasm is set. The
// module in gen generates the assembly (go generate). On other machines, and for float64, the loops are
// portable Go. Go code checks the dimensions in both cases.
//
// Matrix products have a second version for AVX-512, with vectors of twice the length. It gives the same
// bits as AVX2, because the order of operations on an element is the same. GODEBUG=cpu.avx512f=off
// selects AVX2, and cpu.avx2=off portable Go.
//
// Matrix products in assembly and in portable Go differ in the last bits: the assembly fuses multiplications
// and additions, portable code does not. Functions on vectors and rows give the same bits in both.
package kernel
