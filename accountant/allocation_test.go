package accountant

import (
	"math"

	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// intervalOf returns the answer of privacy loss distributions and the one of Rényi divergences.
func intervalOf(t *testing.T, delta float64, e Event) (Bound, Bound) {
	t.Helper()
	p, r := newPLD(t, PLDConfig{Gap: 0.05}), newRDP(t, RDPConfig{})
	require.NoError(t, p.Compose(e, 1))
	require.NoError(t, r.Compose(e, 1))
	b := epsAt(t, p, delta)
	rb := epsAt(t, r, delta)
	require.LessOrEqual(t, b.Lower, b.Floor+1e-12, "%+v", e)
	require.LessOrEqual(t, b.Floor, b.Upper, "%+v", e)
	require.LessOrEqual(t, b.Lower, rb.Upper, "%+v", e)
	return b, rb
}

// Tiny and huge noise and numbers of steps: bounds, in time, never above what one takes for certain and
// never below what the sum of all outputs shows.
func TestAllocationAtExtremes(t *testing.T) {
	t.Parallel()
	for i, sigma := range []float64{5e-324, 1e-3, 1, 1e6} {
		for j, steps := range []int64{2, 1e9, math.MaxInt64} {
			if skipped(i+j, 2) {
				continue
			}
			b, r := intervalOf(t, 1e-5, RandomAllocation{1, steps, Gaussian{sigma}})
			if sigma < 1e-300 {
				require.Equal(t, math.Inf(1), b.Upper)
				continue
			}
			certain := testkit.Must(GaussianEpsilon(sigma, 1e-5))
			assert.LessOrEqual(t, b.Upper, certain*(1+1e-3)+1e-3, "sigma %v, %d steps", sigma, steps)
			assert.GreaterOrEqual(t, r.Upper, b.Lower)
			sum := testkit.Must(GaussianEpsilon(sigma*math.Sqrt(float64(steps)), 1e-5))
			assert.GreaterOrEqual(t, b.Upper, sum*(1-1e-9), "sigma %v, %d steps", sigma, steps)
			for _, e := range []Event{
				RandomAllocation{steps, steps, Gaussian{sigma}}, BallsInBins{steps, steps, Gaussian{sigma}}, BallsInBins{1, 3, Gaussian{sigma}},
				BandedMatrix{1, steps, 1e-9, sigma}, BandedMatrix{steps, steps, 0, sigma},
			} {
				b := epsilonOf(t, RDPConfig{}, 1e-5, e)
				require.GreaterOrEqual(t, b.Upper, 0.0)
			}
		}
	}
	all, _ := intervalOf(t, 1e-5, RandomAllocation{40, 40, Gaussian{9}})
	plain, _ := intervalOf(t, 1e-5, Repeated{Gaussian{9}, 40})
	assert.Equal(t, plain, all, "all steps are no sampling")
	assert.ErrorIs(t, newRDP(t, RDPConfig{}).Compose(RandomAllocation{3, math.MaxInt64, Gaussian{1}}, math.MaxInt64), ErrInvalidEvent)
}

// More steps, more noise and fewer shares cost less; more epochs cost more.
func TestAllocationIsMonotone(t *testing.T) {
	t.Parallel()
	const delta = 1e-5
	order := [][]Event{
		{RandomAllocation{1, 3000, Gaussian{1}}, RandomAllocation{1, 1000, Gaussian{1}}, RandomAllocation{1, 333, Gaussian{1}}, RandomAllocation{1, 2, Gaussian{1}}, Gaussian{1}},
		{RandomAllocation{1, 100, Gaussian{5}}, RandomAllocation{1, 100, Gaussian{2}}, RandomAllocation{1, 100, Gaussian{0.6}}},
		{RandomAllocation{2, 100, Gaussian{2}}, RandomAllocation{7, 100, Gaussian{2}}, RandomAllocation{60, 100, Gaussian{2}}, RandomAllocation{100, 100, Gaussian{2}}},
		{BallsInBins{100, 1, Gaussian{2}}, BallsInBins{100, 5, Gaussian{2}}, BallsInBins{50, 5, Gaussian{2}}},
		{BandedMatrix{8, 100, 0.1, 2}, BandedMatrix{4, 100, 0.1, 2}, BandedMatrix{3, 100, 0.1, 2}},
	}
	for _, events := range order {
		var before Bound
		var rdp float64
		for _, e := range events {
			b, r := intervalOf(t, delta, e)
			require.LessOrEqual(t, before.Lower, b.Upper*(1+1e-9), "%+v", e)
			require.LessOrEqual(t, before.Upper, b.Upper*(1+1e-9)+1e-3, "%+v", e)
			require.LessOrEqual(t, rdp, r.Upper*(1+1e-9), "%+v", e)
			before, rdp = b, r.Upper
		}
	}
}

// The moments that have a closed form: order 2, and both orders of one step of two by quadrature.
func TestAllocationMoments(t *testing.T) {
	for _, sigma := range []float64{0.3, 20} {
		for _, steps := range []float64{7, 1e9} {
			m := newAllocationMoments(steps, sigma)
			want := math.Log1p(math.Expm1(1/(sigma*sigma)) / steps)
			assert.InDelta(t, want, m.forward[2], 1e-11+1e-12*want)
			assert.GreaterOrEqual(t, m.forward[2], want)
		}
		m := newAllocationMoments(2, sigma)
		for _, a := range []int{2, 3, 9, 40} {
			lim := 12.0 + float64(a)/sigma
			reverse := math.Log(simpson(func(x float64) float64 { // log ratio of the two, whose mean is cosh
				// R = e^{(z1+z2)/(2 sigma) - 1/(2 sigma^2)} cosh((z1-z2)/(2 sigma))
				return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) * math.Pow(math.Cosh(x/(math.Sqrt2*sigma)), float64(1-a))
			}, -lim, lim)) + float64(a-1)/(2*sigma*sigma) + float64((a-1)*(a-1))/(4*sigma*sigma)
			got := m.log(a)
			assert.GreaterOrEqual(t, got, reverse-1e-13*math.Abs(reverse), "sigma %v order %v", sigma, a)
			assert.GreaterOrEqual(t, m.reverse[a], reverse-1e-13*math.Abs(reverse), "sigma %v order %v", sigma, a)
			if float64(a) > 50*sigma {
				continue
			}
			assert.InEpsilon(t, reverse, m.reverse[a], 1e-9, "sigma %v order %v", sigma, a)
		}
	}
}

