package published_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/charged"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/student"
)

// rows is a table in which the class is whether age and income are both high.
func rows(n int, seed uint64) string {
	r := rng.SeedKey(seed).Stream()
	b := strings.Builder{}
	b.WriteString("age,job,income,outcome\n")
	for range n {
		age, income := 20+r.Uint64N(60), r.Uint64N(1000)
		job, outcome := []string{"clerk", "nurse", ""}[r.Uint64N(3)], "no"
		if age > 45 && (income > 300 || job == "nurse") {
			outcome = "yes"
		}
		fmt.Fprintf(&b, "%d,%s,%d,%s\n", age, job, income, outcome)
	}
	return b.String()
}

// write writes rows to a file of the test.
func write(t testing.TB, name, text string) string {
	return testkit.Write(t, filepath.Join(t.TempDir(), name), text)
}

// configuration is that of a student of 100 labels, of which every 20th is wrong.
func configuration(t testing.TB) published.Config {
	t.Helper()
	schema, pool, err := dataset.ReadPublic(dataset.Source{Path: write(t, "public.csv", rows(300, 1))}, dataset.Reading{CSV: dataset.CSVOptions{Label: "outcome"}})
	require.NoError(t, err)
	var text strings.Builder
	text.WriteString("query,label\n")
	for q := 0; q < 300; q += 3 {
		class := pool.Truth[q]
		if q%60 == 0 {
			class = 1 - class
		}
		fmt.Fprintf(&text, "%d,%d\n%d,\n", q, class, q+1)
	}
	labels := testkit.Must(published.ReadLabels(strings.NewReader(text.String()), pool.Len(), nil, []string{"no", "yes"}))
	require.Equal(t, 200, labels.Asked)
	require.Equal(t, 100, labels.Released)
	return published.Config{Schema: schema, Pool: pool, Labels: labels, Provenance: published.Provenance{Ledger: "run.jsonl", Entry: 1, Epsilon: 2, Delta: 1e-5, Releasable: true}}
}

var once struct {
	sync.Once
	model *published.Model
}

// trained returns that student, rows to ask it about, and their file.
func trained(t testing.TB) (*published.Model, dataset.Pool, string) {
	t.Helper()
	once.Do(func() {
		once.model = testkit.Must(published.Train(t.Context(), configuration(t)))
	})
	test := write(t, "test.csv", rows(200, 2))
	return once.model, testkit.Must(once.model.Rows.ReadNew(dataset.Source{Path: test})), test
}

// TestAStudentGoesThroughItsFile and answers as before, with all that is known of it. The
// same labels give the same bytes.
func TestAStudentGoesThroughItsFile(t *testing.T) {
	m, asked, test := trained(t)
	path := filepath.Join(t.TempDir(), "student.model")
	require.NoError(t, m.Save(path, 0o600))
	again := testkit.Must(published.Open(path))
	require.Equal(t, m.Labels, again.Labels)
	require.Equal(t, []string{"no", "yes"}, again.Classes)
	require.Equal(t, 100, again.HeldBack.Labels)
	require.Equal(t, m.HeldBack, again.HeldBack)
	require.Greater(t, again.HeldBack.MostFrequent, 49)
	require.Equal(t, fmt.Sprintf("%d.0", again.HeldBack.MostFrequent), again.HeldBack.Constant(100))
	require.Empty(t, (&published.HeldBack{MostFrequent: 3}).Constant(5), "beside no number")
	want := testkit.Must(m.Predict(t.Context(), asked))
	reread := testkit.Must(again.Rows.ReadNew(dataset.Source{Path: test}))
	got := testkit.Must(again.Predict(t.Context(), reread))
	require.Equal(t, want, got)
	right, known := again.Accuracy(got, reread)
	require.Equal(t, 200, known)
	require.Greater(t, right, 165)

	require.NoError(t, testkit.Must(published.Train(t.Context(), configuration(t))).Save(path+"2", 0o600))
	require.True(t, bytes.Equal(testkit.Must(os.ReadFile(path)), testkit.Must(os.ReadFile(path+"2"))))
}

