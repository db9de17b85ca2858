//go:build !amd64 || noasm

package kernel

// machine is the path of a machine without assembly.
const machine = portable

func fmaTiles[T Float](_ path, _ []T, _ int, _ []T, _, _ int, _ []T, _, _ int, _, _, _, _ int, _ bool) {
	panic("kernel: unreachable")
}

func fmaRow[T Float](_ path, _ []T, _ []T, _ int, _ []T, _, _, _, _ int, _ bool) int {
	panic("kernel: unreachable")
}

func fmaDots[T Float](_ path, _ []T, _ int, _ []T, _ int, _ []T, _ int, _, _, _ int, _ bool) {
	panic("kernel: unreachable")
}

func fmaAddRows[T Float](_, _ []T, _, _, _, _ int) int { panic("kernel: unreachable") }

func fmaScale[T Float](_ []T, _ T, _ []T) int { panic("kernel: unreachable") }

func fmaSquares[T Float](_ *[normLanes]float64, _ []T) int { panic("kernel: unreachable") }

func fmaFold(_ *[normLanes]float64, _ []int64, _ []float32, _ float64) int {
	panic("kernel: unreachable")
}

func fmaAddInts(_ []float64, _, _ []int64, _ float64) int { panic("kernel: unreachable") }

func fmaFoldFloats(_ []float64, _ []float32) int { panic("kernel: unreachable") }

func fmaAddFloats(_, _ []float64) int { panic("kernel: unreachable") }

func fmaDescend[T Float](_ []T, _ []float64, _, _ float64) (int, bool) {
	panic("kernel: unreachable")
}

func fmaCopyRow[T Float](_, _, _ []T) int { panic("kernel: unreachable") }

func fmaTranspose[T Float](_ []T, _ int, _ []T, _, _ int) int { panic("kernel: unreachable") }

func fmaSpread[T Float](_ []T, _ int, _ []T) int { panic("kernel: unreachable") }

func fmaRectify[T Float](_, _ []T) int { panic("kernel: unreachable") }

func fmaGate[T Float](_, _, _ []T) int { panic("kernel: unreachable") }

func fmaAddToRows[T Float](_ []T, _ int, _ []T, _, _ int) int { panic("kernel: unreachable") }

func fmaMaxTaps[T Float](_ []T, _ []uint8, _ []T, _ []int) int { panic("kernel: unreachable") }

func fmaAddToTaps[T Float](_ []T, _ []uint8, _ []T, _ []int) int {
	panic("kernel: unreachable")
}

func fmaMirrorStrips(_ Mirror, _ []float32, _, _ Strips, _ []float32, _, _ Strips, _ int) {
	panic("kernel: unreachable")
}

func fmaGroups(_ *Groups, _, _, _ []float32) { panic("kernel: unreachable") }

func fmaButterfly(_, _, _, _ []float32) int { panic("kernel: unreachable") }

func fmaUnpackInt16(_ []float32, _ []int16, _ float32) int { panic("kernel: unreachable") }

func fmaFetch(_ []int16) { panic("kernel: unreachable") }

func fmaPackInt16(_ []int16, _ []float32, _ float32) int { panic("kernel: unreachable") }

func fmaLargest(_ []float32) (most uint32, done int) { panic("kernel: unreachable") }

func fmaGaussian(_ []float32, _ float32, _ []float32, _ float32) {
	panic("kernel: unreachable")
}

func fmaDistances(_ *[distancesAtOnce][distanceSums]float32, _, _ []float32, _ int, _ []int32) int {
	panic("kernel: unreachable")
}

func fmaSparse(_ Sparse, _ []float32, _, _, _ int, _ []float32, _, _ int) {
	panic("kernel: unreachable")
}

func fmaCentre(_, _, _ []float32, _ float64, _ float32) int { panic("kernel: unreachable") }

func fmaNotBelow(_, _ []float32, _ float32) int { panic("kernel: unreachable") }