// What is not known is refused, and says why.
func TestAllocationRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		relation Relation
		event    Event
	}{
		"replaced record":            {ReplaceOne, RandomAllocation{1, 5, Gaussian{1}}},
		"replaced record in a bin":   {ReplaceOne, BallsInBins{5, 1, Gaussian{1}}},
		"replaced record in a band":  {ReplaceOne, BandedMatrix{1, 5, 0.1, 1}},
		"Laplace noise":              {AddRemove, RandomAllocation{1, 5, Laplace{1}}},
		"integer noise":              {AddRemove, BallsInBins{5, 2, DiscreteGaussian{4, 1}}},
		"what may fail":              {AddRemove, RandomAllocation{1, 5, WithFailure{Gaussian{1}, 1e-9}}},
		"a group inside":             {AddRemove, RandomAllocation{1, 5, Group{2, Gaussian{1}}}},
		"a group of allocated":       {AddRemove, Group{2, RandomAllocation{1, 5, Gaussian{1}}}},
		"a sample of allocated":      {AddRemove, PoissonSampled{0.1, RandomAllocation{1, 5, Gaussian{1}}}},
		"an allocation of allocated": {AddRemove, RandomAllocation{1, 5, RandomAllocation{1, 5, Gaussian{1}}}},
	} {
		byPLD := newPLD(t, PLDConfig{Relation: c.relation})
		for _, a := range []Accountant{newRDP(t, RDPConfig{Relation: c.relation}), byPLD} {
			var refused *UnsupportedEventError
			require.ErrorAs(t, a.Compose(c.event, 1), &refused, name)
			require.NotEmpty(t, refused.Reason, name)
		}
	}
	for _, e := range []Event{
		RandomAllocation{0, 5, Gaussian{1}}, RandomAllocation{6, 5, Gaussian{1}}, RandomAllocation{1, 0, Gaussian{1}}, RandomAllocation{1, 5, nil}, RandomAllocation{1, 5, Gaussian{math.NaN()}},
		BallsInBins{0, 1, Gaussian{1}}, BallsInBins{1, 0, Gaussian{1}},
		BandedMatrix{0, 5, 0.1, 1}, BandedMatrix{6, 5, 0.1, 1}, BandedMatrix{1, 0, 0.1, 1}, BandedMatrix{1, 5, math.NaN(), 1}, BandedMatrix{1, 5, 0.1, math.Inf(1)},
	} {
		require.ErrorIs(t, Validate(e), ErrInvalidEvent, "%+v", e)
	}
	// Several releases from one batch are one; votes are bounded from above only.
	several, _ := intervalOf(t, 1e-5, RandomAllocation{1, 50, Composed{[]Event{Gaussian{2}, Repeated{Gaussian{4}, 4}}}})
	one, _ := intervalOf(t, 1e-5, RandomAllocation{1, 50, Gaussian{math.Sqrt2}})
	assert.InEpsilon(t, one.Upper, several.Upper, 1e-6)
	votes, _ := intervalOf(t, 1e-5, RandomAllocation{1, 50, GNMax{Sigma: 2}})
	assert.Positive(t, votes.Floor)
	assert.Zero(t, votes.Lower)
}

