package votes_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

func TestWhatIsWrongWithAFileIsSaid(t *testing.T) {
	square := func(typ string, data ...byte) []byte {
		return npy(1, "{'descr': '"+typ+"', 'fortran_order': False, 'shape': (2, 2), }", data)
	}
	float := func(v ...float64) []byte {
		var b []byte
		for _, x := range v {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		return square("<f8", b...)
	}
	labels := votes.Options{Classes: 3}
	counts := votes.Options{Counts: true, Teachers: 9}
	for name, c := range map[string]struct {
		opt  votes.Options
		file []byte
		want string
	}{
		"short row":          {labels, []byte("0,1,2\n0,1\n0,1,2\n"), "row 2 has 2 votes, but the other rows have 3; each row is a query and each column is a teacher; a missing vote is an empty cell; fix the row"},
		"long row":           {labels, []byte("a,b,c\n0,1,2\n0,1,2,0,1\n0,1,2\n"), "row 3 has 5 votes, but the other rows have 3"},
		"short last row":     {labels, []byte("0,1,2\n0,1"), "row 2 has 2 votes, but the other rows have 3"},
		"odd first row":      {labels, []byte("0,1\n0,1,2\n0,1,2\n"), "row 1 has 2 votes, but the other rows have 3"},
		"odd counts":         {counts, []byte("0,1,2\n0,1,2\n1\n"), "row 3 has 1 count, but the other rows have 3; each row is a query and each column is a class"},
		"odd transposed":     {votes.Options{Classes: 3, Transpose: true}, []byte("0,1,2\n0,1,2\n1\n"), "row 3 has 1 vote, but the other rows have 3; in a transposed file each row is a teacher"},
		"wrong header":       {labels, []byte("q,a,b\n0,1\n"), "has 3 names in its header, but 2 cells in row 2"},
		"row numbers":        {labels, []byte(",a,b\n0,1,1\n1,1,0\n"), `column 1 is named "", which means row numbers, not votes`},
		"query numbers":      {labels, []byte("Query,label\n0,1\n1,1\n"), `column 1 is named "query", which means row numbers, not votes`},
		"a row for a vote":   {labels, []byte("query,teacher,vote\n0,0,1\n0,1,2\n"), `pd.read_csv("votes0").pivot(index="query", columns="teacher", values="vote").to_csv("votes0-fixed.csv", index=False), with the names of its columns; or count the votes in the database, by pate votes sql`},
		"rows, index column": {votes.Options{Classes: 3, IndexColumn: true}, []byte("\"query\";\"Teacher\";\"Vote\"\r\n0;0;1\r\n0;1;2\r\n"), "has a row for each vote"},
		"numbered header":    {labels, []byte("0,1,2,3,4\n2,1,0,0,0\n"), "row 1 is 0, 1, 2, ...: is it a header of column numbers?"},
		"numbered frame":     {labels, []byte(",0,1,2,3,4\n0,2,1,0,0,0\n"), "give --header yes --index-column"},
		"a word among votes": {labels, []byte("0,NA,2,1\n2,1,0,0\n"), "row 1 has numbers and words: is it a header?"},
		"a mark among votes": {labels, []byte("0,1,2,?\n2,1,0,0\n"), "give --header yes or --header no"},
		"header and number":  {labels, []byte("a,b,,3\n2,1,0,0\n"), "row 1 has numbers and words"},
		"header alone":       {labels, []byte("a,b\n"), "has no votes"},
		"empty":              {labels, nil, "is empty"},
		"text":               {labels, []byte("0,1\n0,cat\n"), "row 2, column 2 holds no number; a vote is a class from 0 to 2; a missing vote is -1"},
		"hexadecimal":        {labels, []byte("0,1\n0,0x1\n"), "holds no number"},
		"infinite text":      {labels, []byte("0,1\n0,inf\n"), "holds a number that is not whole"},
		"NaN text":           {labels, []byte("0,1\n0,nan\n"), "row 2, column 2 holds NaN"},
		"fraction":           {labels, []byte("0,1\n0,1.5\n"), "row 2, column 2 holds a number that is not whole"},
		"beyond":             {labels, []byte("0,1\n3,1\n"), "row 2, column 1 holds a vote outside the classes"},
		"far beyond":         {labels, []byte("0,1\n1e999,1\n"), "row 2, column 1 holds a vote outside the classes"},
		"below":              {labels, []byte("0,1\n-2,1\n"), "row 2, column 1 holds a vote outside the classes"},
		"long cell":          {labels, []byte("0,1\n" + strings.Repeat("1", 5000) + ",1\n"), "a cell of more than 4096 bytes"},
		"open quote":         {labels, []byte("0,1\n\"1,1\n1,1\n"), "row 2 has 1 vote"},
		"negative count":     {counts, []byte("1,1\n-1,1\n"), "row 2, column 1 holds a count outside the range"},
		"missing count":      {counts, []byte("1,1\n1,\n"), "row 2, column 2 holds no number"},
		"too many votes":     {counts, []byte("1,1\n5,5\n"), "the counts of query 1 (from 0) add up to more than the 9 teachers"},
		"one class":          {counts, []byte("1\n2\n"), "has 1 classes"},
		"other classes":      {votes.Options{Counts: true, Classes: 3}, []byte("1,1\n"), "has 2 counts for each query, but there are 3 classes"},
		"other teachers":     {votes.Options{Classes: 3, Teachers: 5}, []byte("1,1\n"), "has 2 teachers, but 5 were expected"},
		"npy beyond":         {labels, square("|u1", 0, 1, 255, 0), "element [1, 0] holds a vote outside the classes"},
		"npy transposed":     {votes.Options{Classes: 3, Transpose: true}, square("|i1", 0, 1, 1, 9), "element [1, 1] holds"},
		"npy boolean":        {labels, square("|b1", 0, 1, 2, 0), "element [1, 0] holds a vote outside the classes"},
		"npy minus as u8":    {labels, square("<u8", slices.Repeat([]byte{255}, 32)...), "element [0, 0] holds a vote outside the classes"},
		"npy NaN":            {labels, float(0, 1, math.NaN(), 0), "element [1, 0] holds NaN"},
		"npy infinity":       {labels, float(0, 1, math.Inf(1), 0), "element [1, 0] holds a number that is not whole"},
		"npy fraction":       {labels, float(0, -.5, 0, 0), "element [0, 1] holds a number that is not whole"},
		"npy large float":    {labels, float(0, 1e300, 0, 0), "element [0, 1] holds a vote outside the classes"},
		"npy cut off":        {labels, square("|i1", 0, 1, 1), "which does not match the shape"},
		"npy goes on":        {labels, square("|i1", 0, 1, 1, 1, 1), "which does not match the shape"},
		"npy type":           {labels, square("<c8", 0, 1, 1, 1, 1), `holds NPY type "<c8"`},
		"npy native order":   {labels, square("=i4", 0, 1, 1, 1, 1), `holds NPY type "=i4"`},
		"npy version 4":      {labels, npy(4, "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 1)}", []byte{0}), "has an NPY header that is damaged or unknown"},
		"npy cut header":     {labels, square("|i1", 0, 1, 1, 1)[:30], "has an NPY header that is damaged or unknown"},
		"npy no teachers":    {labels, npy(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 0)}", nil), "has 0 teachers"},
		"npy overflow":       {labels, npy(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807)}", nil), "which does not match the shape"},
		"gzip":               {labels, []byte("\x1f\x8b..."), "cannot be unpacked (gzip)"},
		"binary":             {labels, []byte("1\x00"), "is neither text nor NPY"},
		"range":              {votes.Options{Classes: 3, From: 1, To: 4}, []byte("1,1\n1,1\n"), "has 2 queries, but queries 1:4 were requested"},
		"range from the end": {votes.Options{Classes: 3, From: 3}, []byte("1,1\n1,1\n"), "has 2 queries, but queries 3:2 were requested"},
	} {
		_, err := votes.OpenIn(c.opt, c.file)
		require.ErrorContains(t, err, c.want, name)
		testkit.ErrorAs[*fault.Error](t, err, name)
	}
	for _, opt := range []votes.Options{
		{}, {Classes: 1}, {Classes: votes.MaxClasses + 1}, {Classes: 2, Teachers: -1}, {Classes: 2, From: -1}, {Classes: 2, From: 2, To: 2}, {Classes: 2, Header: "perhaps"},
	} {
		require.Error(t, testkit.Err(votes.OpenIn(opt, []byte("1,1\n"))))
	}
}

// TestErrorsDoNotQuoteVotes: a message may go to a log.
func TestErrorsDoNotQuoteVotes(t *testing.T) {
	for _, file := range []string{"0,1\n0,7788\n", "0,1\n0,secret\n", "0,1\n0,1.7788\n"} {
		_, err := votes.OpenIn(votes.Options{Classes: 3}, []byte(file))
		require.NotContains(t, err.Error(), "7788")
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestAFileThatChangesIsRefused(t *testing.T) {
	path := testkit.Write(t, filepath.Join(t.TempDir(), "votes.csv"), "0,1\n1,1\n")
	s := testkit.Must(votes.Open(context.Background(), []string{path}, votes.Options{Classes: 2}))
	for change, do := range map[string]func() error{
		"content": func() error {
			if err := os.WriteFile(path, []byte("0,1\n1,0\n"), 0o600); err != nil {
				return err
			}
			return os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour))
		},
		"length": func() error { return os.WriteFile(path, []byte("0,1\n1,1\n1,1\n"), 0o600) },
		"gone":   func() error { return os.Remove(path) },
	} {
		require.NoError(t, do(), change)
		var last error
		for _, err := range s.Histograms(context.Background()) {
			last = err
		}
		require.Error(t, last, change)
	}
}

func TestReadingStopsWhenAsked(t *testing.T) {
	s := opened(t, votes.Options{Classes: 2}, []byte("0,1\n1,1\n0,0\n"))
	for _, err := range s.Histograms(testkit.Ended()) {
		require.ErrorIs(t, err, context.Canceled)
	}
	require.ErrorIs(t, testkit.Err(s.Load(testkit.Ended())), context.Canceled)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %d", s, s, s, s), "hash")
}

// TestHeadersAreNotBelieved: a file of 1 KB that claims 10^12 queries, in each of the ways, costs next to
// no memory.
func TestHeadersAreNotBelieved(t *testing.T) {
	for _, typ := range []string{"|i1", "<f8"} {
		for _, fortran := range []string{"True", "False"} {
			for _, shape := range []string{"(1000000000000, 250)", "(250, 1000000000000)", "(1000000000000,)", "(1048576, 1000000000000)"} {
				for _, transpose := range []bool{true, false} {
					file := npy(1, "{'descr': '"+typ+"', 'fortran_order': "+fortran+", 'shape': "+shape+", }\n", make([]byte, 1000))
					require.Less(t, testkit.Allocated(func() {
						require.Error(t, testkit.Err(votes.OpenIn(votes.Options{Classes: 10, Transpose: transpose}, file)))
					}), uint64(1<<18))
				}
			}
		}
	}
}

// A first row of words and numbers is what somebody says it is: a header, which is no query, or votes, one
// of which is none.
func TestMixedFirstRowIsWhatIsSaid(t *testing.T) {
	file := []byte("0,NA,2,1\n2,1,0,0\n")
	require.Equal(t, 1, opened(t, votes.Options{Classes: 3, Header: votes.HeaderYes}, file).Total())
	require.ErrorContains(t, testkit.Err(votes.OpenIn(votes.Options{Classes: 3, Header: votes.HeaderNo}, file)), "row 1")
}
