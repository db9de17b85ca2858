// Package kernel computes the matrix products that take nearly all of the time of training.
//
// Matrices are row-major slices. The stride is the distance between rows in elements, at least the number of
// columns. Element (i, j) of a is a[i*lda+j] for stride lda. A slice may end at the last matrix element.
//
//   - Functions panic if a slice is too short for its dimensions.
//   - Functions write only to the elements of dst, which must not overlap the factors.
//   - NaN and infinities propagate as in IEEE 754.
//   - No function starts goroutines. Callers can compute parts of the rows or columns of dst in parallel.
//   - [Packed] allocates when it grows. Other products use pooled buffers: 1.2 MB for [AddATB], else 50 kB.
//
// # Row exactness
//
// A private mechanism sums contributions of records. The privacy proof requires that a contribution depends
// only on its record and on public state, to the last bit. If rounding depended on other rows of a batch,
// removing one record would change all contributions.
//
// So [MulBT], [MulAB], [Packed.Mul] and [SquaredNorms] guarantee row exactness: a row of the result depends
// only on the same row of a and on the other factor. The number, order and place of rows computed together
// have no effect. Addresses and goroutines have no effect. All machines with AVX2 give the same row.
//
// Row exactness holds because only the dimensions n and k of the other factor determine the order of
// operations on an element. Blocks that depend on the batch size would break row exactness. Separate sums up
// to an aligned address would also do so, because rows have different addresses.
//
// # Depth
//
// [MulBT], [MulAB] and [Packed.Mul] sum products in chains of 256 and then sum the chains. If the result has
// few columns, assembly instead uses eight chains of at most 128 for each 1024 products.
//
// [AddATB] and [AddRows] sum over k rows in runs of 48, and then sum the runs. So a term passes through at
// most 48 + ⌈k/48⌉ roundings. For k <= 768 there are at most 64 roundings.
//
// # Which to call
//
// Use [Packed] for a factor that is used repeatedly, such as the weights of a layer. Pack the factor once per
// step. Other functions can copy a factor in every call. The copy costs little time if the factor a has 50
// rows or more.
//
// # Assembly
//
// On amd64 with AVX2 and FMA, the loops on float32 are assembly, unless the build tag noasm is set. The
// module in gen generates the assembly (go generate). On other machines, and for float64, the loops are
// portable Go.
//
// Matrix products, sparse products and exponentials also have a version for AVX-512. Both versions give the
// same bits, because the order of operations on an element is the same. GODEBUG=cpu.avx512f=off selects AVX2,
// and cpu.avx2=off portable Go.
//
// Matrix products in assembly and in portable Go differ in the last bits, because only assembly fuses
// multiplications and additions. Functions on vectors and rows do not differ.
package kernel
