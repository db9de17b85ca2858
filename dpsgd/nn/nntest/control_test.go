package nntest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dpsgd/nn"
)

type broken struct {
	nn.Dense
	how string
}

func (b broken) Float32(in nn.Shape, rows int) nn.Pass[float32] {
	return &brokenPass[float32]{Pass: b.Dense.Float32(in, rows), in: in.Size(), out: b.Units, how: b.how}
}

func (b broken) Float64(in nn.Shape, rows int) nn.Pass[float64] {
	return &brokenPass[float64]{Pass: b.Dense.Float64(in, rows), in: in.Size(), out: b.Units, how: b.how}
}

type brokenPass[T nn.Float] struct {
	nn.Pass[T]
	in, out int
	how     string
	x, y    []T
	dy      []T
}

func (p *brokenPass[T]) Forward(y, x []T, rows int) {
	p.Pass.Forward(y, x, rows)
	p.x, p.y = x, y
	if p.how == "rounding by company" && rows > 3 {
		y[0] += y[0] * 0x1p-22
	}
}

func (p *brokenPass[T]) Backward(dx, dy []T, rows int, squares [][]float64) {
	p.Pass.Backward(dx, dy, rows, squares)
	p.dy = dy
	for i := range rows {
		switch {
		case p.how == "gradient" && dx != nil:
			dx[i*p.in] *= 1.001
		case p.how == "values read again" && dx != nil:
			dx[i*p.in] += 0 * p.y[i*p.out]
		case squares == nil:
		case p.how == "norm without intercept":
			squares[1][i] = 0
		case p.how == "nothing is not finite" && !(math.Abs(squares[0][i]) <= math.MaxFloat64):
			squares[0][i], squares[1][i] = 1, 1
		case p.how == "norms in single precision":
			xx, gg := dot(p.x[i*p.in:], p.in), dot(dy[i*p.out:], p.out)
			squares[0][i], squares[1][i] = float64(xx*gg), float64(gg)
		case p.how == "steep inputs":
			xx, gg := norm(p.x[i*p.in:(i+1)*p.in]), norm(dy[i*p.out:(i+1)*p.out])
			if gg <= 0x1p64 {
				squares[0][i], squares[1][i] = xx*xx*gg*gg, gg*gg
			}
		case p.how == "long deltas":
			xx, gg := norm(p.x[i*p.in:(i+1)*p.in]), norm(dy[i*p.out:(i+1)*p.out])
			if xx <= 0x1p64 {
				squares[0][i], squares[1][i] = xx*xx*gg*gg, gg*gg
			}
		}
	}
}

func dot[T nn.Float](x []T, n int) (s T) {
	for _, v := range x[:n] {
		s += v * v
	}
	return s
}

func (p *brokenPass[T]) AddScaled(sum []T, rows int, scales [][]T) {
	switch {
	case p.how == "one chain" && scales != nil:
		for i := range rows {
			for k := range p.out {
				s := scales[0][i] * p.dy[i*p.out+k]
				for j := range p.in {
					sum[k*p.in+j] += s * p.x[i*p.in+j]
				}
				sum[p.out*p.in+k] += scales[1][i] * p.dy[i*p.out+k]
			}
		}
	case p.how == "tensors scaled alike" && scales != nil:
		p.Pass.AddScaled(sum, rows, [][]T{scales[0], scales[0]})
	default:
		p.Pass.AddScaled(sum, rows, scales)
	}
}

type verdict struct{ failed bool }

func (v *verdict) Errorf(string, ...any) { v.failed = true }
func (v *verdict) FailNow()              { panic(v) }

func fails(check func(t require.TestingT)) (failed bool) {
	v := &verdict{}
	defer func() {
		if r := recover(); r != nil && r != any(v) {
			panic(r)
		}
		failed = v.failed
	}()
	check(v)
	return v.failed
}

func TestBrokenLayersFail(t *testing.T) {
	in := nn.Vector(5)
	checks := map[string]func(t require.TestingT, layer nn.Layer){
		"gradient":               func(t require.TestingT, l nn.Layer) { differences(t, l, in) },
		"norm without intercept": func(t require.TestingT, l nn.Layer) { sums(t, l, in, l.Float32, 0x1p-23) },
		"tensors scaled alike":   func(t require.TestingT, l nn.Layer) { sums(t, l, in, l.Float64, 0x1p-52) },
		"rounding by company":    func(t require.TestingT, l nn.Layer) { exactness(t, l, in, l.Float32) },
		"one chain":              func(t require.TestingT, l nn.Layer) { depth(t, l, in) },
		"nothing is not finite":  func(t require.TestingT, l nn.Layer) { notFinite(t, l, in) },
		"values read again":      func(t require.TestingT, l nn.Layer) { differences(t, l, in) },
	}
	for _, how := range []string{"norms in single precision", "steep inputs", "long deltas"} {
		checks[how] = func(t require.TestingT, l nn.Layer) { extremes(t, l, in, l.Float32) }
	}
	for how, check := range checks {
		t.Run(how, func(t *testing.T) {
			require.True(t, fails(func(v require.TestingT) { check(v, broken{nn.Dense{Units: 4}, how}) }))
			require.False(t, fails(func(v require.TestingT) { check(v, broken{nn.Dense{Units: 4}, "sound"}) }))
		})
	}
	t.Run("in place", func(t *testing.T) {
		require.True(t, fails(func(v require.TestingT) { inPlace(v, leaky{readsInput: true}, in) }))
		TestLayer(t, leaky{}, in)
	})
	t.Run("description", func(t *testing.T) {
		require.True(t, fails(func(v require.TestingT) { describe(v, unnamed{}, in) }))
	})
}

// leaky is a leaky ReLU with its sign changed. It gets its method InPlace from nn.ReLU.
type leaky struct {
	nn.ReLU
	readsInput bool // in Backward, as a layer in place may not
}

func (leaky) String() string { return "leaky relu" }

func (l leaky) Float32(in nn.Shape, _ int) nn.Pass[float32] {
	return &leakyPass[float32]{Pass: l.ReLU.Float32(in, 0), leaky: l}
}

func (l leaky) Float64(in nn.Shape, _ int) nn.Pass[float64] {
	return &leakyPass[float64]{Pass: l.ReLU.Float64(in, 0), leaky: l}
}

type leakyPass[T nn.Float] struct {
	nn.Pass[T] // for its methods without parameters
	leaky
	x, y []T
}

func (p *leakyPass[T]) Forward(y, x []T, _ int) {
	for i, v := range x {
		y[i] = -max(v, v/4)
	}
	p.x, p.y = x, y
}

func (p *leakyPass[T]) Backward(dx, dy []T, _ int, _ [][]float64) {
	for i := range dx {
		negative := p.y[i] > 0
		if p.readsInput {
			negative = p.x[i] < 0
		}
		if dx[i] = -dy[i]; negative {
			dx[i] /= 4
		}
	}
}

type unnamed struct{ nn.ReLU }

func (unnamed) String() string { return "" }
