package teachers_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/votes"
)

// noisy is a learner that uses its random stream and counts its fits.
type noisy struct {
	fits *atomic.Int64
	hook func(ctx context.Context, data teachers.Dataset) error
}

func (l noisy) Fit(ctx context.Context, data teachers.Dataset, rnd *rand.Rand) (teachers.Classifier, error) {
	if l.fits != nil {
		l.fits.Add(1)
	}
	if l.hook != nil {
		if err := l.hook(ctx, data); err != nil {
			return nil, err
		}
	}
	sum := rnd.IntN(1000)
	for _, y := range data.Y {
		sum += y + 1
	}
	return noisyModel(sum), nil
}

type noisyModel int

func (m noisyModel) Predict(dst []int, x teachers.Matrix) error {
	for i := range dst {
		dst[i] = (int(m) + int(x.Data[i*x.Stride])) % 3
	}
	return nil
}

type world struct {
	cfg     teachers.Config
	private teachers.Dataset
	units   []string
	share   []int
	queries teachers.Matrix
	fits    *atomic.Int64
}

func newWorld(t testing.TB) *world {
	const n, count, asked = 200, 20, 700
	w := &world{fits: new(atomic.Int64)}
	w.private = teachers.Dataset{X: teachers.Matrix{Rows: n, Cols: 2, Stride: 2, Data: make([]float32, 2*n)}, Y: make([]int, n), Classes: 3}
	for i := range n {
		w.private.X.Data[2*i] = float32(i)
		w.private.Y[i] = i % 3
		w.units = append(w.units, fmt.Sprint(i))
	}
	w.queries = teachers.Matrix{Rows: asked, Cols: 2, Stride: 2, Data: make([]float32, 2*asked)}
	for i := range asked {
		w.queries.Data[2*i] = float32(i)
	}
	w.cfg = teachers.Config{Learner: noisy{fits: w.fits}, Teachers: count, Key: rng.SeedKey(1), Workers: 3}
	w.share = testkit.Must(teachers.Partition(w.units, count, w.cfg.Key))
	return w
}

func (w *world) train() (*votes.Matrix, error) {
	return teachers.Train(context.Background(), w.cfg, w.private, w.share, w.queries)
}

func TestTrainDoesNotDependOnWorkers(t *testing.T) {
	w := newWorld(t)
	want := testkit.Must(w.train()).Hash()
	for _, workers := range []int{0, 1, 7, 100} {
		var seen []int
		w.cfg.Workers, w.cfg.Progress = workers, func(done, total int) { seen = append(seen, done, total-20) }
		require.Equal(t, want, testkit.Must(w.train()).Hash())
		require.Len(t, seen, 40)
		for i := range 20 {
			require.Equal(t, []int{i + 1, 0}, seen[2*i:2*i+2])
		}
	}
	w.cfg.Key = rng.SeedKey(2)
	require.NotEqual(t, want, testkit.Must(w.train()).Hash())
}

// TestOneRecordMovesOneColumn checks the promise that every bound rests on. With one record gone, the votes
// of all teachers but its own stay as they are.
func TestOneRecordMovesOneColumn(t *testing.T) {
	w := newWorld(t)
	before := testkit.Must(w.train())
	for _, gone := range []int{0, 77, 199} {
		less := newWorld(t)
		less.private.X.Data = append(less.private.X.Data[:2*gone], less.private.X.Data[2*gone+2:]...)
		less.private.X.Rows--
		less.private.Y = append(less.private.Y[:gone], less.private.Y[gone+1:]...)
		less.units = append(less.units[:gone], less.units[gone+1:]...)
		less.share = testkit.Must(teachers.Partition(less.units, less.cfg.Teachers, less.cfg.Key))
		after := testkit.Must(less.train())
		changed := map[int]bool{}
		for q := range before.Queries() {
			for c := range before.Teachers() {
				if before.At(q, c) != after.At(q, c) {
					changed[c] = true
				}
			}
		}
		delete(changed, w.share[gone])
		require.Empty(t, changed, "the record of teacher %d moved other teachers", w.share[gone])
	}
}

