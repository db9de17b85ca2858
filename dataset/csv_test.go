package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/testkit"
)

func TestCSVFixture(t *testing.T) {
	want := &Table{
		Name: "visits",
		Columns: []Column{
			{"age", []string{"71", "34.5", "", "50", "29"}},
			{"ward", []string{"north", "south, old", "north", "?", `the "new" one`}},
		},
		Y:      []int{0, 1, 1, 2, 0},
		Labels: []string{"stay", "home", "transfer"},
		lines:  []int{2, 3, 5},
		header: []string{"patient", "age", "outcome", "ward"},
		Units:  []string{"p7", "p2", "p7", "p9", "p1"},
	}
	data := testkit.Must(os.ReadFile(filepath.Join("testdata", "visits.csv")))
	packed := testkit.Write(t, filepath.Join(t.TempDir(), "visits.csv.gz"), testkit.Gzip(data))
	for _, path := range []string{filepath.Join("testdata", "visits.csv"), packed} {
		for _, opt := range []CSVOptions{{Label: "outcome", Unit: "patient"}, {Label: "3", Unit: "1", Header: HeaderYes}} {
			got := testkit.Must(ReadTable(path, opt))
			want.Provenance = filepath.Base(path) + `, label column "outcome"`
			assert.Equal(t, want, got)
		}
	}
}

func TestCSVOptions(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		opt     CSVOptions
		columns []string
		classes []string
	}{
		"no header, last column is the label": {"1,2,b\n3,4,a\n", CSVOptions{Header: HeaderNo}, []string{"column 1", "column 2"}, []string{"b", "a"}},
		"a header where the label is named":   {"x,y,c\nu,v,b\nu,v,a\n", CSVOptions{Label: "c"}, []string{"x", "y"}, []string{"b", "a"}},
		"or the unit":                         {"x,y,c\nu,v,b\nu,v,a\n", CSVOptions{Unit: "x"}, []string{"y"}, []string{"b", "a"}},
		"or it is said":                       {"x,y,c\nu,v,b\nu,v,a\n", CSVOptions{Header: HeaderYes}, []string{"x", "y"}, []string{"b", "a"}},
		"or a name is expected and there":     {"x,y,c\nu,v,b\nu,v,a\n", CSVOptions{Expect: []string{"z", "x"}}, []string{"x", "y"}, []string{"b", "a"}},
		"and else none":                       {"x,y,c\nu,v,b\nu,v,a\n", CSVOptions{Expect: []string{"column 1", "column 2"}}, []string{"column 1", "column 2"}, []string{"c", "b", "a"}},
		"a header of numbers":                 {"1,2,3\n5,5,0\n6,6,1\n", CSVOptions{Header: HeaderYes}, []string{"1", "2"}, []string{"0", "1"}},
		"names given":                         {"1,2\n3,4\n", CSVOptions{Names: []string{"u", "v"}, Label: "u"}, []string{"v"}, []string{"1", "3"}},
		"dropped":                             {"x,y,c\n1,2,b\n3,4,a\n", CSVOptions{Header: HeaderYes, Drop: []string{"1"}}, []string{"y"}, []string{"b", "a"}},
		"semicolons, blank lines, mark, CRLF": {"\xef\xbb\xbfx;c\r\n\r\n1.5;b\r\n2;a\r\n", CSVOptions{Header: HeaderYes, Comma: ';'}, []string{"x"}, []string{"b", "a"}},
		"semicolons found in a header":        {"x;c\n1;b\n2;a\n", CSVOptions{Label: "c"}, []string{"x"}, []string{"b", "a"}},
		"tabs found, empty cells kept":        {"x\ty\tc\n\t\tb\n2\t\ta\n", CSVOptions{Label: "c"}, []string{"x", "y"}, []string{"b", "a"}},
		"but never in a row":                  {"1;2,b\n2;1,a\n", CSVOptions{Header: HeaderNo}, []string{"column 1"}, []string{"b", "a"}},
		"declared, and others":                {"1,b\n2,a\n1,\n1,c\n", CSVOptions{Header: HeaderNo, Rule: ClassRule{Names: []string{"a", "b"}, Other: "z"}}, []string{"column 1"}, []string{"b", "a", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			got := testkit.Must(readCSV(strings.NewReader(c.text), "f.csv", c.opt))
			var columns []string
			for _, col := range got.Columns {
				columns = append(columns, col.Name)
				assert.Len(t, col.Values, got.Len())
			}
			assert.Equal(t, c.columns, columns)
			assert.Equal(t, c.classes, got.Labels)
		})
	}
}

