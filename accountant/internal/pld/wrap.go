package pld

// modulo returns the remainder of a over n, at least 0.
func modulo(a, n int) int {
	_, r := floorDiv(a, n)
	return r
}

// wrap adds p, from place at on, to a periodic sequence stored as a transform takes it, two numbers in a
// complex one.
func wrap(to []complex128, p []float64, at int) {
	for len(p) > 0 {
		run := p[:min(len(p), 2*len(to)-at)] // to the end of the period
		p = p[len(run):]
		if at%2 == 1 {
			to[at/2] += complex(0, run[0])
			run, at = run[1:], at+1
		}
		pairs := to[at/2:]
		for ; len(run) > 1; run, pairs = run[2:], pairs[1:] {
			pairs[0] += complex(run[0], run[1])
		}
		if len(run) == 1 {
			pairs[0] += complex(run[0], 0)
		}
		at = 0
	}
}

// unwrap reads to p what wrap would have written, no longer than the period, but zeros for negative
// numbers.
func unwrap(p []float64, from []complex128, at int) {
	for len(p) > 0 {
		run := p[:min(len(p), 2*len(from)-at)]
		p = p[len(run):]
		if at%2 == 1 {
			run[0] = atLeast0(imag(from[at/2]))
			run, at = run[1:], at+1
		}
		pairs := from[at/2:]
		for ; len(run) > 1; run, pairs = run[2:], pairs[1:] {
			run[0], run[1] = atLeast0(real(pairs[0])), atLeast0(imag(pairs[0]))
		}
		if len(run) == 1 {
			run[0] = atLeast0(real(pairs[0]))
		}
		at = 0
	}
}

// atLeast0 returns x or, if that is negative or no number, 0.
func atLeast0(x float64) float64 {
	if x > 0 {
		return x
	}
	return 0
}
