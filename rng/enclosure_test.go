package rng

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

const referenceBits = 400

func float(x uint64) *big.Float { return new(big.Float).SetPrec(referenceBits).SetUint64(x) }

// referenceExp returns exp(-x) from the series of exp(x), in 400-bit floating point.
func referenceExp(x *big.Float) *big.Float {
	sum, term := float(1), float(1)
	for j := uint64(1); term.MantExp(nil) > sum.MantExp(nil)-referenceBits-10; j++ {
		term.Quo(term.Mul(term, x), float(j))
		if sum.Add(sum, term); term.Sign() == 0 {
			break
		}
	}
	return sum.Quo(float(1), sum)
}

// referenceTails returns P[X >= 1], P[X >= 2], ... . It computes each weight by itself, not
// as a product of others. It is good for tails down to 2^-200 and for 80 bits of them.
func referenceTails(l law) (tails []*big.Float) {
	s := func(num uint64, shift uint) *big.Float { x := float(num); return x.SetMantExp(x, -int(shift)) }
	var exponent func(k uint64) *big.Float
	switch l := l.(type) {
	case halfGaussian:
		exponent = func(k uint64) *big.Float {
			z := float(k)
			z.Quo(z, s(l.num, l.shift))
			return z.Quo(z.Mul(z, z), float(2))
		}
	case geometric:
		exponent = func(k uint64) *big.Float { return float(k).Quo(float(k), s(l.num, l.shift)) }
	}
	var weights []*big.Float
	for k := uint64(0); ; k++ {
		x := exponent(k)
		if x.Cmp(float(220)) > 0 { // exp(-220) < 2^-317
			break
		}
		weights = append(weights, referenceExp(x))
	}
	sum := float(0)
	for k := len(weights) - 1; k >= 0; k-- {
		sum.Add(sum, weights[k])
		weights[k] = new(big.Float).Set(sum)
	}
	for _, w := range weights[1:] {
		tails = append(tails, w.Quo(w, sum))
	}
	return tails
}

var laws = map[string]law{
	"gaussian 2^-10": halfGaussian{1, 10}, "gaussian 0.3": gaussianLaw(0.3), "gaussian 1": halfGaussian{1, 0},
	"gaussian 2.5": gaussianLaw(2.5), "gaussian 40": halfGaussian{40, 0}, "gaussian sqrt 2000": gaussianLaw(math.Sqrt(2000)),
	"geometric 2^-10": geometric{1, 10}, "geometric 2.3": geometricLaw(2.3), "geometric 7": geometric{7, 0},
}

func gaussianLaw(sigma float64) law  { num, shift := dyadic(sigma); return halfGaussian{num, shift} }
func geometricLaw(scale float64) law { num, shift := dyadic(scale); return geometric{num, shift} }

// wrong counts the entries that do not enclose their tail.
func (t *table) wrong(reference []*big.Float) (n int) {
	for i, e := range t.tails {
		x := new(big.Float) // no tail beyond the reference reaches 2^-63
		if i < len(reference) {
			x.SetMantExp(reference[i], uBits)
		}
		if float(e).Cmp(x) > 0 || x.Cmp(float(e+t.slack)) > 0 {
			n++
		}
	}
	return n
}

func TestTailsAreEnclosed(t *testing.T) {
	for name, l := range laws {
		t.Run(name, func(t *testing.T) {
			if g, ok := l.(halfGaussian); ok && testkit.Race && g.num>>g.shift > 5 {
				t.Skip("slow, and one goroutine")
			}
			reference := referenceTails(l)
			for _, prec := range []uint{0, 1, 40, 95, 190} {
				tails := l.tails(prec)
				for i, tail := range tails {
					x := float(0)
					if i < len(reference) {
						x.SetMantExp(reference[i], int(prec))
					}
					lo, hi := new(big.Float).SetInt(tail.lo), new(big.Float).SetInt(tail.hi)
					require.True(t, lo.Cmp(x) <= 0 && x.Cmp(hi) <= 0, "precision %d, tail %d", prec, i+1)
					width := new(big.Int).Sub(tail.hi, tail.lo)
					require.LessOrEqual(t, width.Cmp(big.NewInt(2)), 0, "precision %d: %v wide", prec, width)
				}
				require.Zero(t, tails[len(tails)-1].lo.Sign())
			}
			made := newTable(l)
			require.Zero(t, made.wrong(reference))
			require.LessOrEqual(t, made.slack, uint64(2), "or big integers are needed often")
			require.Zero(t, made.tails[len(made.tails)-1])
			require.IsNonIncreasing(t, made.tails)
		})
	}
}

// TestTableControls checks that wrong catches a table of probabilities rounded to float64.
// No test of draws could ever tell that table from the right one.
func TestTableControls(t *testing.T) {
	l := halfGaussian{40, 0}
	reference := referenceTails(l)
	made := newTable(l)
	rounded := &table{slack: made.slack}
	for _, x := range reference {
		p, _ := x.Float64()
		rounded.tails = append(rounded.tails, uint64(math.Ldexp(p, uBits)))
	}
	require.Greater(t, rounded.wrong(reference), 100)
	for _, off := range []int{-1, 1} { // one entry by one unit more than it may
		made := newTable(l)
		made.slack = 1
		if off < 0 {
			made.tails[60]--
		} else {
			made.tails[60]++
		}
		require.Equal(t, 1, made.wrong(reference))
	}
}

func TestExpNegIsEnclosed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.OneOf(rapid.Uint64Max(200), rapid.Uint64()).Draw(t, "p")
		q := rapid.Uint64Range(max(1, p/250), math.MaxUint64).Draw(t, "q")
		prec := rapid.UintRange(0, 200).Draw(t, "prec")
		x := float(p)
		x = referenceExp(x.Quo(x, float(q)))
		x.SetMantExp(x, int(prec))
		got := expNeg(new(big.Int).SetUint64(p), new(big.Int).SetUint64(q), prec)
		require.LessOrEqual(t, new(big.Float).SetInt(got.lo).Cmp(x), 0)
		require.LessOrEqual(t, x.Cmp(new(big.Float).SetInt(got.hi)), 0)
		require.LessOrEqual(t, new(big.Int).Sub(got.hi, got.lo).Cmp(big.NewInt(2)), 0)
	})
	tiny := expNeg(big.NewInt(1<<20), big.NewInt(1), 64) // exp(-2^20)
	require.Zero(t, tiny.lo.Sign())
	require.Equal(t, int64(1), tiny.hi.Int64())
}

func TestInverseE(t *testing.T) {
	one := big.NewInt(1)
	e := expNeg(one, one, 64)
	require.Equal(t, uint64(inverseE), e.lo.Uint64())
	require.Equal(t, uint64(inverseE+1), e.hi.Uint64())
}
