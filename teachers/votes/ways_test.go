package votes_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// The votes that every file of TestWaysToWriteVotes means: 5 queries, 4 teachers, 3 classes.
var meant = [5][4]int{{0, 1, 2, 2}, {1, 1, 1, 0}, {2, 2, 0, 2}, {0, 0, 0, 1}, {2, 1, 2, 2}}

func meantAt(r, c int) int { return meant[r][c] }

// text writes them as lines of cells.
func text(sep, newline string, cell func(v int) string) string {
	return string(encodeCSV(sep, newline, false, 5, 4, func(r, c int) string { return cell(meant[r][c]) }))
}

func number(v int) string { return fmt.Sprint(v) }

var diseases = []string{"flu", "hay fever", "gout"}

// npyStrings writes them as numpy.save writes strings, of kind U or S.
func npyStrings(descr string, cell func(v int) string) []byte {
	var data []byte
	var width int
	fmt.Sscanf(descr[2:], "%d", &width)
	for r := range 5 {
		for c := range 4 {
			letters := []rune(cell(meant[r][c]))
			for i := range width {
				var letter rune
				if i < len(letters) {
					letter = letters[i]
				}
				switch {
				case descr[1] == 'S':
					data = append(data, byte(letter))
				case descr[0] == '>':
					data = binary.BigEndian.AppendUint32(data, uint32(letter))
				default:
					data = binary.LittleEndian.AppendUint32(data, uint32(letter))
				}
			}
		}
	}
	return npy(1, fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (5, 4), }\n", descr), data)
}

// npyFloats writes an array of doubles.
func npyFloats(shape string, values ...float64) []byte {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	return npy(1, fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }\n", shape), data)
}