// TestAddingARowRenamesNobody: a unit that were a line number would change for every row below, and with it
// every teacher.
func TestAddingARowRenamesNobody(t *testing.T) {
	read := func(text string) *Table {
		return testkit.Must(readCSV(strings.NewReader(text), "f.csv", CSVOptions{Header: HeaderNo}))
	}
	few := read("1,2,a\n3,4,b\n3,4,b\n")
	more := read("1,2,a\n5,6,a\n3,4,b\n3,4,b\n")
	assert.Equal(t, []string{few.Units[0], few.Units[1], few.Units[2]}, []string{more.Units[0], more.Units[2], more.Units[3]})
	assert.NotEqual(t, few.Units[1], few.Units[2], "equal rows are two records")
	assert.NotEqual(t, few.Units[0], few.Units[1])
	assert.NotEqual(t, read("12,a\n3,b\n").Units[0], read("1,2,a\n3,4,b\n").Units[0])
}

func TestAWholeNumberIsOneUnit(t *testing.T) {
	for cell, unit := range map[string]string{"3": "3", "3.0": "3", "-3.00": "-3", "3.": "3", "03": "03", "3.5": "3.5", "a.0": "a.0", "1.0.0": "1.0.0", ".0": ".0", "-": "-"} {
		got := testkit.Must(readCSV(strings.NewReader("u,x,c\n"+cell+",1,a\n"), "f.csv", CSVOptions{Unit: "u"}))
		require.Equal(t, []string{unit}, got.Units)
	}
}

func TestCSVErrorsSayWhereAndWhat(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		opt  CSVOptions
		row  int
		want string
	}{
		"ragged":         {"1,2,a\n1,2,b\n1,b\n", CSVOptions{Header: HeaderNo}, 3, "f.csv: row 3 has 2 cells, the first row has 3"},
		"ragged second":  {"1,2,a\n1,2,3,b\n", CSVOptions{Header: HeaderNo}, 2, "has 4 cells, the first row has 3"},
		"empty":          {"", CSVOptions{Header: HeaderNo}, 0, "f.csv: is empty"},
		"blank":          {"\n\n", CSVOptions{Header: HeaderNo}, 0, "is empty"},
		"header only":    {"x,y\n", CSVOptions{Header: HeaderYes}, 0, "no rows below its header"},
		"no such column": {"x,y\n1,2\n2,1\n", CSVOptions{Label: "z"}, 0, `has no column "z"; its 2 columns are x, y`},
		"column 0":       {"x,y\n1,2\n2,1\n", CSVOptions{Header: HeaderNo, Label: "0"}, 0, `has no column "0"`},
		"column 3":       {"x,y\n1,2\n2,1\n", CSVOptions{Header: HeaderNo, Label: "3"}, 0, `has no column "3"`},
		"unit missing":   {"x,y\n1,2\n2,1\n", CSVOptions{Unit: "z"}, 0, `give the unit column`},
		"unit is label":  {"x,y,z\n1,2,3\n2,1,3\n", CSVOptions{Unit: "z", Label: "3"}, 0, `cannot be the label and the unit`},
		"two of a name":  {"x,x,y\n1,2,3\n", CSVOptions{Label: "x", Header: HeaderYes}, 0, `more than one column "x"`},
		"no label":       {"1,a\n2,?\n", CSVOptions{Header: HeaderNo}, 2, `row 2 has no label in column "column 2"`},
		"no unit":        {"1,7,a\n1,,b\n", CSVOptions{Header: HeaderNo, Unit: "2"}, 2, `row 2 has no unit in column "column 2"`},
		"no class":       {"1,a\n2,c\n", CSVOptions{Header: HeaderNo, Rule: ClassRule{Names: []string{"a", "b"}}}, 2, `row 2 has label "c", which is not a class`},
		"a header?":      {"x,y\n1,2\n", CSVOptions{}, 0, "begins with a line that may be a header or data"},
		"a header? two":  {"x,y\n1,2\n", CSVOptions{Label: "2"}, 0, "begins with a line that may be a header or data"},
		"one column":     {"a\nb\n", CSVOptions{Header: HeaderNo}, 0, "none is left as a feature"},
		"open quote":     {"1,a\n\"2,b\n3,c\n", CSVOptions{Header: HeaderNo}, 2, "row 2 is not valid CSV"},
		"bare quote":     {"1,a\n2,b\n3\"4,c\n", CSVOptions{Header: HeaderNo}, 3, "row 3 is not valid CSV at line 3, character 2"},
		"names count":    {"1,a\n2,b\n", CSVOptions{Names: []string{"x"}}, 1, "row 1 has 2 cells, 1 column names are given"},
		"endless row":    {"1,a\n" + strings.Repeat(",", 1<<20+1), CSVOptions{Header: HeaderNo}, 0, "longer than 1048576 bytes"},
		"endless quote":  {"1,a\n\"" + strings.Repeat("x\n", 1<<19), CSVOptions{Header: HeaderNo}, 0, "longer than 1048576 bytes"},
		"cut gzip":       {string(testkit.Gzip([]byte("1,a\n2,b\n"))[:15]), CSVOptions{Header: HeaderNo}, 0, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readCSV(strings.NewReader(c.text), "f.csv", c.opt)
			assert.Nil(t, got)
			input := testkit.ErrorAs[*fault.Error](t, err)
			assert.ErrorContains(t, err, c.want)
			assert.Equal(t, c.row, input.Row)
		})
	}
	assert.ErrorIs(t, testkit.Err(ReadTable(filepath.Join(t.TempDir(), "none.csv"), CSVOptions{})), fs.ErrNotExist)
	assert.ErrorContains(t, testkit.Err(readCSV(strings.NewReader("1,a\n2,b\n"), "f.csv", CSVOptions{Header: "maybe"})), `header "maybe"`)
	_, err := readCSV(strings.NewReader("1,a\n2,b\n"), "f.csv", CSVOptions{Header: HeaderNo, Comma: '"'})
	assert.ErrorContains(t, err, "cannot separate")
}

