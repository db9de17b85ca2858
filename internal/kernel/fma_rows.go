//go:build amd64 && !noasm

package kernel

import (
	"slices"
	"unsafe"
)

// The functions here do the part of the work that there is assembly for. Their bits are
// those of the portable path. They return how many elements they have done.

func fmaAddRows[T Float](dst, a []T, lda, m, n, run int) int {
	done := n &^ 7
	if done > 0 {
		addRows32(first(dst), first(a), 4*lda, m, done, run)
	}
	return done
}

func fmaScale[T Float](dst []T, factor T, src []T) int {
	done := len(src) &^ 7
	if done > 0 {
		scale32(first(dst), first(src), done, float32(factor))
	}
	return done
}

func fmaSquares[T Float](lanes *[normLanes]float64, x []T) int {
	done := len(x) &^ (normLanes - 1)
	if done > 0 {
		squaredNorm32(&lanes[0], first(x), done)
	}
	return done
}

func fmaFold(lanes *[normLanes]float64, dst []int64, src []float32, perUnit float64) int {
	done := len(src) &^ (normLanes - 1)
	if done > 0 {
		foldInt64(&dst[0], &src[0], done, perUnit, &lanes[0])
	}
	return done
}

func fmaAddInts(scaled []float64, total, noise []int64, scale float64) int {
	done := len(scaled) &^ 3
	if done > 0 {
		addInts64(&scaled[0], &total[0], &noise[0], done, scale)
	}
	return done
}

func fmaFoldFloats(dst []float64, src []float32) int {
	done := len(dst) &^ 7
	if done > 0 {
		foldFloats32(&dst[0], &src[0], done)
	}
	return done
}

func fmaAddFloats(dst, src []float64) int {
	done := len(dst) &^ 7
	if done > 0 {
		addFloats64(&dst[0], &src[0], done)
	}
	return done
}

func fmaDescend[T Float](parameters []T, gradient []float64, decay, rate float64) (done int, finite bool) {
	done = len(parameters) &^ 3
	return done, done == 0 || descend32(first(parameters), &gradient[0], done, decay, rate) == 0
}

func fmaCopyRow[T Float](dst, src, next []T) int {
	done := len(dst) &^ 15
	if done > 0 {
		copyRow32(first(dst), first(src), first(next), done)
	}
	return done
}

// fmaTranspose sets the first eight columns of dst, n rows, to eight rows of b. It returns
// how many of their elements it has done.
func fmaTranspose[T Float](dst []T, ldd int, b []T, ldb, n int) int {
	done := n &^ 7
	if done > 0 {
		transpose32(first(dst), 4*ldd, first(b), 4*ldb, done)
	}
	return done
}

// fmaSpread copies whole tiles' widths of src to places that lie stride elements apart.
func fmaSpread[T Float](dst []T, stride int, src []T) int {
	done := len(src) / width[T]() * width[T]()
	if done > 0 {
		spread32(first(dst), 4*stride, first(src), done)
	}
	return done
}

func fmaRectify[T Float](dst, src []T) int {
	done := len(dst) &^ 7
	if done > 0 {
		rectify32(first(dst), first(src), done)
	}
	return done
}

func fmaGate[T Float](dst, y, src []T) int {
	done := len(dst) &^ 7
	if done > 0 {
		gate32(first(dst), first(y), first(src), done)
	}
	return done
}

func fmaAddToRows[T Float](dst []T, ldd int, v []T, m, n int) int {
	done := n &^ 7
	if done > 0 {
		addToRows32(first(dst), 4*ldd, first(v), m, done)
	}
	return done
}

func fmaMaxTaps[T Float](best []T, winner []uint8, x []T, taps []int) int {
	done := len(best) &^ 7
	if done > 0 {
		maxTaps32(first(best), &winner[0], first(x), &taps[0], len(taps), done)
	}
	return done
}

func fmaAddToTaps[T Float](dst []T, winner []uint8, src []T, taps []int) int {
	done := len(src) &^ 7
	if done > 0 {
		addToTaps32(first(dst), &winner[0], first(src), &taps[0], len(taps), done)
	}
	return done
}

func fmaMirrorStrips(m Mirror, dst []float32, sum, difference Strips, src []float32, even, odd Strips, strips int) {
	mirrorStrips32(&dst[sum.At], &dst[difference.At], 4*sum.Row, 4*difference.Row, 4*sum.Step, &m.Even[0], first(m.Odd), m.M, m.KE, m.KO,
		&src[even.At], 4*(odd.At-even.At), 4*even.Row, 4*even.Step, strips)
}

func fmaGroups(g *Groups, sum, difference, src []float32) {
	mulGroups32(&sum[0], &difference[0], &g.out[0], first(g.weights), first(src), unsafe.SliceData(g.in), &g.counts[0], len(g.out)/GroupOutputs)
}

func fmaButterfly(sum, difference, a, b []float32) int {
	done := len(sum) &^ 7
	if done > 0 {
		butterfly32(&sum[0], &difference[0], &a[0], &b[0], done)
	}
	return done
}

func fmaUnpackInt16(dst []float32, src []int16, unit float32) int {
	done := len(dst) &^ 15
	if done > 0 {
		unpack16(&dst[0], &src[0], done, unit)
	}
	return done
}

func fmaFetch(x []int16) { fetch16(&x[0], len(x)) }

func fmaPackInt16(dst []int16, src []float32, perUnit float32) int {
	done := len(dst) &^ 15
	if done > 0 {
		pack16(&dst[0], &src[0], done, perUnit)
	}
	return done
}

// fmaLargest returns the largest bits without sign of the numbers that it has looked at.
func fmaLargest(x []float32) (most uint32, done int) {
	done = len(x) &^ 15
	if done > 0 {
		var lanes [8]uint32
		largest32(&lanes[0], &x[0], done)
		most = slices.Max(lanes[:])
	}
	return most, done
}