// The losses of the order in which a record is added end early. Beyond their end that order costs next to
// nothing, and the upper bound is the other one.
func TestAllocationDeltaBeyondTheLossesOfOneOrder(t *testing.T) {
	for _, c := range []struct {
		steps          int64
		sigma, epsilon float64
	}{{100, 1, 1}, {1000, 0.5, 2}} {
		p := newPLD(t, PLDConfig{Relation: AddRemove}, RandomAllocation{1, c.steps, Gaussian{c.sigma}})
		b := deltaAt(t, p, c.epsilon)
		assert.LessOrEqual(t, b.Upper, 1.05*b.Lower, "%+v", c)
	}
}

// Noise for a target is what an account then says: never above the target, and within what the loss
// distributions leave open below it.
func TestAllocationCalibrates(t *testing.T) {
	t.Parallel()
	const gap = 0.05
	account := func() (Accountant, error) { return NewPLD(PLDConfig{Relation: AddRemove, Gap: gap}) }
	for i, c := range []struct {
		name   string
		target Target
		event  func(noise float64) Event
	}{
		{"one bin of many, many epochs", Target{2, 1e-6}, func(n float64) Event { return BallsInBins{100, 30, Gaussian{n}} }},
		{"one bin of many, one epoch", Target{1, 1e-5}, func(n float64) Event { return BallsInBins{1000, 1, Gaussian{n}} }},
		{"one bin of one", Target{1, 1e-5}, func(n float64) Event { return BallsInBins{1, 4, Gaussian{n}} }},
		{"some steps of many", Target{1, 1e-5}, func(n float64) Event { return RandomAllocation{3, 300, Gaussian{n}} }},
		{"bands", Target{1, 1e-5}, func(n float64) Event { return BandedMatrix{8, 800, 0.08, n} }},
	} {
		if skipped(i, 2) {
			continue
		}
		name := c.name
		event := func(noise float64) (Event, error) { return c.event(noise), nil }
		noise, got, err := CalibrateNoise(t.Context(), account, c.target, event)
		require.NoError(t, err, name)
		said := testkit.Must(epsilonOfEvent(t.Context(), account, c.event(noise), c.target.Delta))
		assert.Equal(t, said, got, name)
		assert.LessOrEqual(t, said.Upper, c.target.Epsilon, name)
		assert.GreaterOrEqual(t, said.Upper, c.target.Epsilon-gap, name)
		// Noise that is less by more than the gap is worth misses the target for certain.
		b := pldEpsilon(t, PLDConfig{Relation: AddRemove, Gap: gap}, c.target.Delta, c.event(0.95*noise))
		assert.Greater(t, b.Floor, c.target.Epsilon-gap, name)
		assert.Greater(t, b.Upper, c.target.Epsilon, name)
	}
}

// Where nothing of a law is left on a float64, the answer is wide, and there is one.
func TestAllocationAtTinyDelta(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		steps             int64
		sigma, delta, gap float64
	}{{7, 0.05187404344883567, 1e-10, 1e-4}, {1e7, 1, 1e-300, 0.05}, {1e7, 1e3, 1e-300, 0.05}, {100, 30, 1e-200, 0.05}} {
		if skipped(i, 2) {
			continue
		}
		p := newPLD(t, PLDConfig{Gap: c.gap}, RandomAllocation{1, c.steps, Gaussian{c.sigma}})
		b := epsAt(t, p, c.delta)
		d := deltaAt(t, p, b.Lower)
		require.GreaterOrEqual(t, d.Upper, c.delta*(1-1e-9), "%+v", c)
		certain := testkit.Must(GaussianEpsilon(c.sigma, c.delta))
		require.LessOrEqual(t, b.Floor, b.Upper, "%+v", c)
		require.LessOrEqual(t, b.Upper, certain*(1+1e-3)+0.05, "%+v", c)
	}
}
