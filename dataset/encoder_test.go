package dataset

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
)

func oneColumn(name string, values ...string) *Table {
	t := &Table{Name: "t", Columns: []Column{{name, values}}, Labels: []string{"a", "b"}}
	for i := range values {
		t.Y = append(t.Y, i%2)
		t.Units = append(t.Units, fmt.Sprint("u", i))
	}
	return t
}

func TestEncoder(t *testing.T) {
	for name, c := range map[string]struct {
		public, private []string
		names           []string
		want            [][]float32
	}{
		// Mean 3, standard deviation 2.
		"numbers, clipped at three deviations": {[]string{"1", "5"}, []string{"3", "4", "8.9", "9.1", "1e300", "-1e308"},
			[]string{"c"}, [][]float32{{0}, {0.5}, {2.95}, {3}, {3}, {-3}}},
		"unknown where public has numbers":  {[]string{"1", "5"}, []string{"", "?", "NA", "nan", "north"}, []string{"c"}, [][]float32{{0}, {0}, {0}, {0}, {0}}},
		"missing numbers are marked":        {[]string{"1", "?", "5"}, []string{"5", "", "word"}, []string{"c", "c missing"}, [][]float32{{1, 0}, {0, 1}, {0, 1}}},
		"categories of public rows":         {[]string{"x", "y", "x", "1"}, []string{"y", "1", "z", ""}, []string{"c=1", "c=x", "c=y"}, [][]float32{{0, 0, 1}, {1, 0, 0}, {0, 0, 0}, {0, 0, 0}}},
		"missing categories are marked":     {[]string{"x", "y", ""}, []string{"x", "NA"}, []string{"c=x", "c=y", "c missing"}, [][]float32{{1, 0, 0}, {0, 0, 1}}},
		"constant, but sometimes missing":   {[]string{"7", "7.0", "?"}, []string{"7", "9", "?"}, []string{"c missing"}, [][]float32{{0}, {0}, {1}}},
		"one category, sometimes missing":   {[]string{"x", "x", "?"}, []string{"x", "y", "?"}, []string{"c missing"}, [][]float32{{0}, {0}, {1}}},
		"written differently, equal values": {[]string{"1", "1.0", "1e0", "5", "5", "5"}, []string{"3"}, []string{"c"}, [][]float32{{0}}},
	} {
		t.Run(name, func(t *testing.T) {
			e := testkit.Must(fitEncoder(oneColumn("c", c.public...), nil))
			assert.Equal(t, c.names, e.Names())
			x := testkit.Must(e.Encode(oneColumn("c", c.private...)))
			for i, row := range c.want {
				assert.InDeltaSlice(t, row, x.Data[i*x.Stride:i*x.Stride+x.Cols], 1e-6, "value %q", c.private[i])
			}
		})
	}
}

// Texts become features beside other columns. A text of unknown words, or none, is all 0. The encoder reads
// back from JSON, and private texts change nothing about it. Negative control: an encoder of all texts differs.
func TestEncoderOfTexts(t *testing.T) {
	notes := func(more ...string) *Table {
		table := oneColumn("note", append([]string{"fever and cough", "fever, cough", "knee and ankle", "knee ankle"}, more...)...)
		for i := range table.Y {
			table.Columns[0].Values[i] += "."
		}
		table.Columns = append(table.Columns, Column{"age", Numbers(table.Len())})
		table.text = "note"
		return table
	}
	e := testkit.Must(fitEncoder(notes(), nil))
	require.Equal(t, []string{"note 1", "note 2", "note 3", "age"}, e.Names())
	require.Equal(t, ColumnNote{"note", "texts", "3 features, of the 5 words that at least two public texts contain"}, e.Notes()[0])
	x := testkit.Must(e.Encode(notes("COUGH", "zzyzx", "")))
	cosine := func(i, j int) (dot float32) {
		for at := range 3 {
			dot += dense.Row(x, i)[at] * dense.Row(x, j)[at]
		}
		return dot
	}
	require.InDelta(t, 16, cosine(4, 4), 1e-4)
	require.Greater(t, cosine(4, 1), float32(8))
	require.InDelta(t, 0, cosine(4, 3), 1)
	require.Zero(t, cosine(5, 5)+cosine(6, 6))
	text := testkit.Must(json.Marshal(e))
	var read Encoder
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, x, testkit.Must(read.Encode(notes("COUGH", "zzyzx", ""))))
	require.Error(t, json.Unmarshal([]byte(strings.Replace(string(text), `"name":"note"`, `"name":"note","missing":true`, 1)), &read))
	all := testkit.Must(fitEncoder(notes("cough zzyzx", "zzyzx"), nil))
	require.NotEqual(t, text, testkit.Must(json.Marshal(all)))
}

