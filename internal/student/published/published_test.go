package published_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/fault"
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
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
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
	asked := testkit.Must(once.model.Rows.ReadNew(dataset.Source{Path: test}))
	return once.model, asked, test
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
	want := testkit.Must(m.Predict(t.Context(), asked))
	reread := testkit.Must(again.Rows.ReadNew(dataset.Source{Path: test}))
	got := testkit.Must(again.Predict(t.Context(), reread))
	require.Equal(t, want, got)
	right, known := again.Accuracy(got, reread)
	require.Equal(t, 200, known)
	require.Greater(t, right, 165)

	other := testkit.Must(published.Train(t.Context(), configuration(t)))
	require.NoError(t, other.Save(path+"2", 0o600))
	a := testkit.Must(os.ReadFile(path))
	b := testkit.Must(os.ReadFile(path + "2"))
	require.True(t, bytes.Equal(a, b))
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
	l = testkit.Must(read("query,label_not_releasable\n1,0\n", nil))
	require.True(t, l.Withheld)
	for name, text := range map[string]string{
		"empty": "", "no heading": "0,1\n", "one cell": "query,label\n0\n", "twice": "query,label\n1,1\n1,1\n", "too far": "query,label\n5,1\n", "negative": "query,label\n-1,1\n",
		"no class": "query,label\n1,c\n", "class beyond": "query,label\n1,2\n", "no number": "query,label\nx,1\n", "long": "query,label\n" + strings.Repeat("1", 1<<17),
	} {
		_, err := read(text, nil, "a", "b")
		var told *fault.Error
		require.ErrorAs(t, err, &told, name)
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
	err := run.Run{
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
	}.Do(t.Context(), nil)
	require.NoError(t, err)
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
