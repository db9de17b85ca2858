package votes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// TestVotesAreTheSameFromEveryFormat writes one matrix in a drawn format and demands the hash and the
// histograms of the matrix itself.
func TestVotesAreTheSameFromEveryFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.SampledFrom([]int{2, 10, 127, 128, 300, 2000}).Draw(t, "classes")
		typ := rapid.SampledFrom(append(npyTypes, "csv")).Draw(t, "type")
		lowest := votes.Abstention
		switch typ[1] {
		case 'u', 'b':
			lowest = 0
		}
		highest := classes
		switch typ[1:] {
		case "b1":
			highest = 2
		case "i1":
			highest = min(highest, 128)
		case "u1":
			highest = min(highest, 256)
		}
		queries, count := rapid.IntRange(1, 40).Draw(t, "queries"), rapid.IntRange(1, 40).Draw(t, "teachers")
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		want := testkit.Must(votes.New(queries, count, classes))
		for q := range queries {
			for c := range count {
				require.NoError(t, want.Set(q, c, lowest+rnd.IntN(highest-lowest)))
			}
		}
		opt := votes.Options{Classes: classes, Transpose: rapid.Bool().Draw(t, "transpose")}
		rows, cols, at := queries, count, want.At
		if opt.Transpose {
			rows, cols, at = count, queries, func(r, c int) int { return want.At(c, r) }
		}
		var file []byte
		if typ == "csv" {
			opt.Header = votes.HeaderNo
			header := rapid.Bool().Draw(t, "header")
			if header {
				opt.Header = rapid.SampledFrom([]votes.Header{votes.HeaderYes, ""}).Draw(t, "how")
			}
			newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
			file = encodeCSV(rapid.SampledFrom([]string{",", ";", "\t"}).Draw(t, "separator"), newline, header, rows, cols, func(r, c int) string {
				forms := []string{"%d", " %d ", `"%d"`, "%d.0", "%de0", "0%d"}
				if at(r, c) == votes.Abstention {
					forms = []string{"%d", "%.0d", "%d.0", `"%d"`}
					if v := rnd.IntN(3); v > 0 {
						return []string{"", "", `""`}[v]
					}
				}
				if cols == 1 && c == 0 && rnd.IntN(2) == 0 {
					return fmt.Sprint(at(r, c))
				}
				return fmt.Sprintf(forms[rnd.IntN(len(forms))], at(r, c))
			})
			if cols > 1 && rapid.Bool().Draw(t, "cut") { // no line break at the end
				file = file[:len(file)-len(newline)]
			}
		} else {
			file = encodeNPY(byte(rapid.IntRange(1, 3).Draw(t, "version")), typ, rapid.Bool().Draw(t, "fortran"), rows, cols, at)
		}
		s := opened(t, opt, file)
		require.Equal(t, []int{queries, count, classes}, []int{s.Queries(), s.Teachers(), s.Classes()})
		require.Equal(t, want.Hash(), s.Hash())
		requireHistograms(t, want, s)
		from := rapid.IntRange(0, queries-1).Draw(t, "from")
		opt.From, opt.To = from, rapid.IntRange(from+1, queries).Draw(t, "to")
		part := opened(t, opt, file)
		require.Equal(t, want.Hash(), part.Hash(), "the hash is of the whole")
		requireHistograms(t, want, part)
		require.Equal(t, want.Hash(), testkit.Must(s.Load(context.Background())).Hash())
	})
}

func requireHistograms(t require.TestingT, want *votes.Matrix, s *votes.Source) {
	query, to := s.Range()
	for b, err := range s.Histograms(context.Background()) {
		require.NoError(t, err)
		require.Equal(t, query, b.Query)
		require.Equal(t, testkit.Must(want.Histogram(query)).Reveal(), b.Histogram.Reveal())
		query++
	}
	require.Equal(t, to, query)
}

func TestCountsAreTheSameFromEveryFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queries, classes := rapid.IntRange(1, 30).Draw(t, "queries"), rapid.IntRange(2, 30).Draw(t, "classes")
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		counts := make([]int, queries*classes)
		for i := range counts {
			counts[i] = rnd.IntN(2) * rnd.IntN(120)
		}
		opt := votes.Options{Counts: true, Transpose: rapid.Bool().Draw(t, "transpose"), Teachers: classes * 120}
		if rapid.Bool().Draw(t, "stated") {
			opt.Classes = classes
		}
		rows, cols, at := queries, classes, func(r, c int) int { return counts[r*classes+c] }
		if opt.Transpose {
			rows, cols, at = classes, queries, func(r, c int) int { return counts[c*classes+r] }
		}
		opt.Header = votes.HeaderNo
		one := opened(t, opt, encodeCSV(",", "\n", false, rows, cols, func(r, c int) string { return fmt.Sprint(at(r, c)) }))
		other := opened(t, opt, encodeNPY(1, rapid.SampledFrom(slices.DeleteFunc(slices.Clone(npyTypes), func(s string) bool { return s == "|b1" })).Draw(t, "type"), rapid.Bool().Draw(t, "fortran"), rows, cols, at))
		require.Equal(t, one.Hash(), other.Hash())
		for _, s := range []*votes.Source{one, other} {
			require.True(t, s.Counts())
			require.Equal(t, slices.Collect(slices.Chunk(counts, classes)), votesOf(t, s))
			require.Error(t, testkit.Err(s.Load(context.Background())))
		}
	})
}

