package dataset

import (
	"fmt"
	"image"
	"image/png"
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

func people(t *testing.T, name string, opt CSVOptions) *Table {
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
		s, pool := testkit.Must2(ReadPublic(Source{Path: "testdata/parquet/" + public}, reading))
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
	without, _ := testkit.Must2(ReadPublic(Source{Path: "testdata/parquet/people.csv"}, reading))
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
	require.ErrorContains(t, testkit.Err2(ReadPublic(Source{Path: path}, Reading{})), "too short to be Parquet")
	_, err := ReadTable("testdata/parquet/people.parquet", CSVOptions{Label: "outcome", Names: []string{"a"}})
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

const canary = "MrsCanary"

// requireOfOwner checks that an error about a private file is marked for the owner alone. The cells of a
// first line that may be a row are in none.
func requireOfOwner(t *testing.T, err error, firstLine bool) {
	t.Helper()
	require.Error(t, err)
	if firstLine {
		require.NotContains(t, err.Error(), canary)
	}
	require.Contains(t, err.Error(), "owner alone")
	require.Equal(t, 1, strings.Count(err.Error(), "owner alone"), err)
}

// Every error that reading a private file makes is marked for its owner alone, whatever it quotes, and a
// line that may be a row is not quoted at all.
func TestErrorsFromModelFilesAreForTheirOwner(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) { require.NoError(t, os.WriteFile(at(name), []byte(text), 0o600)) }
	const head = "age,ward,kind,who\n"
	rows := strings.Repeat("30,east,a,p1\n40,west,b,p2\n", 20)
	write("public.csv", head+rows)
	named := Reading{CSV: CSVOptions{Label: "kind", Unit: "who"}}
	numbered := Reading{CSV: CSVOptions{Label: "3", Unit: "4", Header: HeaderYes}}
	ranges := testkit.Must(parseRanges("ranges.csv", []byte("age,0..100\nward,east,west\n")))

	for name, c := range map[string]struct {
		text      string
		reading   Reading
		firstLine bool // the canary stands in the first one
	}{
		"no header, a number":      {"26,north," + canary + ",p3\n" + rows, named, true},
		"no header, texts":         {"old,north," + canary + ",p3\n" + rows, named, true},
		"no header, by number":     {"old,north,c," + canary + "\n" + rows, numbered, true},
		"no header, missing cell":  {"?,NA," + canary + ",p3\n" + rows, named, true},
		"a column fewer":           {"age,kind,who\n30,a," + canary + "\n", named, false},
		"a column twice":           {"age,age,ward,kind,who\n30,3,east,a," + canary + "\n", named, false},
		"label":                    {head + "30,east," + canary + ",p1\n", named, false},
		"no label":                 {head + rows + "30,east,," + canary + "\n", named, false},
		"no unit":                  {head + canary + ",east,a,\n", named, false},
		"cells":                    {head + "30,east,a,p1," + canary + "\n", named, false},
		"quotes":                   {head + "30,\"ea\"" + canary + "\"st,a,p1\n", named, false},
		"other units of measure":   {head + strings.NewReplacer("east", canary, "west", canary).Replace(rows), named, false},
		"no row":                   {head, named, false},
		"a quote that never ends":  {head + "30,\"" + canary + strings.Repeat("x", maxRecord), named, false},
		"header of numbers, label": {"26,north,kind," + canary + "\n" + rows, named, true},
	} {
		t.Run(name, func(t *testing.T) {
			write("private.csv", c.text)
			c.reading.CSV.Header = HeaderYes
			schema, _, err := ReadPublic(Source{Path: at("public.csv")}, Reading{CSV: CSVOptions{Label: "kind", Unit: "who"}})
			require.NoError(t, err)
			schema.reading = c.reading
			_, err = schema.ReadPrivate(Source{Path: at("private.csv")})
			requireOfOwner(t, err, c.firstLine)

			whole := Options{CSV: c.reading.CSV}
			for _, declared := range []*Ranges{nil, ranges} {
				whole.Ranges = declared
				d, err := Open(at("private.csv"), whole)
				for _, p := range []Protocol{Literature, Development} {
					if err == nil {
						_, err = d.Task(p)
					}
				}
				if err != nil { // some files are no good beside public rows alone
					require.Contains(t, err.Error(), "owner alone")
				}
			}
		})
	}

	write("ages.csv", "26,north,"+canary+",p3\n")
	private, err := Open(at("ages.csv"), Options{CSV: CSVOptions{Label: "3", Unit: "4", Header: HeaderYes}, Ranges: ranges})
	if err == nil {
		_, err = private.Task(Literature)
	}
	requireOfOwner(t, err, true)

	_, err = Open(at("none.csv"), Options{})
	require.NotContains(t, err.Error(), "owner alone", "nothing was read")
	_, err = Open("mnist", Options{CSV: CSVOptions{Label: "1"}})
	require.NotContains(t, err.Error(), "owner alone")
}

func TestErrorsFromModelImagesAreForTheirOwner(t *testing.T) {
	dir := t.TempDir()
	picture := func(path string, side int) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700))
		f := testkit.Must(os.Create(filepath.Join(dir, path)))
		require.NoError(t, png.Encode(f, image.NewGray(image.Rect(0, 0, side, side))))
		require.NoError(t, f.Close())
	}
	for _, folder := range []string{"public", "private"} {
		for _, class := range []string{"a", "b"} {
			picture(folder+"/"+class+"/1.png", 8)
		}
	}
	schema, _ := testkit.Must2(ReadPublic(Source{Path: filepath.Join(dir, "public")}, Reading{}))
	private := Source{Path: filepath.Join(dir, "private")}
	require.NoError(t, testkit.Err(schema.ReadPrivate(private)))
	picture("private/"+canary+"/1.png", 8)
	_, err := schema.ReadPrivate(private)
	requireOfOwner(t, err, false)
	require.NoError(t, os.Rename(filepath.Join(dir, "private", canary, "1.png"), filepath.Join(dir, "private", "a", canary+".png")))
	require.NoError(t, os.Remove(filepath.Join(dir, "private", canary)))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "private", "a", canary+".png"), []byte("\x89PNG\r\n\x1a\nbroken"), 0o600))
	_, err = schema.ReadPrivate(private)
	requireOfOwner(t, err, false)
	d, err := Open(private.Path, Options{})
	if err == nil {
		_, err = d.Task(Literature)
	}
	requireOfOwner(t, err, false)
}