func TestDamagedFilesAreRefused(t *testing.T) {
	m, _, _ := trained(t)
	path := filepath.Join(t.TempDir(), "student.model")
	require.NoError(t, m.Save(path, 0o600))
	whole := testkit.Must(os.ReadFile(path))
	for name, b := range map[string][]byte{
		"empty": nil, "other kind": []byte("pate model 1\n{}"), "cut off": whole[:len(whole)/2], "longer": append(bytes.Clone(whole), 0),
		"changed": append(append(bytes.Clone(whole[:2000]), whole[2000]^1), whole[2001:]...),
	} {
		require.NoError(t, os.WriteFile(path, b, 0o600))
		require.ErrorIs(t, testkit.Err(published.Open(path)), published.ErrFile, name)
	}
	require.ErrorIs(t, testkit.Err(published.Open(t.TempDir())), published.ErrFile)
	require.ErrorIs(t, testkit.Err(published.Open(path+".none")), os.ErrNotExist)
}

// A point depends, to the last bit, on its own row and on the pool.
func TestPointsDependOnTheirRows(t *testing.T) {
	r := rng.SeedKey(5).Stream()
	for cols, want := range map[int]int{7: 7, 900: student.Projected(900)} {
		numbers := func(rows int) dataset.Set {
			s := dataset.Set{X: blas32.General{Rows: rows, Cols: cols, Stride: cols}, Y: make([]int, rows), Units: make([]string, rows), IDs: make([]string, rows)}
			for range rows * cols {
				s.X.Data = append(s.X.Data, float32(r.Uint64N(1000))/1000)
			}
			return s
		}
		pool, rows := dataset.Pool{X: numbers(300).X, IDs: make([]string, 300)}, numbers(5000)
		schema := &dataset.Schema{Features: cols}
		asked, points := testkit.Must2(published.Space(t.Context(), schema, pool, rows))
		require.Equal(t, []int{300, want, 5000, want}, []int{asked.Rows, asked.Cols, points.Rows, points.Cols})
		less, err := rows.Slice(4000, 4003)
		require.NoError(t, err)
		_, few := testkit.Must2(published.Space(t.Context(), schema, pool, less))
		for i := range few.Rows {
			require.Equal(t, points.Data[(4000+i)*points.Stride:][:want], few.Data[i*few.Stride:][:want])
		}
		less.X = blas32.General{Rows: 3, Cols: cols, Stride: cols, Data: pool.X.Data[:3*cols]}
		_, same := testkit.Must2(published.Space(t.Context(), schema, pool, less))
		require.InDeltaSlice(t, asked.Data[:want], same.Data[:want], 1e-5, "both are in one space")
	}
}

func TestReadLabels(t *testing.T) {
	read := func(text string, rows []int, classes ...string) (published.Labels, error) {
		return published.ReadLabels(strings.NewReader(text), 5, rows, classes)
	}
	l := testkit.Must(read("query,label\n3,1\n0,\n4,0\n", nil))
	require.Equal(t, []int{-1, -1, -1, 1, 0}, l.Of)
	require.Equal(t, []string{"0", "1"}, l.Classes)
	require.Equal(t, []int{3, 2}, []int{l.Asked, l.Released})
	require.Equal(t, "0c7e85d8", fmt.Sprintf("%.8s", l.SHA256))
	l = testkit.Must(read("query,label\r\n1,b\r\n0,0\r\n", []int{4, 2}, "a", "b"))
	require.Equal(t, []int{-1, -1, 1, -1, 0}, l.Of)
	require.True(t, testkit.Must(read("query,label_not_releasable\n1,0\n", nil)).Withheld)
	l = testkit.Must(read("query,label,votes a,\"votes b, c\"\n1,1,-3,40\n0,0,7,-2\n", nil, "a", "b, c"))
	require.Equal(t, []int{0, 1, -1, -1, -1}, l.Of)
	require.True(t, testkit.Must(read("query,label_not_releasable,\"votes a, b\",votes c\n1,0,1,2\n", nil)).Withheld)
	l = testkit.Must(read("query,label,votes a,\"votes b, c\"\n1,\"b, c\",-3,40\n0,,7,-2\n4,\"b, c\",1,1\n", nil, "a", "b, c"))
	require.Equal(t, []int{-1, 1, -1, -1, 1}, l.Of)
	for name, text := range map[string]string{
		"votes without a heading": "query,label\n1,1,-3,40\n", "other columns": "query,label,ayes\n1,1,4\n",
		"empty": "", "no heading": "0,1\n", "one cell": "query,label\n0\n", "a vote less": "query,label,votes a\n0,1\n", "a quote": "query,label\n0,\"a\n", "twice": "query,label\n1,1\n1,1\n", "too far": "query,label\n5,1\n", "negative": "query,label\n-1,1\n",
		"no class": "query,label\n1,c\n", "class beyond": "query,label\n1,2\n", "no number": "query,label\nx,1\n", "long": "query,label\n" + strings.Repeat("1", 1<<17),
	} {
		testkit.ErrorAs[*fault.Error](t, testkit.Err(read(text, nil, "a", "b")), name)
	}
	require.ErrorContains(t, testkit.Err(read("query,label\n2,1\n", []int{4, 2})), "2 were asked")
}

