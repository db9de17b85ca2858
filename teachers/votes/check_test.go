package votes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// find returns one finding by its name.
func find(t require.TestingT, r *votes.Report, check string) votes.Finding {
	for _, f := range r.Findings() {
		if f.Check == check {
			return f
		}
	}
	require.Fail(t, "no finding", check)
	return votes.Finding{}
}

// oddVotes are 6 teachers on 400 queries who agree mostly; two of them are made odd by the change.
func oddVotes(change func(q, teacher, vote int) string) []byte {
	rnd := rand.New(rand.NewPCG(5, 6))
	return encodeCSV(",", "\n", false, 400, 6, func(q, c int) string {
		vote := q % 4
		if rnd.IntN(5) == 0 {
			vote = rnd.IntN(4)
		}
		return change(q, c, vote)
	})
}

func TestCheckFindsOddTeachers(t *testing.T) {
	opt := votes.Options{Classes: 4}
	r := testkit.Must(votes.CheckIn(opt, oddVotes(func(_, _, vote int) string { return fmt.Sprint(vote) })))
	require.False(t, votes.Failed(r.Findings()), "%v", r.Findings())
	require.Empty(t, r.Silent)
	require.Empty(t, r.Constant)
	require.Empty(t, r.Duplicates)
	var all int64
	for _, n := range r.ClassVotes {
		all += n
	}
	require.EqualValues(t, 2400, all)

	same := map[int]string{}
	r, err := votes.CheckIn(opt, oddVotes(func(q, c, vote int) string {
		switch c {
		case 1:
			same[q] = fmt.Sprint(vote)
		case 2: // abstains always
			return ""
		case 3: // knows one class, and sometimes nothing
			return []string{"2", "-1"}[q%2]
		case 5: // is teacher 1
			return same[q]
		}
		return fmt.Sprint(vote)
	}))
	require.NoError(t, err)
	require.Equal(t, []int{2}, r.Silent)
	require.Equal(t, []int{3}, r.Constant)
	require.Equal(t, [][]int{{1, 5}}, r.Duplicates)
	require.EqualValues(t, 600, r.Abstentions)
	require.Less(t, r.ChanceDuplicates, 1e-9)
	require.Equal(t, votes.LevelFail, find(t, r, "duplicates").Level)
	require.Equal(t, votes.LevelNote, find(t, r, "constant").Level)
	require.Contains(t, find(t, r, "duplicates").Detail, "1, 5")
}

// TestFewQueriesProveNoDuplicates: equal teachers on three queries that nearly all answer alike are no
// fault.
func TestFewQueriesProveNoDuplicates(t *testing.T) {
	r := testkit.Must(votes.CheckIn(votes.Options{Classes: 3}, []byte("1,1,1,1,0\n2,2,2,2,2\n0,0,0,1,1\n")))
	require.Equal(t, [][]int{{0, 1, 2}}, r.Duplicates)
	// By hand: pairs that agree are 6, 10 and 4 of 10; so 10 x .6 x 1 x .4.
	require.InDelta(t, 2.4, r.ChanceDuplicates, 1e-12)
	require.Equal(t, votes.LevelNote, find(t, r, "duplicates").Level)
	require.Equal(t, votes.LevelNote, find(t, r, "shape").Level, "more teachers than queries")
}

func TestCheckCountsWhatIsInvalid(t *testing.T) {
	r := testkit.Must(votes.CheckIn(votes.Options{Classes: 3}, []byte("0,1,2\n3,nan,1.5\nx,-2,\n")))
	require.Equal(t, []int64{2, 1, 1, 1, 1}, []int64{r.OutOfRange, r.NaN, r.NotWhole, r.NotNumber, r.Abstentions})
	require.ErrorContains(t, r.FirstInvalid, "row 2, column 1")
	require.Zero(t, r.Hash)
	require.Equal(t, votes.LevelFail, find(t, r, "range").Level)
	require.Equal(t, votes.LevelFail, find(t, r, "numbers").Level)

	r = testkit.Must(votes.CheckIn(votes.Options{Counts: true, Teachers: 5}, []byte("1,4,0\n2,2,0\n3,3,0\n-1,0,0\n")))
	require.Equal(t, []int64{1, 1, 6}, []int64{r.OutOfRange, r.TooMany, r.Abstentions})
	require.ErrorContains(t, r.FirstInvalid, "query 2 (from 0)")
	require.Equal(t, []int64{6, 9, 0}, r.ClassVotes)
	require.Equal(t, votes.LevelFail, find(t, r, "sums").Level)
	require.Contains(t, find(t, r, "balance").Detail, "classes without votes: 1")

	require.Error(t, testkit.Err(votes.CheckIn(votes.Options{Classes: 3}, []byte("0,1\n0\n"))), "what has no shape cannot be checked")
}