func TestCSVCapsMemory(t *testing.T) {
	const row = rowBytes + 2*cellBytes
	for name, fill := range map[string]func(*tableBuilder){
		"cells": func(b *tableBuilder) { b.size = maxTable - 2*row - 32 },
		"text":  func(b *tableBuilder) { b.repeated.size = maxTable - 2*row - 32 },
	} {
		b := testkit.Must(newTableBuilder("f.csv", CSVOptions{}, []string{"x", "y", "c"}))
		fill(b)
		require.NoError(t, b.add(row3(1, "a")), name)
		require.NoError(t, b.add(row3(2, "b")), name)
		err := b.add(row3(3, "a"))
		testkit.ErrorAs[*fault.Error](t, err, name)
		assert.ErrorContains(t, err, "f.csv: row 3 is one too many; a table takes at most 1024 MiB")
	}
}

func row3(line int, label string) row { return row{line, []string{"1", "2", label}} }

func TestCellsDeclaredMissing(t *testing.T) {
	table := testkit.Must(readCSV(strings.NewReader("x,y,k\n-,-,a\n1,n.a.,-\n"), "t.csv", CSVOptions{Label: "k", Missing: []string{"-", "n.a."}}))
	require.Equal(t, []Column{{"x", []string{"", "1"}}, {"y", []string{"", ""}}}, table.Columns)
	require.Equal(t, []string{"a", "-"}, table.Labels) // of features alone
}

// TestCSVKeepsRepeatedTextOnce: a cell that is a part of its row as it was read keeps all of the file in
// memory.
func TestCSVKeepsRepeatedTextOnce(t *testing.T) {
	var text strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&text, "%s%d,%d\n", strings.Repeat("long", 250), i%10, i%2)
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	table := testkit.Must(readCSV(strings.NewReader(text.String()), "f.csv", CSVOptions{Header: HeaderNo}))
	assert.Less(t, float64(heap())-float64(before), 0.5*float64(text.Len()))
	runtime.KeepAlive(table)
}

func TestCSVReturnsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		width := rapid.IntRange(1, 4).Draw(r, "width")
		rows := rapid.SliceOfN(rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab1 ,\"\n;é")), 0, 5, -1), width, width), 2, 6).Draw(r, "rows")
		var text strings.Builder
		for i, cells := range rows {
			for _, c := range cells {
				text.WriteString(`"` + strings.ReplaceAll(c, `"`, `""`) + `",`)
			}
			fmt.Fprintf(&text, "%d\n", i%2)
		}
		got := testkit.Must(readCSV(strings.NewReader(text.String()), "f.csv", CSVOptions{Header: HeaderNo, Comma: ','}))
		for i, cells := range rows {
			for j, c := range cells {
				assert.Equal(r, strings.TrimSpace(c), got.Columns[j].Values[i])
			}
			assert.Equal(r, i%2, got.Y[i])
		}
	})
}

func FuzzReadCSV(f *testing.F) {
	for _, text := range []string{"x,y,c\n1,?,b\n3,4,a\n", "\"a\nb\",1\n2,3\n", "1;2\n3;4", "1,a\n2\n", "inf,a\n1,b\n", ",\n,", "1e999,a\n2,b\n"} {
		f.Add([]byte(text))
		f.Add(testkit.Gzip([]byte(text)))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		table, err := readCSV(bytes.NewReader(file), "f.csv", CSVOptions{Header: HeaderYes})
		if err != nil {
			return
		}
		for _, c := range table.Columns {
			require.Len(t, c.Values, table.Len())
		}
		e, err := fitEncoder(table, nil)
		if err != nil {
			return
		}
		x, err := e.Encode(table)
		if err != nil {
			return
		}
		set := Set{Name: "f", X: x, Y: table.Y, Units: table.Units, IDs: numbered("row", table.Len()), Classes: append(table.Labels, "b", "c")}
		require.NoError(t, set.Validate())
		require.Len(t, e.Names(), e.Dim())
	})
}

func TestUnlabelledTable(t *testing.T) {
	text := "a,b,who\n1,x,p\n,y,q\n"
	table := testkit.Must(readCSV(strings.NewReader(text), "t.csv", CSVOptions{Unlabelled: true, Header: HeaderYes}))
	require.Equal(t, []Column{{"a", []string{"1", ""}}, {"b", []string{"x", "y"}}, {"who", []string{"p", "q"}}}, table.Columns)
	require.Equal(t, []int{-1, -1}, table.Y)
	require.Empty(t, table.Labels)
	require.Len(t, table.Units, 2)
	table = testkit.Must(readCSV(strings.NewReader(text), "t.csv", CSVOptions{Unlabelled: true, Unit: "who"}))
	require.Equal(t, []string{"p", "q"}, table.Units)
	require.Len(t, table.Columns, 2)
	for text, opt := range map[string]CSVOptions{text: {Unlabelled: true, Label: "a"}, "a,b\n": {Unlabelled: true, Header: HeaderYes}} {
		require.Error(t, testkit.Err(readCSV(strings.NewReader(text), "t.csv", opt)))
	}
	require.Error(t, testkit.Err(splitTable(table, Literature, nil, nil)), "without labels there is nothing to learn")
}

func labelled(rows []string, sides []string) string {
	var text strings.Builder
	text.WriteString("x,who,kind\n")
	for i, label := range rows {
		fmt.Fprintf(&text, "%d,%s,%s\n", i, unitOn(sides[i], i), label)
	}
	return text.String()
}

func unitOn(side string, n int) string {
	place := newPlacer("pate dataset split 1 " + string(Literature))
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s%d-%d", side, n, i)
		if u := place.of(name); side == "private" && u < 0.7 || side == "pool" && u >= 0.7 && u < 0.9 || side == "test" && u >= 0.9 {
			return name
		}
	}
}

func publicSides() (labels, sides []string) {
	for i := range 20 {
		labels = append(labels, []string{"b", "a"}[i%2])
		sides = append(sides, []string{"private", "pool", "private", "test"}[i/2%4])
	}
	return slices.Clip(labels), slices.Clip(sides)
}

func classTask(t *testing.T, labels, sides []string, rule ClassRule) (Task, error) {
	table, err := readCSV(strings.NewReader(labelled(labels, sides)), "t.csv", CSVOptions{Label: "kind", Unit: "who", Rule: rule})
	if err != nil {
		return Task{}, err
	}
	return splitTable(table, Literature, nil, nil)
}

