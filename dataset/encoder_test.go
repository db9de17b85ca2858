package dataset

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
)

// oneColumn is a table of one feature whose labels and units do not matter.
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
		"missing numbers are marked":        {[]string{"1", "?", "5"}, []string{"5", "", "word"}, []string{"c", "c missing"}, [][]float32{{1, 0}, {0, 1}, {0, 0}}},
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

// mixed is a table with a column of every kind.
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
	got := testkit.Must(read.Encode(table))
	require.Equal(t, want, got)

	// Columns are found by name.
	slices.Reverse(table.Columns)
	table.Columns = slices.Insert(table.Columns, 1, Column{"more", make([]string, 5)})
	got = testkit.Must(read.EncodeByName(table))
	require.Equal(t, want, got)
	var in *fault.Error
	table.Columns[1].Name = "word"
	_, err := read.EncodeByName(table)
	require.ErrorAs(t, err, &in)
	require.Contains(t, in.What, "more than one")
	table.Columns = table.Columns[2:]
	_, err = read.EncodeByName(table)
	require.ErrorAs(t, err, &in)
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

// FuzzEncoder: JSON is refused, or an encoder that encodes and is written as it was read.
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
