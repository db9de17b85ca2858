package dataset

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/fault"
)

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
	e, err := fitEncoder(table, encoderOptions{})
	require.NoError(t, err)
	want, err := e.Encode(table)
	require.NoError(t, err)
	text, err := json.Marshal(e)
	require.NoError(t, err)
	var read Encoder
	require.NoError(t, json.Unmarshal(text, &read))
	fitted := *e
	fitted.notes, fitted.repeated = nil, nil // are for people, who have read them
	require.Equal(t, fitted, read)
	got, err := read.Encode(table)
	require.NoError(t, err)
	require.Equal(t, want, got)

	// Columns are found by name.
	slices.Reverse(table.Columns)
	table.Columns = slices.Insert(table.Columns, 1, Column{"more", make([]string, 5)})
	got, err = read.EncodeByName(table)
	require.NoError(t, err)
	require.Equal(t, want, got)
	var in *fault.Error
	table.Columns[1].Name = "word"
	_, err = read.EncodeByName(table)
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
		require.ErrorIs(t, json.Unmarshal([]byte(text), &e), errEncoder, text)
	}
}

// FuzzEncoder: JSON is refused, or an encoder that encodes and is written as it was read.
func FuzzEncoder(f *testing.F) {
	e, err := fitEncoder(mixed(), encoderOptions{})
	require.NoError(f, err)
	text, err := json.Marshal(e)
	require.NoError(f, err)
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return // MarshalJSON and UnmarshalJSON see values
		}
		var read, again Encoder
		if err := read.UnmarshalJSON(text); err != nil {
			if !errors.Is(err, errEncoder) {
				t.Fatal(err)
			}
			return
		}
		text, err := json.Marshal(&read)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		require.Equal(t, read, again)
		one := &Table{Y: []int{0}, Units: []string{"u"}}
		for _, c := range read.columns {
			one.Columns = append(one.Columns, Column{Name: c.name, Values: []string{"1"}})
		}
		if _, err := read.Encode(one); err != nil {
			t.Fatal(err)
		}
	})
}