// TestWaysToWriteVotes: each way in which people save votes is read, or refused with what mends it.
func TestWaysToWriteVotes(t *testing.T) {
	plain := votes.Options{Classes: 3}
	named := votes.Options{ClassNames: diseases}
	disease := func(v int) string { return diseases[v] }
	one := votes.Options{Classes: 3, FirstClass: 1}
	fromOne := func(v int) string { return fmt.Sprint(v + 1) }
	dates := testkit.Must(os.ReadFile("../../dataset/testdata/parquet/dates.parquet"))
	counts := "1,1,2\n1,3,0\n1,0,3\n3,1,0\n0,1,3\n"
	for name, c := range map[string]struct {
		opt  votes.Options
		file []byte
		fix  string // "": it is read
	}{
		"numbers":                    {plain, []byte(text(",", "\n", number)), ""},
		"semicolons":                 {plain, []byte(text(";", "\n", number)), ""},
		"tabs, CR LF":                {plain, []byte(text("\t", "\r\n", number)), ""},
		"comma and blank":            {plain, []byte(text(", ", "\n", number)), ""},
		"a header":                   {plain, []byte("a,b,c,d\n" + text(",", "\n", number)), ""},
		"a byte order mark":          {plain, []byte("\xef\xbb\xbf" + text(",", "\n", number)), ""},
		"whole floats":               {plain, []byte(text(",", "\n", func(v int) string { return fmt.Sprintf("%d.0", v) })), ""},
		"np.savetxt with commas":     {plain, []byte(text(",", "\n", func(v int) string { return fmt.Sprintf("%.18e", float64(v)) })), ""},
		"quoted":                     {plain, []byte(text(",", "\n", func(v int) string { return fmt.Sprintf("%q", number(v)) })), ""},
		"int64":                      {plain, encodeNPY(1, "<i8", false, 5, 4, meantAt), ""},
		"uint8":                      {plain, encodeNPY(1, "|u1", false, 5, 4, meantAt), ""},
		"float64 in Fortran order":   {plain, encodeNPY(1, "<f8", true, 5, 4, meantAt), ""},
		"counts":                     {votes.Options{Counts: true, Teachers: 4}, []byte(counts), ""},
		"counts, one row a class":    {votes.Options{Counts: true, Transpose: true}, []byte("1,1,1,3,0\n1,3,0,1,1\n2,0,3,0,3\n"), ""},
		"names":                      {named, []byte(text(",", "\n", disease)), ""},
		"names below a header":       {named, []byte("t1,t2,t3,t4\n" + text(",", "\n", disease)), ""},
		"quoted names":               {named, []byte(text(";", "\r\n", func(v int) string { return fmt.Sprintf("%q", disease(v)) })), ""},
		"numbers for names":          {named, []byte(text(",", "\n", number)), ""},
		"int64 for names":            {named, encodeNPY(1, "<i8", false, 5, 4, meantAt), ""},
		"int8 for names":             {named, encodeNPY(1, "|i1", false, 5, 4, meantAt), ""},
		"strings, little-endian":     {named, npyStrings("<U9", disease), ""},
		"strings, big-endian":        {named, npyStrings(">U12", disease), ""},
		"byte strings":               {named, npyStrings("|S9", disease), ""},
		"strings of digits":          {plain, npyStrings("<U1", number), ""},
		"names that are numbers":     {votes.Options{ClassNames: []string{"7", "-1", "40"}}, []byte(text(",", "\n", func(v int) string { return []string{"7", "-1", "40"}[v] })), ""},
		"int16 of such names":        {votes.Options{ClassNames: []string{"7", "-1", "40"}}, encodeNPY(1, "<i2", false, 5, 4, func(r, c int) int { return []int{7, -1, 40}[meant[r][c]] }), ""},
		"float32 of such names":      {votes.Options{ClassNames: []string{"7", "-1", "40"}}, encodeNPY(1, "<f4", false, 5, 4, func(r, c int) int { return []int{7, -1, 40}[meant[r][c]] }), ""},
		"from 1":                     {one, []byte(text(",", "\n", fromOne)), ""},
		"int64 from 1":               {one, encodeNPY(1, "<i8", false, 5, 4, func(r, c int) int { return meant[r][c] + 1 }), ""},
		"int8 from 1":                {one, encodeNPY(1, "|i1", false, 5, 4, func(r, c int) int { return meant[r][c] + 1 }), ""},
		"floats from 1":              {one, encodeNPY(1, "<f4", false, 5, 4, func(r, c int) int { return meant[r][c] + 1 }), ""},
		"names, numbers from 1":      {votes.Options{ClassNames: diseases, FirstClass: 1}, []byte(text(",", "\n", fromOne)), ""},
		"blank lines at the end":     {plain, []byte(text(",", "\n", number) + "\n \n"), ""},
		"names without --class-na..": {plain, []byte("a,b,c,d\n" + text(",", "\n", disease)), "--class-names A,B,C"},
		"strings without them":       {plain, npyStrings("<U9", disease), "--class-names A,B,C"},
		"a name too many":            {votes.Options{ClassNames: diseases[:2], Header: votes.HeaderNo}, []byte(text(",", "\n", disease)), "name every public class"},
		"a name too many in row 1":   {votes.Options{ClassNames: diseases[:2]}, []byte(text(",", "\n", disease)), "name every public class, or give --header"},
		"words for missing votes":    {plain, []byte("0,NA,1,2\n" + text(",", "\n", number)), "--header yes or --header no"},
		"words further down":         {plain, []byte(text(",", "\n", number) + "0,NA,1,2\n"), "a missing vote as -1"},
		"from 1, unsaid":             {plain, []byte(text(",", "\n", fromOne)), "--first-class 1"},
		"int8 from 1, unsaid":        {plain, encodeNPY(1, "|i1", false, 5, 4, func(r, c int) int { return meant[r][c] + 1 }), "--first-class 1"},
		"from 0, said from 1":        {one, []byte(text(",", "\n", number)), "omit --first-class"},
		"from 1, one class more":     {one, []byte("1,2,3,1\n4,1,1,1\n"), "--classes"},
		"counts, unsaid":             {plain, []byte("1,1,2\n1,4,0\n1,0,3\n4,1,0\n0,1,3\n"), "--counts"},
		"counts by class, unsaid":    {plain, []byte("1,1,1,3,0\n1,4,0,1,1\n2,0,3,0,3\n"), "--counts, --transpose"},
		"objects":                    {plain, npy(1, "{'descr': '|O', 'fortran_order': False, 'shape': (5, 4), }\n", []byte("pickle")), `v = np.load("votes0", allow_pickle=True); np.save("votes0-fixed.npy", np.where(v == None, "", v).astype(str))`},
		"records":                    {plain, npy(1, "{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (5,), }\n", make([]byte, 40)), `np.array(np.load("votes0").tolist())`},
		"dates":                      {plain, npy(1, "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1, 1), }\n", make([]byte, 8)), "np.stack("},
		"teachers' probabilities":    {plain, npyFloats("2, 4, 3", make([]float64, 24)...), `np.save("votes0-fixed.npy", np.load("votes0").argmax(axis=2).T)`},
		"queries' probabilities":     {plain, npyFloats("4, 2, 3", make([]float64, 24)...), `np.save("votes0-fixed.npy", np.load("votes0").argmax(axis=2))`},
		"classes in the middle":      {plain, npyFloats("2, 3, 4", make([]float64, 24)...), `np.load("votes0").argmax(axis=1).T`},
		"a mean of probabilities":    {plain, npyFloats("2, 3", .2, .3, .5, .1, .8, .1), "np.stack("},
		"probabilities of class 1":   {votes.Options{Classes: 2}, npyFloats("2, 3", .2, .3, .5, 0, .9, 1), `(np.load("votes0") > 0.5).astype("int8")`},
		"the same in CSV":            {votes.Options{Classes: 2}, []byte("a;b;c\n.2;.3;.5\n0;.9;1\n"), `(np.genfromtxt("votes0", delimiter=";", skip_header=1) > 0.5)`},
		"NaN for missing votes":      {plain, npyFloats("3, 2", 1, 2, 0, math.NaN(), 1, 1), `np.nan_to_num(np.load("votes0"), nan=-1)`},
		"nan in CSV":                 {plain, []byte("1,2\n0,nan\n1,1\n"), `np.nan_to_num(np.genfromtxt("votes0", delimiter=",", skip_header=0), nan=-1)`},
		"scores":                     {plain, npyFloats("3, 2", 1, 2, 0, 2.5, 1, -1.5), "class numbers"},
		"pandas' index, named":       {plain, []byte(",a,b\n0,1,2\n1,0,0\n"), `pd.read_csv("votes0", index_col=0).to_csv("votes0-fixed.csv", index=False)`},
		"pandas' index, no header":   {plain, []byte("0;1;2\n1;0;0\n2;0;0\n3;1;0\n"), `pd.read_csv("votes0", index_col=0, header=None, sep=";").to_csv("votes0-fixed.csv", index=False, header=False)`},
		"an index in NPY":            {plain, encodeNPY(1, "<i8", false, 5, 2, func(r, c int) int { return (1 - c) * (r + 1) }), `np.load("votes0")[:, 1:]`},
		"np.savetxt":                 {plain, []byte(text(" ", "\n", func(v int) string { return fmt.Sprintf("%.18e", float64(v)) })), `np.save("votes0-fixed.npy", np.loadtxt("votes0"))`},
		"np.savetxt of 1000":         {plain, []byte(strings.Repeat("1.000000000000000000e+00 ", 1000) + "\n"), `np.loadtxt("votes0")`},
		"np.savetxt, a header":       {plain, []byte("# votes by teacher\n" + text(" ", "\n", number)), `np.loadtxt("votes0")`},
		"CR alone":                   {plain, []byte(text(",", "\r", number)), `open("votes0-fixed.csv", "w").write(open("votes0").read())`},
		"a blank line":               {plain, []byte("0,1,2\n\n0,1,2\n"), `if line.strip())`},
		"a blank line first":         {plain, []byte("\n0,1,2\n0,1,2\n"), `if line.strip())`},
		"a blank line below a head":  {plain, []byte("a,b,c\n\n0,1,2\n0,1,2\n"), `if line.strip())`},
		"JSON":                       {plain, []byte("[[0, 1], [2, 1]]"), `np.array(json.load(open("votes0")))`},
		"numpy.savez":                {plain, []byte("PK\x03\x04\x00\x00"), `next(iter(np.load("votes0").values()))`},
		"Parquet, a column of dates": {plain, dates, `df["seen"] = df["seen"].astype(str)`},
		"pickle":                     {plain, []byte("\x80\x04\x95\x00\x00"), `pickle.load(open("votes0", "rb"))`},
		"UTF-16":                     {plain, []byte("\xff\xfe0\x00"), "UTF-8"},
		"Feather":                    {plain, ofPandas(t, "table.feather"), `pd.read_feather("votes0").to_parquet("votes0-fixed.parquet", index=False)`},
		"Parquet, a row for a vote":  {plain, ofPandas(t, "long.parquet"), `pd.read_parquet("votes0").pivot(index="query", columns="teacher", values="vote")`},
		"Parquet, not whole":         {votes.Options{Classes: 2}, ofPandas(t, "odd.parquet"), `np.save("votes0-fixed.npy", (pd.read_parquet("votes0").values > 0.5)`},
		"a vector":                   {plain, npyFloats("3", 0, 1, 2), "np.stack("},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := votes.OpenIn(c.opt, c.file)
			if c.fix == "" {
				require.NoError(t, err)
				requireMeant(t, s)
				return
			}
			told := testkit.ErrorAs[*fault.Error](t, err)
			require.Contains(t, told.Fix, c.fix)
			require.NotContains(t, told.Fix, "\n")
		})
	}
}

