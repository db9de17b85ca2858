package bayes

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

var repetitions = flag.Int("repetitions", 1000, "of the simulation of coverage; 10000 for the numbers of docs/lecture")

// population is a law of distances with equally likely values.
type population []float64

// weibull returns 4096 quantiles of the Weibull law, of which none exceeds clip.
func weibull(shape, scale, clip float64) population {
	p := make(population, 4096)
	for i := range p {
		u := (float64(i) + 0.5) / float64(len(p))
		p[i] = min(clip, scale*math.Pow(-math.Log1p(-u), 1/shape))
	}
	return p
}

// cost returns the true cost of a step.
func (p population) cost(q float64, steps, lambda int) float64 {
	xs := make([]float64, len(p))
	top := 0.0
	for i, d := range p {
		xs[i] = float64(steps) * LogMoment(lambda, q, d*d)
		top = math.Max(top, xs[i])
	}
	sum := 0.0
	for _, x := range xs {
		sum += math.Exp(x - top)
	}
	return (top + math.Log(sum/float64(len(p)))) / float64(steps)
}

// misses returns the share of repetitions in which the estimate is below the true cost.
func (p population) misses(t *testing.T, cfg Config, q float64, m int) float64 {
	truth := p.cost(q, cfg.Steps, cfg.Orders[0])
	random := rand.New(rand.NewPCG(17, uint64(m)))
	below := 0
	sample := make([]float64, m)
	for range *repetitions {
		for i := range sample {
			sample[i] = p[random.IntN(len(p))]
		}
		a := testkit.Must(New(cfg))
		require.NoError(t, a.Add(Step{SamplingProbability: q, Noise: 1}, sample))
		if a.costs[0] < truth {
			below++
		}
	}
	return float64(below) / float64(*repetitions)
}

// TestCoverage draws samples of known laws. Both estimators promise to fail in at most 5e-4 of samples. The
// published one fails in most of them. If the other one kept no more than its promise, more than 1 %
// failures of 1000 would have probability below 1e-9.
func TestCoverage(t *testing.T) {
	for _, c := range []struct {
		name   string
		law    population
		steps  int
		lambda int
		m      int
		bound  float64
		least  float64 // that the published estimator fails with
	}{
		{"Weibull, shape 0.5", weibull(0.5, 0.1, math.Inf(1)), 100, 8, 100, 9, 0.5},
		{"Weibull, shape 0.5, clipped at 1", weibull(0.5, 0.02, 1), 1000, 8, 100, 1, 0.5},
		{"one in a thousand at 1", append(append(population{}, repeat(0.1, 4092)...), 1, 1, 1, 1), 1000, 8, 100, 1, 0.5},
		{"mild", weibull(2, 0.3, 1), 10, 4, 100, 1, 0},
	} {
		cfg := Config{Steps: c.steps, Delta: 0.5, Orders: []int{c.lambda}, Failure: 0.01 / float64(c.steps) * 0.49}
		student := cfg
		student.Estimator = StudentT
		cfg.Bound = c.bound
		published, ours := c.law.misses(t, student, 0.01, c.m), c.law.misses(t, cfg, 0.01, c.m)
		t.Logf("%s: m = %d, T = %d, lambda = %d: Student's t, promise %.1e, fails in %.4f; Bernstein in %.4f", c.name, c.m, c.steps, c.lambda, cfg.Failure, published, ours)
		require.GreaterOrEqual(t, published, c.least, c.name)
		require.LessOrEqual(t, ours, 0.01, c.name)
	}
}

// TestCoverageOfTheReference repeats the case of which the failure is known exactly: a sample without the
// outlier underestimates.
func TestCoverageOfTheReference(t *testing.T) {
	var g mechanisms
	read(t, "mechanisms.json", &g)
	require.NotEmpty(t, g.Coverage)
	for _, e := range g.Coverage {
		without := costOf(t, repeat(e.Typical, e.M), 1, e.Q, e.T, e.Lam, e.Claimed)
		near(t, e.Without, without)
		require.Less(t, without, e.True)
		near(t, e.Under, math.Pow(1-e.Outlier, float64(e.M)))
		a := testkit.Must(New(Config{Steps: e.T, Delta: 0.5, Failure: e.Claimed, Orders: []int{e.Lam}, Bound: e.Far}))
		require.NoError(t, a.Add(Step{SamplingProbability: e.Q, Noise: 1}, repeat(e.Typical, e.M)))
		require.GreaterOrEqual(t, a.costs[0], e.True, "Bernstein does not fail on it")
	}
}
