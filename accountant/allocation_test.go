package accountant

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

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
				require.GreaterOrEqual(t, epsilonOf(t, RDPConfig{}, 1e-5, e).Upper, 0.0)
			}
		}
	}
	all, _ := intervalOf(t, 1e-5, RandomAllocation{40, 40, Gaussian{9}})
	plain, _ := intervalOf(t, 1e-5, Repeated{Gaussian{9}, 40})
	assert.Equal(t, plain, all, "all steps are no sampling")
	assert.ErrorIs(t, newRDP(t, RDPConfig{}).Compose(RandomAllocation{3, math.MaxInt64, Gaussian{1}}, math.MaxInt64), ErrInvalidEvent)
}

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
	for i, events := range order {
		if skipped(i, 2) {
			continue
		}
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
			assert.GreaterOrEqual(t, m.log(a), reverse-1e-13*math.Abs(reverse), "sigma %v order %v", sigma, a)
			assert.GreaterOrEqual(t, m.reverse[a], reverse-1e-13*math.Abs(reverse), "sigma %v order %v", sigma, a)
			if float64(a) > 50*sigma {
				continue
			}
			assert.InEpsilon(t, reverse, m.reverse[a], 1e-9, "sigma %v order %v", sigma, a)
		}
	}
}

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
		if skipped(i, 4) {
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
		require.GreaterOrEqual(t, deltaAt(t, p, b.Lower).Upper, c.delta*(1-1e-9), "%+v", c)
		certain := testkit.Must(GaussianEpsilon(c.sigma, c.delta))
		require.LessOrEqual(t, b.Floor, b.Upper, "%+v", c)
		require.LessOrEqual(t, b.Upper, certain*(1+1e-3)+0.05, "%+v", c)
	}
}

var allocationWorldCount = flag.Int("allocation-worlds", 200, "random small worlds that TestAllocationSmallWorlds enumerates")

// A world is a run in which a record takes part in a random set of steps, and an analyst who chooses, by
// the answers before, how far the record moves the next one. Answers are told as one of a few cells.
type world struct {
	event    Event
	steps    int
	sigma    float64
	patterns [][]bool
	weights  []float64
	// matrix, if any, has the weights by which a step moves this and later answers.
	matrix [][]float64
}

func subsets(n, k int, f func(in []bool)) {
	for bits := range 1 << n {
		in, size := make([]bool, n), 0
		for i := range in {
			if in[i] = bits>>i&1 == 1; in[i] {
				size++
			}
		}
		if size == k {
			f(in)
		}
	}
}

func (w *world) may(weight float64, in []bool) {
	w.patterns, w.weights = append(w.patterns, in), append(w.weights, weight)
}

func allocationWorlds() []*world {
	var all []*world
	for _, sigma := range []float64{0.8} {
		for steps := 1; steps <= 4; steps++ {
			for k := 1; k <= steps; k++ {
				w := &world{event: RandomAllocation{int64(k), int64(steps), Gaussian{sigma}}, steps: steps, sigma: sigma}
				subsets(steps, k, func(in []bool) { w.may(1/choose(steps, k), in) })
				all = append(all, w)
			}
		}
		for _, c := range [][2]int{{2, 2}, {3, 1}, {1, 3}, {2, 1}} {
			w := &world{event: BallsInBins{int64(c[0]), int64(c[1]), Gaussian{sigma}}, steps: c[0] * c[1], sigma: sigma}
			for bin := range c[0] {
				in := make([]bool, w.steps)
				for i := bin; i < w.steps; i += c[0] {
					in[i] = true
				}
				w.may(1/float64(c[0]), in)
			}
			all = append(all, w)
		}
		for _, c := range [][2]int{{2, 4}, {2, 3}, {1, 2}, {3, 4}} { // the record is in the first part, which is the largest
			const q = 0.3
			w := &world{event: BandedMatrix{int64(c[0]), int64(c[1]), q, sigma}, steps: c[1], sigma: sigma, matrix: make([][]float64, c[1])}
			mine := (c[1] + c[0] - 1) / c[0]
			for k := 0; k <= mine; k++ {
				subsets(mine, k, func(drawn []bool) {
					in := make([]bool, w.steps)
					for i, x := range drawn {
						in[i*c[0]] = x
					}
					w.may(math.Pow(q, float64(k))*math.Pow(1-q, float64(mine-k)), in)
				})
			}
			all = append(all, w)
		}
	}
	return all
}

