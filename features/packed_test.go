package features

import (
	"context"
	"math"
	"os"
	"sync/atomic"
	"testing"

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

// The hash knows every number, every unit, every place and the dimensions, and is that of the rows as they
// are now.
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

// Features are packed the same with any number of workers, from the file and without, and are the features
// of Apply but for rounding. Files of packed and of other features do not meet.
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

// Any columns may be asked for: a part is asked for those of its own.
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
