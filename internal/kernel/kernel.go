package kernel

import (
	"math"
	"unsafe"
)

type Float interface{ float32 | float64 }

// path is an instruction set. A machine that supports a path also supports all smaller paths.
type path uint8

const (
	portable path = iota
	avx2          // and FMA
	avx512
)

func pathOf[T Float]() path {
	if unsafe.Sizeof(T(0)) == 4 {
		return machine
	}
	return portable
}

func check[T Float](x []T, ld, rows, cols int) {
	if rows < 0 || cols < 0 {
		panic("kernel: negative dimension")
	}
	if rows == 0 || cols == 0 {
		return
	}
	if ld < cols || len(x) < cols || rows-1 > (len(x)-cols)/ld {
		panic("kernel: slice too short for its dimensions")
	}
}

func match(ok bool) {
	if !ok {
		panic("kernel: dimension mismatch")
	}
}

func zero[T Float](dst []T, ldd, m, n int) {
	if n == 0 {
		return
	}
	for i := range m {
		clear(dst[i*ldd : i*ldd+n])
	}
}

// AddInts adds noise to total, and then sets scaled to float64(total) * scale. All slices have equal length.
func AddInts(scaled []float64, total, noise []int64, scale float64) {
	match(len(total) == len(scaled) && len(noise) == len(scaled))
	done := whole[float32](len(scaled), 4)
	if done > 0 {
		addInts64(&scaled[0], &total[0], &noise[0], done, scale)
	}
	for i := done; i < len(total); i++ {
		total[i] += noise[i]
		scaled[i] = float64(total[i]) * scale
	}
}

// Descend replaces every parameter x by x - rate (gradient + decay x), computed in float64 and rounded to T.
// It reports whether all parameters are finite. Both slices have equal length.
func Descend[T Float](parameters []T, gradient []float64, decay, rate float64) (finite bool) {
	match(len(parameters) == len(gradient))
	done := whole[T](len(parameters), 4)
	finite = done == 0 || descend32(first(parameters), &gradient[0], done, decay, rate) == 0
	for i := done; i < len(parameters); i++ {
		x := float64(parameters[i])
		next := T(x - float64(rate*float64(gradient[i]+float64(decay*x))))
		parameters[i] = next
		finite = finite && next-next == 0
	}
	return finite
}

const distanceSums = 4

// SquaredDistances sets dst[i] to the squared distance between x and the row places[i] of the matrix `rows`.
// Assembly and Go give equal bits.
func SquaredDistances(dst, x, rows []float32, ld int, places []int32) {
	match(len(dst) == len(places))
	for _, p := range places {
		if p < 0 {
			panic("kernel: place out of range")
		}
		check(rows, ld, int(p)+1, len(x))
	}
	for from := 0; from < len(places); from += distancesAtOnce {
		var sums [distancesAtOnce][distanceSums]float32
		part := places[from:min(from+distancesAtOnce, len(places))]
		done, k := whole[float32](len(part), 4), whole[float32](len(x), distanceSums)
		if done > 0 && k > 0 {
			distances32(&sums[0][0], &x[0], &rows[0], 4*ld, &part[0], done, k)
		}
		for i, p := range part {
			s, row := &sums[i], rows[int(p)*ld:][:len(x)]
			j := len(x) &^ (distanceSums - 1)
			if i >= done {
				for k := 0; k < j; k += distanceSums {
					a, b := x[k:k+4:k+4], row[k:k+4:k+4]
					for e := range s {
						d := a[e] - b[e]
						s[e] += float32(d * d)
					}
				}
			}
			for ; j < len(x); j++ {
				d := x[j] - row[j]
				s[0] += float32(d * d)
			}
			dst[from+i] = s[0] + s[1] + (s[2] + s[3])
		}
	}
}

const distancesAtOnce = 32

// MaxTaps sets best[c] to the maximum of x[c+taps[t]] over t, and winner[c] to the first t with this maximum.
// There are 1 to 256 taps, in ascending order. Comparison is by bits: -0 is below 0, and positive NaN above
// infinity.
func MaxTaps[T Float](best []T, winner []uint8, x []T, taps []int) {
	checkTaps(len(best), winner, x, taps)
	done := whole[T](len(best), 8)
	if done > 0 {
		maxTaps32(first(best), &winner[0], first(x), &taps[0], len(taps), done)
	}
	for c := done; c < len(best); c++ {
		top, won := order(x[c+taps[0]]), 0
		for t, tap := range taps {
			if o := order(x[c+tap]); o > top {
				top, won = o, t
			}
		}
		best[c], winner[c] = ofBits[T](orderOf(top)), uint8(won)
	}
}

