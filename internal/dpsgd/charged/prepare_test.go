package charged

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/floats"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/dpsgd/moments"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

var shape = dataset.Shape{Rows: 12, Cols: 12}

func images(n int, seed uint64) dataset.Set {
	rnd := rand.New(rand.NewPCG(seed, 1))
	s := dataset.Set{Name: "random", Image: shape, X: dense.New(n, 144)}
	for i := range s.X.Data {
		s.X.Data[i] = max(0, 2*rnd.Float32()-1)
	}
	return s
}

func reservations(t *testing.T, events []accountant.Event) []*ledger.Reservation {
	budget := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5}))
	if len(events) == 0 {
		return nil
	}
	return testkit.Must(budget.ReserveBatch(events))
}

func prepare(t *testing.T, train, test dataset.Set, cfg Config) Features {
	return prepareUnits(t, train, nil, test, cfg)
}

func prepareUnits(t *testing.T, train dataset.Set, ends []int, test dataset.Set, cfg Config) Features {
	return testkit.Must(Prepare(t.Context(), train, ends, test, cfg, reservations(t, cfg.Events()), rng.SeedKey(1)))
}

// sources describes the releases of a transform, in the order of Events.
func sources(transform *Transform) (all []moments.Source) {
	for _, p := range transform.parts {
		if p.whitening != nil {
			all = append(all, p.whitening.Source)
		}
		if p.mean != nil {
			all = append(all, p.mean.Source)
		}
	}
	return all
}

func faint(records int) Config {
	cfg := Default(records)
	cfg.SecondNoise, cfg.MeanNoise, cfg.HOGMeanNoise = 0x1p-10, 0x1p-10, 0x1p-10
	return cfg
}

func TestPrepare(t *testing.T) {
	train, test := images(300, 1), images(7, 2)
	cfg := faint(300)
	var stages []string
	cfg.Progress = func(stage string) { stages = append(stages, stage) }
	f := prepare(t, train, test, cfg)
	dim := testkit.Must(cfg.Dim(shape))
	const scattering = features.Channels * 9
	require.Equal(t, scattering+256, dim)
	rows, cols := f.Train.Dims()
	tested, _ := f.Test.Dims()
	require.Equal(t, dim, cols)
	require.Equal(t, []int{300, 7}, []int{rows, tested})
	statistics := sources(f.Transform)
	require.Len(t, statistics, 3)
	for i, s := range statistics {
		require.Equal(t, cfg.Events()[i], s.Event())
		require.Equal(t, []float64{40.5, 27, 16}[i], s.ClipNorm)
	}
	require.False(t, f.Transform.Releasable())
	require.Equal(t, []string{"scattering", "second moment", "whitening", "scattering mean", "norm",
		"oriented gradients", "oriented gradients mean", "norm", "test rows"}, stages)
	// Rows have the norm that was promised, and their mean is zero.
	for _, x := range []blas32.General{f.Train.Float32(1), f.Test.Float32(1)} {
		for i := range x.Rows {
			for _, part := range [][]float32{dense.Row(x, i)[:scattering], dense.Row(x, i)[scattering:]} {
				require.InDelta(t, math.Sqrt(float64(dim)/2), math.Sqrt(kernel.SquaredNorm(part)), 1e-3)
			}
		}
	}
	cfg.MeanNoise, cfg.HOGMeanNoise, cfg.Progress = 0, 0, nil
	uncentred := prepare(t, train, test, cfg)
	for _, part := range [][2]int{{0, scattering}, {scattering, dim}} {
		require.Less(t, meanNorm(f.Train.Float32(1), part[0], part[1]), 0.2*meanNorm(uncentred.Train.Float32(1), part[0], part[1]))
	}
}

func meanNorm(x blas32.General, from, to int) float64 {
	mean := make([]float64, to-from)
	for i := range x.Rows {
		for j, v := range dense.Row(x, i)[from:to] {
			mean[j] += float64(v) / float64(x.Rows)
		}
	}
	return floats.Norm(mean, 2)
}

