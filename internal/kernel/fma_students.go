//go:build amd64 && !noasm

package kernel

// The functions here do the part of the work of students and neighbours that there is assembly
// for. Its bits are those of the portable path.

// fmaGaussian does all of Gaussian; the factor is -gamma.
func fmaGaussian(products []float32, norm float32, norms []float32, factor float32) {
	const lanes = 8
	done := len(products) &^ (lanes - 1)
	if done > 0 {
		gaussian32(&products[0], &norms[0], done, norm, factor, &roots[0])
	}
	if done < len(products) {
		var last, lastNorms [lanes]float32
		copy(last[:], products[done:])
		copy(lastNorms[:], norms[done:])
		gaussian32(&last[0], &lastNorms[0], lanes, norm, factor, &roots[0])
		copy(products[done:], last[:])
	}
}

// fmaDistances sums the differences of four whole elements for four whole places. It returns for
// how many places it has done so.
func fmaDistances(sums *[distancesAtOnce][distanceSums]float32, x, rows []float32, ld int, places []int32) int {
	done, k := len(places)&^3, len(x)&^(distanceSums-1)
	if done == 0 || k == 0 {
		return done
	}
	distances32(&sums[0][0], &x[0], &rows[0], 4*ld, &places[0], done, k)
	return done
}

func fmaSparse(s Sparse, dst []float32, ldd, from, to int, b []float32, ldb, n int) {
	const lanes = 8
	if len(s.places) == 0 {
		zero(dst, ldd, to-from, n)
		return
	}
	sparse32(&dst[0], 4*ldd, &s.start[from], to-from, &s.places[0], &s.weights[0], &b[0], 4*ldb, n, mask((n-1)%lanes+1))
}

func fmaCentre(dst, src, mean []float32, scale float64, far float32) int {
	done := len(dst) &^ 7
	if done > 0 {
		centre32(&dst[0], &src[0], &mean[0], done, scale, far)
	}
	return done
}

func fmaNotBelow(x, y []float32, floor float32) int {
	whole := len(x) &^ 7
	if whole == 0 {
		return 0
	}
	return search32(&x[0], &y[0], whole, floor)
}