func TestTrainResumes(t *testing.T) {
	w := newWorld(t)
	want := testkit.Must(w.train()).Hash()

	w.cfg.Checkpoint = filepath.Join(t.TempDir(), "run", "teachers")
	ctx, cancel := context.WithCancel(context.Background())
	w.cfg.Progress = func(done, _ int) {
		if done == 7 {
			cancel()
		}
	}
	v, err := teachers.Train(ctx, w.cfg, w.private, w.share, w.queries)
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, v)
	files := testkit.Must(os.ReadDir(w.cfg.Checkpoint))
	stray := filepath.Join(w.cfg.Checkpoint, ".teacher-0000003.votes.123.tmp") // of a killed process
	require.NoError(t, os.WriteFile(stray, []byte("half"), 0o600))
	require.GreaterOrEqual(t, len(files), 7)
	require.Less(t, len(files), 20)

	w.cfg.Progress = nil
	w.fits.Store(0)
	require.Equal(t, want, testkit.Must(w.train()).Hash())
	require.Equal(t, int64(20-len(files)), w.fits.Load(), "finished teachers were trained again")
	require.Len(t, testkit.Must(os.ReadDir(w.cfg.Checkpoint)), 20)

	w.fits.Store(0)
	require.Equal(t, want, testkit.Must(w.train()).Hash())
	require.Zero(t, w.fits.Load())
	for _, file := range testkit.Must(os.ReadDir(w.cfg.Checkpoint)) {
		require.Equal(t, os.FileMode(0o600), testkit.Must(file.Info()).Mode().Perm())
	}
}

func TestCheckpointOfOtherInputsIsTrainedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		fits   int64
	}{
		"nothing": {func(*world) {}, 0},
		"key":     {func(w *world) { w.cfg.Key = rng.SeedKey(9) }, 20},
		"queries": {func(w *world) { w.queries.Data[0]++ }, 20},
		// Other teachers' votes do not depend on these.
		"a label":            {func(w *world) { w.private.Y[5] = (w.private.Y[5] + 1) % 3 }, 1},
		"a feature":          {func(w *world) { w.private.X.Data[11]++ }, 1},
		"a record elsewhere": {func(w *world) { w.share[5] = (w.share[5] + 1) % 20 }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cfg.Checkpoint = t.TempDir()
			testkit.Must(w.train())
			c.change(w)
			w.fits.Store(0)
			got := testkit.Must(w.train()).Hash()
			require.Equal(t, c.fits, w.fits.Load())
			w.cfg.Checkpoint = ""
			require.Equal(t, testkit.Must(w.train()).Hash(), got)
		})
	}
}

func TestForeignCheckpointIsRefused(t *testing.T) {
	for name, change := range map[string]func(*world){
		"fingerprint": func(w *world) { w.cfg.Fingerprint[31] = 1 },
		"teachers":    func(w *world) { w.cfg.Teachers++ },
		"queries":     func(w *world) { w.queries.Rows-- },
		"classes":     func(w *world) { w.private.Classes++ },
	} {
		w := newWorld(t)
		w.cfg.Checkpoint = t.TempDir()
		testkit.Must(w.train())
		path := filepath.Join(w.cfg.Checkpoint, "teacher-0000000.votes")
		before := testkit.Must(os.ReadFile(path))
		change(w)
		require.ErrorIs(t, testkit.Err(w.train()), run.ErrOtherRun, name)
		require.Equal(t, before, testkit.Must(os.ReadFile(path)), "%s: it was touched", name)
	}
}

var long = flag.Bool("long", false, "damage every byte of a file, not a sample")

// TestDamagedCheckpointIsTrainedAgain flips every byte and cuts at every length, or at a seventh of them. The
// answers stay right and nothing panics.
func TestDamagedCheckpointIsTrainedAgain(t *testing.T) {
	w := newWorld(t)
	w.cfg.Checkpoint = t.TempDir()
	w.queries.Rows = 5
	w.cfg.Teachers = 1
	clear(w.share)
	want := testkit.Must(w.train()).Hash()
	path := filepath.Join(w.cfg.Checkpoint, "teacher-0000000.votes")
	sound := testkit.Must(os.ReadFile(path))
	damage := func(file []byte, what string, at int) {
		require.NoError(t, os.WriteFile(path, file, 0o600))
		w.fits.Store(0)
		v, err := w.train()
		require.NoError(t, err, "%s at %d", what, at)
		require.Equal(t, want, v.Hash(), "%s at %d", what, at)
		require.Equal(t, int64(1), w.fits.Load(), "%s at %d was believed", what, at)
		require.Equal(t, sound, testkit.Must(os.ReadFile(path)))
	}
	for i := 0; i < len(sound); i++ {
		flipped := append([]byte(nil), sound...)
		flipped[i] ^= 0x40
		damage(flipped, "flipped", i)
		damage(sound[:i], "cut", i)
		if !*long {
			i += 6
		}
	}
	damage(append(append([]byte(nil), sound...), 0), "longer", len(sound))
}

