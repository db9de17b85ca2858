package accountant

import (
	"flag"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var exactCases = flag.Int("curves", 300, "random curves and conversions that the tests against 96-digit arithmetic evaluate")

func divergence(moment exact, a float64) float64 {
	return moment.log().div(num(a).sub(num(1))).float()
}

func exactPure(eps exact, a float64) exact {
	x := num(a).mul(eps)
	return x.exp().add(eps.sub(x).exp()).div(num(1).add(eps.exp()))
}

func exactLaplace(eps exact, a float64) exact {
	x, b := num(a), num(2).mul(num(a)).sub(num(1))
	first := x.div(b).mul(x.sub(num(1)).mul(eps).exp())
	return first.add(x.sub(num(1)).div(b).mul(x.mul(eps).neg().exp()))
}

func exactDiscreteLaplace(scale float64, s int64, a float64) exact {
	t := num(1).div(num(scale))
	r, shift, x := t.neg().exp(), num(float64(s)), num(a)
	gain := x.sub(num(1)).mul(t) // per unit of loss, in the exponent
	ends := gain.mul(shift).exp().add(gain.mul(shift).neg().exp().mul(t.mul(shift).neg().exp())).div(num(1).add(r))
	step := num(2).mul(x).sub(num(1)).mul(t).neg().exp() // what one unit further from 0 does
	middle := num(0)
	if s <= 30 {
		power := num(1)
		for k := int64(1); k < s; k++ {
			power = power.mul(step)
			middle = middle.add(power)
		}
	} else {
		last := num(2).mul(x).sub(num(1)).mul(t).mul(shift).neg().exp()
		middle = step.sub(last).div(num(1).sub(step))
	}
	weight := num(1).sub(r).div(num(1).add(r)).mul(gain.mul(shift).exp())
	return ends.add(weight.mul(middle))
}

func exactKary(eps float64, categories int64, a float64) exact {
	e, x, k := num(eps), num(a), num(float64(categories))
	sum := x.mul(e).exp().add(e.sub(x.mul(e)).exp()).add(k.sub(num(2)))
	return sum.div(e.exp().add(k).sub(num(1)))
}

// exactBoundedRange returns the divergence, not the moment: see boundedRangeCurve.
func exactBoundedRange(eps, a float64) float64 {
	e, x := num(eps), num(a)
	less := x.sub(num(1))
	phi := func(y exact) exact { return num(1).sub(y.neg().exp()).div(y).log() }
	whole := phi(x.mul(e))
	return e.add(whole).sub(phi(less.mul(e))).add(whole.sub(phi(e)).div(less)).float()
}

func exactSampledPure(q, eps, a float64) exact {
	e, p, x := num(eps), num(q), num(a)
	high := num(1).div(num(1).add(e.exp()))
	up := num(1).add(p.mul(e.exp().sub(num(1))))
	down := num(1).add(p.mul(e.neg().exp().sub(num(1))))
	return high.mul(up.pow(x)).add(num(1).sub(high).mul(down.pow(x)))
}

func exactGNSS(e GNSS, a float64) float64 {
	x, beta, sigma := num(a), num(e.Beta), num(e.Sigma)
	small := beta.neg().exp()
	shift := small.add(num(e.Margin).mul(sigma).mul(num(1).sub(small))).div(sigma)
	c := num(1).sub(x.mul(num(1).sub(small.mul(small))))
	if c.v.Sign() <= 0 {
		return math.Inf(1)
	}
	far := x.mul(shift).mul(shift).div(num(2).mul(c))
	return far.sub(x.mul(beta).add(c.log().div(num(2))).div(x.sub(num(1)))).float()
}

func exactSampledGaussian(q, sigma float64, a int) exact {
	sum, p, s := num(0), num(q), num(sigma)
	choose, base := num(1), num(1)
	for range a {
		base = base.mul(num(1).sub(p))
	}
	odds := p.div(num(1).sub(p))
	for k := 0; k <= a; k++ {
		sum = sum.add(choose.mul(base).mul(num(float64(k) * float64(k-1)).div(num(2).mul(s).mul(s)).exp()))
		choose = choose.mul(num(float64(a - k))).div(num(float64(k + 1)))
		base = base.mul(odds)
	}
	return sum
}

func exactSampledGaussianAt(q, sigma, a float64) exact {
	step := math.Min(0.25, sigma/5)
	right := int((math.Max(a, 2)/sigma + 14) / step)
	sum, mass, s := num(0), num(0), num(sigma)
	for k := -int(14 / step); k <= right; k++ {
		z := num(float64(k)).mul(num(step))
		density := z.mul(z).div(num(2)).neg().exp()
		ratio := num(1).add(num(q).mul(z.div(s).sub(num(0.5).div(s.mul(s))).exp().sub(num(1))))
		sum = sum.add(density.mul(ratio.pow(num(a)).sub(num(a).mul(ratio.sub(num(1))))))
		mass = mass.add(density)
	}
	// The linear term has mean 0. Dividing by the sum of the weights instead of sqrt(2 pi) cancels what the
	// grid misses of either.
	return sum.div(mass)
}

func drawCurve(rnd *rand.Rand) (leaf Event, a, truth float64) {
	log := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + rnd.Float64()*math.Log(hi/lo)) }
	a = 1 + log(1e-6, 1e6)
	whole := 2 + rnd.IntN(60)
	noise, eps, q := log(0.02, 1e9), log(1e-9, 20), log(1e-9, 1)
	switch rnd.IntN(12) {
	case 0:
		return PureDP{eps}, a, divergence(exactPure(num(eps), a), a)
	case 1:
		return Laplace{noise}, a, divergence(exactLaplace(num(1).div(num(noise)), a), a)
	case 2, 3, 4:
		s := int64(log(1, 50))
		if rnd.IntN(2) == 0 {
			s = int64(log(1, 1e9))
		}
		noise = math.Max(noise, float64(s)*a/1e8) // what the reference can hold
		return DiscreteLaplace{noise, s}, a, divergence(exactDiscreteLaplace(noise, s, a), a)
	case 5:
		k := int64(log(2, 1e6))
		return KaryResponse{eps, k}, a, divergence(exactKary(eps, k, a), a)
	case 6:
		return ExponentialMechanism{eps}, a, exactBoundedRange(eps, a)
	case 7:
		a = 1 + log(1e-6, 1e4)
		return PoissonSampled{q, PureDP{eps}}, a, divergence(exactSampledPure(q, eps, a), a)
	case 8:
		e := GNSS{log(1e-9, 1), log(0.5, 1e9), 3 * rnd.Float64() * float64(rnd.IntN(2))}
		return e, a, exactGNSS(e, a)
	case 9:
		noise = log(0.1, 1e6)
		if rnd.IntN(2) == 0 {
			return PoissonSampled{q, Gaussian{noise}}, float64(whole), divergence(exactSampledGaussian(q, noise, whole), float64(whole))
		}
		return PoissonSampled{q, DiscreteGaussian{noise, 1}}, float64(whole), divergence(exactSampledGaussian(q, noise, whole), float64(whole))
	case 10:
		if rnd.IntN(20) > 0 { // slow
			return Gaussian{noise}, a, num(a).div(num(2).mul(num(noise)).mul(num(noise))).float()
		}
		noise, a = log(0.3, 1e6), 1+log(1e-6, 30)
		return PoissonSampled{q, Gaussian{noise}}, a, divergence(exactSampledGaussianAt(q, noise, a), a)
	}
	lap := exactLaplace(num(1).div(num(noise)), a).log().div(num(a).sub(num(1)))
	return LNMax{Scale: noise}, a, math.Min(num(2).mul(lap).float(), divergence(exactPure(num(2).div(num(noise)), a), a))
}

