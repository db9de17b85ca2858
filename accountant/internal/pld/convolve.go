package pld

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/pate-go/pate/internal/mathx"
)

type factor struct {
	law   *tilted
	power int64
}

type convolver struct {
	ctx       context.Context
	maxLength int
	accuracy  float64 // tilted mass that all windows together may leave outside
	largest   int     // longest transform used
	work      int     // points transformed or placed
	maxWork   int     // limit of work; 0 for no limit
	clamp     int     // test hook: if not 0, the longest window; longer windows wrap silently
}

type workspace struct {
	total, spectrum []complex128
	errs            []float64
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

const maxRounding = 0.1

var errRounding = errors.New("accountant: rounding errors of the convolution are too large to certify")

var errTooLong = errors.New("accountant: the convolution does not fit in memory")

var errTooCoarse = errors.New("accountant: a grid that fits in memory is too coarse")

// ErrTooMuchWork reports a query that needs more points than Composer.MaxWork.
var ErrTooMuchWork = errors.New("accountant: privacy loss distributions of these events take too long")

func (c *convolver) spend(points int) error {
	if c.work += points; c.maxWork > 0 && c.work > c.maxWork {
		return ErrTooMuchWork
	}
	return nil
}

// chernoffWindow returns a window of lattice indices. On each side of the window, the sum of the factors has
// a tilted mass of at most e^logOutside.
func chernoffWindow(factors []factor, logOutside float64) (lo, hi int) {
	// Chernoff's bound holds for any exponent. The search for it uses shorter, approximate distributions.
	mean, variance := 0.0, 0.0
	minLoss, maxLoss, off := 0.0, 0.0, 0.0
	h := factors[0].law.h
	thin := make([]roughLaw, len(factors))
	for i, f := range factors {
		thin[i] = f.law.thin()
		n := float64(f.power)
		mean += n * f.law.mean
		variance += n * f.law.variance
		off += n * f.law.off
		minLoss += n * f.law.loss(0)
		maxLoss += n * f.law.loss(len(f.law.p)-1)
	}
	bound := func(s float64, exact bool) float64 { // distance from the mean in the direction of s
		sum := 0.0
		for i, f := range factors {
			if exact {
				sum += float64(f.power) * f.law.cumulant(s)
			} else {
				sum += float64(f.power) * thin[i].cumulant(s)
			}
		}
		return (sum - logOutside) / math.Abs(s)
	}
	side := func(sign, limit float64) float64 {
		if limit <= 0 {
			return 0
		}
		s := sign * math.Sqrt(-2*logOutside/(variance+1e-300))
		s = math.Copysign(math.Min(math.Abs(s), 600/h), s)
		best := bound(s, false)
		for _, step := range []float64{0.6, 1.6} {
			for range 40 {
				next := bound(s*step, false)
				if !(next < best) {
					break
				}
				best, s = next, s*step
			}
		}
		best = bound(s, true)
		for try := 0; math.IsInf(best, 1) && try < 40; try++ { // overflow
			s /= 1.6
			best = bound(s, true)
		}
		return math.Min(best, limit)
	}
	below, above := side(-1, mean-minLoss), side(1, maxLoss-mean)
	lo = int(math.Floor((mean-below-off)/h)) - 1
	hi = int(math.Ceil((mean+above-off)/h)) + 1
	return lo, hi
}

// convolve returns the distribution of a sum of independent losses. All factors must have the same lattice
// step.
func (c *convolver) convolve(blocks int64, factors ...factor) (*tilted, error) {
	// The argument blocks is the number of such sums in the composition. The Fourier transform of every
	// factor is raised to its power. Two errors are added to the errors of the factors.
	//
	//  1. The tilted mass outside the window wraps around into the window.
	//  2. Rounding of the transforms adds noise. Let e_k be the error of frequency k: mathx.FFTError of a
	//     forward transform, and 4 units of rounding per factor of a power. By Parseval these errors have the
	//     L2 norm sqrt(sum e_k^2 / N) over the N points. The inverse transform adds at most FFTError times
	//     the mean of |F_k| to each point, and in the L2 norm at most FFTNormError times sqrt(sum |F_k|^2 /
	//     N).
	//
	// Convolution with a probability distribution increases neither the L1 nor the L2 norm of an error
	// (Young).
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	first := factors[0].law
	out := &tilted{h: first.h}
	var errIn, noiseIn float64
	for _, f := range factors {
		n := float64(f.power)
		out.off += n * f.law.off
		out.logM += n * f.law.logM
		out.inf += n * f.law.inf
		out.lossError += n * (f.law.lossError + 0x1p-53*math.Abs(f.law.off))
		errIn += n * f.law.err
		noiseIn += n * f.law.noise
	}
	if len(factors) == 1 && factors[0].power == 1 {
		t := *first
		return &t, nil
	}
	outside := math.Min(1e-6, math.Max(1e-16, c.accuracy/float64(blocks)))
	lo, hi := chernoffWindow(factors, math.Log(outside/4)) // two sides; mass is missing on one and extra where it wraps to
	need := hi - lo + 1
	if need < 1 || need > c.maxLength {
		return nil, errTooLong
	}
	length := mathx.FFTLength(need)
	if c.clamp > 0 {
		length = min(length, c.clamp)
	}
	c.largest = max(c.largest, length)
	if err := c.spend(length * (len(factors) + 1)); err != nil {
		return nil, err
	}
	plan, space := mathx.BorrowFFT(length), workspaces.Get().(*workspace)
	defer plan.Return()
	defer workspaces.Put(space)
	eta := mathx.FFTError(length)
	space.spectrum = sized(space.spectrum, length/2+1)
	spectrum, last := space.spectrum, len(factors)-1
	if last > 0 {
		space.total, space.errs = sized(space.total, length/2+1), sized(space.errs, length/2+1)
	}
	total, errs := space.total, space.errs
	sumSquares, sumModuli, sumErrs, square := 0.0, 0.0, 0.0, 0.0
	for i, f := range factors {
		clear(spectrum)
		at := modulo(f.law.lo, length)
		wrap(spectrum[:length/2], f.law.p, at)
		plan.Forward(spectrum)
		unit := float64(f.power) * (eta + 4*0x1p-53)
		raiser := newRaiser(f.power)
		low := 0
		if float64(blocks)*float64(f.power) >= manySteps {
			low = lowFrequencies(spectrum, f.law.p, f.power)
			plan.ForwardLow(spectrum[:low], f.law.p, at)
		}
		for k, s := range spectrum {
			unit := unit
			if k < low {
				unit = float64(f.power) * (mathx.FFTLowError + 4*0x1p-53)
			}
			power, modulus, before := raiser.raise(s)
			wrong := before * unit
			if i > 0 {
				so := total[k]
				wrong = errs[k]*modulus + modulusOf(so)*wrong
				power *= so
				modulus = modulusOf(power)
			}
			if i < last {
				total[k], errs[k] = power, wrong
				continue
			}
			spectrum[k] = power
			w := 2.0
			if k == 0 || k == length/2 {
				w = 1
			}
			sumSquares += w * wrong * wrong
			sumModuli += w * modulus
			square += w * (real(power)*real(power) + imag(power)*imag(power))
			sumErrs += w * wrong
		}
	}
	plan.Inverse(spectrum)
	// For x n < 1 the higher orders of (1+x)^n - 1 are at most x n times the first order.
	n := float64(length)
	noise := math.Sqrt(sumSquares/n) + math.Min(eta*sumModuli/math.Sqrt(n), mathx.FFTNormError(length)*math.Sqrt(square/n))
	small := errIn + noise*math.Sqrt(n)
	if !(small < maxRounding) {
		return nil, errRounding
	}
	out.err = errIn*(1+small) + outside
	out.noise = noiseIn*(1+small) + noise*(1+small)/math.Sqrt(out.h)
	out.length = length
	out.most = (sumErrs + eta*sumModuli) / n * (1 + small)
	out.lo = lo
	out.p = make([]float64, min(need, length))
	unwrap(out.p, spectrum[:length/2], modulo(lo, length))
	out.trim(0x1p-52)
	out.normalise()
	return out, nil
}

// If a composition has manySteps or more steps, a fast Fourier transform is too inaccurate at low
// frequencies. The method convolve then computes the low frequencies by direct sums.
const (
	manySteps = 1e8
	lowWork   = 2e7 // limit of the multiplications for these sums
)

func lowFrequencies(spectrum []complex128, x []float64, n int64) int {
	const least = 1e-3 // of the power
	limit := math.Pow(least, 1/float64(n))
	low, inputs := 0, 0
	for low < len(spectrum) && modulusOf(spectrum[low]) > limit {
		low++
	}
	for _, x := range x {
		if x != 0 {
			inputs++
		}
	}
	if float64(low)*float64(inputs) > lowWork {
		return 0
	}
	return low
}

type raiser struct {
	n     int64
	least float64 // square of the modulus below which the power counts as 0
}

func newRaiser(n int64) raiser {
	r := raiser{n: n}
	if n > 1 {
		r.least = math.Exp(-185 / float64(n-1)) // e^-92.5 < 1e-40
	}
	return r
}

// raise returns s^n, |s|^n and max(|s|^(n-1), 1e-40), where n = r.n. The first two results are 0 if |s|^(n-1)
// is below e^-92.5.
func (r raiser) raise(s complex128) (power complex128, modulus, before float64) {
	if r.n == 1 {
		return s, modulusOf(s), 1
	}
	sq := real(s)*real(s) + imag(s)*imag(s)
	if sq < r.least || sq == 0 {
		return 0, 0, 1e-40
	}
	power, b := complex(1, 0), s
	for m := r.n; ; b *= b {
		if m&1 == 1 {
			power *= b
		}
		if m >>= 1; m == 0 {
			break
		}
	}
	modulus = modulusOf(power)
	return power, modulus, math.Max(1e-40, modulus/math.Sqrt(sq))
}

func modulusOf(z complex128) float64 { return math.Sqrt(real(z)*real(z) + imag(z)*imag(z)) }

func sized[T any](room []T, n int) []T {
	if cap(room) < n {
		return make([]T, n)
	}
	return room[:n]
}

func modulo(a, n int) int {
	_, r := floorDiv(a, n)
	return r
}

func wrap(to []complex128, p []float64, start int) {
	for _, x := range p {
		if start%2 == 0 {
			to[start/2] += complex(x, 0)
		} else {
			to[start/2] += complex(0, x)
		}
		if start++; start == 2*len(to) {
			start = 0
		}
	}
}

func unwrap(p []float64, from []complex128, at int) {
	for i := range p {
		if z := from[at/2]; at%2 == 0 {
			p[i] = atLeast0(real(z))
		} else {
			p[i] = atLeast0(imag(z))
		}
		if at++; at == 2*len(from) {
			at = 0
		}
	}
}

func atLeast0(x float64) float64 {
	if x > 0 {
		return x
	}
	return 0
}
