package moments

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

func reserve(t testing.TB, e accountant.Event) *ledger.Reservation {
	return testledger.Reserve(t, accountant.AddRemove, e)
}

func rowsOf(x blas32.General) dpsgd.Data { return dpsgd.Data{X: x} }

func meanOf(t *testing.T, x blas32.General, cfg Config, seed uint64) Mean {
	return testkit.Must(EstimateMean(t.Context(), rowsOf(x), cfg, reserve(t, cfg.Event()), rng.SeedKey(seed)))
}

func secondOf(t *testing.T, x blas32.General, channels int, cfg Config, seed uint64) SecondMoment {
	return testkit.Must(EstimateSecondMoment(t.Context(), rowsOf(x), channels, cfg, reserve(t, cfg.Event()), rng.SeedKey(seed)))
}

func matrix(rows ...[]float32) blas32.General {
	x := blas32.General{Rows: len(rows), Cols: len(rows[0]), Stride: len(rows[0]) + 1}
	for _, r := range rows {
		x.Data = append(append(x.Data, r...), -99)
	}
	return x
}

func randomMatrix(rows, cols int, seed uint64) blas32.General {
	rnd := rand.New(rand.NewPCG(seed, 1))
	data := testkit.Series(rows*cols, func(int) float32 { return float32(rnd.NormFloat64()) })
	return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: data}
}

const faint = 0x1p-10 // the least noise multiplier

func TestEstimateMean(t *testing.T) {
	x := matrix([]float32{3, 4}, []float32{30, -40}, []float32{float32(math.NaN()), 1}, []float32{0, 0})
	cfg := Config{ClipNorm: 5, NoiseMultiplier: faint, Records: 4}
	m := meanOf(t, x, cfg, 1)
	// The row (3, 4) counts as it is, (30, -40) as (3, -4) and the third row not at all. The sum is divided
	// by four.
	require.InDeltaSlice(t, []float64{1.5, 0}, m.Vector, 6*faint*5/4)
	require.NotEqual(t, []float64{1.5, 0}, m.Vector, "there is noise")
	require.Equal(t, Source{Moment: "mean", Channels: 2, Positions: 1, ClipNorm: 5, NoiseMultiplier: faint, Records: 4}, m.Source)
	require.Equal(t, cfg.Event(), m.Source.Event())

	x = matrix([]float32{3, 4})
	require.NoError(t, m.Subtract(x))
	require.InDelta(t, 1.5, x.Data[0], 0.02)
	require.InDelta(t, 4, x.Data[1], 0.02)
	require.Equal(t, float32(-99), x.Data[2], "between rows")
	require.Error(t, m.Subtract(matrix([]float32{1})))
}

func TestEstimateSecondMoment(t *testing.T) {
	// Use two channels of two positions: (1, 2) and (3, 4).
	x := matrix([]float32{1, 3, 2, 4})
	cfg := Config{ClipNorm: 100, NoiseMultiplier: faint, Records: 1}
	s := secondOf(t, x, 2, cfg, 1)
	for _, e := range []struct {
		i, j int
		want float64
	}{{0, 0, 5}, {0, 1, 7}, {1, 0, 7}, {1, 1, 10}} {
		require.InDelta(t, e.want, s.Matrix.At(e.i, e.j), 6*faint*100)
	}
	// Clipping gives a multiple of the same matrix, of norm one.
	cfg.ClipNorm = 1
	s = secondOf(t, x, 2, cfg, 1)
	require.InDelta(t, 1, mat.Norm(s.Matrix, 2), 10*faint)
	require.InDelta(t, 7.0/5, s.Matrix.At(0, 1)/s.Matrix.At(0, 0), 0.05)
	require.Equal(t, 2, s.Source.Positions)
}