func TestTrainNamesTheTeacherThatFails(t *testing.T) {
	w := newWorld(t)
	for name, hook := range map[string]func(context.Context, teachers.Dataset) error{
		"error": func(_ context.Context, d teachers.Dataset) error { return errors.New("out of luck") },
		"panic": func(_ context.Context, d teachers.Dataset) error { panic("out of luck") },
	} {
		// Only the teacher of record 42 fails.
		w.cfg.Learner = noisy{hook: func(ctx context.Context, d teachers.Dataset) error {
			for i := range d.Y {
				if d.X.Data[i*d.X.Stride] == 42 {
					return hook(ctx, d)
				}
			}
			return nil
		}}
		v, err := w.train()
		require.Nil(t, v, name)
		require.ErrorContains(t, err, fmt.Sprintf("teacher %d:", w.share[42]), name)
		require.ErrorContains(t, err, "out of luck", name)
	}
}

func TestFirstErrorStopsTheRest(t *testing.T) {
	w := newWorld(t)
	var started atomic.Int64
	w.cfg.Learner = noisy{hook: func(ctx context.Context, d teachers.Dataset) error {
		if started.Add(1) == 1 {
			return errors.New("first")
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	_, err := w.train()
	require.ErrorContains(t, err, "first")
	require.NotErrorIs(t, err, context.Canceled)
	require.LessOrEqual(t, started.Load(), int64(w.cfg.Workers)+1)
}

func TestTrainStopsWhenCancelled(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	var once sync.Once
	var deaf atomic.Bool
	w.cfg.Learner = noisy{hook: func(inner context.Context, _ teachers.Dataset) error {
		once.Do(cancel)
		select {
		case <-inner.Done():
			return inner.Err()
		case <-time.After(30 * time.Second):
			deaf.Store(true)
			return nil
		}
	}}
	require.ErrorIs(t, testkit.Err(teachers.Train(ctx, w.cfg, w.private, w.share, w.queries)), context.Canceled)
	require.False(t, deaf.Load(), "a learner was not told")
}

type answering int

func (a answering) Fit(context.Context, teachers.Dataset, *rand.Rand) (teachers.Classifier, error) {
	if a == 99 {
		return nil, nil
	}
	return a, nil
}

func (a answering) Predict(dst []int, _ teachers.Matrix) error {
	for i := range dst {
		dst[i] = int(a)
	}
	return nil
}

func TestTrainRefuses(t *testing.T) {
	for name, change := range map[string]func(*world){
		"no learner":           func(w *world) { w.cfg.Learner = nil },
		"no teachers":          func(w *world) { w.cfg.Teachers = 0 },
		"no key":               func(w *world) { w.cfg.Key = rng.Key{} },
		"negative workers":     func(w *world) { w.cfg.Workers = -1 },
		"shares too few":       func(w *world) { w.share = w.share[1:] },
		"a share of nobody":    func(w *world) { w.share[0] = 20 },
		"a negative share":     func(w *world) { w.share[0] = -1 },
		"NaN in private data":  func(w *world) { w.private.X.Data[0] = float32(math.NaN()) },
		"NaN in queries":       func(w *world) { w.queries.Data[0] = float32(math.NaN()) },
		"queries of other kin": func(w *world) { w.queries.Cols = 1 },
		"label outside":        func(w *world) { w.private.Y[0] = 3 },
		"answer outside":       func(w *world) { w.cfg.Learner = answering(3) },
		"answer below":         func(w *world) { w.cfg.Learner = answering(-2) },
		"no model":             func(w *world) { w.cfg.Learner = answering(99) },
		"checkpoint is a file": func(w *world) { w.cfg.Checkpoint = testkit.Write(t, filepath.Join(t.TempDir(), "file"), "") },
		"checkpoint goes while teachers learn": func(w *world) {
			w.cfg.Checkpoint = filepath.Join(t.TempDir(), "folder")
			w.cfg.Progress = func(done, _ int) {
				if done == 1 {
					require.NoError(t, os.Rename(w.cfg.Checkpoint, w.cfg.Checkpoint+"-moved"))
				}
			}
		},
	} {
		w := newWorld(t)
		change(w)
		v, err := w.train()
		require.Error(t, err, name)
		require.Nil(t, v, name)
	}
	w := newWorld(t)
	w.cfg.Learner = answering(votes.Abstention)
	require.Equal(t, make([]int, 700), testkit.Must(w.train()).Gaps())
}

// TestPartitionMovesNobodyElse checks that every record keeps its teacher when other records come or go, in
// any order of the records. Records of one unit share a teacher.
func TestPartitionMovesNobodyElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOfN(rapid.StringN(1, 6, -1), 1, 40).Draw(t, "units")
		count := rapid.IntRange(1, 300).Draw(t, "teachers")
		key := rng.SeedKey(rapid.Uint64().Draw(t, "seed"))
		share := testkit.Must(teachers.Partition(units, count, key))
		of := map[string]int{}
		for i, unit := range units {
			require.True(t, share[i] >= 0 && share[i] < count)
			if teacher, seen := of[unit]; seen {
				require.Equal(t, teacher, share[i], "one unit, two teachers")
			}
			of[unit] = share[i]
		}
		at := rapid.IntRange(0, len(units)).Draw(t, "at")
		more := testkit.Must(teachers.Partition(slices.Insert(slices.Clone(units), at, "somebody new"), count, key))
		require.Equal(t, share, slices.Delete(more, at, at+1))
	})
}

