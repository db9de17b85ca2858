package stability

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// norms returns those of the difference of two sums.
func norms(a, b []int64) (l1, l2 float64) {
	for i := range a {
		diff := float64(a[i] - b[i])
		l1 += math.Abs(diff)
		l2 = math.Hypot(l2, diff)
	}
	return l1, l2
}

// TestMeanSensitivity checks that the integers that one record adds never differ by more than is charged for.
func TestMeanSensitivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 6).Draw(t, "dimension")
		cfg := MeanConfig{Records: 10, Dimension: d, Clip: math.Exp2(rapid.Float64Range(-30, 30).Draw(t, "log2 clip")), Noise: Laplace, Epsilon: math.Exp2(rapid.Float64Range(-9, 8).Draw(t, "log2 epsilon"))}
		if rapid.Bool().Draw(t, "gaussian") {
			cfg.Noise, cfg.NoiseMultiplier, cfg.Epsilon = Gaussian, 1/cfg.Epsilon, 0
		}
		m := testkit.Must(NewMean(cfg))
		coordinate := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-2*cfg.Clip, 2*cfg.Clip), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), -math.MaxFloat64, cfg.Clip}))
		units := func(name string) []int64 {
			sum := make([]int64, d)
			m.addClipped(sum, rapid.SliceOfN(coordinate, d, d).Draw(t, name))
			return sum
		}
		l1, l2 := norms(units("a"), units("b"))
		switch e := m.Event().(type) {
		case accountant.DiscreteLaplace:
			require.LessOrEqual(t, l1, float64(e.Sensitivity))
			require.GreaterOrEqual(t, e.Scale*cfg.Epsilon, float64(e.Sensitivity))
			require.InEpsilon(t, 2*cfg.Clip/cfg.Epsilon, e.Scale*m.grid.unit, 1e-5, "and not for much more")
		case accountant.DiscreteGaussian:
			require.LessOrEqual(t, l2, e.Sensitivity)
			require.GreaterOrEqual(t, e.Sigma, cfg.NoiseMultiplier*e.Sensitivity)
			require.InEpsilon(t, 2*cfg.Clip*cfg.NoiseMultiplier, e.Sigma*m.grid.unit, 1e-5)
		}
	})
}

// TestMeanOfRecordsFarBeyondTheClip uses a clip norm so far below a record that their
// quotient is subnormal. The sum used to move by twice what is charged.
func TestMeanOfRecordsFarBeyondTheClip(t *testing.T) {
	for _, c := range []struct{ clip, x float64 }{{0x1p-400, 0x1p674 / 0.51}, {1e-10, 1.7e308}, {1e-12, 1.21e308}, {1e-12, 1e280}} {
		m := testkit.Must(NewMean(MeanConfig{Noise: Laplace, Records: 1, Dimension: 1, Clip: c.clip, Epsilon: 1}))
		up, down := []int64{0}, []int64{0}
		m.addClipped(up, []float64{c.x})
		m.addClipped(down, []float64{-c.x})
		require.LessOrEqual(t, float64(up[0]-down[0])*m.grid.unit, 2*c.clip*(1+1e-6), "%+v", c)
	}
}

