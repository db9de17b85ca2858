package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
	"pgregory.net/rapid"

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

func imageData(train, test int) Data {
	part := func(name string, n int) Set {
		s := Set{Name: "digits", X: blas32.General{Rows: n, Cols: 6, Stride: 6, Data: make([]float32, 6*n)},
			Units: numbered(name, n), IDs: numbered(name, n), Classes: Numbers(10), Image: Shape{Rows: 2, Cols: 3}}
		for i := range n {
			s.X.Data[6*i], s.X.Data[6*i+1] = float32(i%256)/255, float32(i/256)/255
			s.Y = append(s.Y, i%10)
		}
		return s
	}
	return Data{Name: "digits", Train: part("train", train), Test: part("test", test)}
}

func writeFolder(t *testing.T, path string, edit func(map[string][]byte)) {
	t.Helper()
	files := map[string][]byte{
		"train-images-idx3-ubyte": idxBytes([]uint32{2, 2, 3}, []byte{0, 51, 102, 153, 204, 255, 1, 2, 3, 4, 5, 6}),
		"train-labels-idx1-ubyte": idxBytes([]uint32{2}, []byte{9, 0}),
		"t10k-images-idx3-ubyte":  idxBytes([]uint32{1, 2, 3}, []byte{9, 9, 9, 9, 9, 9}),
		"t10k-labels-idx1-ubyte":  idxBytes([]uint32{1}, []byte{3}),
	}
	if edit != nil {
		edit(files)
	}
	require.NoError(t, os.MkdirAll(path, 0o755))
	for name, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(path, name), data, 0o600))
	}
}

type keptBytes struct{ fs.FS }

func (keptBytes) KeepBytes() {}

// TestSetsThatKeepBytes: they have the rows, parts and hashes of sets with numbers.
func TestSetsThatKeepBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "digits")
	writeFolder(t, path, nil)
	train, test := testkit.Must2(DirFS(os.DirFS(path), path, ClassRule{}))
	kept, keptTest := testkit.Must2(DirFS(keptBytes{os.DirFS(path)}, path, ClassRule{}))
	require.Nil(t, kept.X.Data)
	require.NoError(t, kept.Validate())
	same := func(want, got Set) {
		t.Helper()
		require.Equal(t, want.Hash(), got.Hash())
		require.Equal(t, want, testkit.Must(got.Slice(0, got.Len())))
	}
	same(train, kept)
	same(test, keptTest)
	same(testkit.Must(train.Slice(1, 2)), testkit.Must(kept.Slice(1, 2)))
	same(testkit.Must(train.Slice(1, 1)), testkit.Must(kept.Slice(1, 1)))
	same(testkit.Must(train.slice(1, 2)), testkit.Must(kept.slice(1, 2)))
	same(train.with(test), kept.with(keptTest))
	same(testkit.Must(train.Sample(1)), testkit.Must(kept.Sample(1)))
	both := []string{"u", "u"}
	train.Units, kept.Units = both, both
	same(train.OnePerUnit(), kept.OnePerUnit())
	want, _ := train.PerUnit(1, []byte("key"))
	got, ends := kept.PerUnit(1, []byte("key"))
	same(want, got)
	require.Equal(t, []int{1}, ends)
	parts := [3]Set{kept, kept, keptTest}
	split := testkit.Must(newTask(FullTest, parts, [3][2]int{{0, 1}, {1, 2}, {0, 1}}))
	require.Nil(t, split.Private.X.Data)
	parts = [3]Set{train, train, test}
	require.Equal(t, testkit.Must(newTask(FullTest, parts, [3][2]int{{0, 1}, {1, 2}, {0, 1}})).Hash(), split.Hash())
}

func TestDirReadsPlainAndCompressed(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "digits")
	writeFolder(t, plain, nil)
	packed := filepath.Join(t.TempDir(), "my-fashion")
	writeFolder(t, packed, func(files map[string][]byte) {
		for _, name := range []string{"train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"} {
			files[name+".gz"] = testkit.Gzip(files[name])
			delete(files, name)
		}
	})
	train, test := testkit.Must2(DirFS(os.DirFS(plain), plain, ClassRule{}))
	require.NoError(t, train.Validate())
	require.NoError(t, test.Validate())
	assert.Equal(t, []float32{0, 0.2, 0.4, 0.6, 0.8, 1}, train.X.Data[:6])
	assert.Equal(t, []int{9, 0}, train.Y)
	assert.Equal(t, []string{"train/0", "train/1"}, train.Units)
	assert.Equal(t, "9", train.Classes[9])

	other, _ := testkit.Must2(DirFS(os.DirFS(packed), packed, ClassRule{}))
	assert.Equal(t, train.X, other.X)
	assert.Equal(t, "9", other.Classes[9], "the name of a folder decides nothing")
}

func TestDirNamesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(map[string][]byte)
		want string
	}{
		"missing":    {func(f map[string][]byte) { delete(f, "t10k-labels-idx1-ubyte") }, "no readable t10k-labels-idx1-ubyte"},
		"counts":     {func(f map[string][]byte) { f["train-labels-idx1-ubyte"] = idxBytes([]uint32{1}, []byte{1}) }, "has 1 labels, the images file has 2"},
		"truncated":  {func(f map[string][]byte) { f["train-images-idx3-ubyte"] = f["train-images-idx3-ubyte"][:20] }, "claims 12 bytes of data, there are 4"},
		"trailing":   {func(f map[string][]byte) { f["train-labels-idx1-ubyte"] = append(f["train-labels-idx1-ubyte"], 1) }, "more than the 2 bytes"},
		"other size": {func(f map[string][]byte) { f["t10k-images-idx3-ubyte"] = idxBytes([]uint32{1, 1, 1}, []byte{1}) }, "test images of 1x1"},
		"swapped":    {func(f map[string][]byte) { f["train-images-idx3-ubyte"] = f["train-labels-idx1-ubyte"] }, "header of an idx3 file"},
		"not idx":    {func(f map[string][]byte) { f["train-images-idx3-ubyte"] = []byte("P5 28 28 255 and more") }, "begins with 50 35"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "d")
			writeFolder(t, path, c.edit)
			train, test, err := DirFS(os.DirFS(path), path, ClassRule{})
			assert.ErrorContains(t, err, c.want)
			testkit.ErrorAs[*fault.Error](t, err)
			assert.Zero(t, train)
			assert.Zero(t, test)
		})
	}
}

func idxBytes(dims []uint32, data []byte) []byte {
	out := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		out = binary.BigEndian.AppendUint32(out, d)
	}
	return append(out, data...)
}

func TestReadIDXReturnsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dims := rapid.SliceOfN(rapid.Uint32Range(1, 40), 1, 3).Draw(r, "dims")
		size := 1
		for _, d := range dims {
			size *= int(d)
		}
		data := bytes.Repeat([]byte{rapid.Byte().Draw(r, "value")}, size)
		file := idxBytes(dims, data)
		if rapid.Bool().Draw(r, "gzip") {
			file = testkit.Gzip(file)
		}
		assert.Equal(r, data, testkit.Must(readIDX(bytes.NewReader(file), len(dims))).data)
		assert.Error(r, testkit.Err(readIDX(bytes.NewReader(file[:len(file)-1]), len(dims))), "one byte short")
	})
}

func TestReadIDXDoesNotBelieveTheHeader(t *testing.T) {
	kilobyte := make([]byte, 1000)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"10^12 bytes":        {idxBytes([]uint32{1e6, 1e3, 1e3}, kilobyte), "claims more than"},
		"product overflows":  {idxBytes([]uint32{1 << 31, 1 << 31, 1 << 31}, kilobyte), "claims more than"},
		"no rows":            {idxBytes([]uint32{0, 28, 28}, nil), "dimension 1 is 0"},
		"just below the cap": {idxBytes([]uint32{1 << 10, 1 << 10, 1 << 10}, kilobyte), "there are 1000"},
		"the same, packed":   {testkit.Gzip(idxBytes([]uint32{1 << 10, 1 << 10, 1 << 10}, kilobyte)), "there are 1000"},
		"broken gzip":        {[]byte{0x1f, 0x8b, 8, 0, 0}, "EOF"},
		"empty":              {nil, "0 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			used := testkit.Allocated(func() { assert.ErrorContains(t, testkit.Err(readIDX(bytes.NewReader(c.file), 3)), c.want) })
			assert.Less(t, used, uint64(1<<20), "bytes allocated for a file of 1 KB")
		})
	}
}

func FuzzReadIDX(f *testing.F) {
	f.Add(idxBytes([]uint32{2, 1, 3}, make([]byte, 6)))
	f.Add(testkit.Gzip(idxBytes([]uint32{2, 1, 3}, make([]byte, 6))))
	f.Add(idxBytes([]uint32{1e6, 1e3, 1e3}, make([]byte, 6)))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := readIDX(bytes.NewReader(file), 3)
		if err == nil && len(a.data) != a.dims[0]*a.dims[1]*a.dims[2] {
			t.Fatalf("%d bytes for dimensions %v", len(a.data), a.dims)
		}
	})
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
