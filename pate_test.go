package pate_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// labelOptions is a budget in a folder of the test.
func labelOptions(t *testing.T) pate.LabelOptions {
	dir := t.TempDir()
	return pate.LabelOptions{Budget: pate.Budget{Epsilon: 2, Delta: 1e-5, Ledger: filepath.Join(dir, "run.jsonl")}, Out: filepath.Join(dir, "out")}
}

func open(t *testing.T, text string, opt votes.Options) *votes.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "votes.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	v := testkit.Must(votes.Open(t.Context(), []string{path}, opt))
	return v
}

// summary verifies a ledger.
func summary(t *testing.T, path string) ledger.Summary {
	t.Helper()
	s := testkit.Must(pate.Verify(path))
	return s
}

// ensemble writes the votes of teachers of whom one in five is wrong, each by itself.
func ensemble(queries, teachers int) string {
	rnd := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for q := range queries {
		for i := range teachers {
			class := q % 3
			if rnd.IntN(5) == 0 {
				class = (class + 1 + rnd.IntN(2)) % 3
			}
			b.WriteByte(byte('0' + class))
			b.WriteByte(",\n"[(i+1)/teachers])
		}
	}
	return b.String()
}

func TestLabel(t *testing.T) {
	v := open(t, ensemble(120, 100), votes.Options{Classes: 3})
	o := labelOptions(t)
	first := testkit.Must(pate.Label(t.Context(), v, o))
	require.True(t, first.Releasable)
	require.LessOrEqual(t, first.Epsilon, o.Epsilon)
	require.Len(t, first.Labels, first.Asked)
	require.Greater(t, first.Answered, 5)
	right := 0
	for i, l := range first.Labels {
		require.Equal(t, i, l.Query)
		if l.Class == l.Query%3 {
			right++
		}
	}
	// The noise is fresh. Votes like these are right nine times in ten at least, and 120 are answered:
	// fewer than two thirds are right in less than one of 10^10 runs.
	require.GreaterOrEqual(t, right, first.Answered*2/3)
	require.EqualValues(t, 1, summary(t, o.Ledger).Commits)
	require.True(t, says(o.Ledger))

	again := testkit.Must(pate.Label(t.Context(), v, o))
	require.True(t, again.Complete)
	require.Equal(t, first.Labels, again.Labels)
	require.EqualValues(t, 1, summary(t, o.Ledger).Commits, "nothing more was charged")

	o.Out += "2"
	require.Error(t, testkit.Err(pate.Label(t.Context(), open(t, ensemble(121, 100), votes.Options{Classes: 3}), o)), "the queries were answered")
	o.Pool = "another"
	require.Error(t, testkit.Err(pate.Label(t.Context(), open(t, ensemble(121, 100), votes.Options{Classes: 3}), o)), "the ledger takes no more")
	require.NoFileExists(t, o.Out)
}

// What would make a claim untrue, or waste a budget, is refused before there is a ledger.
func TestLabelRefuses(t *testing.T) {
	seed := uint64(1)
	for name, c := range map[string]struct {
		votes string
		opt   votes.Options
		edit  func(*pate.LabelOptions)
		want  string
	}{
		"transposed":     {ensemble(20, 100), votes.Options{Classes: 3}, nil, "transposed"},
		"other teachers": {ensemble(100, 20), votes.Options{Classes: 3}, func(o *pate.LabelOptions) { o.Teachers = 30 }, "LabelOptions.Teachers says 30"},
		"duplicates":     {"", votes.Options{Classes: 3}, nil, ""},
		"a wasted one":   {ensemble(30, 20), votes.Options{Classes: 3}, func(o *pate.LabelOptions) { o.Epsilon = 1 }, "or raise Epsilon to"},
		"no ledger":      {ensemble(100, 20), votes.Options{Classes: 3}, func(o *pate.LabelOptions) { o.Ledger = "" }, "Budget.Ledger"},
		"no file":        {ensemble(100, 20), votes.Options{Classes: 3}, func(o *pate.LabelOptions) { o.Out = "" }, "Out is empty"},
		"a bad accuracy": {ensemble(100, 20), votes.Options{Classes: 3}, func(o *pate.LabelOptions) { o.MinAccuracy = 90 }, "MinAccuracy"},
		"teachers' too":  {ensemble(100, 20), votes.Options{Classes: 3}, func(o *pate.LabelOptions) { o.TeacherAccuracy = 90; o.Seed = &seed }, "TeacherAccuracy"},
		"counts alone":   {"9,1,0\n", votes.Options{Counts: true}, nil, "votes.Options.Teachers"},
	} {
		t.Run(name, func(t *testing.T) {
			o := labelOptions(t)
			if c.edit != nil {
				c.edit(&o)
			}
			if name == "duplicates" {
				twice := ""
				for line := range strings.Lines(ensemble(200, 20)) {
					twice += line[:len(line)-1] + "," + line[:1] + "\n"
				}
				c.votes, c.want = twice, "equal votes everywhere: 0, 20"
			}
			_, err := pate.Label(t.Context(), open(t, c.votes, c.opt), o)
			require.ErrorContains(t, err, c.want)
			if name == "a wasted one" {
				var none *plan.NoPlanError
				require.ErrorAs(t, err, &none)
			}
			require.NoFileExists(t, o.Ledger)
			require.NoFileExists(t, o.Out)
		})
	}
	require.ErrorContains(t, testkit.Err(pate.Label(context.Background(), nil, labelOptions(t))), "no votes")
}