func TestClassesNeverComeFromPrivateRows(t *testing.T) {
	labels, sides := publicSides()
	plain := testkit.Must(classTask(t, labels, sides, ClassRule{}))
	require.Equal(t, []string{"a", "b"}, plain.Classes)
	more, where := append(labels, "rare"), append(sides, "private")

	_, err := classTask(t, more, where, ClassRule{})
	require.Equal(t, 22, testkit.ErrorAs[*fault.Error](t, err).Row)
	require.ErrorContains(t, err, `has label "rare", which is not a class`)
	require.ErrorContains(t, err, "to the data owner alone")
	require.ErrorContains(t, testkit.Err(classTask(t, more, where, ClassRule{Names: []string{"a", "b"}})), `row 22 has label "rare"`)

	dropped := testkit.Must(classTask(t, more, where, ClassRule{Other: DropOther}))
	require.Equal(t, 11, dropped.Private.UnitCount(), "whoever carries the label, the unit is one")
	require.Equal(t, 10, dropped.Private.Len())
	dropped.Private.LeftOut = plain.Private.LeftOut
	require.Equal(t, plain, dropped, "else as if it were not there")

	for _, names := range [][]string{nil, {"a", "b"}} {
		rule := ClassRule{Names: names, Other: "other"}
		without := testkit.Must(classTask(t, labels, sides, rule))
		with := testkit.Must(classTask(t, more, where, rule))
		missing := testkit.Must(classTask(t, append(labels, ""), where, rule))
		for _, task := range []Task{without, with, missing} {
			require.Equal(t, []string{"a", "b", "other"}, task.Classes, "whether a row has it or not")
			require.Equal(t, without.Pool, task.Pool)
			require.Equal(t, without.Encoder, task.Encoder)
		}
		require.Equal(t, 2, with.Private.Y[with.Private.Len()-1])
		require.Equal(t, 2, missing.Private.Y[missing.Private.Len()-1])
	}
	into := testkit.Must(classTask(t, more, where, ClassRule{Other: "b"}))
	require.Equal(t, 1, into.Private.Y[into.Private.Len()-1])
	require.Equal(t, []string{"a", "b"}, into.Classes)

	require.Equal(t, []string{"a", "b", "rare"}, testkit.Must(classTask(t, more, append(sides, "pool"), ClassRule{})).Classes)
	declared := testkit.Must(classTask(t, labels, sides, ClassRule{Names: []string{"b", "c", "a"}}))
	require.Equal(t, []string{"b", "c", "a"}, declared.Classes, "in the order that was given")

	_, err = classTask(t, []string{"a", "b", "b", "a", "a"}, []string{"private", "private", "private", "pool", "test"}, ClassRule{})
	require.ErrorContains(t, err, "at least two classes")
	for _, names := range [][]string{{}, {"a"}, {"a", ""}, {"a", "a"}, Numbers(maxClasses + 1)} {
		require.Error(t, ClassRule{Names: names}.Validate())
		require.Error(t, testkit.Err2(DirFS(os.DirFS(t.TempDir()), t.TempDir(), ClassRule{Names: names})))
	}
}

func TestClassesByValue(t *testing.T) {
	classes := []string{"10", "9", "-2", "01", "1"}
	sortClasses(classes)
	require.Equal(t, []string{"-2", "01", "1", "9", "10"}, classes)
}

func TestHarmfulClassNames(t *testing.T) {
	labels, sides := publicSides()
	for _, name := range []string{"=HYPERLINK(1)", "a\x1b[2J"} {
		require.ErrorContains(t, testkit.Err(classTask(t, append(labels, name), append(sides, "pool"), ClassRule{})), "as a formula does")
		require.ErrorContains(t, ClassRule{Names: []string{"a", name}}.Validate(), "as a formula does")
		require.ErrorContains(t, testkit.Err(classTask(t, labels, sides, ClassRule{Other: name})), "as a formula does")
	}
}

func TestManyPublicLabelsAreNoClasses(t *testing.T) {
	labels, sides := make([]string, maxClasses+1), make([]string, maxClasses+1)
	for i := range labels {
		labels[i], sides[i] = fmt.Sprint("c", i), "pool"
	}
	labels, sides = append(labels, "c1", "c2"), append(sides, "private", "test")
	require.ErrorContains(t, testkit.Err(classTask(t, labels, sides, ClassRule{})), "1001 different labels")
}

func TestClassesOfAFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "digits")
	write := func(train, test byte) {
		writeFolder(t, path, func(files map[string][]byte) {
			files["train-labels-idx1-ubyte"] = idxBytes([]uint32{2}, []byte{1, train})
			files["t10k-labels-idx1-ubyte"] = idxBytes([]uint32{1}, []byte{test})
		})
	}
	write(0, 11)
	train, test := testkit.Must2(DirFS(os.DirFS(path), path, ClassRule{}))
	require.Len(t, train.Classes, 12)
	require.Len(t, test.Classes, 12)

	write(11, 0)
	_, _, err := DirFS(os.DirFS(path), path, ClassRule{})
	require.ErrorContains(t, err, "has label 11, and the classes are 10")
	train, _ = testkit.Must2(DirFS(os.DirFS(path), path, ClassRule{Other: "other"}))
	require.Equal(t, []int{1, 10}, train.Y)
	require.Equal(t, "other", train.Classes[10])
	train, test = testkit.Must2(DirFS(os.DirFS(path), path, ClassRule{Other: DropOther}))
	require.NoError(t, train.Validate())
	require.Equal(t, []string{"train/0"}, train.Units, "units keep their names")
	require.Equal(t, 2, train.UnitCount())
	require.Equal(t, 1, test.Len())
	train, _ = testkit.Must2(DirFS(os.DirFS(path), path, ClassRule{Names: []string{"no", "yes"}, Other: "no"}))
	require.Equal(t, []int{1, 0}, train.Y)

	require.ErrorContains(t, testkit.Err(Open(path, Options{Kind: "magic"})), "images are handwriting or pictures")
	require.Equal(t, Handwriting, testkit.Must(Open(path, Options{Rule: ClassRule{Other: DropOther}, Kind: Handwriting})).Kind)
}

func TestNoCellOfAPrivateRowIsRefused(t *testing.T) {
	public := &Table{Name: "t", Columns: []Column{{"n", []string{"1", "2", "3"}}, {"c", []string{"u", "v", "u"}}}, Y: []int{0, 1, 0}, Units: []string{"a", "b", "c"}}
	e := testkit.Must(fitEncoder(public, nil))
	for text, want := range map[string]float32{"": 0, "nan": 0, "NaN": 0, "-nan": 0, "word": 0, "1e999": 3, "-1e999": -3, "inf": 3, "-Infinity": -3, "1e308": 3, "0x1p9999": 3} {
		x := testkit.Must(e.Encode(&Table{Columns: []Column{{"n", []string{text}}, {"c", []string{text}}}, Y: []int{0}, Units: []string{"p"}}))
		assert.Equal(t, []float32{want, 0, 0}, x.Data, text)
	}
}

// TestContentNamesCountEqualRows compares with a map of all rows. A third of the rows are alone, and many hashes share a place.
func TestContentNamesCountEqualRows(t *testing.T) {
	var content contentNames
	seen, want := map[string]int{}, []string{}
	for i := range 5000 {
		cell := strconv.Itoa(i)
		if i%3 > 0 {
			cell = strings.Repeat("x", i*i%701)
		}
		content.addCells([]string{cell, ""})
		sum := sha256.Sum256([]byte(strconv.Itoa(len(cell)) + ":" + cell + "0:"))
		group := "content/" + hex.EncodeToString(sum[:16])
		seen[group]++
		want = append(want, group+"/"+strconv.Itoa(seen[group]))
	}
	require.Equal(t, want, content.names())
}

// TestRowsOfATableSplitAlike: equal rows stay separate units in one part, also of a table that Rows returns.
func TestRowsOfATableSplitAlike(t *testing.T) {
	text := ""
	for i := range 180 {
		text += fmt.Sprintf("%d,%c\n", i%60, 'a'+i%2)
	}
	table := testkit.Must(readCSV(strings.NewReader(text), "f.csv", CSVOptions{Header: HeaderNo}))
	want := testkit.Must(Data{Table: table}.Task(Literature))
	require.Equal(t, want.Private.Len(), want.Private.UnitCount())
	require.False(t, want.Grouped)
	got := testkit.Must(Data{Table: table.Rows(upTo(table.Len()))}.Task(Literature))
	require.False(t, got.Grouped)
	require.Equal(t, want.Hash(), got.Hash())
}