// No curve lies below the exact divergence by more than the slack that total adds, and none that is exact
// lies above it by more than 1e-9: scales to 1e9, sensitivities to 1e9, orders from 1 + 1e-6 to 10^6. The
// reference keeps 96 digits.
func TestCurvesNeverBelowExact(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, *seed))
	lowest, highest := map[string]float64{}, map[string]float64{}
	for range Cases(exactCases, 1500) {
		leaf, a, truth := drawCurve(rnd)
		claim := curveOf(leaf)(a)
		if truth < 1e-300 || math.IsInf(truth, 1) {
			assert.GreaterOrEqual(t, claim, truth, "%#v order %v", leaf, a)
			continue
		}
		ratio := claim / truth
		require.False(t, math.IsNaN(ratio), "%#v order %v: %v, exact %v", leaf, a, claim, truth)
		require.GreaterOrEqual(t, ratio, 1-slack/2, "%#v order %v: %v, exact %v", leaf, a, claim, truth)
		name := typeName(leaf)
		if s, ok := leaf.(PoissonSampled); ok {
			name += " " + typeName(s.Event)
		}
		if low, ok := lowest[name]; !ok || ratio < low {
			lowest[name] = ratio
		}
		highest[name] = math.Max(highest[name], ratio)
	}
	for name, low := range lowest {
		t.Logf("%-40s claim/exact - 1 from %8.1e to %8.1e", name, low-1, highest[name]-1)
	}
}