func TestNumbersAsTheyAreWritten(t *testing.T) {
	column := func(odd ...string) (c []string) {
		for i := range 100 - len(odd) {
			c = append(c, fmt.Sprint(i%10))
		}
		return append(c, odd...)
	}
	e := testkit.Must(fitEncoder(oneColumn("crp", column("<0,6", "n.a.", "n.a.", "-")...), nil))
	require.Equal(t, []string{"crp", "crp missing"}, e.Names())
	require.Equal(t, []ColumnNote{{Name: "crp", Is: `numeric; no numbers: "-" (1), "n.a." (2)`, Becomes: "1 feature, and one for missing values"}}, e.Notes())
	f := e.columns[0]
	cells := []string{"14,5", ">14.5", "≤ 14,5", "14.5", "n.a.", "1,234", "word", "<"}
	x := testkit.Must(e.Encode(oneColumn("crp", cells...)))
	for i, cell := range cells {
		want := []float32{0, 1}
		if i < 4 {
			want = []float32{clip((14.5 - f.mean) / f.sd), 0}
		}
		assert.Equal(t, want, dense.Row(x, i), cell)
	}
	for name, c := range map[string][]string{
		"six of 100 are no numbers":  column("a", "b", "c", "d", "e", "f"),
		"few rows, one is no number": {"1", "2", "3", "a"},
		"thousands or decimals":      slices.Repeat([]string{"1,234", "7,5.1"}, 20),
	} {
		e := testkit.Must(fitEncoder(oneColumn("c", c...), nil))
		assert.NotNil(t, e.columns[0].categories, name)
	}
	e = testkit.Must(fitEncoder(oneColumn("c", append(slices.Repeat([]string{"1,5", "2,7"}, 20), "n.a.", "<0,6")...), nil))
	require.Equal(t, `numeric, with decimal commas; no numbers: "n.a." (1)`, e.Notes()[0].Is)
	dates := slices.Repeat([]string{"02.01.2006", "31.12.2020"}, 20)
	e = testkit.Must(fitEncoder(oneColumn("day", append(dates, "unknown")...), nil))
	require.Equal(t, `date, like 02.01.2006; no numbers: "unknown" (1)`, e.Notes()[0].Is)
}

func TestPersonsAndTextsAreLeftOut(t *testing.T) {
	var names, texts []string
	for i := range 600 {
		names, texts = append(names, fmt.Sprintf("Person%d", i%60)), append(texts, fmt.Sprintf("remark no %d", i%150))
	}
	for name, values := range map[string][]string{"Patient name": names, "nachname": names, "e-mail": names, "remark": texts} {
		_, use, err := fitColumn(Column{name, values}, nil, false)
		require.NoError(t, err)
		assert.True(t, use.leftOut(), name)
		_, use, _ = fitColumn(Column{name, values}, []string{name}, false)
		assert.False(t, use.leftOut(), name)
	}
	for _, name := range []string{"surnames of wards", "filename", "ward"} {
		_, use, _ := fitColumn(Column{name, names}, nil, false)
		assert.False(t, use.leftOut(), name)
	}
}

func TestEncoderKeepsTheMostFrequentCategories(t *testing.T) {
	require.Equal(t, []string{"a", "z"}, frequent(map[string]int{"z": 2, "b": 1, "a": 1, "d": 1}, 2))
}

func TestEncoderRefuses(t *testing.T) {
	for name, public := range map[string][]string{
		"nothing varies":      {"1", "1"},
		"all missing":         {"", "?"},
		"infinite":            {"1", "inf"},
		"beyond float64":      {"1", "1e999"},
		"variance overflows":  {"1e300", "-1e300"},
		"variance underflows": {"1e-300", "2e-300"},
	} {
		assert.Error(t, testkit.Err(fitEncoder(oneColumn("c", public...), nil)), name)
	}
	e := testkit.Must(fitEncoder(oneColumn("c", "1", "2"), nil))
	assert.ErrorContains(t, testkit.Err(e.Encode(oneColumn("d", "1"))), `fitted on "c"`)
	assert.ErrorContains(t, testkit.Err(e.Encode(&Table{Name: "t"})), "0 feature columns")
}

