package features

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/testkit"
)

// Rounding moves a number by at most 2^-15 of the largest, never makes it larger than that can be, and is
// done once: packing what was unpacked changes nothing.
func TestPackRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float32Range(-100, 100), rapid.Float32(),
			rapid.SampledFrom([]float32{0, 1e-45, -1e-40, 0x1.fffcp127, -0x1.fffcp127, 32767, 32767.5, 32767.498, 1 << 15, 16383.75, 65535}))
		row := rapid.SliceOfN(rapid.Just(float32(0)), 1, 40).Draw(t, "row")
		for i := range row {
			row[i] = max(-0x1.fffcp127, min(number.Draw(t, "number"), 0x1.fffcp127))
		}
		p, got := newPacked(3, len(row)), make([]float32, len(row))
		require.NoError(t, p.Pack(1, row))
		p.Unpack(got, 1)
		most := float64(kernel.Largest(row))
		unit := math.Ldexp(1, int(p.exponents[1]))
		for i, v := range row {
			require.LessOrEqual(t, math.Abs(float64(got[i])-float64(v)), unit/2)
		}
		require.True(t, unit <= most*0x1.0002p-14 || unit == 0x1p-126 || most == 0, "largest %g, unit %g", most, unit)
		again, back := newPacked(3, len(row)), make([]float32, len(row))
		require.NoError(t, again.Pack(1, got))
		again.Unpack(back, 1)
		require.Equal(t, got, back)
		for _, other := range []int{0, 2} {
			p.Unpack(back, other)
			require.Equal(t, make([]float32, len(row)), back)
		}
	})
}

func TestPackRefusesWhatIsNotFinite(t *testing.T) {
	p, row := newPacked(1, 5), []float32{1, 2, 3, 4, 5}
	require.NoError(t, p.Pack(0, row))
	was := p.Hash(1)
	for _, bad := range []float32{float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.MaxFloat32, -0x1.ffffp127} {
		for i := range row {
			worse := append([]float32(nil), row...)
			worse[i] = bad
			require.ErrorIs(t, p.Pack(0, worse), errNotFinite)
		}
	}
	require.Equal(t, was, p.Hash(1))
}

func TestPackedHash(t *testing.T) {
	filled := func(rows, cols int, at func(i, j int) float32) *Packed {
		p := newPacked(rows, cols)
		row := make([]float32, cols)
		for i := range rows {
			for j := range row {
				row[j] = at(i, j)
			}
			require.NoError(t, p.Pack(i, row))
		}
		return p
	}
	count := func(i, j int) float32 { return float32(7*i + j) }
	seen := map[[32]byte]string{}
	for name, p := range map[string]*Packed{
		"rows":         filled(1030, 4, count),
		"a number":     filled(1030, 4, func(i, j int) float32 { return count(i, j) + float32(i/1029*j/3) }),
		"the units":    filled(1030, 4, func(i, j int) float32 { return 2 * count(i, j) }),
		"fewer rows":   filled(1029, 4, count),
		"other shape":  filled(515, 8, count),
		"other places": filled(1030, 4, func(i, j int) float32 { return count(1029-i, j) }),
	} {
		hash := p.Hash(1)
		require.Equal(t, hash, p.Hash(3))
		require.Empty(t, seen[hash], name)
		seen[hash] = name
		require.NoError(t, p.Pack(0, []float32{9, 9, 9, 9, 9, 9, 9, 9}[:p.cols]))
		require.NotEqual(t, hash, p.Hash(2), name)
	}
	a, b := filled(2, 3, count), filled(2, 2, count)
	require.NotEqual(t, SideBySide{a, b}.Hash(1), SideBySide{b, a}.Hash(1))
	rows, cols := SideBySide{a, b}.Dims()
	require.Equal(t, []int{2, 5}, []int{rows, cols})
	require.Equal(t, []float32{0, 1, 2, 0, 1, 7, 8, 9, 7, 8}, SideBySide{a, b}.Float32(2).Data)
}

