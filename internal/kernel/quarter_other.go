//go:build !amd64 || noasm

package kernel

func fmaQuarterStrips(_ Quarters, _ []float32, _, _ Strips, _ []float32, _, _ Strips, _ int) {
	panic("kernel: unreachable")
}

func fmaQuarterModuli(_ Quarters, _ []float32, _, _ Strips, _ []float32, _, _ Strips, _ int) {
	panic("kernel: unreachable")
}

func fmaHalves(_ Halves, _ []float32, _ Strips, _ []float32, _ Strips, _ int) {
	panic("kernel: unreachable")
}
