package pld

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/testkit"
)

func TestManyStepsAreConvolvedAsFewAre(t *testing.T) {
	for _, q := range []float64{1e-3, 0.01} {
		for _, reverse := range []bool{false, true} {
			s := &Sum{}
			s.Add(Pair{pairSampled, q, 1, 0}, 1e7)
			all := &query{parts: componentsOf(t, s, reverse)}
			all.truncate(-20)
			law := testkit.Must(all.parts[0].law(t.Context(), q/50, 5, reverse, true, 1<<20))
			c := composer().newConvolver(t.Context())
			c.accuracy = 1e-12
			few := testkit.Must(c.convolve(1, factor{law, 32}))
			many := testkit.Must(c.convolve(manySteps, factor{law, 32}))
			square := 0.0
			for i, p := range few.p {
				other := 0.0
				if j := few.lo + i - many.lo; j >= 0 && j < len(many.p) {
					other = many.p[j]
				}
				square += (p - other) * (p - other)
			}
			name := fmt.Sprintf("q %g, reverse %t", q, reverse)
			require.LessOrEqual(t, math.Sqrt(square/law.h), few.noise+many.noise+few.err+many.err, name)
			require.Less(t, many.noise, few.noise/3, name)
			require.NotZero(t, square, name)
		}
	}
}

func TestWindowsHoldTheirLaw(t *testing.T) {
	for _, q := range []float64{1e-3, 0.1} {
		for _, power := range []int64{2, 25, 300} {
			s := &Sum{}
			s.Add(Pair{pairSampled, q, 1, 0}, 1000)
			all := &query{parts: componentsOf(t, s, false)}
			all.truncate(-20)
			law := testkit.Must(all.parts[0].law(t.Context(), q/20, 3, false, true, 1<<20))
			const outside = 1e-9
			lo, hi := chernoffWindow([]factor{{law, power}}, math.Log(outside))
			c := composer().newConvolver(t.Context())
			c.accuracy = 1e-16
			whole := testkit.Must(c.convolve(1, factor{law, power}))
			below, above := 0.0, 0.0
			for i, p := range whole.p {
				switch k := whole.lo + i; {
				case k < lo:
					below += p
				case k > hi:
					above += p
				}
			}
			name := fmt.Sprintf("q %g, power %d", q, power)
			require.Less(t, below, outside, name)
			require.Less(t, above, outside, name)
			require.LessOrEqual(t, whole.lo, lo+2, name)
		}
	}
}

func TestErrorsOfLawsAddUp(t *testing.T) {
	t.Parallel()
	law := func() *tilted {
		t := &tilted{h: 0.01, p: make([]float64, 50)}
		for i := range t.p {
			t.p[i] = 1
		}
		t.normalise()
		t.err, t.noise, t.inf, t.lossError = 1e-3, 2e-3, 3e-3, 4e-3
		return t
	}
	c := &convolver{ctx: t.Context(), maxLength: 1 << 16, accuracy: 1e-12}
	out := testkit.Must(c.convolve(1, factor{law(), 3}, factor{law(), 2}))
	require.GreaterOrEqual(t, out.err, 5e-3)
	require.GreaterOrEqual(t, out.noise, 10e-3)
	require.GreaterOrEqual(t, out.inf, 15e-3)
	require.GreaterOrEqual(t, out.lossError, 20e-3)
	for _, up := range []bool{true, false} {
		moved := law().onto(0.03, 1, up)
		require.GreaterOrEqual(t, moved.err, 1e-3)
		require.GreaterOrEqual(t, moved.noise, 2e-3)
		require.GreaterOrEqual(t, moved.inf, 3e-3)
		require.GreaterOrEqual(t, moved.lossError, 4e-3)
	}
}

