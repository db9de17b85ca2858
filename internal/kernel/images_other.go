//go:build !amd64 || noasm

package kernel

func fmaSquareRoots(_, _ []float32) int { panic("kernel: unreachable") }

func fmaPolar(_, _, _, _, _, _ []float32, _ float32) int { panic("kernel: unreachable") }

func fmaBetween(_, _, _ []float32, _ *[4]float32) int { panic("kernel: unreachable") }

func fmaScaleUpTo(_ []float32, _ float32, _ []float32, _ float32) int { panic("kernel: unreachable") }

func fmaAffine(_, _ []float32, _, _ float64) int { panic("kernel: unreachable") }

func fmaSum(_ *[normLanes]float64, _ []float32) int { panic("kernel: unreachable") }

func fmaSquaresAbout(_ *[normLanes]float64, _ []float32, _ float64) int {
	panic("kernel: unreachable")
}
