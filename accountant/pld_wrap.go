package accountant

// modulo returns the remainder of a over n, at least 0.
func modulo(a, n int) int {
	if a %= n; a < 0 {
		a += n
	}
	return a
}

// wrap adds p, from place at on, to a periodic sequence stored as a transform takes it, two
// numbers in a complex one.
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

// unwrap reads to p, which is all zeros, what wrap would have written, no longer than the
// period, but for what is negative.
func unwrap(p []float64, from []complex128, at int) {
	for i := range p {
		z := from[at/2]
		x := real(z)
		if at%2 == 1 {
			x = imag(z)
		}
		if x > 0 {
			p[i] = x
		}
		if at++; at == 2*len(from) {
			at = 0
		}
	}
}