func TestWrapAndUnwrap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 4 * (1 + rnd.IntN(6))
		lo := rnd.IntN(200) - 100
		p := make([]float64, rnd.IntN(3*n))
		to, want := make([]complex128, n/2), make([]float64, n)
		for i := range p {
			p[i] = float64(rnd.IntN(9) - 4)
			want[((lo+i)%n+n)%n] += p[i]
		}
		wrap(to, p, modulo(lo, n))
		for j, x := range want {
			is := real(to[j/2])
			if j%2 == 1 {
				is = imag(to[j/2])
			}
			require.Equal(t, x, is)
		}
		to[rnd.IntN(len(to))] = complex(math.NaN(), 1)
		back := make([]float64, rnd.IntN(n+1))
		for i := range back {
			back[i] = math.NaN() // the old number plays no part
		}
		unwrap(back, to, modulo(lo, n))
		for i, x := range back {
			j := modulo(lo+i, n)
			is := real(to[j/2])
			if j%2 == 1 {
				is = imag(to[j/2])
			}
			if !(is > 0) {
				is = 0
			}
			require.Equal(t, is, x)
		}
	}
}

func TestSharesAreSettled(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		n := 1 + rnd.IntN(40)
		mixes, points := make([]mixing, n), make([]mergedOutput, n)
		for i := range points {
			points[i].dev = float64(rnd.IntN(3) - 1)
			if j := i - int(points[i].dev); points[i].dev != 0 && j >= 0 && j < n && rnd.IntN(5) > 0 {
				mixes[i].rate = 0.45 * math.Pow(rnd.Float64(), float64(rnd.IntN(4)))
			}
		}
		share(mixes, points)
		kept := make([]float64, n)
		for i := range mixes {
			kept[i] += mixes[i].share
			if mixes[i].rate > 0 {
				kept[i-int(points[i].dev)] += mixes[i].take
			}
		}
		for i, m := range mixes {
			require.InDelta(t, 1, kept[i], 0x1p-51)
			require.InDelta(t, m.rate*m.share, m.take, 0x1p-50)
			require.GreaterOrEqual(t, m.share, 0.1*(1-0x1p-50))
			require.LessOrEqual(t, m.share, 1.0)
		}
	}
}

func TestNestedLatticesAreVisitedAsAnyAre(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		period := 2 + rnd.IntN(7)
		from := &tilted{h: 0.25, lo: rnd.IntN(60) - 30, p: make([]float64, 1+rnd.IntN(50))}
		for i := range from.p {
			from.p[i] = float64(rnd.IntN(3))
		}
		to := &tilted{h: 0.25 * float64(period)}
		for _, nearest := range []bool{false, true} {
			weigh := func(x float64) [2]float64 { return [2]float64{1, x} }
			mass, moment := make(map[int]float64), make(map[int]float64)
			last := math.MinInt
			from.visit(to, period, nearest, weigh, func(k int, a, b float64) {
				require.Greater(t, k, last)
				last = k
				mass[k] += a
				moment[k] += b
			})
			for i, p := range from.p {
				r := modulo(from.lo+i, period)
				k := (from.lo + i - r) / period
				if nearest && 2*r > period {
					k, r = k+1, r-period
				}
				mass[k] -= p
				moment[k] -= p * 0.25 * float64(r)
			}
			for k := range mass {
				require.Zero(t, mass[k])
				require.InDelta(t, 0, moment[k], 1e-12)
			}
		}
	}
}

func TestSidesAtTheSameTime(t *testing.T) {
	for name, s := range map[string]*Sum{
		"one mechanism": sumOf(3000, sgd(0.01, 1)),
		"two":           sumOf(500, sgd(0.01, 1), sgd(0.02, 1.5)),
		"atoms":         sumOf(50, DiscreteGaussian(20, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			query := func() *query {
				q := &query{parts: componentsOf(t, s, false)}
				q.aimDelta(-11.5, 1e-3)
				return q
			}
			together, apart := composer().newConvolver(t.Context()), composer().newConvolver(t.Context())
			budget, alone := 7e-4, 7e-4
			up, low, err := query().sides(together, &budget)
			require.NoError(t, err)
			q := query()
			wantUp := testkit.Must(q.fit(apart, &alone, true))
			wantLow := testkit.Must(q.fit(apart, &alone, false))
			require.NotNil(t, wantUp)
			require.NotNil(t, wantLow)
			require.Equal(t, wantUp, up)
			require.Equal(t, wantLow, low)
			require.Equal(t, alone, budget)
			require.Equal(t, apart.work, together.work)
			require.Equal(t, apart.largest, together.largest)
			require.LessOrEqual(t, q.foreseen(budget), float64(together.maxLength/2), "there was room for both")

			limited := composer().newConvolver(t.Context())
			limited.maxWork = together.work - 1
			_, _, err = query().sides(limited, &budget)
			require.ErrorIs(t, err, ErrTooMuchWork)
		})
	}
}

