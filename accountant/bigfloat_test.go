package accountant

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
)

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

// exp returns e^x for |x| below 1e8, by halving the argument and a Taylor sum.
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

// ln2 is the root of e^x = 2.
var ln2 = func() exact {
	x := num(math.Ln2)
	for range 3 {
		e := x.exp()
		x = x.add(num(2).mul(num(2).sub(e)).div(num(2).add(e)))
	}
	return x
}()

// log returns the logarithm of x > 0, by Halley's method on its mantissa.
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

// pow returns x^y for x > 0.
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