func TestCheckNamesFiles(t *testing.T) {
	r := testkit.Must(votes.CheckIn(votes.Options{Classes: 2}, []byte("0\n0\n"), []byte("0\n1\n"), []byte("\n\n")))
	require.Contains(t, find(t, r, "constant").Detail, "votes0")
	require.Contains(t, find(t, r, "silent").Detail, "votes2")
	many := strings.Repeat("1,", 29) + "1\n"
	r = testkit.Must(votes.CheckIn(votes.Options{Classes: 2}, []byte(many+many)))
	require.Len(t, r.Constant, 30)
	require.Contains(t, find(t, r, "constant").Detail, "and 22 more")
}

// One pass says what opening and checking say: of valid votes, and of those that are not.
func TestOpenChecked(t *testing.T) {
	dir := t.TempDir()
	name := func(file, text string) string {
		path := filepath.Join(dir, file)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	valid := string(oddVotes(func(_, _, vote int) string { return fmt.Sprint(vote) }))
	for file, c := range map[string]struct {
		text string
		opt  votes.Options
	}{
		"labels.csv": {valid, votes.Options{Classes: 4}},
		"part.csv":   {valid, votes.Options{Classes: 4, From: 10, To: 20}},
		"wide.csv":   {valid, votes.Options{Classes: 300}},
		"turned.csv": {valid, votes.Options{Classes: 4, Transpose: true}},
		"counts.csv": {"1,4,0\n2,2,0\n", votes.Options{Counts: true, Teachers: 5}},
		"range.csv":  {"0,1,2\n3,nan,1.5\n", votes.Options{Classes: 3}},
		"sum.csv":    {"1,4,0\n2,4,0\n", votes.Options{Counts: true, Teachers: 5}},
		"shape.csv":  {"0,1\n0\n", votes.Options{Classes: 3}},
		"beyond.csv": {valid, votes.Options{Classes: 4, From: 10, To: 2000}},
	} {
		paths := []string{name(file, c.text)}
		s, r, err := votes.OpenChecked(t.Context(), paths, c.opt)
		opened, openErr := votes.Open(t.Context(), paths, c.opt)
		require.Equal(t, openErr, err, file)
		if err != nil {
			require.Nil(t, s)
			require.Nil(t, r)
			continue
		}
		require.Equal(t, opened.Hash(), s.Hash(), file)
		require.Equal(t, opened.Queries(), s.Queries(), file)
		whole := c.opt
		whole.From, whole.To = 0, 0
		require.Equal(t, testkit.Must(votes.Check(t.Context(), paths, whole)), r, file)
	}
}

// Reading that is stopped, by its reader or by its context, ends.
func TestReadingAheadEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "votes.csv")
	require.NoError(t, os.WriteFile(path, encodeCSV(",", "\n", false, 100_000, 8, func(q, c int) string { return fmt.Sprint((q + c) % 2) }), 0o600))
	s := testkit.Must(votes.Open(t.Context(), []string{path}, votes.Options{Classes: 2}))
	for _, stopAt := range []int{0, 40_000, 99_999} {
		for b, err := range s.Histograms(t.Context()) {
			require.NoError(t, err)
			if b.Query == stopAt {
				break
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var last error
		read := 0
		for b, err := range s.Histograms(ctx) {
			if last = err; err == nil && b.Query == stopAt {
				cancel()
			}
			read++
		}
		cancel()
		if stopAt < 40_000 {
			require.ErrorIs(t, last, context.Canceled)
			require.Less(t, read, 99_999)
		}
	}
}
