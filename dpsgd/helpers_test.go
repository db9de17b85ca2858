package dpsgd

import (
	"context"
	"flag"
	"iter"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/floats"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

var long = flag.Bool("long", false, "play all of what tests take a sample of")

func sampled[T any](all ...T) []T {
	if *long {
		return all
	}
	return all[:1]
}

var usual = Config{
	SamplingProbability: 0.1, NoiseMultiplier: 1, ClipNorm: 0.5, Steps: 30, LearningRate: 1, Optimizer: optim.Config{Momentum: 0.5},
}

var adaptive = Clipping{Adaptive: Adaptive{Quantile: 0.5, LearningRate: 0.2, CountNoise: 3}}

func cycle(bands int) Sampling   { return Sampling{Scheme: Cyclic, Bands: bands} }
func allocate(t, k int) Sampling { return Sampling{Scheme: Allocation, EpochSteps: t, PerEpoch: k} }
func bins(t int) Sampling        { return Sampling{Scheme: BallsInBins, EpochSteps: t} }

// everyKind returns a configuration for each kind of state that a run can have: all of them with -long.
func everyKind() map[string]Config {
	with := func(change func(*Config)) Config {
		cfg := usual
		cfg.Optimizer = optim.Config{}
		change(&cfg)
		return cfg
	}
	all := map[string]Config{
		"sgd":        with(func(*Config) {}),
		"momentum":   usual,
		"nesterov":   with(func(c *Config) { c.Optimizer = optim.Config{Momentum: 0.9, Nesterov: true, WeightDecay: 0.01} }),
		"adagrad":    with(func(c *Config) { c.Optimizer.Method = optim.AdaGrad }),
		"adam":       with(func(c *Config) { c.Optimizer.Method = optim.Adam; c.LearningRate = 0.1 }),
		"adamw":      with(func(c *Config) { c.Optimizer = optim.Config{Method: optim.AdamW, WeightDecay: 0.1} }),
		"average":    with(func(c *Config) { c.AverageDecay = 0.9 }),
		"adaptive":   with(func(c *Config) { c.Clipping = adaptive }),
		"automatic":  with(func(c *Config) { c.Clipping.Stabilizer = 0.01 }),
		"phases":     phased,
		"schedule":   with(func(c *Config) { c.Schedule = Schedule{Shape: Cosine, Warmup: 3} }),
		"clip only":  with(func(c *Config) { c.NonPrivate, c.NoiseMultiplier, c.Optimizer = true, 0, usual.Optimizer }),
		"full":       with(func(c *Config) { c.SamplingProbability = 1 }),
		"turns":      with(func(c *Config) { c.Sampling = cycle(5) }),
		"allocation": with(func(c *Config) { c.SamplingProbability, c.Sampling = 0, allocate(6, 2) }),
		"bins":       with(func(c *Config) { c.SamplingProbability, c.Sampling = 0, bins(6) }),
		"everything": with(func(c *Config) {
			c.Clipping, c.AverageDecay, c.Optimizer = adaptive, 0.5, optim.Config{Method: optim.AdamW, WeightDecay: 0.1}
			c.Schedule = Schedule{Shape: Linear, Final: 0.1}
		}),
	}
	maps.DeleteFunc(all, func(name string, _ Config) bool {
		return !*long && !slices.Contains([]string{"momentum", "turns", "allocation", "everything"}, name)
	})
	return all
}

func gaussianStep(q, z float64) accountant.Event {
	return accountant.PoissonSampled{Probability: q, Event: accountant.Gaussian{NoiseMultiplier: z}}
}

// claimed returns the delta at e that the event of cfg claims by its privacy loss distribution.
func claimed(t *testing.T, cfg Config, e float64) float64 {
	account := testkit.Must(accountant.NewPLD(accountant.PLDConfig{Relation: accountant.AddRemove}))
	require.NoError(t, account.Compose(cfg.Event(), 1))
	return testkit.Must(account.Delta(context.Background(), e)).Upper
}

func reserveEvent(t testing.TB, e accountant.Event) *ledger.Reservation {
	return testledger.Reserve(t, accountant.AddRemove, e)
}

// reserve returns nil for a run without noise, which takes no reservation.
func reserve(t testing.TB, cfg Config) *ledger.Reservation {
	if cfg.NonPrivate {
		return nil
	}
	return reserveEvent(t, cfg.Event())
}

func train(ctx context.Context, t testing.TB, m Model, d Data, cfg Config, key rng.Key) (Result, error) {
	return Train(ctx, m, d, cfg, reserve(t, cfg), key)
}

func trained(t *testing.T, d Data, cfg Config, seed uint64) (*Softmax, Result) {
	_, cols := d.Dims()
	m := newSoftmax(cols, 3)
	return m, testkit.Must(train(t.Context(), t, m, d, cfg, rng.SeedKey(seed)))
}

// trainerOf returns the trainer of a run, under a key that its data have no part in.
func trainerOf(t testing.TB, m Model, d Data, cfg Config, seed uint64) *trainer {
	tr := testkit.Must(newTrainer(forRecords(m, d), d, cfg))
	tr.release.key = rng.SeedKey(seed)
	return tr
}

func stepOf(t testing.TB, tr *trainer) Metrics { return testkit.Must(tr.step(context.Background())) }

func clouds(n, cols int) Data {
	rnd := rand.New(rand.NewPCG(7, 1))
	d := Data{X: dense.New(n, cols), Y: make([]int, n)}
	for i := range n {
		d.Y[i] = rnd.IntN(3)
		x := dense.Row(d.X, i)
		for j := range x {
			x[j] = float32(0.5 * rnd.NormFloat64())
		}
		x[d.Y[i]] += 2
	}
	return d
}

func accuracy(t *testing.T, m *Softmax, d Data) float64 {
	got := make([]int, len(d.Y))
	require.NoError(t, m.Predict(t.Context(), got, d))
	right := 0.0
	for i, y := range d.Y {
		if got[i] == y {
			right++
		}
	}
	return right / float64(len(d.Y))
}

func column(values ...float32) Data {
	return Data{X: blas32.General{Rows: len(values), Cols: 1, Stride: 1, Data: values}, Y: make([]int, len(values))}
}

func unitsOf(units ...[]float32) Data {
	d := column(slices.Concat(units...)...)
	end := 0
	for _, u := range units {
		end += len(u)
		d.Ends = append(d.Ends, end)
	}
	return d
}

func dealt(blocks [][]int) *batcher {
	b := &batcher{blocks: len(blocks), starts: []int{0}}
	for _, rows := range blocks {
		b.rows = append(b.rows, rows...)
		b.starts = append(b.starts, len(b.rows))
	}
	return b
}

func sumOf(t *testing.T, model Model, data Data, clip Clip, perUnit float64, blocks ...[]int) []int64 {
	s := newSummer(model, data, len(model.Parameters()), 1)
	s.blind = true
	require.NoError(t, testkit.Err(s.add(context.Background(), dealt(blocks), clip, perUnit)))
	return s.total()
}

func gridOf(t require.TestingT, noiseMultiplier, clip float64, parameters, records, floors int) grid {
	return testkit.Must(newGrid(noiseMultiplier, clip, parameters, records, floors))
}

func normOf[F float32 | float64](v []F) float64 {
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	return math.Sqrt(square)
}

func upTo(n int) (rows []int) {
	for i := range n {
		rows = append(rows, i)
	}
	return rows
}

// batches yields all sets of n records, each with its probability if records are drawn with probability q.
func batches(n int, q float64) iter.Seq2[float64, []int] {
	return func(yield func(float64, []int) bool) {
		for set := range 1 << n {
			weight, batch := 1.0, []int(nil)
			for i := range n {
				if set>>i&1 == 1 {
					weight *= q
					batch = append(batch, i)
				} else {
					weight *= 1 - q
				}
			}
			if !yield(weight, batch) {
				return
			}
		}
	}
}

// mixture is the exact law of one step's release on a toy: a discrete Gaussian shifted by the integer sum
// of every possible batch.
type mixture struct {
	weights, means []float64 // in units of the grid
	sigma          float64
}

func lawOf(t *testing.T, data Data, q, clip float64, g grid) mixture {
	m := mixture{sigma: g.sigma}
	for weight, batch := range batches(data.Records(), q) {
		m.weights = append(m.weights, weight)
		m.means = append(m.means, float64(sumOf(t, forRecords(newToy(), data), data, FlatClip(clip), g.perUnit, batch)[0]))
	}
	return m
}

// density tabulates the law over k/sigma in steps of 1/mesh. The common standard deviation is above 2^32.
// So a smooth sum over the integers equals the sum over the table, to more digits than doubles have.
func (m mixture) density() []float64 {
	const mesh, reach = 200, 40
	d := make([]float64, 2*reach*mesh+1)
	for i, w := range m.weights {
		for k := range d {
			u := float64(k)/mesh - reach - m.means[i]/m.sigma
			d[k] += w * math.Exp(-u*u/2) / (mesh * math.Sqrt(2*math.Pi))
		}
	}
	return d
}

func (m mixture) below(k float64) float64 {
	p := 0.0
	for i, w := range m.weights {
		p += w * math.Erfc((m.means[i]-k)/(m.sigma*math.Sqrt2)) / 2
	}
	return p
}

// inTwo tabulates a mixture of Gaussian laws of two outputs, in standard deviations of their noise.
func inTwo(weights []float64, means [][2]float64) []float64 {
	const mesh, reach = 6, 12
	n := 2*reach*mesh + 1
	d := make([]float64, n*n)
	for i, w := range weights {
		var p [2][]float64
		for a := range p {
			p[a] = make([]float64, n)
			for k := range n {
				u := float64(k)/mesh - reach - means[i][a]
				p[a][k] = math.Exp(-u*u/2) / (mesh * math.Sqrt(2*math.Pi))
			}
		}
		for x, px := range p[0] {
			for y, py := range p[1] {
				d[x*n+y] += w * px * py
			}
		}
	}
	return d
}

// renyi returns the larger divergence of the two directions, over what is above 0 in both tables.
func renyi(p, q []float64, order int) float64 {
	var s [2]float64
	a := float64(order)
	for k := range p {
		if p[k] > 0 && q[k] > 0 {
			lp, lq := math.Log(p[k]), math.Log(q[k])
			s[0] += math.Exp(a*lp - (a-1)*lq)
			s[1] += math.Exp(a*lq - (a-1)*lp)
		}
	}
	return math.Log(max(s[0], s[1])) / (a - 1)
}

// sampledGaussian returns the Renyi divergence of the Poisson-sampled Gaussian at an integer order, by the
// binomial sum (Mironov, Talwar, Zhang 2019).
func sampledGaussian(q, multiplier float64, order int) float64 {
	s := 0.0
	for k := range order + 1 {
		c, _ := new(big.Float).SetInt(new(big.Int).Binomial(int64(order), int64(k))).Float64()
		s += c * math.Pow(1-q, float64(order-k)) * math.Pow(q, float64(k)) * math.Exp(float64(k*(k-1))/(2*multiplier*multiplier))
	}
	return math.Log(s) / float64(order-1)
}

// farthest returns the largest Renyi divergence of one step between neighbours that differ in one unit,
// over the claim for one record. Unless it is a control, hockey-stick divergences are checked too. Noise is
// scaled by the last argument.
func farthest(t *testing.T, worlds [][][]float32, multiplier float64, as func(Data) Data, control bool, noise float64) (ratio float64) {
	const q, clip = 0.25, 0.3
	g := gridOf(t, multiplier, clip, 1, 8, 0)
	g.sigma *= noise
	with := mixture{weights: []float64{1 - q, q}, means: []float64{0, 1}, sigma: multiplier}.density()
	bare := mixture{weights: []float64{1}, means: []float64{0}, sigma: multiplier}.density()
	for _, units := range worlds {
		whole := lawOf(t, as(unitsOf(units...)), q, clip, g).density()
		for u := range units {
			part := lawOf(t, as(unitsOf(slices.Delete(slices.Clone(units), u, u+1)...)), q, clip, g).density()
			for _, order := range []int{2, 3, 8, 16} {
				ratio = max(ratio, renyi(whole, part, order)/sampledGaussian(q, multiplier, order))
			}
			for _, e := range []float64{0, 0.1, 0.5, 1} {
				if !control {
					require.LessOrEqual(t, testkit.EitherHockeyStick(whole, part, e), testkit.EitherHockeyStick(with, bare, e)+1e-5)
				}
			}
		}
	}
	return ratio
}

// fits checks by chi-square that cells are equally probable; false-alarm rate 1e-6.
func fits(t *testing.T, observed []float64) {
	t.Helper()
	n := len(observed)
	require.Greater(t, testkit.ChiSquare(observed, slices.Repeat([]float64{floats.Sum(observed) / float64(n)}, n)), 1e-6)
}

// followsLaw makes the first step of a run under so many keys. The cumulative distribution of what it
// releases must make that uniform. The false-alarm rate is 1e-6, and the seeds are fixed.
func followsLaw(t *testing.T, runs, bins int, m Model, d Data, cfg Config, cdf func(*trainer, Metrics) float64) {
	t.Helper()
	if !*long {
		runs /= 4
	}
	tr := trainerOf(t, m, d, cfg, 0)
	observed := make([]float64, bins)
	for run := range runs {
		tr.release.key, tr.done, tr.clip = rng.SeedKey(uint64(run)), 0, FlatClip(cfg.ClipNorm)
		metrics := stepOf(t, tr)
		observed[min(int(cdf(tr, metrics)*float64(bins)), bins-1)]++
	}
	fits(t, observed)
}