func TestPackIsApplyRounded(t *testing.T) {
	ctx := context.Background()
	set := randomSet(300, dataset.Shape{Rows: 6, Cols: 5})
	e := Standardize{Of: Raw{}}
	exact := testkit.Must(Apply(ctx, set, e, 2))
	want := testkit.Must(Pack(ctx, set, e, 1))
	rounded := SideBySide{want}.Float32(1)
	for i, v := range exact.Data {
		require.InDelta(t, v, rounded.Data[i], 2e-4)
	}
	c := Cache{Dir: t.TempDir() + "/c", Warn: func(err error) { require.NoError(t, err) }}
	for workers := 1; workers < 4; workers++ {
		got := testkit.Must(c.Pack(ctx, set, e, workers))
		require.Equal(t, rounded, SideBySide{got}.Float32(workers))
		require.Equal(t, want.Hash(1), got.Hash(1))
		require.Equal(t, exact, testkit.Must(c.Apply(ctx, set, e, workers)))
	}
	require.Len(t, testkit.Must(os.ReadDir(c.Dir)), 2)
	set.X.Data[17] = float32(math.NaN())
	require.ErrorContains(t, testkit.Err(Pack(ctx, set, e, 2)), "row 0")
}

// Update hands every row over once, and what it leaves does not depend on workers.
func TestUpdate(t *testing.T) {
	set := randomSet(200, dataset.Shape{Rows: 2, Cols: 3})
	of := func(workers int) blas32.General {
		p := testkit.Must(Pack(t.Context(), set, Raw{}, 1))
		require.NoError(t, p.Update(workers, []byte("3v+1"), func(x blas32.General) error {
			for i := range x.Rows {
				for j, v := range dense.Row(x, i) {
					dense.Row(x, i)[j] = 3*v + 1
				}
			}
			return nil
		}))
		return SideBySide{p}.Float32(1)
	}
	got := of(1)
	require.Equal(t, got, of(3))
	for i := range set.X.Rows {
		for j, v := range dense.Row(set.X, i) {
			require.InDelta(t, 3*v+1, dense.Row(got, i)[j], 3e-4)
		}
	}
	p := newPacked(3, 2)
	require.ErrorIs(t, p.Update(2, nil, func(x blas32.General) error { x.Data[0] = float32(math.NaN()); return nil }), errNotFinite)
	require.ErrorIs(t, p.Update(2, nil, func(blas32.General) error { return os.ErrInvalid }), os.ErrInvalid)
}

// The hash of features knows pixels, extractor and all updates in their order, and not the number of
// workers or a cache. It goes when a row is set otherwise.
func TestHashOfFeatures(t *testing.T) {
	set, other := randomSet(9, dataset.Shape{Rows: 2, Cols: 3}), randomSet(9, dataset.Shape{Rows: 2, Cols: 3})
	other.X.Data = append([]float32(nil), set.X.Data...)
	dense.Row(other.X, 8)[5]++
	same := func(blas32.General) error { return nil }
	of := func(set dataset.Set, e Extractor, workers int, updates ...string) [32]byte {
		p := testkit.Must(Pack(t.Context(), set, e, workers))
		for _, how := range updates {
			require.NoError(t, p.Update(workers, []byte(how), same))
		}
		return p.Hash(workers)
	}
	seen := map[[32]byte]bool{}
	for workers := 1; workers < 4; workers++ {
		for _, hash := range [][32]byte{
			of(set, Raw{}, workers), of(other, Raw{}, workers), of(set, Standardize{Of: Raw{}}, workers), of(set, counting{calls: new(atomic.Int64), plus: 1e-6}, workers),
			of(set, Raw{}, workers, ""), of(set, Raw{}, workers, "a"), of(set, Raw{}, workers, "b"), of(set, Raw{}, workers, "a", "b"), of(set, Raw{}, workers, "b", "a"), of(set, Raw{}, workers, "ab"),
			of(other, Raw{}, workers, "a"),
		} {
			seen[hash] = true
		}
	}
	require.Len(t, seen, 11)
	p := testkit.Must(Pack(t.Context(), set, Raw{}, 1))
	was := p.Hash(1)
	require.Error(t, p.Update(1, nil, func(blas32.General) error { return os.ErrInvalid }))
	row := make([]float32, 6)
	p.Unpack(row, 0)
	row[0]++
	require.NoError(t, p.Pack(0, row))
	require.NotEqual(t, was, p.Hash(1))
}

func TestFetchOfPartsSideBySide(t *testing.T) {
	b := SideBySide{newPacked(2, 3), newPacked(2, 1), newPacked(2, 40)}
	_, cols := b.Dims()
	for from := range cols + 1 {
		for to := from; to <= cols; to++ {
			b.Fetch(1, from, to)
		}
	}
	require.Panics(t, func() { b[2].Fetch(1, 0, 41) })
	require.Panics(t, func() { b.Fetch(2, 0, 1) })
}