// No private row may shape a feature: whatever the private and test rows hold, the encoding of the others
// is the same.
func TestFeaturesDependOnPublicRowsAndTheRowAlone(t *testing.T) {
	table := randomTable(400, 400)
	for i := range table.Units {
		table.Units[i] = fmt.Sprint("unit ", i)
	}
	before := testkit.Must(splitTable(table, Literature, nil, nil))
	const changed = 17
	victim := slices.Index(table.Units, before.Private.Units[changed])
	all, err := fitEncoder(table, nil) // negative control, below
	require.NoError(t, err)
	for j, v := range []string{"1e9", "unheard of", "?"} {
		table.Columns[j].Values[victim] = v
	}
	after := testkit.Must(splitTable(table, Literature, nil, nil))
	assert.Equal(t, before.Pool, after.Pool)
	assert.Equal(t, before.Test, after.Test)
	require.Equal(t, before.Private.Units, after.Private.Units)
	for i := range before.Private.Len() {
		assert.Equal(t, i != changed, slices.Equal(dense.Row(before.Private.X, i), dense.Row(after.Private.X, i)), "private row %d", i)
	}
	// An encoder fitted on private rows too does depend on the victim.
	assert.NotEqual(t, all, testkit.Must(fitEncoder(table, nil)))
}

func mixed() *Table {
	t := oneColumn("number", "1.1", "2.7", "", "1e5", "-3")
	t.Columns = append(t.Columns,
		Column{"word", []string{"x", "y", "x", "", "caf\xe9 <&>"}}, Column{"constant", []string{"7", "7", "?", "7", "7"}},
		Column{"same", []string{"1", "1", "1", "1", "1"}}, Column{"", []string{"1", "2", "3", "4", "5"}})
	return t
}

func TestEncoderInJSON(t *testing.T) {
	table := mixed()
	e := testkit.Must(fitEncoder(table, nil))
	want := testkit.Must(e.Encode(table))
	text := testkit.Must(json.Marshal(e))
	var read Encoder
	require.NoError(t, json.Unmarshal(text, &read))
	fitted := *e
	fitted.notes, fitted.repeated = nil, nil // are for people, who have read them
	require.Equal(t, fitted, read)
	require.Equal(t, want, testkit.Must(read.Encode(table)))

	// Columns are found by name.
	slices.Reverse(table.Columns)
	table.Columns = slices.Insert(table.Columns, 1, Column{"more", make([]string, 5)})
	require.Equal(t, want, testkit.Must(read.EncodeByName(table)))
	var in *fault.Error
	table.Columns[1].Name = "word"
	require.ErrorAs(t, testkit.Err(read.EncodeByName(table)), &in)
	require.Contains(t, in.What, "more than one")
	table.Columns = table.Columns[2:]
	require.ErrorAs(t, testkit.Err(read.EncodeByName(table)), &in)
	require.Contains(t, in.What, "has no column")
}

func TestEncoderInJSONRefuses(t *testing.T) {
	var e Encoder
	for _, text := range []string{
		`{}`, `[]`, `[{"name":"a"}]`, `[{"name":"a","sd":-1}]`, `[{"name":"a","sd":1e999}]`, `[{"name":"a","mean":1,"missing":true}]`,
		`[{"name":"a","sd":1,"categories":["x"]}]`, `[{"name":"a","categories":["x","x"]}]`, `[{"name":"a","categories":["x","NA"]}]`,
	} {
		require.ErrorContains(t, json.Unmarshal([]byte(text), &e), "not an encoder", text)
	}
}

func FuzzEncoder(f *testing.F) {
	text := testkit.Must(json.Marshal(testkit.Must(fitEncoder(mixed(), nil))))
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return // MarshalJSON and UnmarshalJSON see values
		}
		var read, again Encoder
		if read.UnmarshalJSON(text) != nil {
			return
		}
		text = testkit.Must(json.Marshal(&read))
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, read, again)
		one := &Table{Y: []int{0}, Units: []string{"u"}}
		for _, c := range read.columns {
			one.Columns = append(one.Columns, Column{Name: c.name, Values: []string{"1"}})
		}
		require.NoError(t, testkit.Err(read.Encode(one)))
	})
}

