package shell

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"strings"

	"github.com/pate-go/pate/internal/table"
)

// Object is a JSON object that keeps the order of its fields: their names and values in turn. A field whose
// name ends in a question mark is left out where it is zero, nil or an empty list.
type Object []any

func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i := 0; i < len(o); i += 2 {
		name, optional := strings.CutSuffix(o[i].(string), "?")
		if v := reflect.ValueOf(o[i+1]); optional && (!v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0) {
			continue
		}
		value, err := json.Marshal(o[i+1])
		if err != nil {
			return nil, err
		}
		b.WriteString(`,"` + name + `":`)
		b.Write(value)
	}
	if b.Len() == 0 {
		return []byte("{}"), nil
	}
	return append(append([]byte("{"), b.Bytes()[1:]...), '}'), nil
}

// Number is a float64 whose infinity is null in JSON.
type Number float64

func (x Number) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// WriteJSON writes v, indented, and a line end.
func WriteJSON(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// TableOf returns a table with these columns and no rows. A < before a name aligns its column to the left.
func TableOf(names ...string) table.Table {
	var t table.Table
	for _, name := range names {
		name, left := strings.CutPrefix(name, "<")
		t.Header, t.Left = append(t.Header, name), append(t.Left, left)
	}
	return t
}