// precision is that of the reference arithmetic, in bits: about 96 digits.
const precision = 320

// exact is a number in reference arithmetic. Its methods return new values.
type exact struct{ v *big.Float }

func num(x float64) exact { return exact{new(big.Float).SetPrec(precision).SetFloat64(x)} }

func fresh() *big.Float { return new(big.Float).SetPrec(precision) }

// add returns x + y. big.Float would first write out all bits between the two.
func (x exact) add(y exact) exact {
	switch ex, ey := x.v.MantExp(nil), y.v.MantExp(nil); {
	case y.v.Sign() == 0 || x.v.Sign() != 0 && ex-ey > 2*precision:
		return x
	case x.v.Sign() == 0 || ey-ex > 2*precision:
		return y
	}
	return exact{fresh().Add(x.v, y.v)}
}

func (x exact) sub(y exact) exact { return x.add(y.neg()) }
func (x exact) mul(y exact) exact { return exact{fresh().Mul(x.v, y.v)} }
func (x exact) div(y exact) exact { return exact{fresh().Quo(x.v, y.v)} }
func (x exact) neg() exact        { return exact{fresh().Neg(x.v)} }

func (x exact) float() float64 {
	f, _ := x.v.Float64()
	return f
}

func (x exact) exp() exact {
	const halvings = 32
	if x.v.Sign() == 0 {
		return num(1)
	}
	if x.v.Sign() < 0 {
		return num(1).div(x.neg().exp())
	}
	shift := max(0, x.v.MantExp(nil)+halvings)
	y := exact{fresh().SetMantExp(x.v, -shift)}
	sum, term := num(1), num(1)
	for k := 1; k < 40; k++ {
		term = term.mul(y).div(num(float64(k)))
		if term.v.Sign() == 0 || term.v.MantExp(nil) < -precision-shift-8 {
			break
		}
		sum = sum.add(term)
	}
	// Squaring 1 + z loses the low bits of z, so z is kept: (1+z)^2 - 1 = z(2+z).
	z := sum.sub(num(1))
	for range shift {
		z = z.mul(z.add(num(2)))
	}
	return z.add(num(1))
}

var ln2 = func() exact {
	x := num(math.Ln2)
	for range 3 {
		e := x.exp()
		x = x.add(num(2).mul(num(2).sub(e)).div(num(2).add(e)))
	}
	return x
}()

func (x exact) log() exact {
	m := fresh()
	exponent := x.v.MantExp(m)
	mantissa := exact{m}
	guess, _ := m.Float64()
	y := num(math.Log(guess))
	for range 2 {
		e := y.exp()
		y = y.add(num(2).mul(mantissa.sub(e)).div(mantissa.add(e)))
	}
	return y.add(ln2.mul(num(float64(exponent))))
}

