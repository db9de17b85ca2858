// Package kernel is the seam for the dense products of training: everything a
// model spends its time on goes through the handful of functions here, so that
// a faster implementation for one machine replaces them in one place. Today
// they stand on gonum's vector routines, with pure Go where gonum has no
// assembly.
//
// # Row exactness
//
// A private mechanism adds up contributions of records, and its proof needs a
// record's contribution to be a function of that record and of public state
// alone - to the last bit, because rounding that moves with the company a row
// keeps would move the contributions of all records when one is removed. So
// every product here promises: an output row depends on its own input row (and
// on the other factor) only, not on how many rows are computed together, on
// their order, or on the number of goroutines.
//
// Two traps make this less than obvious. A general matrix product picks its
// blocking, and with it the order of additions, by the size of the whole batch:
// none is used here. And gonum's dot product on amd64 starts with a scalar
// prologue up to the next 16-byte boundary of its second argument, so its
// rounding depends on the address: [MulVec], [SquaredNorm] and [MulT] read
// their second factor from memory made by [Aligned], or first copy it there.
package kernel