func TestPrepareOfOtherRows(t *testing.T) {
	train, test := images(130, 1), images(3, 2)
	cfg := Default(130)
	want := prepare(t, train, test, cfg)
	cfg.Workers = 3
	cfg.Cache = &features.Cache{Dir: filepath.Join(t.TempDir(), "c"), Warn: func(err error) { require.NoError(t, err) }}
	for range 2 {
		got := prepare(t, train, test, cfg)
		require.Equal(t, want.Train.Float32(1), got.Train.Float32(1))
		require.Equal(t, want.Test.Float32(1), got.Test.Float32(1))
	}
	require.Len(t, testkit.Must(os.ReadDir(cfg.Cache.Dir)), 4)
	alone := prepare(t, train, dataset.Set{}, cfg)
	require.Equal(t, want.Train.Float32(1), alone.Train.Float32(1))
	require.Empty(t, alone.Test)
	other := images(3, 2)
	other.X.Data[0] = 1 - other.X.Data[0]
	got := prepare(t, train, other, cfg)
	require.Equal(t, want.Train.Float32(1), got.Train.Float32(1))
	rows, before := got.Test.Float32(1), want.Test.Float32(1)
	require.NotEqual(t, dense.Row(before, 0), dense.Row(rows, 0))
	require.Equal(t, dense.Row(before, 1), dense.Row(rows, 1))
}

func TestAPrivateRowReachesOthersByStatisticsAlone(t *testing.T) {
	train, test := images(50, 1), images(2, 2)
	changed := images(50, 1)
	copy(changed.X.Data[:144], images(1, 9).X.Data)
	cfg := Default(50)
	cfg.SecondNoise, cfg.MeanNoise, cfg.HOGMeanNoise = 0, 0, 0
	require.Empty(t, cfg.Events())
	a, b := prepare(t, train, test, cfg), prepare(t, changed, test, cfg)
	require.Equal(t, a.Test.Float32(1), b.Test.Float32(1))
	first, second := a.Train.Float32(1), b.Train.Float32(1)
	require.NotEqual(t, dense.Row(first, 0), dense.Row(second, 0))
	for i := 1; i < 50; i++ {
		require.Equal(t, dense.Row(first, i), dense.Row(second, i))
	}
	for _, used := range []func(*Config){
		func(c *Config) { c.SecondNoise = 1 }, func(c *Config) { c.MeanNoise = 1 }, func(c *Config) { c.HOGMeanNoise = 1 },
	} {
		charged := cfg
		used(&charged)
		require.Len(t, charged.Events(), 1)
		a, b := prepare(t, train, test, charged), prepare(t, changed, test, charged)
		require.NotEqual(t, a.Test.Float32(1), b.Test.Float32(1))
	}
}

func TestParts(t *testing.T) {
	train := images(20, 1)
	for _, tc := range []struct {
		cfg    Config
		dim    int
		events int
	}{
		{Config{Scattering: true, Records: 20, Workers: 1}, 729, 0},
		{Config{HOG: true, HOGMeanNoise: 3, Records: 20, Workers: 1}, 256, 1},
		{Config{Scattering: true, HOG: true, MeanNoise: 3, Records: 20, Workers: 1}, 985, 1},
		{Config{Scattering: true, HOG: true, Deskew: true, Gradients: features.HOG{Bins: 8, Cell: 6, Block: 2, Clip: 0.2}, Records: 20, Workers: 1}, 761, 0},
	} {
		f := prepare(t, train, dataset.Set{}, tc.cfg)
		_, cols := f.Train.Dims()
		require.Equal(t, tc.dim, cols)
		require.Len(t, sources(f.Transform), tc.events)
		require.Len(t, tc.cfg.Events(), tc.events)
		require.NotEmpty(t, tc.cfg.Name())
	}
}

func TestDeskew(t *testing.T) {
	train := images(20, 1)
	upright := train
	upright.X = testkit.Must(features.Apply(context.Background(), train, features.Deskew{}, 1))
	cfg := Default(20)
	cfg.SecondNoise, cfg.MeanNoise, cfg.HOGMeanNoise = 0, 0, 0 // other images meet other noise
	plain, same := prepare(t, train, dataset.Set{}, cfg), prepare(t, upright, dataset.Set{}, cfg)
	cfg.Deskew = true
	deskewed := prepare(t, train, dataset.Set{}, cfg)
	require.Equal(t, same.Train.Float32(1), deskewed.Train.Float32(1))
	require.NotEqual(t, plain.Train.Float32(1), deskewed.Train.Float32(1))
	require.NotEqual(t, Default(20).Name(), cfg.Name())
}

