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

func TestSmoothSensitivityIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(0, 10), 1, 15).Draw(t, "x")
		if len(x)%2 == 0 {
			x = x[1:]
		}
		beta := math.Exp2(rapid.Float64Range(-6, 3).Draw(t, "log2 beta"))
		s, want := testkit.Must(sorted(x, 0, 10)), 0.0
		for k := range len(x) + 1 {
			want = max(want, math.Exp(-beta*float64(k))*s.sensitivityWithin(k))
		}
		require.InEpsilon(t, want, s.smoothSensitivity(beta), 1e-12)
	})
}

func samples(records, top int) (all [][]float64) {
	if records == 0 {
		return [][]float64{nil}
	}
	for _, rest := range samples(records-1, top) {
		for x := range top + 1 {
			if len(rest) == 0 || float64(x) >= rest[len(rest)-1] {
				all = append(all, append(slices.Clone(rest), float64(x)))
			}
		}
	}
	return all
}

func replaced(all [][]float64, f func(i, j int)) {
	for i, a := range all {
		for j, b := range all {
			if changes(a, b) == 1 {
				f(i, j)
			}
		}
	}
}

func TestSmallWorldPTR(t *testing.T) {
	all := samples(5, 4)
	f := Median(0, 4)
	for _, bound := range []float64{1, 2} {
		p := testkit.Must(newPTR(PTRConfig{Bound: bound, Epsilon: 0.7, TestEpsilon: 0.5, Delta: 0.1}, 0))
		require.Equal(t, bound, p.grid.unit*math.Floor(bound/p.grid.unit))
		distance := make([]int64, len(all))
		for i, x := range all {
			distance[i] = testkit.Must(f.Distance(x, bound))
			direct := int64(1 << 30)
			for _, y := range all {
				if testkit.Must(sorted(y, 0, 4)).sensitivityWithin(0) > bound {
					direct = min(direct, changes(x, y))
				}
			}
			require.Equal(t, direct, distance[i], "%v", x)
		}
		law := func(i int, d int64) []float64 { // on released values -60..64, then shut
			passed, shut := p.gate.Law(d)
			value := testkit.Must(f.Value(all[i]))
			var out []float64
			for k := int64(-60); k <= 64; k++ {
				out = append(out, math.Exp(passed+p.noise.LogProb(k-p.grid.round(value))))
			}
			return append(out, math.Exp(shut))
		}
		tested, untested := make([][]float64, len(all)), make([][]float64, len(all))
		for i := range all {
			tested[i], untested[i] = law(i, distance[i]), law(i, 99)
		}
		epsilons, claims := []float64{0, 0.3, 0.7, 1.2}, make([]float64, 4)
		for k, eps := range epsilons {
			claims[k] = deltaOf(t, p.Event(), eps)
		}
		largest, broken := 0.0, 0.0
		replaced(all, func(i, j int) {
			for k, eps := range epsilons {
				exact := testkit.HockeyStick(tested[i], tested[j], eps)
				require.LessOrEqual(t, exact, claims[k]*(1+1e-9))
				largest = max(largest, exact/claims[k])
				broken = max(broken, testkit.HockeyStick(untested[i], untested[j], eps)/claims[k])
			}
		})
		t.Logf("bound %g: largest share of the claim %.4f, without the test %.4f", bound, largest, broken)
		if bound == 1 { // the grid has one unit to it, and 2 is close to all there is
			require.Greater(t, broken, 1.2, "a bound proposed and not tested must be found out")
		}
	}
}