// TestPartitionIsBalanced runs a chi-square test of uniform shares, on ids that resemble each other as real
// ids do. The false-alarm rate is 1e-6.
func TestPartitionIsBalanced(t *testing.T) {
	const n, count = 50_000, 250
	units := make([]string, n)
	for i := range units {
		units[i] = fmt.Sprintf("train/%d", i)
	}
	share := testkit.Must(teachers.Partition(units, count, rng.SeedKey(7)))
	sizes := make([]float64, count)
	for _, teacher := range share {
		sizes[teacher]++
	}
	expected := slices.Repeat([]float64{n / count}, count)
	require.Less(t, stat.ChiSquare(sizes, expected), distuv.ChiSquared{K: count - 1}.Quantile(1-1e-6))

	// The test can fail: shares dealt out by position are too even, and a key that is not used gives two
	// runs the same shares.
	require.Less(t, stat.ChiSquare(expected, expected), distuv.ChiSquared{K: count - 1}.Quantile(1e-6))
	require.Greater(t, stat.ChiSquare(sizes, expected), distuv.ChiSquared{K: count - 1}.Quantile(1e-6))
	same := scores.Right(share, testkit.Must(teachers.Partition(units, count, rng.SeedKey(8))))
	// Binomial(n, 1/count): mean 200, sd 14.
	require.InDelta(t, n/count, same, 5*15)
}

func TestPartitionRefuses(t *testing.T) {
	key := rng.SeedKey(1)
	for name, c := range map[string]struct {
		units []string
		count int
		key   rng.Key
	}{
		"no teachers": {[]string{"a"}, 0, key}, "too many": {[]string{"a"}, votes.MaxTeachers + 1, key},
		"no key": {[]string{"a"}, 2, rng.Key{}}, "empty unit id": {[]string{"a", ""}, 2, key},
	} {
		require.Error(t, testkit.Err(teachers.Partition(c.units, c.count, c.key)), name)
	}
}

// Twenty teachers, none of which sees a record of another, vote on two public rows.
func Example() {
	key := rng.SeedKey(1)
	private := teachers.Dataset{X: blas32.General{Rows: 400, Cols: 2, Stride: 2}, Y: make([]int, 400), Classes: 2}
	units := make([]string, 400)
	for i := range units {
		units[i] = fmt.Sprint("patient ", i)
		private.Y[i] = i % 2
		private.X.Data = append(private.X.Data, float32(1-i%2), float32(i%2))
	}
	share, err := teachers.Partition(units, 20, key)
	if err != nil {
		log.Fatal(err)
	}
	cfg := teachers.Config{Learner: teachers.KernelRidge{Gamma: 1, Lambda: 0.1}, Teachers: 20, Key: key}
	queries := blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{0.9, 0.1, 0.2, 0.8}}
	votes, err := teachers.Train(context.Background(), cfg, private, share, queries)
	if err != nil {
		log.Fatal(err)
	}
	histogram, err := votes.Histogram(0) // the counts are secret, and do not print
	fmt.Println(histogram, err)
	// Output: aggregate.Histogram(redacted) <nil>
}