// The noise has a standard deviation of NoiseMultiplier times ClipNorm on every coordinate in which the
// contribution is clipped. Entries off the diagonal of the matrix have less, by the root of 2. With n values
// the estimate of a standard deviation has relative error 1/sqrt(2n). The test allows five of them,
// false-alarm rate 1e-6. Noise that forgets the clip norm, or the root, is caught.
func TestNoiseIsAsClaimed(t *testing.T) {
	const channels = 60
	x := blas32.General{Rows: 1, Cols: channels, Stride: channels, Data: make([]float32, channels)}
	cfg := Config{ClipNorm: 0.3, NoiseMultiplier: 1.7, Records: 10}
	s, m := secondOf(t, x, channels, cfg, 2), meanOf(t, x, cfg, 2)
	var on, off []float64
	for i := range channels {
		on = append(on, s.Matrix.At(i, i), m.Vector[i])
		for j := range i {
			off = append(off, s.Matrix.At(i, j))
		}
	}
	within := func(values []float64, sd float64) bool {
		n := float64(len(values))
		return math.Abs(norm(values)/math.Sqrt(n)/sd-1) < 5/math.Sqrt(2*n)
	}
	sd := cfg.NoiseMultiplier * cfg.ClipNorm / float64(cfg.Records)
	require.True(t, within(on, sd))
	require.True(t, within(off, sd/math.Sqrt2))
	require.False(t, within(on, cfg.NoiseMultiplier/float64(cfg.Records)), "without the clip norm")
	require.False(t, within(off, sd), "without the root")
}

func TestAReservationIsNeeded(t *testing.T) {
	ctx, x := context.Background(), randomMatrix(5, 6, 1)
	cfg := Config{ClipNorm: 1, NoiseMultiplier: 1, Records: 5}
	other := cfg
	other.NoiseMultiplier = 2
	for _, run := range []func(*ledger.Reservation) error{
		func(r *ledger.Reservation) error {
			return testkit.Err(EstimateMean(ctx, rowsOf(x), cfg, r, rng.SeedKey(1)))
		},
		func(r *ledger.Reservation) error {
			return testkit.Err(EstimateSecondMoment(ctx, rowsOf(x), 3, cfg, r, rng.SeedKey(1)))
		},
	} {
		require.Error(t, run(nil))
		require.Error(t, run(reserve(t, other.Event())))
		r := reserve(t, cfg.Event())
		require.NoError(t, run(r))
		require.Error(t, run(r), "one reservation, one release")
	}
}

func TestRefusals(t *testing.T) {
	ctx, x := context.Background(), randomMatrix(5, 6, 1)
	for _, cfg := range []Config{
		{ClipNorm: 1, NoiseMultiplier: 1}, {NoiseMultiplier: 1, Records: 5}, {ClipNorm: 1, Records: 5},
		{ClipNorm: math.NaN(), NoiseMultiplier: 1, Records: 5}, {ClipNorm: math.Inf(1), NoiseMultiplier: 1, Records: 5},
		{ClipNorm: 1, NoiseMultiplier: math.NaN(), Records: 5}, {ClipNorm: 1, NoiseMultiplier: 1, Records: 5, Workers: -1},
	} {
		require.Error(t, cfg.Validate(), "%+v", cfg)
		require.Error(t, testkit.Err(EstimateMean(ctx, rowsOf(x), cfg, nil, rng.SeedKey(1))))
	}
	cfg := Config{ClipNorm: 1, NoiseMultiplier: 1, Records: 5}
	for _, channels := range []int{0, -1, 4, 7, 2000} {
		_, err := EstimateSecondMoment(ctx, rowsOf(x), channels, cfg, nil, rng.SeedKey(1))
		require.ErrorContains(t, err, "channels")
	}
	require.ErrorContains(t, testkit.Err(EstimateMean(ctx, rowsOf(x), cfg, reserve(t, cfg.Event()), rng.Key{})), "key")
	require.Error(t, testkit.Err(EstimateMean(ctx, dpsgd.Data{}, cfg, reserve(t, cfg.Event()), rng.SeedKey(1))))
	require.Error(t, ScaleRows(x, 0))
	require.Error(t, ScaleRows(x, math.NaN()))
	x.Data[7] = float32(math.Inf(1))
	require.Error(t, ScaleRows(x, 1))
}

func TestAnyNumberOfWorkersGivesTheSame(t *testing.T) {
	x := randomMatrix(1000, 12, 3)
	one := Config{ClipNorm: 2, NoiseMultiplier: 1, Records: 1000, Workers: 1}
	three := one
	three.Workers = 3
	require.Equal(t, secondOf(t, x, 4, one, 1), secondOf(t, x, 4, three, 1))
	require.Equal(t, meanOf(t, x, one, 1), meanOf(t, x, three, 1))
}