func requireMeant(t *testing.T, s *votes.Source) {
	t.Helper()
	require.Equal(t, 5, s.Queries())
	for ballot, err := range s.Histograms(context.Background()) {
		require.NoError(t, err)
		var want [3]int
		for _, v := range meant[ballot.Query] {
			want[v]++
		}
		require.Equal(t, want[:], ballot.Histogram.Reveal())
	}
}

// However classes are called, the votes are the same: they have one hash.
func TestNamesAreNoVotes(t *testing.T) {
	hash := func(opt votes.Options, file []byte) [32]byte {
		return opened(t, opt, file).Hash()
	}
	want := hash(votes.Options{Classes: 3}, encodeNPY(1, "|i1", false, 5, 4, meantAt))
	require.Equal(t, want, hash(votes.Options{ClassNames: diseases}, npyStrings("<U9", func(v int) string { return diseases[v] })))
	require.Equal(t, want, hash(votes.Options{Classes: 3, FirstClass: 1}, []byte(text(",", "\n", func(v int) string { return fmt.Sprint(v + 1) }))))
}

// Missing votes stay missing whatever classes are called, but where -1 is a class.
func TestMissingVotesBesideNames(t *testing.T) {
	for name, c := range map[string]struct {
		opt  votes.Options
		file string
		want [3]int
	}{
		"names":           {votes.Options{ClassNames: diseases}, "flu,,-1,gout\n", [3]int{1, 0, 1}},
		"from 1":          {votes.Options{Classes: 3, FirstClass: 1}, "1,,-1,3\n", [3]int{1, 0, 1}},
		"-1 is a class":   {votes.Options{ClassNames: []string{"-1", "0", "1"}}, "-1,,-1,1\n", [3]int{2, 0, 1}},
		"one name, twice": {votes.Options{ClassNames: []string{"01", "1", "2"}}, "01,1,1,\n", [3]int{1, 2, 0}},
	} {
		require.Equal(t, [][]int{c.want[:]}, votesOf(t, opened(t, c.opt, []byte(c.file))), name)
	}
}