func TestSidesShareTheMemory(t *testing.T) {
	s := sumOf(3000, sgd(0.01, 1))
	q := &query{parts: componentsOf(t, s, false)}
	q.aimDelta(-11.5, 1e-3)
	c, budget := composer().newConvolver(t.Context()), 7e-4
	_, _, err := q.sides(c, &budget)
	require.NoError(t, err)
	short := composer().newConvolver(t.Context())
	short.maxLength = c.largest // for one
	up, low, err := q.sides(short, &budget)
	require.NoError(t, err)
	require.NotNil(t, up)
	require.NotNil(t, low)
	require.Equal(t, 7e-4, budget, "no coarser grid was needed")
	require.Greater(t, q.foreseen(budget), float64(short.maxLength/2), "there was no room for both")
	require.Equal(t, c.largest, short.largest)
}

// sgd is a step of Gaussian noise on a Poisson sample.
func sgd(q, sigma float64) Pair { return Gaussian(sigma, 1).OnPoissonSample(q) }

func composer() *Composer { return &Composer{Gap: 1e-3, MaxMemory: 100 << 20} }

func sumOf(n int64, pairs ...Pair) *Sum {
	s := &Sum{}
	for _, p := range pairs {
		s.Add(p, n)
	}
	return s
}

func componentsOf(t testing.TB, s *Sum, reverse bool) []component {
	t.Helper()
	return testkit.Must(composer().components(t.Context(), s, reverse))
}

func TestPLDContainsTheExactGaussian(t *testing.T) {
	i := 0
	for _, mu := range []float64{0.01, 5} {
		for _, delta := range []float64{0.3, 1e-8, 1e-15, 1e-250} {
			want := mathx.GaussianEpsilon(1/mu, delta)
			s := &Sum{mu2: mu * mu}
			kind := []kind{pairResponse, pairRange, pairLaplace}[i%3]
			i++
			s.Add(Pair{kind, []float64{1e-12, 1e-187}[i%2], 0, 0}, 5) // 5e-12 at most
			v := testkit.Must(composer().oneOrder(t.Context(), s, false, Target{DeltaUp: delta, DeltaLow: delta, Gap: 1e-3}))
			assert.LessOrEqual(t, v.Lower, want+1e-11, "mu=%v delta=%v", mu, delta)
			assert.GreaterOrEqual(t, v.Upper, want-1e-11, "mu=%v delta=%v", mu, delta)
			if kind == pairResponse { // the absurd others leave noise, hence width
				assert.Less(t, v.Upper-v.Lower, 1e-3, "mu=%v delta=%v", mu, delta)
			}
		}
	}
}

// direct convolves step with itself n times without transforms; what leaves the top is infinite loss, what
// leaves the bottom goes to the lowest point.
func direct(step []float64, n, zero, size int) (law []float64, inf float64) {
	mul := func(a, b []float64, ia, ib float64) ([]float64, float64) {
		out, lost := make([]float64, size), ia+ib
		for i, x := range a {
			if x == 0 {
				continue
			}
			for j, y := range b {
				k := i + j - zero
				switch {
				case k >= size:
					lost += x * y
				case k < 0:
					out[0] += x * y
				default:
					out[k] += x * y
				}
			}
		}
		return out, lost
	}
	law, power := make([]float64, size), step
	law[zero] = 1
	pinf := 0.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			law, inf = mul(law, power, inf, pinf)
		}
		if n > 1 {
			power, pinf = mul(power, power, pinf, pinf)
		}
	}
	return law, inf
}

