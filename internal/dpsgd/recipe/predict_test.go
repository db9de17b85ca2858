package recipe

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/accountant/bayes"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/dpsgd/charged"
	"github.com/pate-go/pate/internal/dpsgd/typical"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

func accuracyOf(t *testing.T, m *Model, set dataset.Set) float64 {
	t.Helper()
	accuracy, known := m.Accuracy(testkit.Must(m.Predict(t.Context(), set)), set)
	require.True(t, known)
	return accuracy
}

func TestAccuracyIsByNameOfTheClass(t *testing.T) {
	m := linear(t, 1)
	set := dataset.Set{Y: []int{0, 1, 1, 2}, Classes: []string{"above", "below", "other"}}
	accuracy, known := m.Accuracy([]int{1, 0, 1, 0}, set)
	require.True(t, known)
	require.Equal(t, 0.5, accuracy)
	for _, s := range []dataset.Set{{}, {Y: []int{0}, Classes: []string{"else"}}, {Y: []int{0, 0}, Classes: m.Classes}, {Classes: m.Classes}} {
		_, known = m.Accuracy([]int{1}, s)
		require.False(t, known)
	}
}

// linear is a model of two classes by the mean of a row, on rows that are no images.
func linear(t testing.TB, columns int) *Model {
	t.Helper()
	network := testkit.Must(nn.NewSoftmax(columns, 2))
	for i := range columns {
		network.Parameters()[i] = -1
		network.Parameters()[columns+i] = 1
	}
	return &Model{Card: Card{Data: "numbers", Features: features.NamePixels, Kind: Linear, Columns: columns, Classes: []string{"below", "above"}, Extractor: "raw"},
		made: charged.Extraction{Fixed: features.Raw{}}, network: network}
}

func saved(t testing.TB, m *Model) string {
	t.Helper()
	return testkit.Write(t, filepath.Join(t.TempDir(), "a.model"), testkit.Must(m.bytes()))
}

func TestPredictions(t *testing.T) {
	m := testkit.Must(OpenModel(saved(t, linear(t, 3))))
	const n = 2*predictRows + 5
	rnd := rand.New(rand.NewPCG(1, 1))
	data := testkit.Series(4*n, func(int) float32 { return float32(rnd.NormFloat64()) })
	set := dataset.Set{X: blas32.General{Rows: n, Cols: 3, Stride: 4, Data: data}} // a stride of its own
	all := testkit.Must(m.Predictions(t.Context(), set))
	require.Len(t, all, n)
	for i, p := range all {
		row := set.X.Data[4*i : 4*i+3]
		sum := float64(row[0]) + float64(row[1]) + float64(row[2])
		above := 1 / (1 + math.Exp(-2*sum))
		if p.Class == 0 {
			above = 1 - above
		}
		require.Equal(t, sum > 0, p.Class == 1, i)
		require.InDelta(t, above, p.Probability, 1e-6)
	}
	require.Empty(t, testkit.Must(m.Predict(t.Context(), dataset.Set{X: blas32.General{Cols: 3, Stride: 3}})))
	huge := dataset.Set{X: blas32.General{Rows: 1, Cols: 3, Stride: 3, Data: []float32{1e38, 1e38, 0}}}
	require.Equal(t, []Prediction{{1, 1}}, testkit.Must(m.Predictions(t.Context(), huge)))
	huge.X.Data[2] = math.MaxFloat32
	require.ErrorContains(t, testkit.Err(m.Predictions(t.Context(), huge)), "row 0")
	require.ErrorIs(t, testkit.Err(m.Predict(testkit.Ended(), set)), context.Canceled)
}

func TestRowsThatDoNotFit(t *testing.T) {
	m := linear(t, 4)
	rows := func(cols int, image dataset.Shape, data ...float32) dataset.Set {
		return dataset.Set{Image: image, X: blas32.General{Rows: len(data) / cols, Cols: cols, Stride: cols, Data: data}}
	}
	square, long := dataset.Shape{Rows: 2, Cols: 2}, dataset.Shape{Rows: 1, Cols: 4}
	nan := float32(math.NaN())
	ofImages := *m
	ofImages.Image = square
	short := rows(4, dataset.Shape{}, 1, 2, 3, 4)
	short.X.Rows = 2
	for name, c := range map[string]struct {
		m   *Model
		set dataset.Set
	}{
		"columns":      {m, rows(3, dataset.Shape{}, 1, 2, 3)},
		"images":       {m, rows(4, square, 1, 2, 3, 4)},
		"no images":    {&ofImages, rows(4, dataset.Shape{}, 1, 2, 3, 4)},
		"other images": {&ofImages, rows(4, long, 1, 2, 3, 4)},
		"not finite":   {m, rows(4, dataset.Shape{}, 1, 2, nan, 4)},
		"malformed":    {m, short},
	} {
		require.ErrorIs(t, testkit.Err(c.m.Predict(t.Context(), c.set)), ErrRows, name)
	}
	require.NoError(t, testkit.Err(ofImages.Predict(t.Context(), rows(4, square, 1, 2, 3, 4))))
}