// A name that no class has is counted, and told to nobody.
func TestUnknownNamesAreCounted(t *testing.T) {
	opt := votes.Options{ClassNames: diseases}
	for _, file := range [][]byte{
		[]byte("flu,gout\nleprosy,flu\nflu,leprosy\n"),
		npy(1, "{'descr': '|S7', 'fortran_order': False, 'shape': (3, 2), }\n", []byte("flu\x00\x00\x00\x00gout\x00\x00\x00leprosyflu\x00\x00\x00\x00flu\x00\x00\x00\x00leprosy")),
	} {
		r := testkit.Must(votes.CheckIn(opt, file))
		require.EqualValues(t, 2, r.NotNumber)
		require.True(t, votes.Failed(r.Findings()))
		require.NotContains(t, fmt.Sprint(r.Findings(), r.FirstInvalid), "leprosy")
		_, err := votes.OpenIn(opt, file)
		require.ErrorContains(t, err, "a word that is not a class name")
		require.NotContains(t, err.Error(), "leprosy")
	}
}

// TestClassNamesThatFilesWouldObey: labels are written with the names of classes, into files that
// spreadsheets open.
func TestClassNamesThatFilesWouldObey(t *testing.T) {
	for _, name := range []string{"=HYPERLINK(1)", "@a", "-x", "+1+2", "a\u202eb", "a\x1bb"} {
		require.ErrorContains(t, votes.CheckClassNames([]string{"a", name}), "class name 2", name)
	}
	require.NoError(t, votes.CheckClassNames([]string{"-", "+", "-1", "<=50K"}))
}