func TestErrorsAboutARowOfOneFileAreForItsOwner(t *testing.T) {
	const head, rows = "age,kind,who\n", "3,a,x\n4,b,y\n"
	opt := Options{CSV: CSVOptions{Label: "kind", Unit: "who"}}
	for name, row := range map[string]string{"label": "5,,z\n", "unit": "5,a,\n", "cells": "5,a\n", "quotes": "5,\"a\"b,z\n"} {
		path := testkit.Write(t, filepath.Join(t.TempDir(), name+".csv"), head+rows+row)
		_, err := Open(path, opt)
		input := testkit.ErrorAs[*fault.Error](t, err, name)
		require.Equal(t, 4, input.Row, name)
		require.Contains(t, input.Why, ownerNotice, name)

		unlabelled := opt // rows that are asked about train nothing
		unlabelled.CSV.Label, unlabelled.CSV.Unlabelled = "", true
		if _, err = Open(path, unlabelled); err != nil {
			require.NotContains(t, err.Error(), ownerNotice, name)
		}
	}
}

func TestOtherSplitsOfOwnDataAreWithheld(t *testing.T) {
	images := imageData(120, 30)
	known := images
	known.Published = true
	table := filepath.Join(t.TempDir(), "t.csv")
	text := "x,y\n"
	for i := range 200 {
		text += fmt.Sprintf("%d,%c\n", i, 'a'+i%2)
	}
	require.NoError(t, os.WriteFile(table, []byte(text), 0o600))
	rows := testkit.Must(Open(table, Options{CSV: CSVOptions{Label: "y"}}))
	for _, c := range []struct {
		data     Data
		split    Protocol
		withheld bool
	}{
		{known, Literature, false}, {known, Development, false}, {known, FullTest, false},
		{images, Literature, false}, {images, Development, true}, {images, FullTest, true},
		{rows, Literature, false}, {rows, Development, true},
	} {
		require.Equal(t, c.withheld, testkit.Must(c.data.Task(c.split)).Withheld() != "", "%s: %s", c.data.Name, c.split)
	}
	require.Empty(t, Task{}.Withheld(), "private rows beside public ones")
}