// plainHOG is HOG written from its definition in float64: every cell looks at every pixel and every
// direction, and weights it by triangles. Slow on purpose.
func plainHOG(h HOG, img []float32, shape dataset.Shape) []float64 {
	at := func(y, x int) float64 {
		y, x = min(max(y, 0), shape.Rows-1), min(max(x, 0), shape.Cols-1)
		return math.Sqrt(float64(img[y*shape.Cols+x]))
	}
	triangle := func(distance float64) float64 { return max(0, 1-math.Abs(distance)) }
	down, across := shape.Rows/h.Cell, shape.Cols/h.Cell
	cell := func(cy, cx int) []float64 {
		hist := make([]float64, h.Bins)
		for y := range down * h.Cell {
			for x := range across * h.Cell {
				gx, gy := at(y, x+1)-at(y, x-1), at(y+1, x)-at(y-1, x)
				near := triangle((float64(y)+0.5)/float64(h.Cell)-(float64(cy)+0.5)) * triangle((float64(x)+0.5)/float64(h.Cell)-(float64(cx)+0.5))
				for b := range hist {
					turns := math.Atan2(gy, gx)/(2*math.Pi) - float64(b)/float64(h.Bins)
					turns -= math.Round(turns) // the short way round
					hist[b] += near * math.Hypot(gx, gy) * triangle(turns*float64(h.Bins))
				}
			}
		}
		return hist
	}
	var out []float64
	for by := 0; by+h.Block <= down; by++ {
		for bx := 0; bx+h.Block <= across; bx++ {
			var block []float64
			for i := range h.Block {
				for j := range h.Block {
					block = append(block, cell(by+i, bx+j)...)
				}
			}
			squares := 0.0
			for _, v := range block {
				squares += v * v
			}
			clipped := 0.0
			for i, v := range block {
				block[i] = min(v/math.Sqrt(squares+normFloor*normFloor), h.Clip)
				clipped += block[i] * block[i]
			}
			for _, v := range block {
				out = append(out, v/math.Sqrt(clipped+1e-12))
			}
		}
	}
	return out
}

func TestHOGEqualsItsDefinition(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, h := range []HOG{StandardHOG(), {Bins: 2, Cell: 4, Block: 2, Clip: 0.2}, {Bins: 9, Cell: 3, Block: 3, Clip: 0.5}, {Bins: 8, Cell: 1, Block: 1, Clip: 1}, {Bins: 5, Cell: 5, Block: 1, Clip: 0.2}} {
		t.Run(h.Name(), func(t *testing.T) {
			for _, shape := range []dataset.Shape{{Rows: 12, Cols: 12}, {Rows: 11, Cols: 18}} {
				img := randomImage(rnd, shape)
				got := make([]float32, h.Dim(shape))
				h.Extract(got, img, shape)
				want := plainHOG(h, img, shape)
				if assert.Len(t, got, len(want)) {
					for i := range want {
						assert.InDelta(t, want[i], float64(got[i]), 2e-5, "feature %d", i)
					}
				}
			}
		})
	}
}

func TestHOGShape(t *testing.T) {
	shape := dataset.Shape{Rows: 28, Cols: 28}
	h := StandardHOG()
	assert.Equal(t, 2304, h.Dim(shape))
	assert.Equal(t, 0, h.Dim(dataset.Shape{Rows: 28, Cols: 7}))
	for _, bad := range []HOG{{}, {Bins: 1, Cell: 4, Block: 2, Clip: 0.2}, {Bins: 16, Block: 2, Clip: 0.2}, {Bins: 16, Cell: 4, Clip: 0.2},
		{Bins: 16, Cell: 4, Block: 2}, {Bins: 16, Cell: 4, Block: 2, Clip: math.NaN()}, {Bins: 16, Cell: -4, Block: 2, Clip: 0.2}, {Bins: 16, Cell: 4, Block: -2, Clip: 0.2}} {
		assert.Equal(t, 0, bad.Dim(shape), "%+v", bad)
	}
	out := make([]float32, 2304)
	rnd := rand.New(rand.NewPCG(9, 10))
	for range 10 {
		h.Extract(out, randomImage(rnd, shape), shape)
		assert.LessOrEqual(t, math.Sqrt(kernel.SquaredNorm(out)), 6.0001)
	}
}

func BenchmarkExtract(b *testing.B) {
	shape := dataset.Shape{Rows: 28, Cols: 28}
	set := randomSet(64, shape)
	for _, e := range []batcher{Standardize{Of: Deskew{Of: StandardHOG()}}, testkit.Must(NewScattering(shape))} {
		b.Run(e.Name(), func(b *testing.B) {
			out := dense.New(set.X.Rows, e.Dim(shape))
			for b.Loop() {
				e.ExtractBatch(out, set.X, shape)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*set.X.Rows), "us/image")
		})
	}
}
