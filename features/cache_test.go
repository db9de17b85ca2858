package features

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/testkit"
)

// counting tells how many images were computed, and can change what it computes under the same name.
type counting struct {
	calls *atomic.Int64
	plus  float32
}

func (counting) Name() string                { return "counting" }
func (counting) Dim(shape dataset.Shape) int { return shape.Pixels() }
func (c counting) Extract(dst, img []float32, _ dataset.Shape) {
	c.calls.Add(1)
	for i, v := range img {
		dst[i] = 2*v + c.plus
	}
}

type branching struct {
	Raw
	of func(img []float32) bool
}

func (b branching) Extract(dst, img []float32, shape dataset.Shape) {
	b.Raw.Extract(dst, img, shape)
	if b.of(img) {
		dst[0] = 3
	}
}

func TestCacheComputesOnce(t *testing.T) {
	ctx, shape := context.Background(), dataset.Shape{Rows: 3, Cols: 4}
	set := randomSet(2*pieceRows+5, shape)
	var calls atomic.Int64
	e := counting{calls: &calls}
	var warned []error
	c := Cache{Dir: filepath.Join(t.TempDir(), "a", "b"), Warn: func(err error) { warned = append(warned, err) }}
	want := testkit.Must(Apply(ctx, set, e, 1))

	calls.Store(0)
	require.Equal(t, want, testkit.Must(c.Apply(ctx, set, e, 1)))
	require.EqualValues(t, set.X.Rows+probes, calls.Load())
	calls.Store(0)
	require.Equal(t, want, testkit.Must(c.Apply(ctx, set, e, 3)))
	require.EqualValues(t, probes, calls.Load(), "only the test images")
	require.Empty(t, warned)

	files := testkit.Must(filepath.Glob(filepath.Join(c.Dir, "*")))
	require.Len(t, files, 1)
	for path, mode := range map[string]os.FileMode{files[0]: 0o600, c.Dir: 0o700} {
		require.Equal(t, mode, testkit.Must(os.Stat(path)).Mode().Perm())
	}
}

func keyOf(t *testing.T, set dataset.Set, e Extractor) [32]byte {
	return testkit.Must(testkit.Must(newExtraction(t.Context(), set, e, 2)).key(t.Context(), floatRows{}.kind()))
}

func TestCacheKeysDiffer(t *testing.T) {
	var calls atomic.Int64
	set := randomSet(5, dataset.Shape{Rows: 3, Cols: 4})
	seen := map[[32]byte]bool{}
	add := func(set dataset.Set, e Extractor) {
		seen[keyOf(t, set, e)] = true
	}
	add(set, Raw{})
	packed := set
	packed.X = dense.Pick(set.X, []int{0, 1, 2, 3, 4})
	add(packed, Raw{})
	require.Len(t, seen, 1, "the stride does not matter")
	add(set, Standardize{Of: Raw{}})
	add(set, counting{calls: &calls})
	add(set, counting{calls: &calls, plus: 1e-6})
	add(set, branching{of: func(img []float32) bool { return kernel.SquaredNorm(img) == 0 }})
	add(set, branching{of: func(img []float32) bool { return img[0] < 0 }})
	add(set, branching{of: func(img []float32) bool { return img[1] == img[2] }})
	turned := set
	turned.Image = dataset.Shape{Rows: 4, Cols: 3}
	add(turned, Raw{})
	fewer := set
	fewer.X = dense.Rows(set.X, 0, 4)
	add(fewer, Raw{})
	packed.X.Data[17] += 1e-6
	add(packed, Raw{})
	require.Len(t, seen, 10)
}

// A file that is not as written is never believed: any byte changed, anything cut off or added, pieces
// exchanged, or the file of other features.
func TestCacheOfDamagedFiles(t *testing.T) {
	ctx, shape := context.Background(), dataset.Shape{Rows: 1, Cols: 2}
	set := randomSet(2*pieceRows, shape)
	var calls atomic.Int64
	e := counting{calls: &calls}
	var warned []error
	c := Cache{Dir: filepath.Join(t.TempDir(), "c"), Warn: func(err error) { warned = append(warned, err) }}
	want := testkit.Must(c.Apply(ctx, set, e, 1))
	path := testkit.Must(filepath.Glob(filepath.Join(c.Dir, "*")))[0]
	good := testkit.Must(os.ReadFile(path))
	half := len(good) / 2
	damaged := map[string][]byte{
		"empty": {}, "short": good[:len(good)-1], "half": good[:half], "long": append(append([]byte(nil), good...), 0),
		"exchanged": append(append([]byte(nil), good[half:]...), good[:half]...), "zeros": make([]byte, len(good)),
	}
	for _, at := range []int{0, 100, half - 1, half, len(good) - 1} {
		b := append([]byte(nil), good...)
		b[at] ^= 1
		damaged["byte "+string(rune('a'+len(damaged)))] = b
	}
	for name, contents := range damaged {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, contents, 0o600))
			warned = nil
			calls.Store(0)
			require.Equal(t, want, testkit.Must(c.Apply(ctx, set, e, 2)))
			require.EqualValues(t, set.X.Rows+probes, calls.Load())
			require.Len(t, warned, 1)
			require.ErrorIs(t, warned[0], errDamaged)
			require.Equal(t, good, testkit.Must(os.ReadFile(path)), "replaced")
		})
	}
}