func (x exact) pow(y exact) exact { return x.log().mul(y).exp() }

func TestReferenceArithmetic(t *testing.T) {
	assert.Equal(t, "2.7182818284590452353602874713526624977572470936999595749669676277240766303535",
		num(1).exp().v.Text('f', 76))
	assert.Equal(t, "0.69314718055994530941723212145817656807550013436025525412068000949339362197", ln2.v.Text('f', 74))
	for _, x := range []float64{1e-200, 1e-9, 0.3, 1, 1.7, 700, 1e5} {
		back := num(x).log().exp().sub(num(x)).div(num(x)).float()
		assert.Less(t, math.Abs(back), 1e-80, x)
		back = num(x).exp().log().sub(num(x)).float() // e^x - 1 keeps 96 digits of 1
		assert.Less(t, math.Abs(back), 1e-80*math.Max(1, x), x)
	}
}

func TestStableSVTIsItsFormula(t *testing.T) {
	for _, e := range []StableSVT{{4, 8, 40, 1}, {1, 2, 0, 7}, {100, 3, 999, 50}} {
		epsilon := 1/e.B1 + 2*float64(e.Failures)/e.B2
		d, failure := rdpAt(t, math.Inf(1), e)
		require.GreaterOrEqual(t, d, epsilon)
		require.InEpsilon(t, epsilon, d, 1e-11)
		tail := math.Exp(-float64(e.Threshold+1) / e.B1)
		require.GreaterOrEqual(t, failure, tail*(1-1e-13))
		require.InEpsilon(t, tail, failure, 1e-11)
	}
}

func TestSampledIntegerNoiseIsOnTheChord(t *testing.T) {
	for _, e := range []PoissonSampled{{0.1, DiscreteGaussian{2, 1}}, {0.5, DiscreteGaussian{1, 1}}, {0.01, GNMax{Sigma: 3, Discrete: true}}} {
		for _, order := range []float64{2, 3, 10} {
			at := func(a float64) float64 {
				d, _ := rdpAt(t, a, e)
				return d * (a - 1)
			}
			require.GreaterOrEqual(t, at(order+0.5), (at(order)+at(order+1))/2*(1-1e-9), "%+v at %v", e, order)
		}
	}
}

func TestRhoOfVotes(t *testing.T) {
	for _, discrete := range []bool{false, true} {
		require.InEpsilon(t, 1.0/9, PropertiesOf(GNMax{Sigma: 3, Discrete: discrete}).Rho, 1e-12)
		require.InEpsilon(t, 2.0/3*math.Tanh(1.0/6), PropertiesOf(LNMax{Scale: 3, Discrete: discrete}).Rho, 1e-12)
		require.InEpsilon(t, 1.0/18, PropertiesOf(Threshold{Sigma: 3, Discrete: discrete}).Rho, 1e-12)
	}
}

func TestSeveralReleasesFromOneSample(t *testing.T) {
	several := PoissonSampled{0.1, Composed{[]Event{Repeated{Gaussian{2}, 3}, Gaussian{5}}}}
	one := PoissonSampled{0.1, Gaussian{1 / math.Sqrt(3.0/4+1.0/25)}}
	for _, order := range []float64{1.5, 2, 20} {
		got, _ := rdpAt(t, order, several)
		want, _ := rdpAt(t, order, one)
		require.InEpsilon(t, want, got, 1e-9)
	}
}

func TestShiftsOfIntegerNoiseAreCounted(t *testing.T) {
	epsilon := func(e Event) Bound {
		return pldEpsilon(t, PLDConfig{Relation: AddRemove}, 1e-6, e)
	}
	root, twice := epsilon(DiscreteGaussian{4, math.Sqrt2}), epsilon(Repeated{DiscreteGaussian{4, 1}, 2})
	require.InDelta(t, twice.Upper, root.Upper, 2e-3)
	require.Greater(t, root.Lower, epsilon(DiscreteGaussian{4, 1}).Upper+0.1)
}
