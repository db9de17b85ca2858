package bayes

import (
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

var repetitions = flag.Int("repetitions", 1000, "of the simulation of coverage; 10000 for the numbers of docs/lecture")

type population []float64

func weibull(shape, scale, clip float64) population {
	p := make(population, 4096)
	for i := range p {
		u := (float64(i) + 0.5) / float64(len(p))
		p[i] = min(clip, scale*math.Pow(-math.Log1p(-u), 1/shape))
	}
	return p
}

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

func read(t *testing.T, name string, into any) {
	require.NoError(t, json.Unmarshal(testkit.Must(os.ReadFile("testdata/"+name)), into))
}

func off(want, got float64) float64 { return math.Abs(got-want) / math.Abs(want) }

func near(t *testing.T, want, got float64, about ...any) {
	t.Helper()
	require.LessOrEqual(t, off(want, got), 1e-9, append([]any{"want %v, got %v, of %v", want, got}, about...)...)
}

func costOf(t *testing.T, distances []float64, sigma, q float64, steps, lambda int, failure float64) float64 {
	a := testkit.Must(New(Config{Steps: steps, Delta: 0.5, Failure: failure, Orders: []int{lambda}, Estimator: StudentT}))
	require.NoError(t, a.Add(Step{SamplingProbability: q, Noise: sigma}, distances))
	return a.costs[0]
}

type mechanisms struct {
	PerSample []struct {
		Q        float64
		Distance float64 `json:"distance_over_sigma"`
		Lam      int
		CL       float64
		CR       float64 `json:"cR_printed_bound"`
		Reverse  float64 `json:"exact_reverse"`
	} `json:"per_sample"`
	Estimator []struct {
		Name          string
		Distances     []float64
		Sigma, Q      float64
		T, Lam        int
		Gamma         float64
		Quantile      float64 `json:"t_quantile"`
		C             float64 `json:"c_hat"`
		Mean          float64 `json:"c_mean_only"`
		NaiveOverflow bool    `json:"naive_overflow"`
	}
	Totals []struct {
		Distances []float64
		T         int
		Sigma, Q  float64
		Orders    []int
		Delta     float64 `json:"delta_mu"`
		Gamma     float64
		Eps       float64 `json:"eps_mu"`
		Lam       int
		Classical float64 `json:"moments_accountant_at_C_1_same_delta"`
	}
	Coverage []struct {
		Outlier   float64 `json:"p_outlier"`
		Typical   float64 `json:"distance_typical"`
		Far       float64 `json:"distance_outlier"`
		Q         float64
		Lam, T, M int
		Claimed   float64 `json:"claimed_failure"`
		True      float64 `json:"true_c"`
		Without   float64 `json:"c_hat_without_outlier"`
		Under     float64 `json:"exact_probability_of_underestimate"`
	} `json:"estimator_coverage"`
	Attack []struct {
		Eps, Delta float64
		Success    float64 `json:"attack_success_flat_prior"`
	} `json:"attack_success"`
}

func TestMomentsAgreeWithTheReference(t *testing.T) {
	var g mechanisms
	read(t, "mechanisms.json", &g)
	require.Len(t, g.PerSample, 64)
	for _, e := range g.PerSample {
		r := e.Distance * e.Distance
		// The reference is the log of a double near one.
		require.LessOrEqual(t, math.Abs(e.CL-LogMoment(e.Lam, e.Q, r)), 1e-9*e.CL+0x1p-52, e)
		near(t, e.CR, PrintedReverse(e.Lam, e.Q, r), e)
		require.LessOrEqual(t, e.Reverse, e.CL*(1+1e-9), "the forward direction dominates")
	}
}

func TestEstimatesAgreeWithTheReference(t *testing.T) {
	var g mechanisms
	read(t, "mechanisms.json", &g)
	overflowing := 0
	for _, e := range g.Estimator {
		near(t, e.Quantile, studentQuantile(e.Gamma, len(e.Distances)-1), e.Name)
		near(t, e.C, costOf(t, e.Distances, e.Sigma, e.Q, e.T, e.Lam, e.Gamma), e)
		if e.NaiveOverflow {
			overflowing++
		}
	}
	require.Positive(t, overflowing)
}

func TestCostsAgreeWithTheRepositoryInDoublePrecision(t *testing.T) {
	var g struct {
		Arrays  map[string][]float64 `json:"distance_arrays"`
		Records []struct {
			Array      string
			Sigma, Q   float64
			Lam        int
			Total      int `json:"total_steps"`
			Steps      int
			Confidence float64
			Cost       float64 `json:"cost_reference_float64"`
		}
		Runs []struct {
			Sigma, Q   float64
			Total      int `json:"total_steps"`
			Delta      float64
			Arrays     []string `json:"array_sequence"`
			Lambdas    []int
			Confidence float64   `json:"confidence_per_step"`
			Eps        float64   `json:"eps_reference"`
			Best       int       `json:"best_lambda"`
			Costs      []float64 `json:"cost_reference"`
		} `json:"end_to_end"`
	}
	read(t, "repository.json", &g)
	require.Len(t, g.Records, 504)
	// The standard deviation of the reference cancels where costs are small. The same costs in fifty digits
	// say which 47 of them are wrong beyond 1e-9.
	var exact digits
	read(t, "digits.json", &exact)
	wrong := 0
	for i, e := range g.Records {
		require.Equal(t, 1, e.Steps)
		require.Equal(t, [3]any{e.Array, e.Total, e.Lam}, [3]any{exact.Costs[i].Array, exact.Costs[i].T, exact.Costs[i].Lam})
		if off(exact.Costs[i].Cost, e.Cost) > 0.99e-9 {
			wrong++
			continue
		}
		near(t, e.Cost, costOf(t, g.Arrays[e.Array], e.Sigma, e.Q, e.Total, e.Lam, 1-e.Confidence), e)
	}
	require.Equal(t, 47, wrong)
	for _, e := range g.Runs {
		a := testkit.Must(New(Config{Steps: e.Total, Delta: 0.5, Failure: 1 - e.Confidence, Orders: e.Lambdas, Estimator: StudentT}))
		for _, name := range e.Arrays {
			require.NoError(t, a.Add(Step{SamplingProbability: e.Q, Noise: e.Sigma}, g.Arrays[name]))
		}
		for i, c := range e.Costs {
			near(t, c, a.costs[i], e.Lambdas[i])
		}
		// The repository adds failures up over steps, and not over orders.
		left := e.Delta - -math.Expm1(float64(e.Total)*math.Log(e.Confidence))
		eps, order := best(e.Lambdas, a.costs, math.Log(left))
		near(t, e.Eps, eps)
		require.Equal(t, e.Best, order)
	}
}

type digits struct {
	Moments []struct {
		Q, Distance float64
		Lam         int
		Cost        float64 `json:",string"`
	}
	Costs []struct {
		Array    string
		Sigma, Q float64
		T, Lam   int
		Failure  float64 `json:",string"`
		Cost     float64 `json:",string"`
	}
}

func TestCostsInFiftyDigits(t *testing.T) {
	var arrays struct {
		Arrays map[string][]float64 `json:"distance_arrays"`
	}
	var g digits
	read(t, "repository.json", &arrays)
	read(t, "digits.json", &g)
	worst := 0.0
	for _, e := range g.Moments {
		worst = math.Max(worst, math.Abs(LogMoment(e.Lam, e.Q, e.Distance*e.Distance)-e.Cost)/e.Cost)
	}
	require.Less(t, worst, 1e-13, "moments")
	worst = 0
	require.Greater(t, len(g.Costs), 400)
	for _, e := range g.Costs {
		got := costOf(t, arrays.Arrays[e.Array], e.Sigma, e.Q, e.T, e.Lam, e.Failure)
		worst = math.Max(worst, math.Abs(got-e.Cost)/e.Cost)
	}
	require.Less(t, worst, 1e-11, "costs")
}
