package label

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// asCSV reads a file of labels in any form.
func asCSV(t *testing.T, raw string) string {
	t.Helper()
	text := testkit.Must(ReadCSV(strings.NewReader(raw)))
	out := testkit.Must(io.ReadAll(text))
	return string(out)
}

// sample are votes on which a threshold of 25 declines the third query, and are clear on the others.
func sample(t *testing.T, opt votes.Options, cells ...string) *votes.Source {
	t.Helper()
	var b strings.Builder
	for _, c := range []string{cells[0], cells[2]} {
		b.WriteString(strings.Repeat(c+";", 29) + c + "\n")
	}
	b.WriteString(strings.Repeat(cells[0]+";"+cells[1]+";"+cells[2]+";", 9) + cells[0] + ";" + cells[1] + ";" + cells[2] + "\n")
	text := b.String()
	if opt.Counts {
		text = "30,0,0\n0,0,30\n10,10,10\n"
	}
	return testkit.Must(votes.Open(context.Background(), []string{write(t, filepath.Join(t.TempDir(), "v.csv"), text)}, opt))
}

// TestLabelsInEveryForm: the file says the same in each form; a run that crashed before it was committed
// makes the same bytes; one that is complete is found so by them, and by its counts.
func TestLabelsInEveryForm(t *testing.T) {
	for name, c := range map[string]struct {
		opt   votes.Options
		cells []string
		want  string // CSV of all forms
		array string // of the array, if it differs
	}{
		"numbers": {votes.Options{Classes: 3}, []string{"0", "1", "2"}, "0,0\n1,2\n2,\n", ""},
		"from 1":  {votes.Options{Classes: 3, FirstClass: 1}, []string{"1", "2", "3"}, "0,1\n1,3\n2,\n", ""},
		"names": {votes.Options{ClassNames: []string{"flu", "a b", "Ü, <"}}, []string{"flu", "a b", "Ü, <"},
			"0,flu\n1,\"Ü, <\"\n2,\n", "0,0\n1,2\n2,\n"},
		"counts, named": {votes.Options{Counts: true, Teachers: 30, ClassNames: []string{"flu", "gout", "none"}}, []string{"", "", ""},
			"0,flu\n1,none\n2,\n", "0,0\n1,2\n2,\n"},
	} {
		for _, form := range []Form{CSV, JSONL, NPY, Parquet} {
			t.Run(name+" "+string(form), func(t *testing.T) {
				run := standard(t)
				run.Out = filepath.Join(filepath.Dir(run.Out), "labels."+string(form))
				run.Votes, run.Account.Epsilon = sample(t, c.opt, c.cells...), 1e6
				run.Setting = aggregate.Setting{Mechanism: "confident", Values: map[string]float64{"threshold": 25, "sigma1": 0.3, "sigma2": 0.3}}
				crashed(t, run, "drawn")
				require.NoFileExists(t, run.Out)
				made := release1(t, run)
				require.True(t, made.Resumed)
				require.Equal(t, []int{3, 2}, []int{made.Asked, made.Answered})
				want := c.want
				if form == NPY && c.array != "" {
					want = c.array
				}
				require.Equal(t, heading(labelColumn)+want, asCSV(t, read(t, run.Out)))
				again := release1(t, run)
				require.True(t, again.Complete)
				require.Equal(t, []int{3, 2}, []int{again.Asked, again.Answered})
				require.Equal(t, made.SHA256, again.SHA256)
			})
		}
	}
}

// FuzzReadCSV: what is read is refused or CSV of bounded size, whatever it is.
func FuzzReadCSV(f *testing.F) {
	var answers collected
	answers.add(0, 1, true)
	answers.add(1, 0, false)
	var file bytes.Buffer
	require.NoError(f, answers.writeNPY(&file, nil))
	f.Add(bytes.Clone(file.Bytes()))
	file.Reset()
	require.NoError(f, answers.writeParquet(&file, "label", []string{"a", "b"}))
	f.Add(bytes.Clone(file.Bytes()))
	f.Add([]byte("{\"query\":0,\"label\":\"a\"}\n{\"query\":1,\"label_not_releasable\":null}\n"))
	f.Add([]byte(heading(labelColumn) + "0,1\n"))
	pandas := testkit.Must(os.ReadFile("../votes/testdata/parquet/words.parquet"))
	f.Add(pandas)
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, err := ReadCSV(bytes.NewReader(raw))
		if err != nil {
			return
		}
		n := testkit.Must(io.Copy(io.Discard, text))
		require.LessOrEqual(t, n, int64(maxLabels))
	})
}