func TestCacheWithoutAFolder(t *testing.T) {
	ctx := context.Background()
	set := randomSet(3, dataset.Shape{Rows: 2, Cols: 2})
	file := testkit.Write(t, filepath.Join(t.TempDir(), "file"), "")
	warned := 0
	c := Cache{Dir: file, Warn: func(error) { warned++ }}
	require.Equal(t, 3, testkit.Must(c.Apply(ctx, set, Raw{}, 1)).Rows)
	require.Equal(t, 1, warned)
	c.Warn = nil
	require.NoError(t, testkit.Err(c.Apply(ctx, set, Raw{}, 1)))

	// Errors of the features are errors, and nothing is kept.
	c.Dir = filepath.Join(t.TempDir(), "c")
	require.ErrorContains(t, testkit.Err(c.Apply(ctx, set, StandardHOG(), 1)), "cannot be computed")
	require.ErrorContains(t, testkit.Err(c.Apply(ctx, set, Raw{}, 0)), "at least 1 worker")
	require.ErrorIs(t, testkit.Err(c.Apply(testkit.Ended(), set, Raw{}, 1)), context.Canceled)
	require.Empty(t, testkit.Must(filepath.Glob(filepath.Join(c.Dir, "*"))))
}

// ending ends after so many looks at it.
type ending struct {
	context.Context
	looks *atomic.Int64
}

func (e ending) Err() error {
	if e.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func TestCacheHearsTheContext(t *testing.T) {
	set := randomSet(hashRows+pieceRows+5, dataset.Shape{Rows: 3, Cols: 4})
	var calls, looks atomic.Int64
	e := counting{calls: &calls}
	c := Cache{Dir: filepath.Join(t.TempDir(), "c"), Warn: func(err error) { require.NoError(t, err) }}
	want := testkit.Must(c.Apply(context.Background(), set, e, 1))
	apply := func(n int64) (blas32.General, error) {
		looks.Store(n)
		return c.Apply(ending{context.Background(), &looks}, set, e, 1)
	}
	const plenty = 1 << 40
	got := testkit.Must(apply(plenty))
	require.Equal(t, want, got)
	needed := plenty - looks.Load()
	require.Greater(t, needed, int64(2+pieces(set.X.Rows)), "a look for every piece that is hashed or read")
	calls.Store(0)
	for n := range needed {
		got, err := apply(n)
		require.ErrorIs(t, err, context.Canceled, "at %d of %d", n, needed)
		require.Zero(t, got)
	}
	require.LessOrEqual(t, calls.Load(), probes*needed, "nothing was computed anew")
	require.NoError(t, testkit.Err(apply(needed)))
}

func TestCacheSweepsWhatWasAbandoned(t *testing.T) {
	c := Cache{Dir: filepath.Join(t.TempDir(), "a[b]*c", "c"), Warn: func(err error) { require.NoError(t, err) }}
	set := randomSet(5, dataset.Shape{Rows: 3, Cols: 4})
	require.NoError(t, testkit.Err(c.Apply(context.Background(), set, Raw{}, 1)))
	name := testkit.Must(os.ReadDir(c.Dir))[0].Name()
	gone := errors.New("gone")
	write := func(during func(temporary string)) {
		require.ErrorIs(t, durable.WriteFile(filepath.Join(c.Dir, name), 0o600, func(io.Writer) error {
			for _, f := range testkit.Must(os.ReadDir(c.Dir)) {
				if f.Name() != name {
					during(filepath.Join(c.Dir, f.Name()))
				}
			}
			return gone
		}), gone)
	}
	age := func(path string, by time.Duration) {
		then := time.Now().Add(-by)
		require.NoError(t, os.Chtimes(path, then, then))
	}
	age(filepath.Join(c.Dir, name), 100*time.Hour)
	apply := func() {
		require.NoError(t, testkit.Err(c.Apply(context.Background(), set, Raw{}, 1)))
	}
	write(func(temporary string) {
		apply()
		require.FileExists(t, temporary, "being written")
		age(temporary, 59*time.Minute)
		apply()
		require.FileExists(t, temporary)
		age(temporary, 61*time.Minute)
		apply()
		require.NoFileExists(t, temporary)
	})
	others := []string{".name.features.1.tmp", name + ".1.tmp", "." + name + ".1", "notes"}
	for _, other := range others {
		require.NoError(t, os.WriteFile(filepath.Join(c.Dir, other), nil, 0o600))
		age(filepath.Join(c.Dir, other), 100*time.Hour)
	}
	require.NoError(t, os.Mkdir(filepath.Join(c.Dir, "."+name+".2.tmp"), 0o700))
	age(filepath.Join(c.Dir, "."+name+".2.tmp"), 100*time.Hour)
	apply()
	require.Len(t, testkit.Must(os.ReadDir(c.Dir)), len(others)+2)
}

// Bytes that nobody wrote are never taken for features, packed or not.
func fuzzCacheFile(f *testing.F, want rows, empty func() rows) {
	file := cacheFile{key: [32]byte{1, 2, 3}}
	path := filepath.Join(f.TempDir(), "file")
	var good bytes.Buffer
	require.NoError(f, file.write(&good, want))
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:good.Len()-1])
	f.Add(make([]byte, good.Len()))
	f.Fuzz(func(t *testing.T, contents []byte) {
		require.NoError(t, os.WriteFile(path, contents, 0o600))
		got := empty()
		err := file.read(context.Background(), path, got, 1)
		require.Equal(t, bytes.Equal(contents, good.Bytes()), err == nil)
		for i := range want.count() {
			if err == nil {
				require.Equal(t, want.append(nil, i), got.append(nil, i))
			}
		}
	})
}