// TestMeanFollowsItsLaw checks that what is released is the clipped mean plus noise of the stated law. It
// runs a chi-square test over sixteen cells that are equally probable under that law.
func TestMeanFollowsItsLaw(t *testing.T) {
	data := [][]float64{{1, 0}, {-3, 4}, {30, 40}, {0, 0}}
	clipped := map[Noise][2]float64{
		Gaussian: {(1 - 3 + 3) / 4.0, (4 + 4) / 4.0},
		Laplace:  {(1 - 3*5.0/7 + 5*3.0/7) / 4, (4*5.0/7 + 5*4.0/7) / 4},
	}
	for _, cfg := range []MeanConfig{
		{Records: 4, Dimension: 2, Clip: 5, Noise: Laplace, Epsilon: 2},
		{Records: 4, Dimension: 2, Clip: 5, Noise: Gaussian, NoiseMultiplier: 0.7},
	} {
		m := testkit.Must(NewMean(cfg))
		const cells = 16
		draws := 100_000
		if testkit.Race {
			draws /= 10
		}
		scale := 2.5 * 0.7
		cdf := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
		if cfg.Noise == Laplace {
			scale = 2.5 / 2
			cdf = func(x float64) float64 {
				if x > 0 {
					return 1 - math.Exp(-x)/2
				}
				return math.Exp(x) / 2
			}
		}
		observed, off, expected := make([]float64, 2*cells), make([]float64, 2*cells), make([]float64, 2*cells)
		charged := testkit.Must(m.ReleaseVector(reserve(t, m.Event()), rng.SeedKey(0), data))
		require.Equal(t, m.release(rng.SeedKey(0), data), charged)
		for i := range draws {
			for j, x := range m.release(rng.SeedKey(uint64(i)), data) {
				z := (x - clipped[cfg.Noise][j]) / scale
				observed[j*cells+int(cells*min(cdf(z), 1-1e-9))]++
				off[j*cells+int(cells*min(cdf(z/1.1), 1-1e-9))]++
			}
		}
		for i := range expected {
			expected[i] = float64(draws) / cells
		}
		require.Greater(t, testkit.ChiSquare(observed, expected), testkit.FalseAlarm)
		if !testkit.Race {
			require.Less(t, testkit.ChiSquare(off, expected), testkit.FalseAlarm, "noise a tenth off must be seen")
		}
	}
}

func TestNewMeanRefuses(t *testing.T) {
	good := MeanConfig{Records: 2, Dimension: 1, Clip: 1, Noise: Laplace, Epsilon: 1}
	for want, change := range map[string]func(*MeanConfig){
		"Records":         func(c *MeanConfig) { c.Records = 0 },
		"Dimension":       func(c *MeanConfig) { c.Dimension = 0 },
		"Clip":            func(c *MeanConfig) { c.Clip = math.NaN() },
		"Epsilon":         func(c *MeanConfig) { c.Epsilon = 0 },
		"NoiseMultiplier": func(c *MeanConfig) { c.NoiseMultiplier = 1 },
		"Gaussian noise":  func(c *MeanConfig) { c.Noise = Gaussian },
		"Laplace or":      func(c *MeanConfig) { c.Noise = OneShot },
		"fit the grid":    func(c *MeanConfig) { c.Records, c.Epsilon = 1<<40, 500 },
	} {
		cfg := good
		change(&cfg)
		require.ErrorContains(t, testkit.Err(NewMean(cfg)), want)
	}
	m := testkit.Must(NewMean(good))
	require.ErrorContains(t, testkit.Err(m.Release(reserve(t, m.Event()), rng.SeedKey(1), []float64{1})), "Records")
	require.ErrorContains(t, testkit.Err(m.ReleaseVector(reserve(t, m.Event()), rng.SeedKey(1), [][]float64{{1, 2}, {3}})), "Dimension")
	require.Error(t, testkit.Err(m.Release(reserve(t, accountant.PureDP{Epsilon: 1}), rng.SeedKey(1), []float64{1, 2})))
}

