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
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// Two runs on two ledgers write labels of one name at the same time: neither takes the other's file away,
// while it is written or after. Until they are committed, labels are their owner's alone.
func TestRunsOnTwoLedgersLeaveEachOtherAlone(t *testing.T) {
	first := standard(t)
	dir := filepath.Dir(first.Out)
	second := first
	second.Ledger += "2"
	var made Result
	_, err := Run(crash.With(context.Background(), func(step string) error {
		if step != "drawn" {
			return nil
		}
		writing := testkit.Must(filepath.Glob(filepath.Join(dir, ".labels.csv.*.tmp")))
		require.Len(t, writing, 1)
		info, err := os.Stat(writing[0])
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		prefix := second
		prefix.Out, prefix.Ledger = filepath.Join(dir, "labels"), prefix.Ledger+"3"
		release1(t, prefix)
		made = release1(t, second)
		require.FileExists(t, writing[0], "a live file")
		return nil
	}), first)
	require.ErrorContains(t, err, "is there already")
	info := testkit.Must(os.Stat(second.Out))
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm())
	again := release1(t, second)
	require.True(t, again.Complete, "the labels of the second run are as it left them")
	require.Equal(t, made.Answered, again.Answered)

	require.NoError(t, os.Rename(first.Out, first.Out+".second"))
	require.True(t, release1(t, first).Resumed)
	left := testkit.Must(filepath.Glob(filepath.Join(dir, ".labels*")))
	require.Empty(t, left)
}

// What a run left when it was killed is removed when it goes on.
func TestKilledRunIsSweptByItself(t *testing.T) {
	c := standard(t)
	var left string
	_, err := Run(crash.With(context.Background(), func(step string) error {
		if step != "drawn" {
			return nil
		}
		writing, err := filepath.Glob(filepath.Join(filepath.Dir(c.Out), ".labels.csv.*.tmp"))
		require.NoError(t, err)
		require.Len(t, writing, 1)
		left = writing[0]
		return errCrash
	}), c)
	require.Error(t, err)
	write(t, left, "half of the lab") // a process that is killed does not remove it
	release1(t, c)
	require.NoFileExists(t, left)
}

// What may not leave is marked in every form of the labels, and an array, which has no place for a mark, is
// refused: labels of a seed, and of a ledger that has waived a check, to which only runs that waive the same
// are charged.
func TestLabelsOfAWaivedRefusalAreMarked(t *testing.T) {
	seed := uint64(3)
	for _, waived := range [][]string{nil, {"duplicates"}} {
		for _, form := range []Form{CSV, JSONL, Parquet, NPY} {
			c := standard(t)
			c.Out = filepath.Join(t.TempDir(), "labels."+string(form))
			if c.Account.Waived = waived; waived == nil {
				c.Seed = &seed
			}
			if form == NPY {
				require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "an array has no mark")
				require.NoFileExists(t, c.Ledger)
				continue
			}
			r := release1(t, c)
			require.False(t, r.Releasable)
			require.Equal(t, waived, r.Account.Waived)
			require.Contains(t, asCSV(t, read(t, c.Out)), heading(withheldColumn))
			require.Zero(t, testkit.Must(os.Stat(c.Out)).Mode().Perm()&0o077)
			require.True(t, release1(t, c).Complete, "and the labels are recognised")
			file := testkit.Must(os.Open(c.Out))
			defer file.Close()
			require.Equal(t, counts{r.Asked, r.Answered}, testkit.Must(countLabels(file, func(string, string) {})))
			if waived == nil {
				continue
			}
			before := read(t, c.Ledger)
			c.Account.Waived, c.Pool = nil, "another"
			require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "waived")
			require.Equal(t, before, read(t, c.Ledger))
		}
	}
	c := standard(t)
	r := release1(t, c)
	require.True(t, r.Releasable)
	require.True(t, strings.HasPrefix(read(t, c.Out), heading(labelColumn)))
	c.Account.Waived, c.Pool = []string{"duplicates"}, "another"
	require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "waived")
}

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