func TestWhitening(t *testing.T) {
	const rows, channels, positions = 3000, 5, 4
	x := randomMatrix(rows, channels*positions, 4)
	rnd := rand.New(rand.NewPCG(5, 5))
	mix := mat.NewDense(channels, channels, nil)
	for i := range channels {
		for j := range channels {
			mix.Set(i, j, rnd.NormFloat64())
		}
		mix.Set(i, i, 3)
	}
	for i := range rows {
		row := x.Data[i*x.Stride : i*x.Stride+x.Cols]
		old := append([]float32(nil), row...)
		for c := range channels {
			for p := range positions {
				v := 0.0
				for d := range channels {
					v += mix.At(c, d) * float64(old[d*positions+p])
				}
				row[c*positions+p] = float32(v)
			}
		}
	}
	cfg := Config{ClipNorm: 1 << 10, NoiseMultiplier: faint, Records: rows}
	s := secondOf(t, x, channels, cfg, 1)
	w := testkit.Must(s.Whitening(1e-6))
	require.NoError(t, w.Apply(x))
	after := secondOf(t, x, channels, cfg, 1)
	for i := range channels {
		for j := range channels {
			want := 0.0
			if i == j {
				want = 1
			}
			require.InDelta(t, want, after.Matrix.At(i, j), 2e-2)
		}
	}
	// The ridge is relative to the largest eigenvalue, and W (S + r l I) W = 1.
	w = testkit.Must(s.Whitening(0.5))
	var eigen mat.EigenSym
	require.True(t, eigen.Factorize(s.Matrix, false))
	ridged := mat.NewDense(channels, channels, nil)
	ridged.Copy(s.Matrix)
	for i := range channels {
		ridged.Set(i, i, ridged.At(i, i)+0.5*eigen.Values(nil)[channels-1])
	}
	var product mat.Dense
	product.Mul(w.Matrix, ridged)
	product.Mul(&product, w.Matrix)
	for i := range channels {
		require.InDelta(t, 1, product.At(i, i), 1e-9)
	}
}

func TestWhiteningOfNoise(t *testing.T) {
	s := SecondMoment{Matrix: mat.NewSymDense(2, []float64{1, 0, 0, -0.5}), Source: Source{Channels: 2, Positions: 1}}
	w := testkit.Must(s.Whitening(0.01))
	require.InDelta(t, 10, w.Matrix.At(1, 1), 1e-9, "a negative eigenvalue counts as zero")
	for _, ridge := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		require.Error(t, testkit.Err(s.Whitening(ridge)))
	}
	s.Matrix = mat.NewSymDense(2, []float64{-1, 0, 0, -0.5})
	require.ErrorContains(t, testkit.Err(s.Whitening(0.01)), "all noise")
	require.Error(t, w.Apply(matrix([]float32{1})))
	// A matrix that is missing, or has other channels than its source, is refused.
	source := Source{Channels: 3, Positions: 2}
	for _, m := range []*mat.SymDense{nil, mat.NewSymDense(2, []float64{1, 0, 0, 1})} {
		require.ErrorContains(t, testkit.Err(SecondMoment{Matrix: m, Source: source}.Whitening(0.1)), "3 channels")
		require.ErrorContains(t, Whitening{Matrix: m, Source: source}.Apply(randomMatrix(1, 6, 1)), "3 channels")
	}
}

func clippedSum(m dpsgd.Model, x blas32.General, rows []int, c float64) ([]float32, dpsgd.Tally) {
	sum := make([]float32, len(m.Parameters()))
	w := m.Worker()
	w.Start()
	tally := w.AddClipped(sum, dpsgd.Data{X: x, Y: make([]int, x.Rows)}, rows, dpsgd.FlatClip(c))
	return sum, tally
}

func widen(v []float32) []float64 {
	return testkit.Series(len(v), func(i int) float64 { return float64(v[i]) })
}

func norm(v []float64) float64 { return mat.Norm(mat.NewVecDense(len(v), v), 2) }

