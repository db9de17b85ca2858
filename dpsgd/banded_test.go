package dpsgd

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

func cycle(bands int) Sampling { return Sampling{Scheme: Cyclic, Bands: bands} }

// inverse returns the first column of the inverse of the Toeplitz matrix with first column c.
func inverse(c []float64, steps int) []float64 {
	inv := make([]float64, steps)
	for t := range inv {
		if t == 0 {
			inv[t] = 1
		}
		for l := 1; l < len(c) && l <= t; l++ {
			inv[t] -= c[l] * inv[t-l]
		}
		inv[t] /= c[0]
	}
	return inv
}

// TestBandedCoefficients: columns have norm one, also as the integers that are used, and noise
// adds up to less over many steps the more bands there are.
func TestBandedCoefficients(t *testing.T) {
	require.Equal(t, []float64{1}, BandedCoefficients(1))
	require.Equal(t, []uint64{1 << bandBits}, wholeCoefficients(1), "no rounding without bands")
	three := BandedCoefficients(3)
	require.InDelta(t, 1/math.Sqrt(1+1./4+9./64), three[0], 1e-15)
	require.InDelta(t, 3./8, three[2]/three[0], 1e-15)
	const steps = 64
	last := math.Inf(1)
	for _, bands := range []int{1, 2, 4, 16, 64} {
		c, whole := BandedCoefficients(bands), wholeCoefficients(bands)
		norm, square, most := 0.0, uint64(0), uint64(1)<<(2*bandBits)
		for i := range c {
			norm += c[i] * c[i]
			square += whole[i] * whole[i]
			require.LessOrEqual(t, square, most)
			require.InDelta(t, c[i], math.Ldexp(float64(whole[i]), -bandBits), 1e-8)
		}
		require.InDelta(t, 1, norm, 1e-12)
		require.Greater(t, float64(square), float64(most)*(1-1e-6), "the norm is used up")
		inv, prefix, errors := inverse(c, steps), 0.0, 0.0 // of the sum of the first steps
		rows := make([]float64, steps)
		for t := range inv {
			prefix += inv[t]
			rows[t] = prefix * prefix
		}
		for t := range rows {
			for _, r := range rows[:t+1] {
				errors += r
			}
		}
		require.Less(t, errors, 0.95*last)
		last = errors
	}
	require.Less(t, last, 0.16*steps*(steps+1)/2, "a sixth of the variance of independent noise")
}

// TestCorrelatedNoiseHasItsCovariance compares the covariance of what takes the place of sums
// over steps with the matrix C^-1 C^-T. 65,544 parameters each; false-alarm rate 1e-7.
func TestCorrelatedNoiseHasItsCovariance(t *testing.T) {
	const steps = 6
	data := Data{X: blas32.General{Rows: 3, Cols: 8, Stride: 8, Data: make([]float32, 24)}, Y: make([]int, 3)}
	for _, bands := range []int{1, 3, 6} {
		m := newWide(1)
		cfg := Config{SamplingProbability: 0.1, NoiseMultiplier: 2, ClipNorm: 1, Steps: steps, LearningRate: 1, Sampling: cycle(bands)}
		tr, err := newTrainer(m, data, cfg)
		require.NoError(t, err)
		tr.release.key = rng.SeedKey(uint64(bands))
		floors := bands
		if bands == 1 {
			floors = 0
		}
		g, err := newGrid(cfg.NoiseMultiplier, cfg.ClipNorm, len(m.parameters), 3, floors)
		require.NoError(t, err)
		require.Equal(t, g, tr.release.grid)
		var x [steps][]float64
		for s := range steps {
			_, err := tr.step(t.Context())
			require.NoError(t, err)
			for _, v := range tr.release.total {
				x[s] = append(x[s], float64(v)/tr.release.grid.sigma)
			}
		}
		inv := inverse(BandedCoefficients(bands), steps)
		covariance := func(s, r int) (c float64) {
			for k := range min(s, r) + 1 {
				c += inv[s-k] * inv[r-k]
			}
			return c
		}
		n := float64(len(m.parameters))
		for s := range steps {
			for r := range s + 1 {
				got, want := 0.0, covariance(s, r)
				for i := range x[s] {
					got += x[s][i] * x[r][i] / n
				}
				deviation := math.Sqrt((covariance(s, s)*covariance(r, r) + want*want) / n)
				require.InDelta(t, want, got, 6.2*deviation, "bands %d, steps %d and %d", bands, s, r)
			}
		}
	}
}

// unrolled returns the integers of every step that its noise z is added to, plus what was
// released before, by the coefficients: C s, rounded down, if all is right. The released
// numbers are those of another run where they are given, as neighbours are compared.
func unrolled(coefficients []uint64, sums, z, released [][]int64) (means [][]float64, out [][]int64) {
	b := &banded{coefficients: coefficients}
	for range coefficients {
		b.noise = append(b.noise, make([]int64, len(sums[0])))
	}
	var x [][]int64
	for t := range sums {
		v := slices.Clone(sums[t])
		b.before(v, 0, t)
		mean := make([]float64, len(v))
		for j := range v {
			mean[j] = float64(v[j])
			for l := 1; l < len(coefficients) && l <= t; l++ {
				mean[j] += math.Ldexp(float64(coefficients[l]), -bandBits) * float64(x[t-l][j])
			}
			if released != nil {
				v[j] = released[t][j]
			} else {
				v[j] += z[t][j]
			}
		}
		means, out = append(means, mean), append(out, slices.Clone(v))
		b.after(v, 0, t)
		x = append(x, v)
	}
	return means, out
}

