package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/npy"
	"github.com/pate-go/pate/internal/testkit"
)

func put(t *testing.T, dir, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

func patients(n int, seed uint64, columns []string, cell func(column string, value string) string) []byte {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString(strings.Join(columns, ",") + "\n")
	for i := range n {
		class := rnd.IntN(2)
		row := map[string]string{
			"id": fmt.Sprint(1000 + i), "weight": fmt.Sprintf("%.1f", 80+12*rnd.NormFloat64()+10*float64(class)), "sex": []string{"m", "f"}[rnd.IntN(2)],
			"ill": []string{"no", "yes"}[class], "patient": fmt.Sprintf("p%d", i/2), "note": fmt.Sprintf("came in at %d with pain", rnd.IntN(1e9)),
		}
		for j, c := range columns {
			v := row[c]
			if cell != nil {
				v = cell(c, v)
			}
			b.WriteString(strings.Repeat(",", min(j, 1)) + v)
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}

func TestPrivateRowsAreReadByThePublicSchema(t *testing.T) {
	dir := t.TempDir()
	public := put(t, dir, "public.csv", patients(60, 1, []string{"id", "weight", "sex", "note"}, nil))
	columns := []string{"sex", "patient", "ill", "weight", "extra", "id", "note"}
	private := put(t, dir, "private.csv", patients(80, 2, columns, nil))
	reading := Reading{CSV: CSVOptions{Label: "ill", Unit: "patient"}}

	s, pool := testkit.Must2(ReadPublic(Source{Path: public}, reading))
	require.Equal(t, 60, pool.Len())
	require.Nil(t, s.Classes)
	require.Nil(t, pool.Truth)
	require.Equal(t, []ColumnNote{
		{"id", "id-like: nearly every row has its own", "left out; --keep takes it"},
		{"weight", "numeric", "1 feature"},
		{"sex", "category, 2 levels", "2 features"},
		{"note", "free text", "left out; --keep takes it"},
	}, s.Encoder.Notes())
	require.ErrorContains(t, testkit.Err(s.ReadPrivate(Source{Path: private})), "--class-names")

	reading.Rule.Names = []string{"no", "yes"}
	s, pool = testkit.Must2(ReadPublic(Source{Path: public}, reading))
	set := testkit.Must(s.ReadPrivate(Source{Path: private}))
	require.NoError(t, set.Validate())
	require.Equal(t, 80, set.Len())
	require.Equal(t, pool.X.Cols, set.X.Cols)
	require.Equal(t, 40, set.UnitCount())

	text := testkit.Must(json.Marshal(s))
	var read Schema
	require.NoError(t, json.Unmarshal(text, &read))
	again := testkit.Must(read.ReadNew(Source{Path: put(t, dir, "new.csv", patients(60, 1, []string{"ill", "note", "sex", "weight"}, nil))}))
	require.Equal(t, pool.X.Cols, again.X.Cols)
	require.NotNil(t, again.Truth)
}

// TestRareCategoriesAreKnown: a public category is not strange because more frequent ones have all features.
func TestRareCategoriesAreKnown(t *testing.T) {
	dir, public, private := t.TempDir(), "town,x,ill\n", "town,x,ill\n"
	for i := range 3 * maxCategories { // half of the towns have two public rows, the others one
		public += fmt.Sprintf("t%d,%d,%c\n", i%(2*maxCategories), i%7, 'a'+i%2)
		private += fmt.Sprintf("t%d,%d,%c\n", maxCategories+i%maxCategories, i%7, 'a'+i%2)
	}
	reading := Reading{CSV: CSVOptions{Label: "ill"}}
	s, _, err := ReadPublic(Source{Path: put(t, dir, "public.csv", []byte(public))}, reading)
	require.NoError(t, err)
	require.Len(t, s.Encoder.columns[0].categories, maxCategories)
	_, err = s.ReadPrivate(Source{Path: put(t, dir, "private.csv", []byte(private))})
	require.NoError(t, err)
}

func TestTablesThatDifferAreNamed(t *testing.T) {
	dir := t.TempDir()
	columns := []string{"weight", "sex", "ill"}
	reading := Reading{CSV: CSVOptions{Label: "ill"}}
	read := func(columns []string, r Reading, cell func(c, v string) string) error {
		s, _, err := ReadPublic(Source{Path: put(t, dir, "public.csv", patients(60, 1, []string{"weight", "sex", "ill"}, nil))}, r)
		require.NoError(t, err)
		_, err = s.ReadPrivate(Source{Path: put(t, dir, "private.csv", patients(80, 2, columns, cell))})
		return err
	}
	require.NoError(t, read(columns, reading, nil))
	require.ErrorContains(t, read([]string{"sex", "ill"}, reading, nil), `has no column "weight"`)
	require.ErrorContains(t, read([]string{"sex", "weight"}, reading, nil), `has no column "ill"`)
	pounds := func(c, v string) string {
		var kilo float64
		if _, err := fmt.Sscan(v, &kilo); c == "weight" && err == nil {
			return fmt.Sprintf("%.1f", 2.2*kilo)
		}
		return v
	}
	require.ErrorContains(t, read(columns, reading, pounds), `column "weight" (another range`)
	longer := func(c, v string) string {
		return strings.NewReplacer("m", "male", "f", "female").Replace(v)
	}
	require.ErrorContains(t, read(columns, reading, longer), `column "sex" (other categories)`)
	comma := func(c, v string) string { return `"` + strings.Replace(v, ".", ",", 1) + `"` }
	require.NoError(t, read(columns, reading, comma))
	words := func(c, v string) string { return strings.Replace(v, ".", " and ", 1) }
	require.ErrorContains(t, read(columns, reading, words), `column "weight" (no numbers)`)
	reading.Accept = true
	require.NoError(t, read(columns, reading, pounds))
}

func TestRowsWithRepeatedIDsAreNoUnits(t *testing.T) {
	dir := t.TempDir()
	table := func(name string, rows, ids int) Source {
		text := "patient_id,x,ill\n"
		for i := range rows {
			text += fmt.Sprintf("%d,%d,%d\n", 1000+i%ids, i%7, i%2)
		}
		return Source{Path: put(t, dir, name, []byte(text))}
	}
	for name, c := range map[string]struct {
		public  Source
		csv     CSVOptions
		refused bool
	}{
		"ids repeat":            {table("repeat.csv", 90, 40), CSVOptions{Label: "ill"}, true},
		"declared":              {table("repeat.csv", 90, 40), CSVOptions{Label: "ill", RowUnits: true}, false},
		"units are given":       {table("repeat.csv", 90, 40), CSVOptions{Label: "ill", Unit: "patient_id"}, false},
		"ids repeat in private": {table("once.csv", 40, 40), CSVOptions{Label: "ill"}, false},
		"the id column is out":  {table("repeat.csv", 90, 40), CSVOptions{Label: "ill", Drop: []string{"patient_id"}}, false},
	} {
		s, _, err := ReadPublic(c.public, Reading{CSV: c.csv})
		require.NoError(t, err, name)
		_, err = s.ReadPrivate(table("private.csv", 90, 30))
		if !c.refused {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, `ids repeat in column "patient_id" of the public rows`, name)
	}
}

func matrixFile(t *testing.T, typ string, rows, cols int, at func(i, j int) float64) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, npy.WriteHeader(&b, npy.Header{Type: typ, Shape: []int{rows, cols}}))
	for i := range rows {
		for j := range cols {
			bits := math.Float64bits(at(i, j))
			if typ == "<f4" {
				bits = uint64(math.Float32bits(float32(at(i, j))))
			}
			for k := range int(typ[2] - '0') {
				b.WriteByte(byte(bits >> (8 * k)))
			}
		}
	}
	return b.Bytes()
}

func TestFeaturesFromNPY(t *testing.T) {
	dir := t.TempDir()
	value := func(i, j int) float64 { return float64((i*7+j*3)%11) + 1e6*float64(j) }
	public := put(t, dir, "public.npy", matrixFile(t, "<f8", 50, 3, value))
	private := put(t, dir, "private.npy", matrixFile(t, "<f4", 30, 3, func(i, j int) float64 {
		switch i {
		case 3:
			return math.NaN()
		case 4:
			return math.Inf(1)
		}
		return value(i, j)
	}))
	var labels strings.Builder
	for i := range 30 {
		fmt.Fprintln(&labels, i%3)
	}
	y := put(t, dir, "y.csv", []byte("label\n"+labels.String()))
	var units bytes.Buffer
	require.NoError(t, npy.WriteHeader(&units, npy.Header{Type: "<u8", Shape: []int{30}}))
	for i := range 30 {
		units.Write([]byte{byte(i / 2), 0, 0, 0, 0, 0, 0, 0xff}) // beyond int64
	}
	u := put(t, dir, "u.npy", units.Bytes())

	s, pool := testkit.Must2(ReadPublic(Source{Path: public}, Reading{Rule: ClassRule{Names: Numbers(3)}}))
	for j := range 3 {
		sum, squares := 0.0, 0.0
		for i := range 50 {
			v := float64(pool.X.Data[i*3+j])
			sum, squares = sum+v, squares+v*v
		}
		require.InDelta(t, 0, sum/50, 1e-5)
		require.InDelta(t, 1, squares/50, 1e-5)
	}
	set := testkit.Must(s.ReadPrivate(Source{Path: private, Labels: y, Units: u}))
	require.NoError(t, set.Validate(), "NaN is the public mean, infinity is clipped")
	require.Equal(t, []float32{0, 0, 0}, set.X.Data[9:12])
	require.Equal(t, []float32{6, 6, 6}, set.X.Data[12:15])
	require.Equal(t, 15, set.UnitCount())
	require.Equal(t, "18374686479671623680", set.Units[0])

	require.Equal(t, 30, testkit.Must(s.ReadPrivate(Source{Path: private, Labels: y})).UnitCount())
	columns := testkit.Must(s.ReadPrivate(Source{Path: private, Labels: "testdata/parquet/labels.parquet", Units: "testdata/parquet/units.parquet"}))
	require.Equal(t, set.Y, columns.Y)
	require.Equal(t, 15, columns.UnitCount())
	require.Equal(t, "p00", columns.Units[1])
	_, err := s.ReadPrivate(Source{Path: private, Labels: "testdata/parquet/people.parquet"})
	require.ErrorContains(t, err, "people.parquet: has 7 columns")
	_, err = s.ReadPrivate(Source{Path: public, Labels: "testdata/parquet/labels.parquet"})
	require.ErrorContains(t, err, "has 30 rows, the features have 50; there is one label, or one unit, for each row of features; "+ownerNotice)
	_, err = s.ReadPrivate(Source{Path: private, Labels: y, Units: put(t, dir, "u.txt", []byte("a\n\n"+strings.Repeat("b\n", 28)))})
	require.ErrorContains(t, err, "row 2 has no unit; every row must belong to a privacy unit; "+ownerNotice)
	_, err = s.ReadPrivate(Source{Path: private, Labels: y, Units: filepath.Join(dir, "none.txt")})
	require.ErrorContains(t, err, "cannot be opened")
	require.NotContains(t, err.Error(), "owner")
	require.ErrorContains(t, testkit.Err(s.ReadPrivate(Source{Path: private, Labels: y, Units: public})), "3 columns")
	require.ErrorContains(t, testkit.Err(s.ReadPrivate(Source{Path: private})), "has no labels")
	s.reading.CSV.Label = "y"
	require.ErrorContains(t, testkit.Err(s.ReadPrivate(Source{Path: put(t, dir, "t.csv", []byte("a,b,y\n1,2,0\n"))})), "is a table")
	require.ErrorContains(t, testkit.Err(s.ReadNew(Source{Path: put(t, dir, "narrow.npy", matrixFile(t, "<f8", 5, 2, value))})), "rows of 2 numbers")
}

func TestEmbeddingsOfATable(t *testing.T) {
	dir := t.TempDir()
	value := func(i, j int) float64 { return float64((i*7 + j*3 + i*i/5) % 11) }
	x := put(t, dir, "x.npy", matrixFile(t, "<f4", 60, 3, value))
	var text, labels, units strings.Builder
	text.WriteString("note,author,kind\n")
	for i := range 60 {
		fmt.Fprintf(&text, "a note,w%d,%d\n", i/2, i%2)
		fmt.Fprintln(&labels, i%2)
		fmt.Fprintf(&units, "w%d\n", i/2)
	}
	y, u := put(t, dir, "y.txt", []byte(labels.String())), put(t, dir, "u.txt", []byte(units.String()))
	table := put(t, dir, "t.csv", []byte(text.String()))
	bare := put(t, dir, "bare.csv", []byte(strings.ReplaceAll(strings.ReplaceAll(text.String(), "a note,", ""), "note,", "")))
	open := Options{CSV: CSVOptions{Label: "kind", Unit: "author"}, Embeddings: x}
	for _, table := range []string{table, bare} {
		for _, unit := range []string{"author", ""} {
			reading := Reading{CSV: CSVOptions{Label: "kind", Unit: unit}, Rule: ClassRule{Names: Numbers(2)}}
			s, pool := testkit.Must2(ReadPublic(Source{Path: table, Embeddings: x}, reading))
			matrix, same := testkit.Must2(ReadPublic(Source{Path: x, Labels: y}, Reading{Rule: reading.Rule}))
			require.Equal(t, same.X, pool.X)
			require.Equal(t, same.Truth, pool.Truth)
			got := testkit.Must(s.ReadPrivate(Source{Path: table, Embeddings: x}))
			src := Source{Path: x, Labels: y}
			if unit != "" {
				src.Units = u
			}
			require.Equal(t, testkit.Must(matrix.ReadPrivate(src)).Hash(), got.Hash())
			require.Equal(t, pool.X, testkit.Must(s.ReadNew(Source{Path: x})).X)
		}
		task := testkit.Must(testkit.Must(Open(table, open)).Task(Literature))
		require.Equal(t, testkit.Must(testkit.Must(Open(x, Options{Labels: y, Units: u})).Task(Literature)).Hash(), task.Hash())
		require.True(t, task.Grouped)
	}
	short := put(t, dir, "short.npy", matrixFile(t, "<f4", 59, 3, value))
	s, _ := testkit.Must2(ReadPublic(Source{Path: x}, Reading{CSV: open.CSV, Rule: ClassRule{Names: Numbers(2)}}))
	require.ErrorContains(t, testkit.Err(s.ReadPrivate(Source{Path: table, Embeddings: short})),
		"short.npy: has 59 rows, and the table t.csv has 60; there is one row of features for each row of the table; "+ownerNotice)
	require.ErrorContains(t, testkit.Err(s.ReadPrivate(Source{Path: x, Embeddings: x})), "is no table")
	require.ErrorContains(t, testkit.Err(s.ReadPrivate(Source{Path: table, Embeddings: y})), "y.txt")
	folder := filepath.Dir(put(t, dir, "folder/a.png", picture(t, 2, color.Gray{3})))
	require.ErrorContains(t, testkit.Err2(ReadPublic(Source{Path: folder, Embeddings: x}, Reading{})), "is no table")

	other, _ := testkit.Must2(ReadPublic(Source{Path: table, Embeddings: x}, Reading{CSV: open.CSV, Rule: ClassRule{Names: []string{"9", "1"}, Other: "rest"}}))
	got := testkit.Must(other.ReadPrivate(Source{Path: table, Embeddings: x}))
	require.Equal(t, []string{"9", "1", "rest"}, got.Classes)
	require.Equal(t, slices.Repeat([]int{2, 1}, 30), got.Y, "no row is left out")
	open.CSV.Text = "note"
	require.ErrorContains(t, testkit.Err(Open(table, open)), "embeddings beside them")
	require.ErrorContains(t, testkit.Err(Open(x, Options{Embeddings: x})), "is no table")
}

func picture(t *testing.T, side int, c color.Color) []byte {
	t.Helper()
	var img interface {
		image.Image
		Set(x, y int, c color.Color)
	} = image.NewGray(image.Rect(0, 0, side, side))
	if _, grey := c.(color.Gray); !grey {
		img = image.NewRGBA(image.Rect(0, 0, side, side))
	}
	for i := range side * side {
		img.Set(i%side, i/side, c)
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

func TestFoldersOfImages(t *testing.T) {
	dir := t.TempDir()
	public, private := filepath.Join(dir, "public"), filepath.Join(dir, "private")
	put(t, public, "1.png", picture(t, 12, color.Gray{51}))
	put(t, public, "2.png", picture(t, 12, color.RGBA{255, 0, 51, 255}))
	put(t, private, "cat/1.png", picture(t, 24, color.RGBA{0, 255, 0, 255}))
	put(t, private, "dog/1.png", picture(t, 12, color.Gray{255}))
	s, pool := testkit.Must2(ReadPublic(Source{Path: public}, Reading{Rule: ClassRule{Names: []string{"cat", "dog"}}}))
	require.Equal(t, Shape{Rows: 12, Cols: 12, Channels: 3}, s.Image)
	require.Equal(t, []string{"1.png", "2.png"}, pool.IDs)
	planes := func(x blas32.General, i int) []float32 {
		return []float32{x.Data[i*x.Stride], x.Data[i*x.Stride+144], x.Data[i*x.Stride+288]}
	}
	require.Equal(t, []float32{1, 0, 0.2}, planes(pool.X, 1))
	set := testkit.Must(s.ReadPrivate(Source{Path: private}))
	require.NoError(t, set.Validate())
	require.Equal(t, []int{0, 1}, set.Y)
	require.Equal(t, []string{"cat/1.png", "dog/1.png"}, set.Units)
	require.Equal(t, []float32{0, 1, 0}, planes(set.X, 0), "made smaller")

	put(t, private, "rare/1.png", picture(t, 12, color.Gray{1}))
	require.ErrorContains(t, testkit.Err(s.ReadPrivate(Source{Path: private})), `"rare", which is not a class`)
	put(t, private, "rare/1.png", []byte("no image"))
	require.Error(t, testkit.Err(s.ReadPrivate(Source{Path: private})))
	put(t, public, "3.png", picture(t, 13, color.Gray{51}))
	require.ErrorContains(t, testkit.Err2(ReadPublic(Source{Path: public}, Reading{})), "--image-size")
	s, _ = testkit.Must2(ReadPublic(Source{Path: public}, Reading{ImageSize: Shape{Rows: 6, Cols: 4}}))
	require.Equal(t, 72, s.Features)
}

func FuzzSources(f *testing.F) {
	t := new(testing.T)
	f.Add(matrixFile(t, "<f4", 3, 2, func(i, j int) float64 { return float64(i + j) }), []byte("1\n0\n1\n"))
	f.Add([]byte("a,b\n1,2\n"), []byte("\x93NUMPY\x01\x00"))
	f.Add([]byte{0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 7}, []byte{0, 0, 8, 1, 0, 0, 0, 1, 7})
	f.Add(picture(t, 2, color.Gray{3}), []byte("PK\x03\x04"))
	table := testkit.Must(os.ReadFile("testdata/parquet/groups.parquet"))
	f.Add(table, table)
	f.Fuzz(func(t *testing.T, features, labels []byte) {
		if len(features) > 1<<16 {
			return
		}
		dir := t.TempDir()
		x, y := put(t, dir, "x", features), put(t, dir, "y", labels)
		put(t, dir, "folder/c/1.png", features)
		for _, src := range []Source{{Path: x}, {Path: x, Labels: y}, {Path: x, Labels: y, Units: y}, {Path: filepath.Join(dir, "folder")}} {
			s, pool, err := ReadPublic(src, Reading{CSV: CSVOptions{Header: HeaderYes, Label: "b"}, Rule: ClassRule{Names: []string{"0", "1"}, Other: "1"}})
			if err != nil {
				continue
			}
			require.Equal(t, len(pool.IDs), pool.Len())
			if set, err := s.ReadPrivate(src); err == nil {
				require.NoError(t, set.Validate())
				require.Equal(t, s.Features, set.X.Cols)
			}
		}
	})
}

func FuzzSchemaJSON(f *testing.F) {
	s := Schema{Kind: Columns, Features: 2, Classes: []string{"a", "b"}, scale: scale{Mean: []float64{1, 2}, SD: []float64{1, 0}}}
	text := testkit.Must(json.Marshal(&s))
	f.Add(text)
	f.Add([]byte(`{"kind":"pictures","image":{"Rows":1,"Cols":2},"features":2,"scale":{"sd":[1]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Schema
		if json.Unmarshal(text, &s) != nil {
			return
		}
		again := testkit.Must(json.Marshal(&s))
		var same Schema
		require.NoError(t, json.Unmarshal(again, &same))
		require.Equal(t, s.Features, same.Features)
		require.True(t, slices.Equal(s.Classes, same.Classes))
	})
}

func TestSplitOfNumbersLooksAtThePoolAlone(t *testing.T) {
	dir := t.TempDir()
	split := func(change func(i int) float64) Task {
		var units, labels strings.Builder
		for i := range 60 {
			fmt.Fprintln(&units, unitOn([]string{"private", "pool", "test"}[i%3], i))
			fmt.Fprintln(&labels, i/3%2)
		}
		x := put(t, dir, "x.npy", matrixFile(t, "<f8", 60, 2, func(i, j int) float64 {
			if v := change(i); v != 0 {
				return v
			}
			return float64((i*7 + j*3) % 11)
		}))
		d := testkit.Must(Open(x, Options{Labels: put(t, dir, "y.txt", []byte(labels.String())), Units: put(t, dir, "u.txt", []byte(units.String()))}))
		return testkit.Must(d.Task(Literature))
	}
	want := split(func(int) float64 { return 0 })
	require.Equal(t, 20, want.Private.Len())
	require.True(t, want.Grouped)
	for _, v := range []float64{1e9, math.NaN(), math.Inf(-1)} {
		got := split(func(i int) float64 {
			if i == 3 {
				return v
			}
			return 0
		})
		require.NotEqual(t, want.Private.X, got.Private.X)
		require.Equal(t, want.Pool, got.Pool)
		require.Equal(t, want.Test, got.Test)
	}
}