// TestTheLedgerKnowsItsLabels, and no others, and whether they may leave.
func TestTheLedgerKnowsItsLabels(t *testing.T) {
	for _, waived := range [][]string{nil, {"duplicates"}} {
		theLedgerKnowsItsLabels(t, waived)
	}
}

func theLedgerKnowsItsLabels(t *testing.T, waived []string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	file := run.File{Path: filepath.Join(dir, "run.jsonl"), New: ledger.Config{Unit: "patient", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5, Mode: ledger.Filter, Noise: ledger.SecretNoise, Waived: waived}}
	text := "query,label\n0,1\n"
	require.NoError(t, run.Run{
		File: file, Kind: "labels",
		Plan: func(context.Context, *run.Before) (run.Plan, error) {
			return run.Plan{Events: [][]accountant.Event{{accountant.GNMax{Sigma: 100}}}}, nil
		},
		Stages: []run.Stage{{
			Out: filepath.Join(dir, "labels.csv"), Mode: 0o644,
			Draw: func(r []*ledger.Reservation, _ rng.Key, out io.Writer) error {
				_, err := io.WriteString(out, text)
				return errors.Join(err, r[0].Begin(r[0].Event(), ledger.Use{Secret: true}))
			},
		}},
	}.Do(t.Context(), nil))
	l := testkit.Must(published.ReadLabels(strings.NewReader(text), 1, nil, nil))
	p := testkit.Must(published.Charged(file.Path, l.SHA256))
	require.Equal(t, published.Provenance{Ledger: "run.jsonl", Entry: 1, Epsilon: 2, Delta: 1e-5, Unit: "patient", Relation: "add_remove", Releasable: waived == nil, Waived: waived}, p)
	l = testkit.Must(published.ReadLabels(strings.NewReader("query,label\n0,0\n"), 1, nil, nil))
	require.ErrorContains(t, testkit.Err(published.Charged(file.Path, l.SHA256)), "did not release these labels")
}

func TestTrainRefuses(t *testing.T) {
	m, pool, _ := trained(t)
	l := testkit.Must(published.ReadLabels(strings.NewReader("query,label\n1,\n"), pool.Len(), nil, []string{"no", "yes"}))
	require.ErrorIs(t, testkit.Err(published.Train(t.Context(), published.Config{Schema: m.Rows, Pool: pool, Labels: l})), student.ErrNoLabels)
	l.Of = l.Of[1:]
	require.ErrorContains(t, testkit.Err(published.Train(t.Context(), published.Config{Schema: m.Rows, Pool: pool, Labels: l})), "another pool")
	pool.X.Cols--
	require.ErrorContains(t, testkit.Err(m.Predict(t.Context(), pool)), "columns")
}

