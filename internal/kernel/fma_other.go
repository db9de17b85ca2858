//go:build !amd64 || noasm

package kernel

// hasFMA says that there is no assembly.
const hasFMA = false

const dotGroup = 6

func fmaTiles[T Float](_ []T, _ int, _ []T, _, _ int, _ []T, _ int, _, _, _, _ int, _ bool) {
	panic("kernel: unreachable")
}

func fmaDots[T Float](_ []T, _ int, _ []T, _ int, _ []T, _ int, _, _, _ int, _ bool) {
	panic("kernel: unreachable")
}