func TestRefusals(t *testing.T) {
	ctx, train := context.Background(), images(20, 1)
	for name, change := range map[string]func(*Config){
		"neither": func(c *Config) { c.Scattering, c.HOG = false, false },
		"records": func(c *Config) { c.Records = 0 },
		"workers": func(c *Config) { c.Workers = 0 },
		"second":  func(c *Config) { c.SecondNoise = math.NaN() },
		"mean":    func(c *Config) { c.MeanNoise = -1 },
		"hog":     func(c *Config) { c.HOGMeanNoise = math.Inf(1) },
		"ridge":   func(c *Config) { c.Ridge = 0 },
		"clip":    func(c *Config) { c.SecondClip = 0 },
		"unused":  func(c *Config) { c.Scattering = false },
	} {
		cfg := Default(20)
		change(&cfg)
		require.Error(t, cfg.Validate(), name)
		require.Error(t, testkit.Err(Prepare(ctx, train, nil, train, cfg, make([]*ledger.Reservation, 3), rng.SeedKey(1))), name)
	}
	cfg := Default(20)
	run := func(train, test dataset.Set, r []*ledger.Reservation, key rng.Key) error {
		return testkit.Err(Prepare(ctx, train, nil, test, cfg, r, key))
	}
	all := func() []*ledger.Reservation { return reservations(t, cfg.Events()) }
	require.NoError(t, run(train, train, all(), rng.SeedKey(1)))
	require.ErrorContains(t, run(train, train, all()[:2], rng.SeedKey(1)), "2 reservations for 3 events")
	require.Error(t, run(train, train, make([]*ledger.Reservation, 3), rng.SeedKey(1)))
	swapped := all()
	swapped[0], swapped[1] = swapped[1], swapped[0]
	require.Error(t, run(train, train, swapped, rng.SeedKey(1)), "another event")
	require.Error(t, run(train, train, all(), rng.Key{}))
	require.Error(t, run(dataset.Set{}, train, all(), rng.SeedKey(1)))
	other := train
	other.Image = dataset.Shape{Rows: 16, Cols: 9}
	require.Error(t, run(train, other, all(), rng.SeedKey(1)))
	small := train
	small.Image = dataset.Shape{Rows: 144, Cols: 1}
	require.Error(t, run(small, small, all(), rng.SeedKey(1)))
	train.X.Data[3] = float32(math.NaN())
	require.ErrorContains(t, run(train, dataset.Set{}, all(), rng.SeedKey(1)), "not finite")
	cfg.Cache = &features.Cache{Dir: filepath.Join(t.TempDir(), "c")}
	require.ErrorContains(t, run(train, dataset.Set{}, all(), rng.SeedKey(1)), "not finite")
}

// TestRecordsOfSeveralImages: three copies of an image in one unit count as the image does
// alone, whereas row by row they would count three times.
func TestRecordsOfSeveralImages(t *testing.T) {
	train := images(60, 1)
	var ends []int
	thrice := train
	thrice.X = dense.New(180, train.X.Cols)
	for i := range 180 {
		copy(dense.Row(thrice.X, i), dense.Row(train.X, i/3))
		if i%3 == 2 {
			ends = append(ends, i+1)
		}
	}
	cfg := faint(60)
	of := func(set dataset.Set, ends []int) Features { return prepareUnits(t, set, ends, images(2, 3), cfg) }
	single, units, rows := of(train, nil), of(thrice, ends), of(thrice, nil)
	apart := func(a, b Features) (most float64) {
		for i, p := range a.Transform.parts {
			for j, v := range p.mean.Vector {
				most = max(most, math.Abs(v-b.Transform.parts[i].mean.Vector[j]))
			}
		}
		return most
	}
	count, _ := units.Train.Dims()
	require.Equal(t, 180, count)
	require.Less(t, apart(single, units), 0.02)
	require.Greater(t, apart(single, rows), 0.2)
}

func variants(records int) map[string]Config {
	deskewed := Default(records)
	deskewed.Deskew, deskewed.MeanNoise = true, 0
	return map[string]Config{
		"all":        Default(records),
		"deskewed":   deskewed,
		"scattering": {Scattering: true, SecondNoise: 20, SecondClip: 40.5, Ridge: 0.003, Records: records, Workers: 1},
		"gradients":  {HOG: true, Gradients: features.HOG{Bins: 8, Cell: 3, Block: 2, Clip: 0.3}, HOGMeanNoise: 3, Records: records, Workers: 1},
		"nothing":    {HOG: true, Records: records, Workers: 1},
	}
}

func TestTransformMakesWhatPrepareMade(t *testing.T) {
	ctx, train, test := context.Background(), images(150, 1), images(70, 2)
	for name, cfg := range variants(150) {
		t.Run(name, func(t *testing.T) {
			f := prepare(t, train, test, cfg)
			want := f.Test.Float32(1)
			text := testkit.Must(f.Transform.MarshalBinary())
			var read Transform
			require.NoError(t, read.UnmarshalBinary(text))
			for _, transform := range []*Transform{f.Transform, &read} {
				require.Equal(t, want.Cols, transform.cols)
				require.Equal(t, shape, transform.image)
				require.Equal(t, len(cfg.Events()) == 0, transform.Releasable(), "the key is seeded")
				for workers := 1; workers < 3; workers++ {
					require.Equal(t, want, testkit.Must(transform.Apply(ctx, test, workers)))
				}
				x := testkit.Must(transform.Apply(ctx, train, 2))
				require.Equal(t, f.Train.Float32(2), x)
				one := test
				one.X.Rows, one.X.Data = 1, dense.Row(test.X, 5)
				x = testkit.Must(transform.Apply(ctx, one, 1))
				require.Equal(t, dense.Row(want, 5), x.Data)
			}
			require.Equal(t, text, testkit.Must(read.MarshalBinary()))
		})
	}
}