func rangesOf(t *testing.T, text string) (*Ranges, error) {
	t.Helper()
	return ReadRanges(testkit.Write(t, filepath.Join(t.TempDir(), "ranges.csv"), text))
}

func TestReadRanges(t *testing.T) {
	r := testkit.Must(rangesOf(t, "# of a survey\nage,17..90\nvisits, 0..3\nweight,0.5..10.5,?\ngain,0..1..50..100\nsex,Female,Male,\n"))
	require.Equal(t, []int{32, 4, 33, 3, 3}, r.Bins())
	for j, want := range []string{"age [17 to 18", "visits [0 1 2 3]", "weight [0.5 up to 0.8125", "gain [0 1 to 49 50 to 100]", "sex [Female Male missing]"} {
		name, bins := r.Describe(j)
		require.Contains(t, fmt.Sprint(name, " ", bins), want)
	}
	for text, want := range map[string]string{
		"":                               "declares no column",
		"age\n":                          "nothing that it may hold",
		"age,7\n":                        "1 categories",
		"age,1..x\n":                     "no number",
		"age,2..1\n":                     "do not ascend",
		"age,1..1e300\n":                 "no number within",
		"a,1..2\na,x,y\n":                "a second time",
		"a,x,y,x\n":                      "twice",
		"a,\"x\n":                        "not CSV",
		"a,0" + strings.Repeat("..1", 3): "do not ascend",
	} {
		require.ErrorContains(t, testkit.Err(rangesOf(t, text)), want, text)
	}
	require.ErrorContains(t, testkit.Err(ReadRanges(filepath.Join(t.TempDir(), "none"))), "cannot be read")
	require.ErrorContains(t, testkit.Err(rangesOf(t, "age,1..9\n"+strings.Repeat("# no table\n", maxRangeBytes/11))), "more than")
}

func FuzzRanges(f *testing.F) {
	f.Add("# of a survey\nage,17..90\nvisits, 0..3\nweight,0.5..10.5,?\ngain,0..1..50..100\nsex,Female,Male,\n")
	f.Add("a,-1e15..1e15\nb,1e-300..2e-300\nc,\"x,y\",z\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		r, err := parseRanges("fuzz", []byte(text))
		if err != nil {
			testkit.ErrorAs[*fault.Error](t, err)
			return
		}
		x := testkit.Must(r.encoder.Encode(r.draw(nil, nil, 20)))
		for _, cells := range r.Cells(x) {
			for j, bin := range cells {
				require.True(t, 0 <= bin && bin < r.Bins()[j], "what is drawn from a declaration is in it: column %d, bin %d of %d", j, bin, r.Bins()[j])
			}
		}
	})
}

func surveyRows(further ...string) string {
	rnd := rand.New(rand.NewPCG(4, 4))
	text := "age,weight,sex,who,y\n"
	for i := range 400 {
		text += fmt.Sprintf("%d,%.3f,%s,who%d,%c\n", 17+rnd.IntN(74), 10*rnd.Float64(), []string{"Female", "Male", "?"}[rnd.IntN(3)], i, 'a'+i%2)
	}
	for _, row := range further {
		text += row + "\n"
	}
	return text
}

const surveyRanges = "sex,Female,Male,?\nweight,0.0..10.0\nage,17..90\n"

func surveyTask(t *testing.T, ranges string, opt Options, further ...string) (Task, error) {
	t.Helper()
	path := testkit.Write(t, filepath.Join(t.TempDir(), "t.csv"), surveyRows(further...))
	var err error
	if opt.Ranges, err = rangesOf(t, ranges); err != nil {
		return Task{}, err
	}
	opt.CSV.Label, opt.CSV.Unit = "y", "who"
	return testkit.Must(Open(path, opt)).Task(Literature)
}