func FuzzCacheFile(f *testing.F) {
	x := matrixOf(3, 2, 2)
	for i := range x.Data {
		x.Data[i] = float32(i)
	}
	fuzzCacheFile(f, floatRows{x}, func() rows { return floatRows{matrixOf(3, 2, 2)} })
}

func FuzzPackedCacheFile(f *testing.F) {
	x := newPacked(3, 5)
	for i := range 3 {
		require.NoError(f, x.Pack(i, []float32{1, 2, 3, 4, float32(i)}))
	}
	fuzzCacheFile(f, packedRows{x}, func() rows { return packedRows{newPacked(3, 5)} })
}

func TestCacheKeepsWithinItsLimit(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	set := randomSet(10, dataset.Shape{Rows: 3, Cols: 4})
	var calls atomic.Int64
	size := fileSize(floatRows{matrixOf(10, 12, 12)})
	c := Cache{Dir: dir, Limit: 2*size + 1, Warn: func(err error) { require.NoError(t, err) }}
	other := testkit.Write(t, filepath.Join(dir, "other.txt"), make([]byte, 5*size))
	use := func(plus float32) (computed bool) {
		calls.Store(0)
		require.NoError(t, testkit.Err(c.Apply(ctx, set, counting{calls: &calls, plus: plus}, 1)))
		return calls.Load() > probes
	}
	age := func() { // all files were used some hours ago, in the order in which they were
		for _, f := range testkit.Must(filepath.Glob(filepath.Join(dir, "*"+extension))) {
			before := testkit.Must(os.Stat(f)).ModTime().Add(-time.Hour)
			require.NoError(t, os.Chtimes(f, before, before))
		}
	}
	for _, step := range []struct {
		plus     float32
		computed bool
	}{{1, true}, {2, true}, {1, false}, {3, true}, {1, false}, {3, false}, {2, true}, {3, false}, {1, true}} {
		require.Equal(t, step.computed, use(step.plus), step)
		age()
	}
	require.FileExists(t, other)
	c.Limit = size - 1
	require.True(t, use(4))
	require.True(t, use(4), "too large to be kept")
}

func TestCachesThatMakeRoomAtOnce(t *testing.T) {
	set := randomSet(300, dataset.Shape{Rows: 3, Cols: 4})
	var calls atomic.Int64
	dir, size := t.TempDir(), fileSize(floatRows{matrixOf(300, 12, 12)})
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 20 {
				e := counting{calls: &calls, plus: float32((g + i) % 5)}
				c := Cache{Dir: dir, Limit: 2 * size, Warn: func(err error) { t.Error(err) }}
				x, err := c.Apply(context.Background(), set, e, 1)
				if err != nil || x.Data[5] != 2*set.X.Data[5]+e.plus {
					t.Error("other features", err)
				}
			}
		})
	}
	group.Wait()
}