func changes(a, b []float64) int64 {
	left := slices.Clone(b)
	for _, x := range a {
		if i := slices.Index(left, x); i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
	return int64(len(left))
}

func TestProposeMedian(t *testing.T) {
	p := testkit.Must(NewPTR(PTRConfig{Bound: 0.5, Epsilon: 1, TestEpsilon: 1, Delta: 1e-6}))
	data := testkit.Series(1001, func(i int) float64 { return 50 + float64(i%5)*0.2 })
	a := testkit.Must(Propose(p, reserve(t, p.Event()), rng.SeedKey(1), data, Median(0, 100)))
	require.True(t, a.Released)
	require.InDelta(t, 50.4, a.Value, 20*0.5)
	require.Equal(t, a, testkit.Must(Propose(p, reserve(t, p.Event()), rng.SeedKey(1), data, Median(0, 100))))

	// The noise is Laplace of scale 1/2: eight cells of equal probability.
	observed := make([]float64, 8)
	for seed := range uint64(200) {
		a := testkit.Must(Propose(p, reserve(t, p.Event()), rng.SeedKey(seed), data, Median(0, 100)))
		require.True(t, a.Released)
		z := (a.Value - 50.4) / 0.5
		observed[int(8*min(1-1e-9, 0.5+0.5*math.Copysign(-math.Expm1(-math.Abs(z)), z)))]++
	}
	require.Greater(t, testkit.ChiSquare(observed, slices.Repeat([]float64{25}, 8)), testkit.FalseAlarm)

	data = testkit.Series(1001, func(i int) float64 { return float64(i % 2 * 100) })
	a = testkit.Must(Propose(p, reserve(t, p.Event()), rng.SeedKey(1), data, Median(0, 100)))
	require.False(t, a.Released, "half at 0, half at 100")
	require.Zero(t, a.Value)

	require.ErrorContains(t, testkit.Err(Propose(p, reserve(t, p.Event()), rng.SeedKey(1), data[1:], Median(0, 100))), "odd")
	require.ErrorContains(t, testkit.Err(Propose(p, reserve(t, p.Event()), rng.SeedKey(1), data, Median(1, 1))), "interval")
	_, err := Propose(p, reserve(t, p.Event()), rng.SeedKey(1), data, Function[[]float64]{
		Value:    func([]float64) (float64, error) { return math.NaN(), nil },
		Distance: func([]float64, float64) (int64, error) { return 1000, nil },
	})
	require.ErrorContains(t, err, "not a number")
	for _, cfg := range []PTRConfig{
		{Bound: 0, Epsilon: 1, TestEpsilon: 1, Delta: 0.1}, {Bound: 1, Epsilon: math.NaN(), TestEpsilon: 1, Delta: 0.1},
		{Bound: 1, Epsilon: 1, TestEpsilon: 0, Delta: 0.1}, {Bound: 1, Epsilon: 1, TestEpsilon: 1},
	} {
		require.Error(t, testkit.Err(NewPTR(cfg)))
	}
}

func TestSmallWorldSmoothMedian(t *testing.T) {
	all := samples(5, 4)
	for _, cfg := range []SmoothMedianConfig{
		{High: 4, Epsilon: 1, Delta: 0.01}, {High: 4, Epsilon: 0.5, Delta: 0.2}, {High: 4, Epsilon: 3, Delta: 1e-4},
	} {
		m := testkit.Must(newSmoothMedian(cfg, 2))
		require.Equal(t, accountant.WithFailure{Event: accountant.PureDP{Epsilon: cfg.Epsilon}, Delta: cfg.Delta}, m.Event())
		require.Equal(t, 1.0, m.grid.unit)
		const reach = 1000
		law := func(x []float64) []float64 {
			median, noise := testkit.Must2(m.law(x))
			out := make([]float64, 0, 2*reach+1)
			for k := int64(-reach); k <= reach; k++ {
				out = append(out, math.Exp(noise.LogProb(k-median)))
			}
			return out
		}
		laws, largest, broken := testkit.Series(len(all), func(i int) []float64 { return law(all[i]) }), 0.0, 0.0
		replaced(all, func(i, j int) {
			exact := testkit.HockeyStick(laws[i], laws[j], cfg.Epsilon)
			require.LessOrEqual(t, exact, cfg.Delta*(1+1e-9), "%v %v", all[i], all[j])
			largest = max(largest, exact/cfg.Delta)
		})
		local := func(x []float64) []float64 {
			s := testkit.Must(sorted(x, 0, 4))
			scale := max(0.05, 2*s.sensitivityWithin(0)/cfg.Epsilon)
			out := make([]float64, 0, 2*reach+1)
			for k := -reach; k <= reach; k++ {
				out = append(out, math.Tanh(1/(2*scale))*math.Exp(-math.Abs(float64(k)-s.at(s.median))/scale))
			}
			return out
		}
		broken = testkit.EitherHockeyStick(local([]float64{0, 0, 0, 4, 4}), local([]float64{0, 0, 0, 0, 4}), cfg.Epsilon)
		t.Logf("%+v: largest share of delta %.4f; local sensitivity: delta %.4f", cfg, largest, broken)
		require.Greater(t, broken, cfg.Delta)
	}
}

func TestSmoothMedianFollowsItsLaw(t *testing.T) {
	m := testkit.Must(newSmoothMedian(SmoothMedianConfig{Low: 0, High: 16, Epsilon: 2, Delta: 0.01}, 4))
	data := []float64{3, 4.2, 5, 5, 6, 7, 9}
	median, noise := testkit.Must2(m.law(data))
	require.EqualValues(t, 5, median)
	params := []uint64{math.Float64bits(0), math.Float64bits(16), math.Float64bits(2), math.Float64bits(0.01)}
	const draws, reach = 200_000, 60
	observed, expected := make([]float64, 2*reach+1), make([]float64, 2*reach+1)
	for i := range draws {
		x := m.grid.value(median + noise.Sample(rng.SeedKey(uint64(i)).Derive("smooth median", params...).Stream()))
		if i < 20 { // which makes its sampler anew
			require.Equal(t, x, testkit.Must(m.Release(reserve(t, m.Event()), rng.SeedKey(uint64(i)), data)))
		}
		observed[int(min(max(x-5, -reach), reach))+reach]++ // a unit is 1
	}
	for k := -reach; k <= reach; k++ {
		expected[k+reach] = draws * math.Exp(noise.LogProb(int64(k)))
	}
	require.Greater(t, testkit.ChiSquare(observed, expected), testkit.FalseAlarm)
	require.Less(t, testkit.ChiSquare(observed, append(expected[1:], 0)), testkit.FalseAlarm, "a unit off must be seen")

	for _, cfg := range []SmoothMedianConfig{
		{Low: 1, High: 1, Epsilon: 1, Delta: 0.1}, {High: 1, Epsilon: 0, Delta: 0.1}, {High: 1, Epsilon: 1},
		{High: math.Inf(1), Epsilon: 1, Delta: 0.1}, {Low: math.NaN(), High: 1, Epsilon: 1, Delta: 0.1},
	} {
		require.Error(t, testkit.Err(NewSmoothMedian(cfg)))
	}
	require.ErrorContains(t, testkit.Err(m.Release(reserve(t, m.Event()), rng.SeedKey(1), data[1:])), "odd")
	require.ErrorContains(t, testkit.Err(m.Release(reserve(t, m.Event()), rng.Key{}, data)), "zero Key")
}

func norms(a, b []int64) (l1, l2 float64) {
	for i := range a {
		diff := float64(a[i] - b[i])
		l1 += math.Abs(diff)
		l2 = math.Hypot(l2, diff)
	}
	return l1, l2
}

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
		observed, off := make([]float64, 2*cells), make([]float64, 2*cells)
		expected := slices.Repeat([]float64{float64(draws) / cells}, 2*cells)
		charged := testkit.Must(m.ReleaseVector(reserve(t, m.Event()), rng.SeedKey(0), data))
		require.Equal(t, m.release(rng.SeedKey(0), data), charged)
		for i := range draws {
			for j, x := range m.release(rng.SeedKey(uint64(i)), data) {
				z := (x - clipped[cfg.Noise][j]) / scale
				observed[j*cells+int(cells*min(cdf(z), 1-1e-9))]++
				off[j*cells+int(cells*min(cdf(z/1.1), 1-1e-9))]++
			}
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