// Bins of encoded rows are those of the cells, in the order of the table's columns, whatever was declared
// first; so are they after another scaling.
func TestCellsAreThoseOfTheTable(t *testing.T) {
	task := testkit.Must(surveyTask(t, surveyRanges, Options{}))
	require.Equal(t, []int{32, 32, 3}, task.Ranges.Bins())
	const drawnRows = float64(fewestDrawn)
	require.Equal(t, fewestDrawn, task.Pool.Len())
	cells := task.Ranges.Cells(task.Pool.X)
	require.Equal(t, task.Test.Len(), task.WithoutPool().Test.Len(), "nobody knows the labels of what was drawn")
	for i := range cells {
		age := testkit.Must(strconv.ParseFloat(task.Questions.Columns[0].Values[i], 64))
		require.Equal(t, float64(int(age)), age, "ages are whole")
		name, bins := task.Ranges.Describe(0)
		require.Equal(t, "age", name)
		low, high, ok := strings.Cut(bins[cells[i][0]], " to ")
		if !ok {
			high = low
		}
		least := testkit.Must(strconv.Atoi(low))
		most := testkit.Must(strconv.Atoi(high))
		require.True(t, float64(least) <= age && age <= float64(most), "%v in %s", age, bins[cells[i][0]])
		require.Equal(t, slices.Index([]string{"Female", "Male", ""}, task.Questions.Columns[2].Values[i]), cells[i][2])
	}
	out := testkit.Must(task.Drawn([][]float64{weightsOn(32, 0), weightsOn(32, 31), {1, 3, 0}}, nil))
	men := 0
	for i, c := range task.Ranges.Cells(testkit.Must(task.Ranges.encoder.Encode(out.Questions))) {
		require.Equal(t, []int{0, 31}, c[:2], i)
		men += c[2]
	}
	require.InDelta(t, 0.75*drawnRows, men, 6*13.7) // 6 deviations
	require.Equal(t, []int{32, 32, 0}, task.Ranges.Ordered())
	given := func(rows int) (bins [][]int) {
		for i := range rows {
			bins = append(bins, []int{i % 32, i / 32 % 32, i % 3})
		}
		return bins
	}
	along := testkit.Must(task.Drawn(nil, given))
	require.Equal(t, given(fewestDrawn), task.Ranges.Cells(testkit.Must(task.Ranges.encoder.Encode(along.Questions))))
	require.InDeltaSlice(t, task.Private.X.Data, out.Ranges.Rescale(out.Ranges.encoder, task.Private.X).Data, 1e-5)
	require.NotEqual(t, task.Private.X.Data, out.Private.X.Data)
	require.NoError(t, out.validate())
	mean, square := 0.0, 0.0
	for i := range task.Pool.Len() {
		v := float64(task.Pool.X.Data[i*task.Pool.X.Stride+1])
		mean, square = mean+v/drawnRows, square+v*v/drawnRows
	}
	require.InDelta(t, 0, mean, 0.2)
	require.InDelta(t, 1, square, 0.2)
}

func weightsOn(bins, one int) []float64 {
	w := make([]float64, bins)
	w[one] = 5
	return w
}

func TestNoPrivateRowShapesADeclaredTask(t *testing.T) {
	want := testkit.Must(surveyTask(t, surveyRanges, Options{}))
	unit := ""
	place := newPlacer("pate dataset split 1 literature")
	for i := 0; unit == ""; i++ {
		if name := fmt.Sprint("p", i); place.of(name) < 0.7 {
			unit = name
		}
	}
	for _, row := range []string{"30,5,Male,WHO,a", "1e308,-inf,robot,WHO,b", "x,,,WHO,a"} {
		got := testkit.Must(surveyTask(t, surveyRanges, Options{}, strings.ReplaceAll(row, "WHO", unit)))
		require.Equal(t, want.Private.Len()+1, got.Private.Len())
		require.Equal(t, want.Pool, got.Pool)
		require.Equal(t, want.Test, got.Test)
		require.Equal(t, want.Encoder, got.Encoder)
		for j, bin := range got.Ranges.Cells(got.Private.X)[got.Private.Len()-1] {
			require.Less(t, bin, got.Ranges.Bins()[j])
		}
	}
	rows, err := Open(filepath.Join(t.TempDir(), "none"), Options{Ranges: want.Ranges})
	require.Error(t, err, "%v", rows)
}

func TestWhatIsNotDeclaredIsRefused(t *testing.T) {
	require.ErrorContains(t, testkit.Err(surveyTask(t, "age,17..90\n", Options{})), `no range is declared: "weight", "sex"`)
	require.ErrorContains(t, testkit.Err(surveyTask(t, surveyRanges+"height,1..3\n", Options{})), `0 feature columns "height"`)
	require.NoError(t, testkit.Err(surveyTask(t, "age,17..90\n", Options{CSV: CSVOptions{Drop: []string{"weight", "sex"}}})))
	images := imageData(60, 10)
	images.Ranges = &Ranges{}
	require.ErrorContains(t, testkit.Err(images.Task(Literature)), "no columns with names")
}