// Votes that are read, and mean something else, are noticed.
func TestVotesThatMeanSomethingElse(t *testing.T) {
	balance := func(opt votes.Options, file string) votes.Finding {
		return testkit.Must(votes.CheckIn(opt, []byte(file))).Findings()[1]
	}
	signs := balance(votes.Options{Classes: 2}, "-1,1,1\n1,-1,1\n1,1,-1\n")
	require.Equal(t, votes.LevelFail, signs.Level)
	require.Contains(t, signs.Detail, "--class-names=-1,1")
	one := balance(votes.Options{Classes: 4}, text(",", "\n", func(v int) string { return fmt.Sprint(v + 1) }))
	require.Contains(t, one.Detail, "--classes 3 --first-class 1")
	require.Contains(t, balance(votes.Options{ClassNames: diseases}, text(",", "\n", number)).Detail, "hay fever 30.0")
}

// What cannot name a class is refused.
func TestClassNamesThatAreRefused(t *testing.T) {
	for name, names := range map[string][]string{
		"one": {"a"}, "twice": {"a", "a"}, "empty": {"a", ""}, "blanks": {"a", " b"}, "line": {"a", "b\nc"}, "quote": {"a", `b"`},
		"no text": {"a", "\xff"}, "long": {"a", strings.Repeat("b", 300)},
	} {
		require.Error(t, testkit.Err(votes.OpenIn(votes.Options{ClassNames: names}, []byte("a\n"))), name)
	}
	_, err := votes.OpenIn(votes.Options{ClassNames: diseases, Classes: 2}, []byte("flu\n"))
	require.ErrorContains(t, err, "3 class names and 2 classes")
	require.ErrorContains(t, testkit.Err(votes.OpenIn(votes.Options{Classes: 3, FirstClass: -1}, []byte("0\n"))), "FirstClass")
}

// ofPandas reads a file of votes that pandas wrote.
func ofPandas(t testing.TB, name string) []byte {
	return testkit.Must(os.ReadFile(filepath.Join("testdata/parquet", name)))
}