func resealed(b []byte) []byte {
	return sealed.Seal(append([]byte(nil), b[:max(0, len(b)-sha256.Size)]...))
}

func TestDamagedModelFiles(t *testing.T) {
	text := testkit.Must(linear(t, 3).bytes())
	require.NoError(t, testkit.Err(parseModel(resealed(text))))
	path := filepath.Join(t.TempDir(), "bad.model")
	for i := range text {
		bad := append([]byte(nil), text...)
		bad[i] ^= 1
		for _, b := range [][]byte{bad, text[:i], resealed(text[:i])} {
			require.Error(t, testkit.Err(parseModel(b)), "byte %d", i)
		}
	}
	require.NoError(t, os.WriteFile(path, text[:len(text)-1], 0o600))
	require.ErrorIs(t, testkit.Err(OpenModel(path)), ErrModelFile)
	_, err := OpenModel(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotErrorIs(t, err, ErrModelFile)
	for name, change := range map[string]func(*Model){
		"classes":       func(m *Model) { m.Classes = m.Classes[:1] },
		"more classes":  func(m *Model) { m.Classes = append(m.Classes, "far above") },
		"columns":       func(m *Model) { m.Columns = 4 },
		"no columns":    func(m *Model) { m.Columns = 0 },
		"many columns":  func(m *Model) { m.Columns = 1 << 29 },
		"image":         func(m *Model) { m.Image = dataset.Shape{Rows: 2, Cols: 2} },
		"features":      func(m *Model) { m.Features = "magic" },
		"of images":     func(m *Model) { m.Features = features.NameHOG },
		"no statistics": func(m *Model) { m.Features, m.Image = CentredHOG, dataset.Shape{Rows: 1, Cols: 3} },
		"extractor":     func(m *Model) { m.Extractor = "raw 2" },
		"kind":          func(m *Model) { m.Kind = "magic" },
		"too wide":      func(m *Model) { m.Kind = "mlp:16384,16384,16384,16384,16384,16384" },
		"cnn":           func(m *Model) { m.Kind = CNN },
		"delta":         func(m *Model) { m.Delta = 1 },
	} {
		m := linear(t, 3)
		change(m)
		require.ErrorIs(t, testkit.Err(OpenModel(saved(t, m))), ErrModelFile, name)
	}
}

func TestLeastParameters(t *testing.T) {
	for _, kind := range []string{Linear, "mlp:5", "mlp:7,3"} {
		r := Recipe{Features: features.NamePixels, Model: kind}
		s := Shape{Classes: 4, Columns: 9}
		m := testkit.Must(r.newModel(s, 9, rng.SeedKey(1)))
		require.Equal(t, int64(len(m.Parameters())), testkit.Must(r.leastParameters(s, 9)))
	}
	r := Recipe{Features: features.NamePixels, Model: CNN}
	made := 0
	for _, rows := range []int{8, 12, 13, 14, 15, 16, 17, 18, 19, 20, 24, 28, 29, 64} {
		for _, cols := range []int{14, 17, 28, 97, 400} {
			s := Shape{Classes: 2, Columns: rows * cols, Image: dataset.Shape{Rows: rows, Cols: cols}}
			m, err := r.newModel(s, s.Columns, rng.SeedKey(1))
			if err != nil {
				continue
			}
			made++
			least := testkit.Must(r.leastParameters(s, s.Columns))
			require.LessOrEqual(t, least, int64(len(m.Parameters())), "%d x %d", rows, cols)
		}
	}
	require.Greater(t, made, 40)
}

func FuzzModel(f *testing.F) {
	text := testkit.Must(linear(f, 3).bytes())
	f.Add(text[:len(text)-sha256.Size])
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := parseModel(resealed(append(body, make([]byte, sha256.Size)...)))
		if err != nil {
			return
		}
		if m.Columns > 1<<12 {
			return
		}
		set := dataset.Set{Image: m.Image, X: blas32.General{Rows: 1, Cols: m.Columns, Stride: m.Columns, Data: make([]float32, m.Columns)}}
		if classes, err := m.Predict(t.Context(), set); err == nil && (classes[0] < 0 || classes[0] >= len(m.Classes)) {
			t.Fatal(classes)
		}
	})
}

func TestOpenModelReadsNoMoreThanItMust(t *testing.T) {
	dir := t.TempDir()
	sparse := filepath.Join(dir, "sparse")
	require.NoError(t, os.WriteFile(sparse, []byte("no model"), 0o600))
	require.NoError(t, os.Truncate(sparse, 1<<31))
	allocated := testkit.Allocated(func() { require.ErrorIs(t, testkit.Err(OpenModel(sparse)), ErrModelFile) })
	require.Less(t, allocated, uint64(1<<20))
	require.NoError(t, os.Truncate(sparse, maxModelFile+1))
	require.ErrorIs(t, testkit.Err(OpenModel(sparse)), ErrModelFile)
	require.NoError(t, os.WriteFile(sparse, nil, 0o600))
	require.ErrorIs(t, testkit.Err(OpenModel(sparse)), ErrModelFile)
	_, err := OpenModel(dir)
	require.ErrorIs(t, err, ErrModelFile)
	require.ErrorContains(t, err, "no regular file")
}