// AddToTaps is the gradient of MaxTaps. For ascending c, AddToTaps adds src[c] to dst[c+taps[winner[c]]]. The
// taps must be in ascending order.
func AddToTaps[T Float](dst []T, winner []uint8, src []T, taps []int) {
	checkTaps(len(src), winner, dst, taps)
	done := whole[T](len(src), 8)
	if done > 0 {
		addToTaps32(first(dst), &winner[0], first(src), &taps[0], len(taps), done)
	}
	for c := done; c < len(src); c++ {
		dst[c+taps[winner[c]]] += src[c]
	}
}

func checkTaps[T Float](n int, winner []uint8, x []T, taps []int) {
	match(len(winner) == n && len(taps) != 0 && len(taps) <= math.MaxUint8+1)
	for t, tap := range taps {
		if tap < 0 || n > 0 && tap > len(x)-n || t > 0 && tap <= taps[t-1] {
			panic("kernel: slice too short for its dimensions")
		}
	}
}

// CopyRuns copies runs of src, of equal lengths, to dst, one after another. Run r begins at src[places[r]].
func CopyRuns[T Float](dst, src []T, places []int32) {
	n := runLength(len(dst), len(src), len(places))
	if n > 0 && whole[T](n, 8) == n {
		match(copyRuns32(first(dst), first(src), &places[0], len(places), n, len(src)-n) == 0)
		return
	}
	for r, p := range places {
		copy(dst[r*n:(r+1)*n], src[p:int(p)+n:len(src)])
	}
}

// AddRuns is the gradient of CopyRuns. It adds run r of src to dst from dst[places[r]] on, for ascending r.
func AddRuns[T Float](dst, src []T, places []int32) {
	n := runLength(len(src), len(dst), len(places))
	if n > 0 && whole[T](n, 8) == n {
		match(addRuns32(first(dst), first(src), &places[0], len(places), n, len(dst)-n) == 0)
		return
	}
	for r, p := range places {
		run := dst[p : int(p)+n : len(dst)]
		for j, v := range src[r*n : (r+1)*n] {
			run[j] += v
		}
	}
}

func runLength(all, within, count int) int {
	n := all / max(count, 1)
	match(n*count == all && n <= within)
	return n
}

func order[T Float](v T) int64 { return orderOf(bitsOf(v)) }

// orderOf maps the bits of floating-point numbers to integers in the same order. orderOf is its own inverse.
func orderOf(b int64) int64 { return b ^ int64(uint64(b>>63)>>1) }

// Sparse is a matrix in compressed rows. Row i has the elements weights[start[i]:start[i+1]] in the columns
// places[start[i]:start[i+1]]. The zero value has no rows. Concurrent use is safe.
type Sparse struct {
	columns       int
	start, places []int32
	weights       []float32
}

// NewSparse returns a matrix with len(start)-1 rows. The slices must not change afterwards.
func NewSparse(columns int, start, places []int32, weights []float32) Sparse {
	match(len(places) == len(weights) && len(start) != 0 && start[0] == 0 && int(start[len(start)-1]) == len(places))
	for i, from := range start[1:] {
		if from < start[i] {
			panic("kernel: rows out of order")
		}
	}
	for _, p := range places {
		if p < 0 || int(p) >= columns {
			panic("kernel: place out of range")
		}
	}
	return Sparse{columns, start, places, weights}
}

// MulRows sets dst to the rows from, ..., to-1 of the product s·b. The matrix b has n columns. The result
// is equal on all processors.
func (s Sparse) MulRows(dst []float32, ldd, from, to int, b []float32, ldb, n int) {
	if from < 0 || from > to || to >= max(1, len(s.start)) {
		panic("kernel: rows out of range")
	}
	check(dst, ldd, to-from, n)
	check(b, ldb, s.columns, n)
	if n == 0 || from == to {
		return
	}
	switch path := pathOf[float32](); {
	case path == avx512 && len(s.places) > 0:
		sparse512(&dst[0], 4*ldd, &s.start[from], to-from, &s.places[0], &s.weights[0], &b[0], 4*ldb, n)
		return
	case path > portable && len(s.places) > 0:
		sparse32(&dst[0], 4*ldd, &s.start[from], to-from, &s.places[0], &s.weights[0], &b[0], 4*ldb, n, mask((n-1)%8+1))
		return
	}
	for i := from; i < to; i++ {
		out := dst[(i-from)*ldd:][:n]
		clear(out)
		for e := s.start[i]; e < s.start[i+1]; e++ {
			w := s.weights[e]
			for j, v := range b[int(s.places[e])*ldb:][:n] {
				out[j] += float32(w * v)
			}
		}
	}
}