func (w *world) laws(rnd *rand.Rand) (with, without []float64) {
	cuts := make([]float64, 1+rnd.IntN(2))
	for i := range cuts {
		cuts[i] = w.sigma*rnd.NormFloat64() + rnd.Float64()
	}
	if len(cuts) == 2 && cuts[0] > cuts[1] {
		cuts[0], cuts[1] = cuts[1], cuts[0]
	}
	if e, ok := w.event.(BandedMatrix); ok { // columns of norm one at most, of so many bands
		for j := range w.matrix {
			w.matrix[j] = make([]float64, w.steps) // column j
			norm := 0.0
			for i := j; i < min(w.steps, j+int(e.Bands)); i++ {
				w.matrix[j][i] = rnd.NormFloat64()
				norm += w.matrix[j][i] * w.matrix[j][i]
			}
			for i := range w.matrix[j] {
				w.matrix[j][i] /= math.Sqrt(norm)
			}
		}
	}
	shy := rnd.IntN(3) == 0 // not always as far as allowed
	var walk func(step int, shifts []float64, p []float64, q float64)
	walk = func(step int, shifts []float64, p []float64, q float64) {
		if step == w.steps {
			sum := 0.0
			for i, x := range p {
				sum += w.weights[i] * x
			}
			with, without = append(with, sum), append(without, q)
			return
		}
		shift := 1.0
		if rnd.IntN(4) == 0 {
			shift = -1
		}
		if shy {
			shift = 2*rnd.Float64() - 1
		}
		shifts = append(shifts[:step:step], shift)
		move := func(in []bool) float64 {
			if w.matrix == nil {
				if in[step] {
					return shift
				}
				return 0
			}
			m := 0.0
			for j := 0; j <= step; j++ {
				if in[j] {
					m += w.matrix[j][step] * shifts[j]
				}
			}
			return m
		}
		for cell := 0; cell <= len(cuts); cell++ {
			chance := func(mean float64) float64 {
				lo, hi := 0.0, 1.0
				if cell > 0 {
					lo = normalCDF((cuts[cell-1] - mean) / w.sigma)
				}
				if cell < len(cuts) {
					hi = normalCDF((cuts[cell] - mean) / w.sigma)
				}
				return math.Max(0, hi-lo)
			}
			next := make([]float64, len(p))
			for i := range p {
				next[i] = p[i] * chance(move(w.patterns[i]))
			}
			walk(step+1, shifts, next, q*chance(0))
		}
	}
	start := make([]float64, len(w.weights))
	for i := range start {
		start[i] = 1
	}
	walk(0, nil, start, 1)
	return with, without
}

// Analysts who adapt, on every scheme: the exact divergence is never above the claim. The controls, whose
// claims leave something out, are found.
func TestAllocationSmallWorlds(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(16, 3))
	epsilons := []float64{0, 0.3, 1.5, 4}
	orders := []float64{1.5, 2, 3.7, 20}
	claims := func(e Event) (byPLD, byRDP, divergence []float64) {
		p, r := newPLD(t, PLDConfig{Gap: 0.02}), newRDP(t, RDPConfig{})
		require.NoError(t, p.Compose(e, 1))
		require.NoError(t, r.Compose(e, 1))
		for _, eps := range epsilons {
			b := deltaAt(t, r, eps)
			byRDP = append(byRDP, b.Upper)
			if b.Upper < 1e-6 { // a world hardly gets there
				byPLD = append(byPLD, b.Upper)
				continue
			}
			d := deltaAt(t, p, eps)
			require.LessOrEqual(t, d.Lower, d.Upper)
			byPLD = append(byPLD, d.Upper)
		}
		divergence, _, err := r.RDP(orders)
		require.NoError(t, err)
		return byPLD, byRDP, divergence
	}
	all := allocationWorlds()
	broken := map[string]bool{}
	for i, w := range all {
		if skipped(i, 2) {
			continue
		}
		byPLD, byRDP, divergence := claims(w.event)
		var control string // a claim that must not hold
		var low []float64
		switch e := w.event.(type) {
		case RandomAllocation:
			if e.K < e.Steps {
				control, low = "three times as many steps", nil
				low, _, _ = claims(RandomAllocation{e.K, 3 * e.Steps, e.Event})
			}
		case BallsInBins:
			if e.Epochs > 1 && e.Bins > 1 {
				control = "one epoch"
				low, _, _ = claims(BallsInBins{e.Bins, 1, e.Event})
			}
		case BandedMatrix:
			control = "the probability of all records"
			if e.Bands > 1 {
				low, _, _ = claims(BandedMatrix{e.Bands, e.Steps, e.Probability / float64(e.Bands), e.NoiseMultiplier})
			}
		}
		for range Cases(allocationWorldCount, 2000)/len(all) + 1 {
			p, q := w.laws(rnd)
			for j, eps := range epsilons {
				truth := testkit.EitherHockeyStick(p, q, eps)
				require.GreaterOrEqual(t, byPLD[j], truth-1e-14, "world %d %+v at %v", i, w.event, eps)
				require.GreaterOrEqual(t, byRDP[j], truth-1e-14, "world %d %+v at %v", i, w.event, eps)
				if low != nil && truth > low[j]*1.001+1e-12 {
					broken[fmt.Sprintf("%T: %s", w.event, control)] = true
				}
			}
			for j, a := range orders {
				require.LessOrEqual(t, math.Max(testkit.Renyi(p, q, a), testkit.Renyi(q, p, a)), divergence[j]*(1+1e-9)+1e-12, "world %d %+v, order %v", i, w.event, a)
			}
		}
	}
	require.Len(t, broken, 3, "%v", broken)
}