// TestTilesJoin reads columns that do not fit into one tile, of all widths of cells and from text too.
func TestTilesJoin(t *testing.T) {
	const queries, count = 301, 7
	cells := agreeingVotes(queries, count, 10)
	at := func(q, c int) int { return int(cells[q*count+c]) }
	for _, classes := range []int{10, 200} {
		want := opened(t, votes.Options{Classes: classes}, encodeNPY(1, "|i1", false, queries, count, at))
		all := testkit.Must(want.Load(context.Background()))
		for _, tile := range []int{1, 7, 100, 64 * 7, 1000, 1 << 20} {
			for _, from := range []int{0, 5, 200} {
				opt := votes.Options{Classes: classes, From: from, To: 250}
				s := testkit.Must(votes.OpenInTiles(opt, tile, encodeNPY(1, "<i4", true, queries, count, at)))
				require.Equal(t, want.Hash(), s.Hash())
				requireHistograms(t, all, s)
				opt.Transpose = true
				s = testkit.Must(votes.OpenInTiles(opt, tile, encodeCSV(",", "\n", false, count, queries, func(r, c int) string { return fmt.Sprint(at(c, r)) })))
				require.Equal(t, want.Hash(), s.Hash())
				requireHistograms(t, all, s)
			}
		}
	}
}

func TestOneFileForEachTeacher(t *testing.T) {
	dir := t.TempDir()
	want := testkit.Must(votes.New(3, 4, 5))
	for i, v := range []int{0, 4, -1, 2, 1, 4, 3, -1, 2, 2, 2, 2} {
		require.NoError(t, want.Set(i/4, i%4, v))
	}
	vector := func(typ, shape string, teacher int) []byte {
		var data []byte
		for q := range 3 {
			data = element(data, typ, want.At(q, teacher))
		}
		return npy(1, "{'descr': '"+typ+"', 'fortran_order': False, 'shape': "+shape+"}", data)
	}
	for name, file := range map[string][]byte{
		"t0.npy": vector("|i1", "(3,)", 0),
		"t1.npy": vector(">f4", "(3, 1)", 1),
		"t2.csv": []byte("votes\n\n3\n2\n"),
		"t3.csv": []byte("2\n-1\n2"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), file, 0o600))
	}
	pattern := filepath.Join(dir, "t*")
	open := func(paths ...string) (*votes.Source, error) {
		return votes.Open(context.Background(), paths, votes.Options{Classes: 5})
	}
	s := testkit.Must(open(pattern))
	require.Equal(t, want.Hash(), s.Hash())
	requireHistograms(t, want, s)
	// Whatever their order, files are sorted.
	s = testkit.Must(open(filepath.Join(dir, "t3.csv"), filepath.Join(dir, "t0.npy"), filepath.Join(dir, "t2.csv"), filepath.Join(dir, "t1.npy")))
	require.Equal(t, want.Hash(), s.Hash())
	require.ErrorContains(t, testkit.Err(open(filepath.Join(dir, "t0.npy"), pattern)), "given twice")
	require.ErrorIs(t, testkit.Err(open(filepath.Join(dir, "nothing*"))), os.ErrNotExist)
	require.ErrorContains(t, testkit.Err(open(dir)), "regular file")
	require.Error(t, testkit.Err(open()))
	require.Error(t, testkit.Err(votes.Open(context.Background(), []string{pattern}, votes.Options{Counts: true})))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t3.csv"), []byte("2\n-1\n"), 0o600))
	require.ErrorContains(t, testkit.Err(open(pattern)), "has 2 votes")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t3.csv"), []byte("2\n-1\n7\n"), 0o600))
	require.ErrorContains(t, testkit.Err(open(pattern)), "t3.csv: row 3, column 1 holds a vote outside the classes")
}

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
		return testkit.Write(t, filepath.Join(dir, file), text)
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

// Votes of models trained elsewhere: each line a query, each column a teacher.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "votes")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "votes.csv")
	if err := os.WriteFile(path, []byte("anna,ben,cleo\n0,0,1\n2,,2\n"), 0o600); err != nil {
		panic(err)
	}

	ctx := context.Background()
	source, err := votes.Open(ctx, []string{path}, votes.Options{Classes: 3})
	if err != nil {
		panic(err)
	}
	fmt.Println(source.Teachers(), "teachers,", source.Queries(), "queries")
	for ballot, err := range source.Histograms(ctx) {
		if err != nil {
			panic(err)
		}
		fmt.Println(ballot.Query, ballot.Histogram) // a histogram keeps its counts to itself
	}
	// Output:
	// 3 teachers, 2 queries
	// 0 aggregate.Histogram(redacted)
	// 1 aggregate.Histogram(redacted)
}
