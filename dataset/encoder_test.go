package dataset

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
			e, err := fitEncoder(oneColumn("c", c.public...), encoderOptions{})
			require.NoError(t, err)
			assert.Equal(t, c.names, e.Names())
			x, err := e.Encode(oneColumn("c", c.private...))
			require.NoError(t, err)
			for i, row := range c.want {
				assert.InDeltaSlice(t, row, x.Data[i*x.Stride:i*x.Stride+x.Cols], 1e-6, "value %q", c.private[i])
			}
		})
	}
}

func TestEncoderKeepsTheMostFrequentCategories(t *testing.T) {
	e, err := fitEncoder(oneColumn("c", "z", "z", "b", "a", "d"), encoderOptions{MaxCategories: 2})
	require.NoError(t, err)
	assert.Equal(t, []string{"c=a", "c=z"}, e.Names())
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
		_, err := fitEncoder(oneColumn("c", public...), encoderOptions{})
		assert.Error(t, err, name)
	}
	_, err := fitEncoder(oneColumn("c", "1", "2"), encoderOptions{MaxCategories: -1})
	assert.Error(t, err)
	e, err := fitEncoder(oneColumn("c", "1", "2"), encoderOptions{})
	require.NoError(t, err)
	_, err = e.Encode(oneColumn("d", "1"))
	assert.ErrorContains(t, err, `fitted on "c"`)
	_, err = e.Encode(&Table{Name: "t"})
	assert.ErrorContains(t, err, "0 feature columns")
}

// No private row may shape a feature: whatever the private and test rows hold,
// the encoding of the others is the same.
func TestFeaturesDependOnPublicRowsAndTheRowAlone(t *testing.T) {
	table := randomTable(400, 400)
	for i := range table.Units {
		table.Units[i] = fmt.Sprint("unit ", i)
	}
	before, err := SplitTable(table, Literature)
	require.NoError(t, err)
	const changed = 17
	victim := slices.Index(table.Units, before.Private.Units[changed])
	all, err := fitEncoder(table, encoderOptions{}) // negative control, below
	require.NoError(t, err)
	for j, v := range []string{"1e9", "unheard of", "?"} {
		table.Columns[j].Values[victim] = v
	}
	after, err := SplitTable(table, Literature)
	require.NoError(t, err)
	assert.Equal(t, before.Pool, after.Pool)
	assert.Equal(t, before.Test, after.Test)
	require.Equal(t, before.Private.Units, after.Private.Units)
	for i := range before.Private.Len() {
		a, err := before.Private.Slice(i, i+1)
		require.NoError(t, err)
		b, err := after.Private.Slice(i, i+1)
		require.NoError(t, err)
		assert.Equal(t, i != changed, slices.Equal(a.X.Data, b.X.Data), "private row %d", i)
	}
	// An encoder fitted on private rows too does depend on the victim.
	refitted, err := fitEncoder(table, encoderOptions{})
	require.NoError(t, err)
	assert.NotEqual(t, all, refitted)
}