// TestParquetVotes: votes and counts as pandas writes them mean what the same matrix means.
func TestParquetVotes(t *testing.T) {
	plain, named := votes.Options{Classes: 3}, votes.Options{ClassNames: diseases}
	want := opened(t, plain, []byte(text(",", "\n", number)))
	for name, opt := range map[string]votes.Options{
		"int64.parquet": plain, "int8.parquet": plain, "float32.parquet": plain, "int64.parquet.gz": plain,
		"words.parquet": named, "index.parquet": named, "counts.parquet": {Counts: true, Teachers: 4},
	} {
		s := opened(t, opt, ofPandas(t, name))
		requireMeant(t, s)
		if !opt.Counts {
			require.Equal(t, want.Hash(), s.Hash(), name)
		}
		require.Contains(t, []string{"Parquet", "gzip of Parquet"}, s.Kind())
	}
	m := loaded(t, plain, ofPandas(t, "missing.parquet"))
	require.Equal(t, []int{-1, 1}, []int{m.At(1, 2), m.At(1, 1)})
	m = loaded(t, votes.Options{Classes: 2}, ofPandas(t, "twoclass.parquet"))
	require.Equal(t, []int{0, 1}, []int{m.At(0, 0), m.At(0, 1)})
	m = loaded(t, votes.Options{ClassNames: []string{"True", "False"}}, ofPandas(t, "twoclass.parquet"))
	require.Equal(t, []int{1, 0}, []int{m.At(0, 0), m.At(0, 1)})
}

func TestDamagedParquetIsRefused(t *testing.T) {
	raw := ofPandas(t, "int64.parquet")
	require.ErrorContains(t, testkit.Err(votes.OpenIn(votes.Options{Classes: 3}, raw[:len(raw)-3])), "votes0: begins as a Parquet file")
	raw[5] ^= 0xff
	require.ErrorContains(t, testkit.Err(votes.OpenIn(votes.Options{Classes: 3}, raw)), "votes0: row group 0 column \"t0\"")
}

func packed(raw []byte) (gz, zst []byte) {
	return testkit.Gzip(raw), testkit.Must(zstd.NewWriter(nil)).EncodeAll(raw, nil)
}

// TestCompressedVotes: gzip and Zstandard, as a matrix or as files of one teacher, and what is too large
// when it is unpacked.
func TestCompressedVotes(t *testing.T) {
	for _, raw := range [][]byte{[]byte(text(";", "\n", number)), encodeNPY(1, "<i8", true, 5, 4, meantAt)} {
		gz, zst := packed(raw)
		for _, file := range [][]byte{gz, zst} {
			requireMeant(t, opened(t, votes.Options{Classes: 3}, file))
			require.ErrorContains(t, testkit.Err(votes.OpenIn(votes.Options{Classes: 3}, file[:len(file)-2])), "votes0: cannot be unpacked")
			require.NoError(t, testkit.Err(votes.OpenFull(votes.Options{Classes: 3}, int64(len(raw)), file)))
			require.ErrorContains(t, testkit.Err(votes.OpenFull(votes.Options{Classes: 3}, int64(len(raw))-1, file)), "unpacks to more than")
		}
	}
	var files [][]byte
	for teacher := range 4 {
		gz, zst := packed(encodeNPY(1, "|i1", false, 5, 1, func(r, _ int) int { return meant[r][teacher] }))
		files = append(files, [][]byte{gz, zst}[teacher%2])
	}
	s := opened(t, votes.Options{Classes: 3}, files...)
	requireMeant(t, s)
	require.Equal(t, "gzip of NPY of type i1", s.Kind())
}

// TestUnpackedVotesLeaveNoFile: what is unpacked has no name.
func TestUnpackedVotesLeaveNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := testkit.Must(votes.Open(context.Background(), []string{"testdata/parquet/words.parquet"}, votes.Options{ClassNames: diseases}))
	require.Empty(t, testkit.Must(os.ReadDir(dir)))
	requireMeant(t, s)
	_, err := votes.Open(testkit.Ended(), []string{"testdata/parquet/words.parquet"}, votes.Options{ClassNames: diseases})
	require.ErrorIs(t, err, context.Canceled)
}