// TestARecordMovesTheSumByAtMostTheClipNorm tries the smallest worlds: all rows of three entries from a
// short list of numbers, and every pair of neighbours whose smaller set has none or one of them. What a
// record adds has, as a vector and as a matrix, a norm of at most C. The broken models exceed it.
func TestARecordMovesTheSumByAtMostTheClipNorm(t *testing.T) {
	const c = 1.5
	alphabet := []float32{0, 1e-20, -0.7, 3, 1e15}
	var rows [][]float32
	for _, a := range alphabet {
		for _, b := range alphabet {
			for _, d := range alphabet {
				rows = append(rows, []float32{a, b, d})
			}
		}
	}
	x := matrix(rows...)
	worst := func(m dpsgd.Model, size func([]float64) float64) float64 {
		most := 0.0
		for i := range rows {
			with, _ := clippedSum(m, x, []int{i}, c)
			most = max(most, size(widen(with)))
			for _, j := range []int{0, 31, 124} {
				both, _ := clippedSum(m, x, []int{j, i}, c)
				without, _ := clippedSum(m, x, []int{j}, c)
				difference := widen(both)
				for k, v := range widen(without) {
					difference[k] -= v
				}
				most = max(most, size(difference))
			}
		}
		return most
	}
	frobenius := func(v []float64) float64 { return mat.Norm(fromTriangle(v, 3), 2) }
	const slack = c * 0x1p-20
	second := secondModel(3, 1)
	require.InDelta(t, c, worst(second, norm), slack, "reached, and not passed")
	require.InDelta(t, c, worst(second, frobenius), slack)
	require.InDelta(t, c, worst(meanModel(3), norm), slack)

	require.Greater(t, worst(unclipped{second}, norm), 2*c, "no clipping")
	plain := secondModel(3, 1)
	plain.contributor = func() contributor {
		return func(dst, row []float32) {
			at := 0
			for i := range row {
				for j := i; j < len(row); j++ {
					dst[at] = row[i] * row[j] // no root of 2
					at++
				}
			}
		}
	}
	require.Greater(t, worst(plain, func(v []float64) float64 {
		at := 0
		for i := range 3 {
			for j := i; j < 3; j++ {
				if j > i {
					v[at] *= math.Sqrt2 // the matrix has it twice
				}
				at++
			}
		}
		return norm(v)
	}), 1.1*c, "a triangle whose norm is not the matrix's")
}

type unclipped struct{ *model }

func (u unclipped) Worker() dpsgd.Worker { return unclippedWorker{u.model.Worker()} }

type unclippedWorker struct{ dpsgd.Worker }

func (w unclippedWorker) AddClipped(sum []float32, data dpsgd.Data, rows []int, _ dpsgd.Clip) dpsgd.Tally {
	return w.Worker.AddClipped(sum, data, rows, dpsgd.FlatClip(math.Inf(1)))
}

func TestObligations(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 6))
	const n, channels, positions, c = dpsgd.MaxRows, 5, 3, 0.8
	x := randomMatrix(n, channels*positions, 7)
	x.Stride, x.Data = 17, make([]float32, n*17)
	for i := range n {
		size := math.Exp(8 * rnd.NormFloat64())
		for j := range x.Cols {
			x.Data[i*x.Stride+j] = float32(size * math.Abs(rnd.NormFloat64()))
		}
	}
	for _, i := range []int{3, 100} {
		x.Data[i*x.Stride+4] = float32(math.NaN())
	}
	x.Data[7*x.Stride] = math.MaxFloat32
	for _, m := range []*model{meanModel(x.Cols), secondModel(channels, positions)} {
		all := make([]int, n)
		exact := make([]float64, len(m.parameters))
		norms := 0.0
		for i := range n {
			all[i] = i
			alone, tally := clippedSum(m, x, []int{i}, c)
			size := norm(widen(alone))
			require.LessOrEqual(t, size, c*(1+0x1p-20))
			if i == 3 || i == 100 {
				require.Equal(t, int64(1), tally.NonFinite)
				require.Zero(t, size)
			}
			norms += size
			for k, v := range alone {
				exact[k] += float64(v)
			}
			moved := x
			moved.Data = append(make([]float32, 1+i%16), x.Data[i*x.Stride:]...)[1+i%16:]
			moved.Rows = 1
			elsewhere, _ := clippedSum(m, moved, []int{0}, c)
			require.Equal(t, alone, elsewhere)
		}
		rnd.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		sum, tally := clippedSum(m, x, all, c)
		require.LessOrEqual(t, tally.Clipped+tally.NonFinite, int64(n))
		require.GreaterOrEqual(t, tally.NonFinite, int64(2))
		for k, v := range widen(sum) {
			exact[k] -= v
		}
		const gamma = 64 * 0x1p-24 / (1 - 64*0x1p-24)
		require.LessOrEqual(t, norm(exact), gamma*norms)
	}
}