// AddRows adds the sum of the rows of the m x n matrix a to dst. It sums runs of 48 rows, and then sums the
// runs.
func AddRows[T Float](dst []T, a []T, lda, m, n int) {
	check(dst, n, 1, n)
	check(a, lda, m, n)
	if n == 0 || m == 0 {
		return
	}
	done := whole[T](n, 8)
	if done > 0 {
		addRows32(first(dst), first(a), 4*lda, m, done, addRun)
	}
	const width = 16
	var sum [width]T
	for j := done; j < n; j += width {
		sum := sum[:min(width, n-j)]
		for from := 0; from < m; from += addRun {
			clear(sum)
			for i := from; i < min(from+addRun, m); i++ {
				for c, v := range a[i*lda+j : i*lda+j+len(sum)] {
					sum[c] += v
				}
			}
			for c, v := range sum {
				dst[j+c] += v
			}
		}
	}
}

// CopyRow copies src to dst and prefetches next, the src of the next call. All slices have equal length.
func CopyRow[T Float](dst, src, next []T) {
	match(len(src) == len(dst) && len(next) == len(dst))
	done := whole[T](len(dst), 16)
	if done > 0 {
		copyRow32(first(dst), first(src), first(next), done)
	}
	copy(dst[done:], src[done:])
}

// Scale sets dst[i] to factor·src[i]. The slices dst and src may coincide.
func Scale[T Float](dst []T, factor T, src []T) {
	match(len(dst) == len(src))
	done := whole[T](len(src), 8)
	if done > 0 {
		scale32(first(dst), first(src), done, float32(factor))
	}
	for i := done; i < len(src); i++ {
		dst[i] = factor * src[i]
	}
}

// Gaussian replaces each inner product xz in products by exp(-gamma |x-z|²). Here norm is |x|², and norms
// holds each |z|². A negative |x|² + |z|² - 2xz counts as 0. The exponential has a relative error below
// 1e-7. The result is 0 if gamma |x-z|² is NaN or >= 87. Assembly and Go give equal bits.
func Gaussian(products []float32, norm float32, norms []float32, gamma float32) {
	match(len(norms) == len(products))
	switch path := pathOf[float32](); {
	case path == avx512 && len(products) > 0:
		gaussian512(&products[0], &norms[0], len(products), norm, -gamma, &roots[0])
		return
	case path > portable:
		const lanes = 8
		done := whole[float32](len(products), lanes)
		if done > 0 {
			gaussian32(&products[0], &norms[0], done, norm, -gamma, &roots[0])
		}
		if done < len(products) {
			var last, lastNorms [lanes]float32
			copy(last[:], products[done:])
			copy(lastNorms[:], norms[done:])
			gaussian32(&last[0], &lastNorms[0], lanes, norm, -gamma, &roots[0])
			copy(products[done:], last[:])
		}
		return
	}
	for j, dot := range products {
		products[j] = exp32(-gamma * max(0, norm+norms[j]-2*dot))
	}
}

// exp32 returns eˣ for -87 < x <= 0, with a relative error below 1e-7. For x <= -87 and NaN, exp32 returns 0.
func exp32(x float32) float32 {
	// Let x = (n + r) ln 2 / 64 with |r| <= 1/2, in float64. Then eˣ is 2^(n/64), from a table and a power of
	// 2, times the factor e^(r ln 2 / 64). The Taylor polynomial of degree 2 of this factor has a remainder
	// below (ln 2/128)³/6 = 2.7e-8. Products are rounded before they are added.
	if !(x > -87) {
		return 0
	}
	const (
		magic = 3 << 51 // adding it rounds to an integer, whose low bits are n
		unit  = math.Ln2 / 64
	)
	t := float64(float64(x) * (1 / unit))
	rounded := t + magic
	n := math.Float64bits(rounded)
	r := t - (rounded - magic)
	power := math.Float64frombits(roots[n%64] + n>>6<<52)
	return float32(power + float64(power*float64(r*(unit+float64(r*(unit*unit/2))))))
}

var roots = func() (bits [64]uint64) {
	for i := range bits {
		bits[i] = math.Float64bits(math.Exp2(float64(i) / 64))
	}
	return bits
}()