// weights are some numbers for a linear model of two classes.
func weights(columns int) plain.Model {
	r := rng.SeedKey(3).Stream()
	l := &plain.Linear{Classes: []int{0, 1}, Bias: []float64{0.25, -0.5}, Weights: make([][]float64, 2)}
	for c := range l.Weights {
		for range columns {
			l.Weights[c] = append(l.Weights[c], float64(r.Uint64N(1000))/1000-0.5)
		}
	}
	return plain.Model{Linear: l}
}

// TestAPrivateModelGoesThroughItsFile and answers by its weights, and carries where it came from.
func TestAPrivateModelGoesThroughItsFile(t *testing.T) {
	schema, pool, err := dataset.ReadPublic(dataset.Source{Path: write(t, "public.csv", rows(300, 1))}, dataset.Reading{CSV: dataset.CSVOptions{Label: "outcome"}})
	require.NoError(t, err)
	p := published.Private{Schema: schema, Kind: "linear", Features: features.NamePixels, Model: weights(schema.Features),
		Provenance: published.Provenance{Ledger: "l.jsonl", Entry: 1, Epsilon: 2, Delta: 1e-5, Unit: "patient", Relation: "add_remove", Releasable: true}}
	m := testkit.Must(published.FromModel(p))
	path := filepath.Join(t.TempDir(), "m")
	require.NoError(t, m.Save(path, 0o600))
	again := testkit.Must(published.Open(path))
	require.Equal(t, p.Provenance, again.Labels)
	require.Equal(t, "linear", again.String())
	got := testkit.Must(again.Predict(t.Context(), pool))
	l := p.Model.Linear
	for i, answer := range got {
		var z [2]float64
		for c := range z {
			z[c] = l.Bias[c]
			for j, w := range l.Weights[c] {
				z[c] += w * float64(pool.X.Data[i*pool.X.Stride+j])
			}
		}
		require.InDelta(t, 1/(1+math.Exp(z[0]-z[1])), answer.Probabilities[1], 1e-12)
	}

	p.Features = features.Cosines(4, 1.5)
	p.Model = weights(schema.Features + 4)
	require.NoError(t, testkit.Must(published.FromModel(p)).Save(path, 0o600))
	again = testkit.Must(published.Open(path))
	x := testkit.Must(features.Apply(t.Context(), dataset.Set{X: pool.X}, testkit.Must(features.Named(p.Features, schema.Image)), 1))
	scores := testkit.Must(p.Model.Scores(t.Context(), x, 2))
	for i, answer := range testkit.Must(again.Predict(t.Context(), pool)) {
		require.InDeltaSlice(t, scores[2*i:2*i+2], answer.Probabilities, 1e-6)
	}
	p.Features, p.Model = features.NamePixels, weights(schema.Features)

	for name, change := range map[string]func(p *published.Private){
		"weights":   func(p *published.Private) { p.Model = weights(schema.Features + 1) },
		"features":  func(p *published.Private) { p.Features = "magic" },
		"cosines":   func(p *published.Private) { p.Features = "raw+cosines:4:0" },
		"transform": func(p *published.Private) { p.Transform = []byte("damaged") },
		"no model":  func(p *published.Private) { p.Model = plain.Model{} },
	} {
		q := p
		change(&q)
		require.Error(t, testkit.Err(published.FromModel(q)), name)
	}
}