// TestTurnsAreTakenInOrder checks that a record joins batches of its turn alone, that turns and
// coins are those of independent records, and that a batch is a function of key and step.
func TestTurnsAreTakenInOrder(t *testing.T) {
	const records, bands, rounds, q = drawLength + 2000, 4, 6, 0.1
	b := newBatcher(cycle(bands), q, 0, records, 3)
	turns, pairs, joined := make([]float64, bands), make([]float64, bands*bands), 0
	before := -1
	coins := make([]float64, 1<<rounds)
	for _, in := range stepsOf(b, rng.SeedKey(1), bands*rounds) {
		at := -1
		mask := 0
		for _, step := range in {
			require.True(t, at < 0 || at == step%bands, "%v", in)
			at = step % bands
			mask |= 1 << (step / bands)
		}
		coins[mask]++
		joined += len(in)
		if at >= 0 {
			turns[at]++
			if before >= 0 {
				pairs[before*bands+at]++
				at = -1
			}
		}
		before = at
	}
	fits(t, turns)
	fits(t, pairs)
	law := make([]float64, len(coins))
	for mask := range law {
		law[mask] = records
		for k := range rounds {
			if p := bands * q; mask>>k&1 == 1 {
				law[mask] *= p
			} else {
				law[mask] *= 1 - p
			}
		}
	}
	require.Greater(t, testkit.ChiSquare(coins, law), 1e-6)
	require.InDelta(t, q*records*bands*rounds, float64(joined), 6*math.Sqrt(records*bands*rounds*q))
	for step := range 2 * bands {
		again := newBatcher(cycle(bands), q, 0, records, 3)
		again.draw(3, rng.SeedKey(1), step)
		b.draw(1, rng.SeedKey(1), step)
		require.Equal(t, b.rows, again.rows)
		require.NotEmpty(t, again.rows)
		again.draw(1, rng.SeedKey(2), step)
		require.NotEqual(t, b.rows, again.rows)
	}
}

func TestEventsOfBands(t *testing.T) {
	cfg := Config{Steps: 10, SamplingProbability: 0.2, NoiseMultiplier: 1.5, ClipNorm: 1, LearningRate: 1, Sampling: cycle(4)}
	require.NoError(t, cfg.Validate())
	event := accountant.BandedMatrix{Bands: 4, Steps: 10, Probability: 0.8, NoiseMultiplier: 1.5}
	require.Equal(t, event, cfg.Event())
	require.Equal(t, 0.2, cfg.Probability())
	event.Steps = 4
	require.Equal(t, event, cfg.EventAfter(3), "a turn of all parts that has begun")
	require.Equal(t, accountant.Repeated{Event: event}, cfg.EventAfter(0))
	third := cfg
	third.SamplingProbability, third.Sampling.Bands = 1./49, 49
	third.Steps = 49
	require.NoError(t, third.Validate())
	require.LessOrEqual(t, third.Event().(accountant.BandedMatrix).Probability, 1.0)
	for want, change := range map[string]func(*Config){
		"Bands is 0":       func(c *Config) { c.Sampling.Bands = 0 },
		"Bands is 11":      func(c *Config) { c.Sampling.Bands = 11 },
		"must be at most":  func(c *Config) { c.SamplingProbability = 0.3 },
		"are for":          func(c *Config) { c.Sampling.EpochSteps = 5 },
		`Bands is for "cy`: func(c *Config) { c.Sampling.Scheme = Poisson },
		"one clip norm": func(c *Config) {
			c.Clipping.Adaptive = Adaptive{Quantile: 0.5, LearningRate: 0.2, CountNoise: 10}
		},
		"Laplace":   func(c *Config) { c.Laplace = true },
		"Distances": func(c *Config) { c.Distances.Observe = func(StepDistances) {} },
		"one phase": func(c *Config) {
			c.Phases = []Phase{{5, 0.2, 1}, {5, 0.2, 2}}
			c.Steps, c.SamplingProbability, c.NoiseMultiplier = 0, 0, 0
		},
		"SamplingProbability": func(c *Config) { c.SamplingProbability = 0 },
	} {
		c := cfg
		change(&c)
		require.ErrorContains(t, c.Validate(), want)
	}
	other := cfg
	other.Sampling.Bands = 5
	require.NotEqual(t, cfg.identity(), other.identity())
}

// TestTrainingByTurns trains on units of one and two rows: the run is charged its event and
// learns, its bits do not depend on goroutines, and a reservation of Poisson sampling is
// refused.
func TestTrainingByTurns(t *testing.T) {
	d := clouds(600, 5)
	units := d
	for r := 2; r <= d.X.Rows; r += 2 {
		units.Ends = append(units.Ends, r)
	}
	cfg := usual
	cfg.Sampling = cycle(5)
	for _, data := range []Data{d, units} {
		model, got := trained(t, data, cfg, rng.SeedKey(5))
		require.Equal(t, cfg.Event(), got.Event)
		mean := cfg.SamplingProbability * float64(data.Records()*cfg.Steps)
		require.InDelta(t, mean, float64(got.Diagnostics.Sampled), 6*math.Sqrt(mean))
		require.Greater(t, accuracy(t, model, d), 0.9)
		cfg.Workers = 1
		again, _ := trained(t, data, cfg, rng.SeedKey(5))
		require.Equal(t, model.Parameters(), again.Parameters())
		cfg.Workers = 0
	}
	model, err := NewSoftmax(d.X.Cols, 3)
	require.NoError(t, err)
	_, err = Train(t.Context(), model, d, cfg, reserve(t, usual), rng.SeedKey(5))
	require.ErrorContains(t, err, "not reserved")
	cfg.NonPrivate, cfg.NoiseMultiplier = true, 0
	model, _ = trained(t, d, cfg, rng.SeedKey(5))
	require.Greater(t, accuracy(t, model, d), 0.9)
}
