//go:build amd64 && !noasm

package kernel

import "unsafe"

// The functions here do what there is assembly for, with the bits of the
// portable path, and return how many elements they have done.

// singles returns x as float32, or nil if it is not.
func singles[T Float](x []T) []float32 {
	if unsafe.Sizeof(T(0)) != 4 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

func fmaAddRows[T Float](dst, a []T, lda, m, n, run int) int {
	x, done := singles(dst), n&^7
	if x == nil || done == 0 {
		return 0
	}
	addRows32(&x[0], &singles(a)[0], 4*lda, m, done, run)
	return done
}

func fmaScale[T Float](dst []T, factor T, src []T) int {
	x, done := singles(dst), len(src)&^7
	if x == nil || done == 0 {
		return 0
	}
	scale32(&x[0], &singles(src)[0], done, float32(factor))
	return done
}

func fmaSquares[T Float](lanes *[normLanes]float64, x []T) int {
	v, done := singles(x), len(x)&^(normLanes-1)
	if v == nil || done == 0 {
		return 0
	}
	squaredNorm32(&lanes[0], &v[0], done)
	return done
}

func fmaFold(dst []int64, src []float32, perUnit float64) int {
	done := len(src) &^ 3
	if done > 0 {
		foldInt64(&dst[0], &src[0], done, perUnit)
	}
	return done
}

// fmaTranspose sets the first eight columns of panel to eight rows of b and
// returns how many of their elements it has done.
func fmaTranspose[T Float](panel, b []T, ldb, depth int) int {
	x, done := singles(panel), depth&^7
	if x == nil || done == 0 {
		return 0
	}
	transpose32(&x[0], &singles(b)[0], 4*ldb, done)
	return done
}