// TestSubsampleAggregateReleasesByRecords checks that the probability of a release is the one that the
// law has at the distance in records: votes that one record holds in several parts count once. Every part
// here is one record, in three parts, so that k records vote 3k times.
func TestSubsampleAggregateReleasesByRecords(t *testing.T) {
	const records, repetitions, sessions, questions = 20, 3, 80, 50
	split := testkit.Must(Repeated(records, records, repetitions, rng.SeedKey(1).Derive("split")))
	m := newMStab(t, MStabConfig{Noise: Laplace, Epsilon: 0.5, Delta: 0.01, Questions: questions})
	vote := func(_ context.Context, part []int) (int, bool) { return part[0], true }
	for _, yes := range []int{20, 18, 16, 13} {
		data := make([]int, records)
		for i := range yes {
			data[i] = 1
		}
		released := 0
		for i := range uint64(sessions) {
			session := testkit.Must(Start[int](m, reserve(t, m.Event()), rng.SeedKey(uint64(yes)<<32+i)))
			for q := range uint64(questions) {
				a := testkit.Must(SubsampleAggregate(t.Context(), session, q, data, split, vote))
				if a.Released {
					require.Equal(t, 1, a.Value)
					released++
				}
			}
		}
		lead := repetitions * (2*yes - records)
		logp, _ := m.Law(int64((lead - 1) / 2 / repetitions))
		p := math.Exp(logp)
		// The false-alarm rate is below 1e-8 by Hoeffding's inequality.
		require.InDelta(t, p, float64(released)/(sessions*questions), math.Sqrt(math.Log(2e8)/(2*sessions*questions)), "%d votes lead", lead)
		perVote, _ := m.Law(int64((lead - 1) / 2)) // the mistake is far from that
		require.Greater(t, math.Abs(math.Exp(perVote)-p), 0.1)
	}
}

// TestMeanChargesTheRoundingOfEveryCoordinate uses two records whose integers differ by nearly all that
// the rounding is charged: every coordinate of one is rounded up, and of the other down.
func TestMeanChargesTheRoundingOfEveryCoordinate(t *testing.T) {
	const d = 6
	spread := func(x float64) []float64 { return slices.Repeat([]float64{x}, d) }
	const k = 1 << 27 // about the units of a coordinate
	for _, cfg := range []MeanConfig{
		{Records: 2, Dimension: d, Clip: d*k + 4, Noise: Laplace, Epsilon: 1},
		{Records: 2, Dimension: d, Clip: math.Sqrt(d) * k, Noise: Gaussian, NoiseMultiplier: 1},
	} {
		unit := testkit.Must(NewMean(cfg)).grid.unit
		x := (math.Floor(k/unit) + 0.5625) * unit
		if cfg.Noise == Gaussian {
			cfg.Clip = math.Sqrt(d) * (x + unit/16)
		}
		m := testkit.Must(NewMean(cfg))
		require.Equal(t, unit, m.grid.unit)
		up, down := make([]int64, d), make([]int64, d)
		m.addClipped(up, spread(x))
		m.addClipped(down, spread(-x))
		l1, l2 := norms(up, down)
		clip := 2 * cfg.Clip / unit
		switch e := m.Event().(type) {
		case accountant.DiscreteLaplace:
			require.Greater(t, l1, clip+3, "rounding adds to the clip norm")
			require.LessOrEqual(t, l1, float64(e.Sensitivity))
		case accountant.DiscreteGaussian:
			require.Greater(t, l2, clip+1)
			require.LessOrEqual(t, l2, e.Sensitivity)
		}
	}
}

// TestPTRChargesItsRounding uses two values that differ by the proposed bound. When they
// are rounded they may differ by a unit more, and that is charged.
func TestPTRChargesItsRounding(t *testing.T) {
	p := testkit.Must(NewPTR(PTRConfig{Bound: 1<<20 + 0.75, Epsilon: 1, TestEpsilon: 1, Delta: 1e-6}))
	unit := p.grid.unit
	bound := (math.Floor(p.cfg.Bound/unit) + 0.75) * unit
	p = testkit.Must(NewPTR(PTRConfig{Bound: bound, Epsilon: 1, TestEpsilon: 1, Delta: 1e-6}))
	require.Equal(t, unit, p.grid.unit)
	low := 0.4375 * unit
	moved := p.grid.round(low+bound) - p.grid.round(low)
	require.Greater(t, float64(moved), bound/unit)
	require.LessOrEqual(t, moved, p.sensitivity)
	charged := p.Event().(accountant.Composed).Events[1].(accountant.DiscreteLaplace)
	require.Equal(t, p.sensitivity, charged.Sensitivity)
	require.GreaterOrEqual(t, charged.Scale*p.cfg.Epsilon, float64(moved))
}
