package dataset

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/testkit"
)

// people reads one of the tables that pandas wrote.
func people(t *testing.T, name string, opt CSVOptions) *Table {
	t.Helper()
	opt.Label = "outcome"
	table := testkit.Must(ReadTable(filepath.Join("testdata/parquet", name), opt))
	table.Name, table.Provenance, table.lines, table.path = "", "", nil, "" // say which file it was
	return table
}

// TestParquetIsTheTableOfTheCSV: cells, labels, units and the features that come of them are those of the
// CSV that pandas writes of the same table, however rows are grouped.
func TestParquetIsTheTableOfTheCSV(t *testing.T) {
	for _, opt := range []CSVOptions{{}, {Unit: "patient"}, {Unit: "patient", Drop: []string{"age", "6"}}, {Optional: true}} {
		want := people(t, "people.csv", opt)
		require.Equal(t, 60, want.Len())
		for _, name := range []string{"people.parquet", "groups.parquet"} {
			require.Equal(t, want, people(t, name, opt), name)
		}
	}
	reading := Reading{CSV: CSVOptions{Label: "outcome", Unit: "patient"}}
	hash := func(public, private string) [2][32]byte {
		s, pool, err := ReadPublic(Source{Path: "testdata/parquet/" + public}, reading)
		require.NoError(t, err)
		return [2][32]byte{pool.Hash(), testkit.Must(s.ReadPrivate(Source{Path: "testdata/parquet/" + private})).Hash()}
	}
	want := hash("people.csv", "people.csv")
	for _, public := range []string{"people.csv", "people.parquet"} {
		for _, private := range []string{"people.parquet", "groups.parquet"} {
			require.Equal(t, want, hash(public, private))
		}
	}
	opened := testkit.Must(Open("testdata/parquet/people.parquet", Options{CSV: CSVOptions{Label: "outcome"}}))
	require.Equal(t, Columns, opened.Kind)
	require.Equal(t, []string{"ill", "well"}, testkit.Must(opened.Task(Literature)).Classes)
}

// TestARowThatChangesTheTypeOfAColumnMovesNoOther: with one row more, in which an integer is missing,
// pandas writes a column of integers as floats; all others keep their names and cells.
func TestARowThatChangesTheTypeOfAColumnMovesNoOther(t *testing.T) {
	without, with := people(t, "people.parquet", CSVOptions{}), people(t, "gap.parquet", CSVOptions{})
	all := upTo(without.Len())
	require.Equal(t, without.Len()+1, with.Len())
	header := without.header
	without, with = without.Rows(all), with.Rows(all)
	require.Equal(t, without, with)
	require.NotNil(t, header)
}

func TestRowNumbersOfPandasAreLeftOut(t *testing.T) {
	want := people(t, "people.parquet", CSVOptions{})
	shuffled := people(t, "index.parquet", CSVOptions{})
	require.Equal(t, "__index_level_0__", shuffled.Columns[len(shuffled.Columns)-1].Name)
	e := testkit.Must(fitEncoder(shuffled, nil))
	require.Equal(t, testkit.Must(fitEncoder(want, nil)).Dim(), e.Dim())
	require.Contains(t, e.Notes()[len(e.Notes())-1].Becomes, "left out")
}

// TestColumnThatIsNotRead: timestamps are refused by the name of their column; dropped, they are no matter.
func TestColumnThatIsNotRead(t *testing.T) {
	_, err := ReadTable("testdata/parquet/dates.parquet", CSVOptions{Label: "outcome"})
	e := testkit.ErrorAs[*fault.Error](t, err)
	require.Equal(t, `holds timestamps in column "seen"`, e.What)
	require.Contains(t, e.Fix, `df["seen"].astype(str)`)
	require.ErrorContains(t, testkit.Err(ReadTable("testdata/parquet/dates.parquet", CSVOptions{Label: "seen"})), "timestamps")
	table := people(t, "dates.parquet", CSVOptions{Drop: []string{"seen"}})
	require.Equal(t, people(t, "people.parquet", CSVOptions{}).Columns, table.Columns)
}

// TestNewRowsWithAColumnThatIsNotRead: a model that was made without that column is asked all the same, and
// one that needs it refuses the file.
func TestNewRowsWithAColumnThatIsNotRead(t *testing.T) {
	reading := Reading{CSV: CSVOptions{Label: "outcome"}}
	without, _, err := ReadPublic(Source{Path: "testdata/parquet/people.csv"}, reading)
	require.NoError(t, err)
	pool := testkit.Must(without.ReadNew(Source{Path: "testdata/parquet/dates.parquet"}))
	require.Equal(t, testkit.Must(without.ReadNew(Source{Path: "testdata/parquet/people.csv"})).X, pool.X)

	lines := strings.Split(strings.TrimSpace(string(testkit.Must(os.ReadFile("testdata/parquet/people.csv")))), "\n")
	for i := range lines {
		lines[i] = strconv.Itoa(i%7) + "," + lines[i]
	}
	lines[0] = "seen" + lines[0][1:]
	with, _, err := ReadPublic(Source{Path: put(t, t.TempDir(), "people.csv", []byte(strings.Join(lines, "\n")))}, reading)
	require.NoError(t, err)
	require.ErrorContains(t, testkit.Err(with.ReadNew(Source{Path: "testdata/parquet/dates.parquet"})), "timestamps")
}

func TestParquetThatIsDamaged(t *testing.T) {
	path := put(t, t.TempDir(), "x.parquet", []byte("PAR1..."))
	_, _, err := ReadPublic(Source{Path: path}, Reading{})
	require.ErrorContains(t, err, "too short to be Parquet")
	_, err = ReadTable("testdata/parquet/people.parquet", CSVOptions{Label: "outcome", Names: []string{"a"}})
	require.ErrorContains(t, err, "1 column names are given")
}

// TestCompressedTable: gzip and Zstandard read as the plain text; one that unpacks to far more than its
// size is refused before it fills the memory.
func TestCompressedTable(t *testing.T) {
	text := testkit.Must(os.ReadFile("testdata/parquet/people.csv"))
	enc := testkit.Must(zstd.NewWriter(nil))
	dir := t.TempDir()
	opt := CSVOptions{Label: "outcome", Unit: "patient"}
	want := testkit.Must(ReadTable("testdata/parquet/people.csv", opt))
	for name, raw := range map[string][]byte{"people.csv.gz": testkit.Gzip(text), "people.csv.zst": enc.EncodeAll(text, nil)} {
		got := testkit.Must(ReadTable(put(t, dir, name, raw), opt))
		require.Equal(t, want.Columns, got.Columns)
		require.Equal(t, want.Name, got.Name)
	}
}