// TestChargedFeaturesStayWithTheModel: the statistics of private images that make the features
// are in the file.
func TestChargedFeaturesStayWithTheModel(t *testing.T) {
	shape := dataset.Shape{Rows: 16, Cols: 16}
	r := rng.SeedKey(5).Stream()
	set := dataset.Set{Image: shape}
	set.X.Rows, set.X.Cols, set.X.Stride = 40, 256, 256
	for range 40 * 256 {
		set.X.Data = append(set.X.Data, float32(r.Uint64N(256))/255)
	}
	cfg := charged.Default(40)
	book := testkit.Must(ledger.New(ledger.Config{Unit: "image", Relation: accountant.AddRemove, Epsilon: 1e6, Delta: 1e-5}))
	reserved := testkit.Must(book.ReserveBatch(cfg.Events()))
	made := testkit.Must(charged.Prepare(t.Context(), set, nil, dataset.Set{}, cfg, reserved, rng.SeedKey(1)))
	train := made.Train.Float32(1)
	transform := testkit.Must(made.Transform.MarshalBinary())
	schema := &dataset.Schema{Kind: dataset.Pictures, Image: shape, Features: 256, Classes: []string{"a", "b"}}
	p := published.Private{Schema: schema, Kind: "linear", Features: "scattering-hog", Settings: cfg.Name(), Transform: transform, Model: weights(train.Cols)}
	m := testkit.Must(published.FromModel(p))
	path := filepath.Join(t.TempDir(), "m")
	require.NoError(t, m.Save(path, 0o600))
	again := testkit.Must(published.Open(path))
	pool := dataset.Pool{X: set.X, Image: shape}
	want := testkit.Must(p.Model.Scores(t.Context(), train, 2))
	for i, answer := range testkit.Must(again.Predict(t.Context(), pool)) {
		require.InDeltaSlice(t, want[2*i:2*i+2], answer.Probabilities, 1e-6)
	}
	schema.Image = dataset.Shape{Rows: 8, Cols: 32}
	require.ErrorContains(t, testkit.Err(published.FromModel(p)), "16x16")
}

// A student is doubted where nearly all labels are one class, and where it is right less
// often than the most frequent class is.
func TestDoubt(t *testing.T) {
	labels := func(no, yes int) published.Labels {
		l := published.Labels{Classes: []string{"no", "yes"}, Released: no + yes, Of: []int{student.Unlabelled}}
		for i := range no + yes {
			class := 0
			if i < yes {
				class = 1
			}
			l.Of = append(l.Of, class, student.Unlabelled)
		}
		return l
	}
	for _, c := range []struct {
		no, yes, held, right int
		want                 string
	}{
		{0, 0, 0, 0, ""},
		{94, 6, 0, 0, ""},
		{95, 5, 100, 100, `95 of 100 released labels are "no"`},
		{0, 3, 0, 0, `3 of 3 released labels are "yes"`},
		{80, 20, 100, 80, ""},
		{80, 20, 50, 40, ""},
		{80, 20, 100, 79, "predicted 79 of 100 labels held back, and 80 of 100"},
		{20, 80, 50, 39, `80 of 100 released labels are "yes": always saying so`},
	} {
		m := published.Model{Card: published.Card{HeldBack: published.HeldBack{Labels: c.held, Right: c.right}}}
		got := m.Doubt(labels(c.no, c.yes))
		if c.want == "" {
			require.Empty(t, got, "%+v", c)
		} else {
			require.Contains(t, got, c.want, "%+v", c)
		}
	}
}

func TestUtilityCountsRowsOfEachGroup(t *testing.T) {
	const public = "n,sex,kind\n1,F,a\n2,M,b\n3,F,b\n4,M,\n"
	in := dataset.Reading{CSV: dataset.CSVOptions{Label: "kind"}, Rule: dataset.ClassRule{Names: []string{"a", "b"}}}
	schema, pool, err := dataset.ReadPublic(dataset.Source{Path: write(t, "public.csv", public)}, in)
	require.NoError(t, err)
	m := &published.Model{Card: published.Card{Classes: schema.Classes, Rows: schema}}
	predictions := []published.Prediction{{Class: 0}, {Class: 0}, {Class: 1}, {Class: 1}}
	shares := []statement.Share{{Of: "all rows", Rows: 3, Right: 2}, {Of: "class a", Rows: 1, Right: 1}, {Of: "class b", Rows: 2, Right: 1}}
	require.Equal(t, shares, m.Utility(predictions, pool, ""))
	require.Equal(t, append(shares, statement.Share{Of: "sex=F", Rows: 2, Right: 2}, statement.Share{Of: "sex=M", Rows: 1}), m.Utility(predictions, pool, "sex"))
	pool.Truth = nil
	require.Nil(t, m.Utility(predictions, pool, ""))
}