func coarse(m mixture, h, lambda float64) *tilted {
	one := func(float64, float64) int { return 1 }
	return m.cells(h, 0, -11, 12.5, false, one).upper(lambda)
}

func pointwiseDelta(law []float64, h float64, zero int, inf, eps float64) float64 {
	d := inf
	for k, x := range law {
		if l := h * float64(k-zero); l > eps {
			d += -math.Expm1(eps-l) * x
		}
	}
	return d
}

func TestTiltedFFTEqualsDirectConvolution(t *testing.T) {
	m := mixture{1e-4, 0.7}
	const steps = 20000
	conv := func() *convolver {
		c := composer().newConvolver(t.Context())
		c.accuracy = 1e-12
		return c
	}
	t.Run("reference on grid 5e-4", func(t *testing.T) {
		for _, c := range []struct{ delta, eps, lambda float64 }{{1e-9, 0.78030671, 8}, {1e-13, 2.21317617, 8}} {
			law := testkit.Must(conv().convolve(1, factor{coarse(m, 5e-4, c.lambda), steps}))
			certified := newProfile(law, c.lambda, true).epsilon(c.delta)
			law.err, law.noise = 0, 0 // the convolution itself
			assert.InDelta(t, c.eps, newProfile(law, c.lambda, true).epsilon(c.delta), 2e-8, "delta %v", c.delta)
			assert.InDelta(t, c.eps, certified, 1e-4)
			assert.Greater(t, certified, c.eps)
		}
	})
	t.Run("direct on grid 4e-3", func(t *testing.T) {
		const h, zero, size = 4e-3, 50, 1400
		plain := coarse(m, h, 0)
		step := make([]float64, size)
		lost := plain.inf
		for i, x := range plain.p {
			mass := x * math.Exp(plain.logM)
			if k := plain.lo + i + zero; k < size {
				step[max(0, k)] += mass
			} else {
				lost += mass
			}
		}
		law, inf := direct(step, steps, zero, size)
		for _, eps := range []float64{0.5, 0.8, 1.5, 2.2} {
			want := pointwiseDelta(law, h, zero, inf+steps*lost, eps)
			got := testkit.Must(conv().convolve(1, factor{coarse(m, h, 8), steps}))
			assert.InEpsilon(t, want, newProfile(got, 8, true).delta(eps), 1e-4, "eps %v", eps) // losses above 5.4 count in full in want
		}
	})
}

func TestPLDNegativeControls(t *testing.T) {
	s := &Sum{}
	s.Add(Pair{pairSampled, 1e-4, 0.7, 0}, 20000)
	const delta = 1e-13
	t.Run("untilted transform", func(t *testing.T) {
		m := mixture{1e-4, 0.7}
		c := composer().newConvolver(t.Context())
		c.accuracy = 1e-14
		law := testkit.Must(c.convolve(1, factor{coarse(m, 5e-4, 0), 20000}))
		assert.Greater(t, newProfile(law, 0, true).epsilon(delta), 2.3, "the certified answer is wide")
		law.err, law.noise = 0, 0
		sold := newProfile(law, 0, true).epsilon(delta)
		assert.Greater(t, math.Abs(sold-2.21317617), 0.01, "without its error it is noise: %v", sold)
	})
	t.Run("lower bound sold as claim", func(t *testing.T) {
		v := testkit.Must(composer().Epsilon(t.Context(), sumOf(1000, sgd(0.01, 1)), Target{DeltaUp: 1e-5, DeltaLow: 1e-5, Gap: 1e-3}))
		assert.Less(t, v.Lower, 1.8282330, "a law dominated by the truth promises too little")
	})
	t.Run("wrap-around", func(t *testing.T) {
		q := &query{parts: componentsOf(t, s, false)}
		q.aimDelta(math.Log(delta), 1e-3)
		c := composer().newConvolver(t.Context())
		c.clamp = 1 << 12
		law := testkit.Must(q.compose(c, 1e-3, true))
		law.err, law.noise = 0, 0
		eps := newProfile(law, q.lambda, true).epsilon(delta)
		assert.Greater(t, math.Abs(eps-2.2111), 0.02, "a window too short")
	})
}
