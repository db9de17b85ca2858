package dpsgd

import (
	"context"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// toy is a model with one parameter whose gradient is the record's feature.
type toy struct{ parameter []float32 }

func (m toy) Parameters() []float32 { return m.parameter }
func (m toy) Check(Data) error      { return nil }
func (m toy) Worker() Worker        { return toyWorker{} }
func (m toy) Fingerprint() []byte   { return nil }

type toyWorker struct{}

func (toyWorker) Start() {}
func (toyWorker) AddClipped(sum []float32, data Data, rows []int, clip Clip) (tally Tally) {
	for _, i := range rows {
		g := float64(dense.Row(data.X, i)[0])
		if g-g != 0 {
			tally.NonFinite++
			continue
		}
		scale, clipped := clip.Scale(0, math.Abs(g))
		if clipped {
			tally.Clipped++
		}
		sum[0] += float32(scale * g)
	}
	return tally
}

func column(values ...float32) Data {
	return Data{X: blas32.General{Rows: len(values), Cols: 1, Stride: 1, Data: values}, Y: make([]int, len(values))}
}

// mixture is the exact law of one step's release on a toy: a discrete Gaussian shifted by
// the integer sum of every possible batch.
type mixture struct {
	weights, means []float64 // in units of the grid
	sigma          float64
}

func lawOf(t *testing.T, data Data, q, clip float64, g grid) mixture {
	m := mixture{sigma: g.sigma}
	for set := range 1 << data.Records() {
		weight := 1.0
		var batch []int
		for i := range data.Records() {
			if set>>i&1 == 1 {
				weight *= q
				batch = append(batch, i)
			} else {
				weight *= 1 - q
			}
		}
		m.weights = append(m.weights, weight)
		m.means = append(m.means, float64(sumOf(t, forRecords(toy{make([]float32, 1)}, data), data, FlatClip(clip), g.perUnit, [][]int{batch})[0]))
	}
	return m
}

// density tabulates the law over k/sigma in steps of 1/mesh. The common standard deviation
// is above 2^32. So a smooth sum over the integers equals the sum over the table, to more
// digits than doubles have.
func (m mixture) density() []float64 {
	d := make([]float64, 2*reach*mesh+1)
	for i, w := range m.weights {
		for k := range d {
			u := float64(k)/mesh - reach - m.means[i]/m.sigma
			d[k] += w * math.Exp(-u*u/2) / (mesh * math.Sqrt(2*math.Pi))
		}
	}
	return d
}

const (
	mesh  = 200
	reach = 40
)

func (m mixture) below(k float64) float64 {
	p := 0.0
	for i, w := range m.weights {
		p += w * math.Erfc((m.means[i]-k)/(m.sigma*math.Sqrt2)) / 2
	}
	return p
}

func renyi(p, q []float64, order int) float64 {
	s := 0.0
	for k := range p {
		if p[k] > 0 && q[k] > 0 {
			s += math.Exp(float64(order)*math.Log(p[k]) - float64(order-1)*math.Log(q[k]))
		}
	}
	return math.Log(s) / float64(order-1)
}

// sampledGaussian returns the Renyi divergence of the Poisson-sampled Gaussian at an
// integer order, by the binomial sum (Mironov, Talwar, Zhang 2019).
func sampledGaussian(q, multiplier float64, order int) float64 {
	s := 0.0
	for k := range order + 1 {
		c, _ := new(big.Float).SetInt(new(big.Int).Binomial(int64(order), int64(k))).Float64()
		s += c * math.Pow(1-q, float64(order-k)) * math.Pow(q, float64(k)) * math.Exp(float64(k*(k-1))/(2*multiplier*multiplier))
	}
	return math.Log(s) / float64(order-1)
}

// TestSmallWorlds enumerates all batches of small data sets and all their
// neighbours. The exact laws of the release are never farther apart than the
// event claims, in Renyi and in hockey-stick divergence, and come close. The
// control, half the noise, exceeds the claim.
func TestSmallWorlds(t *testing.T) {
	const q, clip = 0.25, 0.3
	for _, multiplier := range []float64{0.6, 1, 4} {
		g, err := newGrid(multiplier, clip, 1, 3, 0)
		require.NoError(t, err)
		with := mixture{weights: []float64{1 - q, q}, means: []float64{0, 1}, sigma: multiplier}.density()
		bare := mixture{weights: []float64{1}, means: []float64{0}, sigma: multiplier}.density()
		closest, halved := 0.0, 0.0
		for _, values := range [][]float32{{9}, {0.1, -9, 9}, {0.3, 0.3, -0.3}, {0.2999999, 1e-9, 5}, {0, 0, -1}} {
			wholeLaw := lawOf(t, column(values...), q, clip, g)
			whole := wholeLaw.density()
			for r := range values {
				partLaw := lawOf(t, column(slices.Delete(slices.Clone(values), r, r+1)...), q, clip, g)
				part := partLaw.density()
				for _, order := range []int{2, 3, 8, 16} {
					claim := sampledGaussian(q, multiplier, order)
					for _, d := range []float64{renyi(whole, part, order), renyi(part, whole, order)} {
						require.LessOrEqual(t, d, claim*(1+1e-12)+1e-14)
						closest = math.Max(closest, d/claim)
					}
				}
				for _, e := range []float64{0, 0.1, 0.5, 1} {
					claim := math.Max(testkit.HockeyStick(with, bare, e), testkit.HockeyStick(bare, with, e))
					require.LessOrEqual(t, testkit.HockeyStick(whole, part, e), claim+1e-5)
					require.LessOrEqual(t, testkit.HockeyStick(part, whole, e), claim+1e-5)
				}
				wholeLaw.sigma, partLaw.sigma = g.sigma/2, g.sigma/2
				halved = math.Max(halved, renyi(wholeLaw.density(), partLaw.density(), 2)/sampledGaussian(q, multiplier, 2))
				wholeLaw.sigma = g.sigma
			}
		}
		require.Greater(t, closest, 0.99, "no neighbours come near the claim")
		require.Greater(t, halved, 1.5, "half the noise goes unnoticed")
	}
}

// TestStepFollowsItsLaw compares 20,000 steps with the exact law. The false-alarm rate is
// 1e-6, and the seeds are fixed.
func TestStepFollowsItsLaw(t *testing.T) {
	const runs, bins = 20000, 40
	data := column(0.5, -9, 0.2)
	cfg := Config{SamplingProbability: 0.4, NoiseMultiplier: 0.5, ClipNorm: 0.3, Steps: 1, LearningRate: 1}
	tr, err := newTrainer(toy{make([]float32, 1)}, data, cfg)
	require.NoError(t, err)
	law := lawOf(t, data, cfg.SamplingProbability, cfg.ClipNorm, tr.release.grid)
	observed := make([]float64, bins)
	for run := range runs {
		tr.release.key, tr.done = rng.SeedKey(uint64(run)), 0
		_, err := tr.step(context.Background())
		require.NoError(t, err)
		p := law.below(float64(tr.release.total[0]))
		observed[min(int(p*bins), bins-1)]++
	}
	statistic := 0.0
	for _, o := range observed {
		const expected = float64(runs) / bins
		statistic += (o - expected) * (o - expected) / expected
	}
	require.Less(t, statistic, distuv.ChiSquared{K: bins - 1}.Quantile(1-1e-6))
}

// TestNoiseOfAnEmptyBatch checks a step in which no record is sampled. The step is noise of
// the claimed size, and the divisor is the expected batch. The relative standard error of
// the estimate is 1/sqrt(2 P) = 0.5 %, the false-alarm rate 1e-6.
func TestNoiseOfAnEmptyBatch(t *testing.T) {
	const cols = 10000
	model, err := NewSoftmax(cols, 2)
	require.NoError(t, err)
	data := Data{X: blas32.General{Rows: 10, Cols: cols, Stride: cols, Data: make([]float32, 10*cols)}, Y: make([]int, 10)}
	const q = 0x1p-30
	cfg := Config{SamplingProbability: q, NoiseMultiplier: 1.7, ClipNorm: 0.3, Steps: 1, LearningRate: 10 * q}
	result, err := Train(context.Background(), model, data, cfg, reserve(t, cfg), rng.SeedKey(1))
	require.NoError(t, err)
	require.Zero(t, result.Diagnostics.Sampled)
	mean, square := 0.0, 0.0
	for _, p := range model.Parameters() {
		mean += float64(p)
		square += float64(p) * float64(p)
	}
	n := float64(len(model.Parameters()))
	sd := math.Sqrt(square / n)
	require.InEpsilon(t, 1.7*0.3*1.0005, sd, 4.9/math.Sqrt(2*n))
	require.Less(t, math.Abs(mean/n), 4.9*sd/math.Sqrt(n))
}

// TestSamplingCounts checks how often each record is taken, how pairs go together, and how
// records spread over blocks. The false-alarm rate is 1e-6 each.
func TestSamplingCounts(t *testing.T) {
	const records, draws, q = 300, 5000, 0.3
	b := newBatcher(Sampling{}, q, 0, records, 2)
	require.Equal(t, 2, b.blocks)
	taken, inBlock, neighbours := make([]float64, records), make([]float64, b.blocks), 0.0
	for i := range uint64(draws) {
		b.draw(1, rng.SeedKey(i), 0)
		in := make([]bool, records)
		for k := range b.blocks {
			require.True(t, slices.IsSorted(b.block(k)))
			inBlock[k] += float64(len(b.block(k)))
			for _, r := range b.block(k) {
				require.False(t, in[r])
				in[r] = true
				taken[r]++
			}
		}
		for r := 1; r < records; r++ {
			if in[r] && in[r-1] {
				neighbours++
			}
		}
	}
	statistic := 0.0
	for _, c := range taken {
		statistic += (c - draws*q) * (c - draws*q) / (draws * q * (1 - q))
	}
	require.Less(t, statistic, distuv.ChiSquared{K: records}.Quantile(1-1e-6))
	total := inBlock[0] + inBlock[1]
	require.InDelta(t, 0.5, inBlock[0]/total, 4.9*0.5/math.Sqrt(total))
	pairs := float64(draws * (records - 1))
	require.InDelta(t, q*q, neighbours/pairs, 4.9*math.Sqrt(3*q*q/pairs))

	control := newBatcher(Sampling{}, q*1.02, 0, records, 2)
	sum := 0.0
	for i := range uint64(draws) {
		control.draw(1, rng.SeedKey(i), 0)
		sum += float64(len(control.rows))
	}
	require.Greater(t, math.Abs(sum-draws*records*q)/math.Sqrt(draws*records*q*(1-q)), 4.9, "two per cent go unnoticed")
}

func TestEverybodyIsSampledAtOne(t *testing.T) {
	b := newBatcher(Sampling{}, 1, 0, 100, 3)
	b.draw(1, rng.SeedKey(1), 0)
	require.Len(t, b.rows, 100)
}
