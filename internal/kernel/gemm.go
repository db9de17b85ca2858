package kernel

import (
	"sync"
	"unsafe"
)

const (
	// tileRows is the largest number of rows of a register tile. With two vectors per row, such a tile takes
	// 12 of the 16 AVX2 registers.
	tileRows      = 6
	tileBytes     = 64
	broadRows     = 9
	broadest      = 3
	mulRun        = 256
	addRun        = 48
	addDepth      = 5 * addRun
	dotRun        = 1024
	dotFrom       = 32
	dotCols       = 16
	packedDotCols = 12
	dotRows       = 128
	packFrom      = 64
	placeTo       = 256
)

func width[T Float]() int { return tileBytes / int(unsafe.Sizeof(T(0))) }

func abreast[T Float](n int) int {
	w := width[T]()
	switch {
	case pathOf[T]() < avx512:
		return min(w, n)
	case n > broadest*w && n <= (broadest+1)*w:
		return (broadest + 1) / 2 * w
	}
	return min(broadest*w, n)
}

func height[T Float]() int {
	if pathOf[T]() == avx512 {
		return broadRows
	}
	return tileRows
}

// MulBT sets dst (m x n) to a·bᵀ, where a is m x k and b is n x k.
func MulBT[T Float](dst []T, ldd int, a []T, lda int, b []T, ldb int, m, n, k int) {
	check(dst, ldd, m, n)
	check(a, lda, m, k)
	check(b, ldb, n, k)
	switch {
	case m == 0 || n == 0 || k == 0:
		zero(dst, ldd, m, n)
	case pathOf[T]() > portable && n <= dotCols && k >= dotFrom:
		dotProducts(dst, ldd, a, lda, b, ldb, m, n, k)
	default:
		panelled(dst, ldd, a, lda, b, ldb, m, n, k, true)
	}
}

// MulAB sets dst (m x n) to a·b, where a is m x k and b is k x n.
func MulAB[T Float](dst []T, ldd int, a []T, lda int, b []T, ldb int, m, n, k int) {
	check(dst, ldd, m, n)
	check(a, lda, m, k)
	check(b, ldb, k, n)
	switch {
	case m == 0 || n == 0 || k == 0:
		zero(dst, ldd, m, n)
	case m < packFrom:
		product(dst, ldd, a, lda, 1, b, ldb, m, n, k, mulRun, false)
	default:
		panelled(dst, ldd, a, lda, b, ldb, m, n, k, false)
	}
}

// AddATB adds aᵀ·b to dst (m x n), where a is k x m and b is k x n. It sums the k rows in runs of 48, and
// then the runs. For finite a and b and a zero dst, the error of dst_ij is at most gamma_d sum_p |a_pi b_pj|.
// Here d = 48 + k/48, gamma_d = d u/(1 - d u), and u is the unit roundoff.
func AddATB[T Float](dst []T, ldd int, a []T, lda int, b []T, ldb int, m, n, k int) {
	check(dst, ldd, m, n)
	check(a, lda, k, m)
	check(b, ldb, k, n)
	most, inPlace := addRun, m < packFrom // rows of b that fit into the caches and their page tables
	if pathOf[T]() == avx512 && !crowded[T](ldb) {
		most, inPlace = addDepth, m <= placeTo
	}
	switch {
	case m == 0 || n == 0 || k == 0:
	case inPlace:
		for p := 0; p < k; p += most {
			product(dst, ldd, a[p*lda:], 1, lda, b[p*ldb:], ldb, m, n, min(most, k-p), addRun, true)
		}
	default:
		addTransposed(dst, ldd, a, lda, b, ldb, m, n, k)
	}
}

func dotProducts[T Float](dst []T, ldd int, a []T, lda int, b []T, ldb int, m, n, k int) {
	for i := 0; i < m; i += dotRows {
		for p := 0; p < k; p += dotRun {
			fmaDots(dst[i*ldd:], ldd, a[i*lda+p:], lda, b[p:], ldb, min(dotRows, m-i), n, min(dotRun, k-p), p > 0)
		}
	}
}

func panelled[T Float](dst []T, ldd int, a []T, lda int, b []T, ldb int, m, n, k int, transposed bool) {
	shared := panelBuffers.Get().(*panelBuffer)
	defer panelBuffers.Put(shared)
	panels, w := panelIn[T](shared[:]), width[T]()
	for j, cols := 0, 0; j < n; j += cols {
		cols = abreast[T](n - j)
		for p := 0; p < k; p += mulRun {
			depth := min(mulRun, k-p)
			apart := (depth | 1) * w
			if transposed {
				for c := 0; c < cols; c += w {
					transpose(panels[c/w*apart:], b[(j+c)*ldb+p:], ldb, min(w, cols-c), depth)
				}
			} else {
				gather(panels, apart, b[p*ldb+j:], ldb, cols, depth)
			}
			columns(dst[j:], ldd, a[p:], lda, 1, panels, w, apart, m, cols, depth, mulRun, p > 0)
		}
	}
}

func product[T Float](dst []T, ldd int, a []T, rs, cs int, b []T, ldb int, m, n, k, run int, add bool) {
	w, j := width[T](), 0
	if m == 1 && whole[T](n, 4*w) > 0 {
		j = whole[T](n, 4*w)
		wide32(first(dst), first(a), 4*cs, first(b), 4*ldb, j, k, run, bit(add))
	}
	for cols := 0; j < n; j += cols {
		cols = abreast[T](n - j)
		columns(dst[j:], ldd, a, rs, cs, b[j:], ldb, w, m, cols, k, run, add)
	}
}

