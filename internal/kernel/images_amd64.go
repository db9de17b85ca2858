//go:build amd64 && !noasm

package kernel

// What there is assembly for: see fma_rows.go.

func fmaSquareRoots(dst, src []float32) int {
	done := len(dst) &^ 7
	if done > 0 {
		squareRoots32(&dst[0], &src[0], done)
	}
	return done
}

func fmaPolar(length, turn, right, left, below, above []float32, perRadian float32) int {
	done := len(length) &^ 7
	if done > 0 {
		polar32(&length[0], &turn[0], &right[0], &left[0], &below[0], &above[0], done, perRadian)
	}
	return done
}

func fmaBetween(dst, upper, lower []float32, weights *[4]float32) int {
	done := len(dst) &^ 7
	if done > 0 {
		between32(&dst[0], &upper[0], &lower[0], done, &weights[0])
	}
	return done
}

func fmaScaleUpTo(dst []float32, factor float32, src []float32, most float32) int {
	done := len(dst) &^ 7
	if done > 0 {
		scaleUpTo32(&dst[0], &src[0], done, factor, most)
	}
	return done
}

func fmaAffine(dst, src []float32, shift, factor float64) int {
	done := len(dst) &^ 7
	if done > 0 {
		affine32(&dst[0], &src[0], done, shift, factor)
	}
	return done
}

func fmaSum(lanes *[normLanes]float64, x []float32) int {
	done := len(x) &^ (normLanes - 1)
	if done > 0 {
		sum32(&lanes[0], &x[0], done)
	}
	return done
}

func fmaSquaresAbout(lanes *[normLanes]float64, x []float32, centre float64) int {
	done := len(x) &^ (normLanes - 1)
	if done > 0 {
		squaresAbout32(&lanes[0], &x[0], done, centre)
	}
	return done
}