func TestAModelFileOfAnEarlierVersion(t *testing.T) {
	path := filepath.Join("testdata", "linear.model")
	m := testkit.Must(OpenModel(path))
	require.Equal(t, testkit.Must(os.ReadFile(path)), testkit.Must(m.bytes()))
	require.Empty(t, m.Scored)
	for _, rows := range []int{0, 1} {
		require.False(t, m.ScoredOn(dataset.Set{X: dense.New(rows, m.Columns)}), "a card that keeps no hash knows no public row")
	}
}

func TestScoredOn(t *testing.T) {
	set := dataset.Set{X: dense.New(2, 3), Y: []int{0, 1}, Classes: []string{"below", "above"}, Units: []string{"a", "b"}}
	m := linear(t, 3)
	m.Scored = rowsHash(set)
	for name, c := range map[string]struct {
		change func(*dataset.Set)
		same   bool
	}{
		"itself":          {func(*dataset.Set) {}, true},
		"other units":     {func(s *dataset.Set) { s.Units = nil }, true},
		"other numbers":   {func(s *dataset.Set) { s.Classes, s.Y = []string{"above", "x", "below"}, []int{2, 0} }, true},
		"other labels":    {func(s *dataset.Set) { s.Y = []int{0, 0} }, false},
		"no labels":       {func(s *dataset.Set) { s.Y = nil }, false},
		"a row fewer":     {func(s *dataset.Set) { s.X.Rows, s.Y = 1, s.Y[:1] }, false},
		"another feature": {func(s *dataset.Set) { s.X = dense.New(2, 3); s.X.Data[5] = 1 }, false},
		"images":          {func(s *dataset.Set) { s.Image = dataset.Shape{Rows: 1, Cols: 3} }, false},
	} {
		other := set
		c.change(&other)
		require.Equal(t, c.same, m.ScoredOn(other), name)
	}
}

func TestBayesianFiguresStandBesideEpsilon(t *testing.T) {
	task := strokes(t, 240, 80)
	plan := Plan{Recipe: Default(ShapeOf(task), "raw", Linear, 2), Epsilon: 2}
	plan.Recipe.Train.Steps = 12
	plain := config(t, task, plan)
	without := testkit.Must(Run(t.Context(), plain))
	require.Nil(t, without.Typical())
	for _, between := range []dpsgd.Between{dpsgd.Batches, dpsgd.Records} {
		cfg := config(t, task, plan)
		cfg.Typical = &typical.Config{Between: between}
		r := testkit.Must(Run(t.Context(), cfg))
		row := r.Rows[0]
		require.Equal(t, *without.Rows[0].Epsilon, *row.Epsilon)
		require.Equal(t, without.Rows[0].Accuracy, row.Accuracy)
		require.Equal(t, fileIn(t, plain.Dir), fileIn(t, cfg.Dir), "the same model")
		require.Len(t, row.OfTypical, 2)
		for i, e := range []bayes.Estimator{bayes.Bernstein, bayes.StudentT} {
			f := row.OfTypical[i]
			require.Equal(t, e, f.Estimator)
			require.Equal(t, typical.DefaultDelta, f.Delta)
			require.Equal(t, 12, f.Steps)
			require.Zero(t, f.Unseen)
		}
		// What may be published has no trace of it, nor has any file outside private.
		require.NotContains(t, strings.ToLower(string(testkit.Must(json.Marshal(r.WithoutTimes())))), "bayes")
		require.NoError(t, filepath.WalkDir(cfg.Dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.Contains(path, string(filepath.Separator)+"private"+string(filepath.Separator)) {
				return err
			}
			data, err := os.ReadFile(path)
			require.NotContains(t, strings.ToLower(string(data)), "bayes", path)
			return err
		}))
		again := testkit.Must(Run(t.Context(), cfg))
		require.Equal(t, row.OfTypical, again.Rows[0].OfTypical, "kept with the run")
	}
}

func fileIn(t *testing.T, dir string) []byte {
	files := testkit.Must(filepath.Glob(filepath.Join(dir, "private", "results", "models", "*")))
	require.Len(t, files, 1)
	return testkit.Must(os.ReadFile(files[0]))
}

func TestBayesIsRefusedWhereItDoesNotFit(t *testing.T) {
	task := strokes(t, 240, 80)
	plan := Plan{Recipe: Default(ShapeOf(task), "raw", Linear, 2), Epsilon: 2}
	for name, b := range map[string]*typical.Config{"delta": {Delta: 1}, "nan": {Delta: math.NaN()}, "most": {Most: -1}} {
		cfg := config(t, task, plan)
		cfg.Typical = b
		require.ErrorIs(t, cfg.Validate(), ErrConfig, name)
	}
	plan.Recipe.Train.Clipping.Adaptive = dpsgd.Adaptive{Quantile: 0.5, LearningRate: 0.2, CountNoise: 20}
	cfg := config(t, task, plan)
	cfg.Typical = &typical.Config{}
	require.ErrorContains(t, cfg.Validate(), "fixed clip norm")
}