func TestTransformOfAReleasableKey(t *testing.T) {
	key := testkit.Must(rng.NewKey())
	cfg := faint(20)
	f := testkit.Must(Prepare(context.Background(), images(20, 1), nil, dataset.Set{}, cfg, reservations(t, cfg.Events()), key))
	require.True(t, f.Transform.Releasable())
}

func TestTransformRefusesOtherImages(t *testing.T) {
	ctx := context.Background()
	transform := prepare(t, images(20, 1), dataset.Set{}, Default(20)).Transform
	other := images(3, 1)
	other.Image = dataset.Shape{Rows: 9, Cols: 16}
	_, err := transform.Apply(ctx, other, 1)
	var shapes *ShapeError
	require.ErrorAs(t, err, &shapes)
	require.Equal(t, ShapeError{Got: other.Image, Want: shape}, *shapes)
	bad := images(3, 1)
	bad.X.Data[200] = float32(math.Inf(1))
	require.ErrorContains(t, testkit.Err(transform.Apply(ctx, bad, 1)), "not finite")
	require.Error(t, testkit.Err(transform.Apply(ctx, images(3, 1), 0)))
	require.ErrorIs(t, testkit.Err(transform.Apply(testkit.Ended(), images(3, 1), 1)), context.Canceled)
}

func resealed(b []byte) []byte {
	return sealed.Seal(append([]byte(nil), b[:max(0, len(b)-sha256.Size)]...))
}

func TestTransformRefusesDamage(t *testing.T) {
	text := testkit.Must(prepare(t, images(20, 1), dataset.Set{}, variants(20)["gradients"]).Transform.MarshalBinary())
	var read Transform
	require.NoError(t, read.UnmarshalBinary(resealed(text)))
	for i := range len(text) {
		if i > 600 && i%97 != 0 { // the numbers are all alike
			continue
		}
		bad := append([]byte(nil), text...)
		bad[i] ^= 1
		require.ErrorIs(t, read.UnmarshalBinary(bad), ErrTransform, "byte %d", i)
		require.ErrorIs(t, read.UnmarshalBinary(text[:i]), ErrTransform, "cut at %d", i)
		require.ErrorIs(t, read.UnmarshalBinary(resealed(text[:i])), ErrTransform, "cut at %d, with a hash", i)
	}
	longer := append(append([]byte(nil), text[:len(text)-sha256.Size]...), make([]byte, 8+sha256.Size)...)
	require.ErrorIs(t, read.UnmarshalBinary(resealed(longer)), ErrTransform)
	infinite := append([]byte(nil), text...)
	copy(infinite[len(text)-sha256.Size-8:], []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x7f})
	require.ErrorContains(t, read.UnmarshalBinary(resealed(infinite)), "not finite")
	require.NoError(t, testkit.Err(read.Apply(context.Background(), images(2, 1), 1)), "what failed changed nothing")
}

func FuzzTransform(f *testing.F) {
	for _, cfg := range variants(8) {
		text := testkit.Must(testkit.Must(newTransform(cfg, shape)).MarshalBinary())
		f.Add(text[:len(text)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var read Transform
		if err := read.UnmarshalBinary(resealed(append(body, make([]byte, sha256.Size)...))); err != nil {
			if !errors.Is(err, ErrTransform) {
				t.Fatal(err)
			}
			return
		}
		if _, err := read.MarshalBinary(); err != nil {
			t.Fatal(err)
		}
		if read.cols > 1<<16 || read.image.Pixels() > 1<<12 {
			return
		}
		set := dataset.Set{Image: read.image, X: dense.New(2, read.image.Pixels())}
		if x, err := read.Apply(context.Background(), set, 1); err == nil && x.Cols != read.cols {
			t.Fatal(x.Cols)
		}
	})
}

func TestTransformsOfAnEarlierVersion(t *testing.T) {
	for _, name := range []string{"scattering", "gradients"} {
		written := testkit.Must(os.ReadFile(filepath.Join("testdata", name+".transform")))
		var read Transform
		require.NoError(t, read.UnmarshalBinary(written))
		require.True(t, bytes.Equal(written, testkit.Must(read.MarshalBinary())), name)
	}
}
