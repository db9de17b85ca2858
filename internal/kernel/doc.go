// Package kernel computes the dense products of training, which take nearly all of a model's time.
//
// Matrices are row-major slices with a stride: the distance between rows in elements, at least the number
// of columns. Element (i, j) of a is a[i*lda+j]. A slice may end with the last element.
//
//   - Functions panic if a slice is too short for its dimensions.
//   - They write nothing outside the elements of dst. The slice dst must not overlap the
//     factors.
//   - NaN and infinities propagate as in IEEE 754.
//   - No function starts goroutines or keeps state. To share a product among goroutines, give
//     each goroutine some rows, or columns, of dst.
//   - Nothing allocates except a [Packed] that grows. Products that lay out a factor within the
//     call take memory from a pool: [AddATB] a megabyte, the others 50 kB.
//
// # Row exactness
//
// A private mechanism sums contributions of records. Its proof needs a record's contribution to be a function
// of that record and of public state alone, to the last bit. If rounding depended on the other rows of a
// batch, removing one record would change the contributions of all other records.
//
// So [MulBT], [MulAB], [Packed.Mul] and [SquaredNorms] guarantee, on machines of one kind: a row of the
// result depends only on that row of a and on the other factor. It does not depend on how many rows are
// computed together, on their order or place, on addresses, or on the number of goroutines.
//
// This holds because n and k, the dimensions of the other factor, fix the order of operations on an element.
// Tiles of all shapes and places keep that order. A general matrix product that chooses its blocking by the
// size of the whole batch does not, nor does a dot product that starts with a scalar prologue up to an
// aligned address.
//
// # Depth
//
// [MulBT], [MulAB] and [Packed.Mul] sum products in chains of 256 and then sum the chains. If columns are
// few, they sum in the lanes of a vector, with chains no longer than 256.
//
// [AddATB] and [AddRows] sum over rows, in runs of 48 and then over the runs. So no term passes through
// more than 48 + k/48 roundings: at most 64 for k of at most 768.
//
// # Which to call
//
// If a factor is used repeatedly, such as the weights of a layer during a step, make it a [Packed]: pack it
// once, then multiply by it for every group of examples. A packed product of 25 x 64 by 64 x 16 then spends
// its time on arithmetic. The other functions lay out panels within the call. That costs little from some 50
// rows on, and nothing if the columns of a transposed factor are at most 16. To sum weighted rows, call
// AddATB with m = 1.
//
// # Assembly
//
// On amd64 with AVX2 and FMA the loops on float32 are in assembly, unless the build has the tag noasm. The
// module in gen writes the assembly (go generate runs it). Elsewhere, and for float64, the loops are
// portable Go. Go code checks the dimensions first in either case.
//
// Matrix products have a second version for AVX-512, with vectors twice as long. It gives the same bits as
// AVX2: each element has the same operations in the same order, and only the number of elements at a time
// differs. So machines with AVX2 are of one kind, with or without AVX-512. GODEBUG=cpu.avx512f=off selects
// AVX2, and GODEBUG=cpu.avx2=off portable Go.
//
// Matrix products differ in the last bits between assembly and portable Go: the assembly fuses
// multiplications and additions, and the portable code never does, on any machine. The functions on vectors
// and rows do not differ.
package kernel
