package label

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// predicted is a run of Interactive with a line of predictions for each query.
func predicted(t *testing.T) (c Config, lines []string) {
	c = standard(t)
	for q := range testQueries {
		p := []string{"0.01", "0.01", "0.01"}
		p[q%testClasses] = "0.98"
		lines = append(lines, strings.Join(p, ","))
	}
	c.Predictions = write(t, filepath.Join(filepath.Dir(c.Out), "predictions.csv"), strings.Join(lines, "\n"))
	c.Setting = with("interactive", "threshold", 100.0, "answers", 5.0, "confidence", 0.9)
	return c, lines
}

// Predictions that cannot be used, on their last line even, cost nothing and leave nothing: the queries can
// still be answered.
func TestBadPredictionsAreFoundBeforeTheCharge(t *testing.T) {
	c, lines := predicted(t)
	last := strings.Join(lines[:testQueries-1], "\n") + "\n"
	good := strings.Join(lines, "\n")
	before := testkit.Must(os.ReadDir(filepath.Dir(c.Out)))
	for text, says := range map[string]string{
		last + "0.4,0.4,0.4":            "line 60 is no prediction; aggregate: predicted probabilities add up to 1.2",
		last + "0.1,0.1,0.1":            "add up to 0.3",
		last + "NaN,0.5,0.5":            "line 60 is no prediction",
		last + "1,Inf,0":                "line 60 is no prediction",
		last + "1.5,-0.5,0":             "must be in [0, 1]",
		last + "0.5,x,0.5":              "line 60, cell 2 is no number",
		last + "1,0":                    "line 60 has 2 cells",
		last + "1,0,0,0":                "line 60 has 4 cells",
		last:                            "ends before query 59",
		"a,b,c\n" + last:                "ends before query 59",
		"":                              "ends before query 0",
		good + "\n1,0,0\n":              "has 1 lines more than there are queries; the votes have 60",
		good + "\n\nx\n1,0,0":           "has 2 lines more",
		"NA,0,1\n" + good:               "line 1, cell 1 is no number",
		last + strings.Repeat("0", 3e6): "line 60 is too long",
	} {
		write(t, c.Predictions, text)
		_, err := Run(context.Background(), c)
		var refused *fault.Error
		require.ErrorAs(t, err, &refused, says)
		require.ErrorContains(t, err, says)
		after := testkit.Must(os.ReadDir(filepath.Dir(c.Out)))
		require.Len(t, after, len(before), "%s: no ledger, key or labels", says)
	}
	write(t, c.Predictions, "a,b,c\r\n"+strings.ReplaceAll(good, "\n", "\r\n")+"\r\n\r\n")
	require.Equal(t, testQueries, release1(t, c).Asked)
}

// A part of the votes has predictions for all of them.
func TestPredictionsOfPartOfTheVotesAreAllChecked(t *testing.T) {
	c, lines := predicted(t)
	lines[testQueries-1] = "1,1,1"
	write(t, c.Predictions, strings.Join(lines, "\n"))
	c.Votes = open(t, filepath.Join(filepath.Dir(c.Out), "votes.csv"), votes.Options{To: 20})
	require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "line 60 is no prediction")
	require.NoFileExists(t, c.Ledger)
}

func TestPredictionsFromAPipe(t *testing.T) {
	c, _ := predicted(t)
	c.Predictions = filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(c.Predictions, 0o600))
	require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "is no plain file")
	require.NoFileExists(t, c.Ledger)
}

// Predictions that change between the check and the draws are not committed, and the run can be repeated
// with those it was charged for.
func TestPredictionsThatChangeAreNotCommitted(t *testing.T) {
	c, lines := predicted(t)
	seed := uint64(2) // secret noise would change an answer now and then
	c.Seed = &seed
	good := strings.Join(lines, "\n")
	_, err := Run(crash.With(context.Background(), func(step string) error {
		if step == "reserved" {
			write(t, c.Predictions, strings.Replace(good, "0.98", "0.9805", 1))
		}
		return nil
	}), c)
	require.ErrorContains(t, err, "was changed while it was read")
	require.NoFileExists(t, c.Out)
	write(t, c.Predictions, good)
	r := release1(t, c)
	require.True(t, r.Resumed)
	for q, line := range strings.Split(strings.TrimSpace(read(t, c.Out)), "\n")[1:] {
		require.Equal(t, fmt.Sprintf("%d,%d", q, q%testClasses), line)
	}
}

func FuzzPredictions(f *testing.F) {
	f.Add([]byte("a,b\n0.5,0.5\n1,0\n"))
	f.Add([]byte("0.5, 0.5\r\n1,0"))
	f.Add([]byte("NaN,1e400\n,\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := write(t, filepath.Join(t.TempDir(), "p.csv"), string(text))
		r := testkit.Must(openPredictions(path, 2))
		defer r.close()
		for q := range 5 {
			p, err := r.of(q)
			if err != nil {
				var in *fault.Error
				require.ErrorAs(t, err, &in)
				return
			}
			require.Len(t, p, 2)
		}
	})
}