func addTransposed[T Float](dst []T, ldd int, a []T, lda int, b []T, ldb int, m, n, k int) {
	shared := transposeBuffers.Get().(*transposeBuffer)
	defer transposeBuffers.Put(shared)
	left, panels := panelIn[T](shared.left[:]), panelIn[T](shared.right[:])
	w := width[T]()
	most := mulRun
	if k > most {
		most = addDepth // so that only the last part ends within a run
	}
	for p := 0; p < k; p += most {
		depth := min(most, k-p)
		// Strides are odd numbers of cache lines, so that rows and panels use the cache sets evenly.
		stride, apart := (depth+w-1)/w*w|w, (depth|1)*w
		tall, wide := len(left)/stride/height[T]()*height[T](), len(panels)/apart*w
		for from := 0; from < n; from += wide {
			to := min(from+wide, n)
			gather(panels, apart, b[p*ldb+from:], ldb, to-from, depth)
			for i := 0; i < m; i += tall {
				rows := min(tall, m-i)
				copyTransposed(left, stride, a[p*lda+i:], lda, depth, rows)
				for j, cols := from, 0; j < to; j += cols {
					cols = abreast[T](to - j)
					columns(dst[i*ldd+j:], ldd, left, stride, 1, panels[(j-from)/w*apart:], w, apart, rows, cols, depth, addRun, true)
				}
			}
		}
	}
}

func crowded[T Float](stride int) bool {
	const period, line = 4096, 64
	past := stride * int(unsafe.Sizeof(T(0))) % period
	return min(past, period-past) < line
}

func columns[T Float](dst []T, ldd int, a []T, rs, cs int, b []T, ldb, apart int, m, n, k, run int, add bool) {
	if pathOf[T]() > portable {
		fmaTiles(dst, ldd, a, rs, cs, b, ldb, apart, m, n, k, run, add)
		return
	}
	tile(dst, ldd, a, rs, cs, b, ldb, m, n, k, run, add)
}

func tile[T Float](dst []T, ldd int, a []T, rs, cs int, b []T, ldb int, m, n, k, run int, add bool) {
	// A chain sums at most run products. The first chain is stored in dst, or added to dst if add is set. All
	// other chains are added. Rounding every product explicitly prevents compilers from fusing operations in
	// only some copies of the expression.
	for from := 0; from < k; from += run {
		depth := min(run, k-from)
		left, right := a[from*cs:], b[from*ldb:]
		for i := range m {
			out, row := dst[i*ldd:i*ldd+n], left[i*rs:]
			j := 0
			for ; j+4 <= n; j += 4 {
				var s0, s1, s2, s3 T
				for p := range depth {
					v, w := row[p*cs], right[p*ldb+j:p*ldb+j+4]
					s0 += T(v * w[0])
					s1 += T(v * w[1])
					s2 += T(v * w[2])
					s3 += T(v * w[3])
				}
				o := out[j : j+4]
				if add || from > 0 {
					s0, s1, s2, s3 = o[0]+s0, o[1]+s1, o[2]+s2, o[3]+s3
				}
				o[0], o[1], o[2], o[3] = s0, s1, s2, s3
			}
			for ; j < n; j++ {
				var s T
				for p := range depth {
					s += T(row[p*cs] * right[p*ldb+j])
				}
				if add || from > 0 {
					s = out[j] + s
				}
				out[j] = s
			}
		}
	}
}

type panelBuffer [(broadest*(mulRun+1) + 1) * tileBytes / 8]uint64

var panelBuffers = sync.Pool{New: func() any { return new(panelBuffer) }}

type transposeBuffer struct {
	left  [1 << 14]uint64
	right [1<<17 + 1<<11]uint64
}

var transposeBuffers = sync.Pool{New: func() any { return new(transposeBuffer) }}

func panelIn[T Float](buffer []uint64) []T {
	const words = tileBytes / 8
	skip := -int(uintptr(unsafe.Pointer(&buffer[0]))/8) & (words - 1)
	buffer = buffer[skip : skip+len(buffer)-words]
	return unsafe.Slice((*T)(unsafe.Pointer(&buffer[0])), len(buffer)*8/int(unsafe.Sizeof(T(0))))
}

func transpose[T Float](panel, b []T, ldb, cols, depth int) {
	w := width[T]()
	panel = panel[:depth*w]
	copyTransposed(panel, w, b, ldb, cols, depth)
	if cols == w {
		return
	}
	for ; len(panel) > 0; panel = panel[w:] {
		clear(panel[cols:w])
	}
}

// Transpose sets dst (n x m) to bᵀ, where b is m x n.
func Transpose[T Float](dst []T, ldd int, b []T, ldb, m, n int) {
	check(dst, ldd, n, m)
	check(b, ldb, m, n)
	if m > 0 && n > 0 {
		copyTransposed(dst, ldd, b, ldb, m, n)
	}
}

func copyTransposed[T Float](dst []T, ldd int, b []T, ldb, m, n int) {
	done := 0 // number of elements of eight rows of b that are done
	for i := range m {
		if i%8 == 0 {
			done = 0
			if i+8 <= m {
				done = whole[T](n, 8)
			}
			if done > 0 {
				transpose32(first(dst[i:]), 4*ldd, first(b[i*ldb:]), 4*ldb, done)
			}
		}
		at := i + done*ldd
		for _, v := range b[i*ldb+done : i*ldb+n] {
			dst[at] = v
			at += ldd
		}
	}
}

func gather[T Float](panels []T, stride int, b []T, ldb, cols, depth int) {
	w := width[T]()
	for p := range depth {
		at, j := p*w, whole[T](cols, w)
		if j > 0 {
			spread32(first(panels[at:]), 4*stride, first(b[p*ldb:]), j)
			at += j / w * stride
		}
		for ; j < cols; j += w {
			clear(panels[at+copy(panels[at:at+w], b[p*ldb+j:p*ldb+cols]) : at+w])
			at += stride
		}
	}
}
