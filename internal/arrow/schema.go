package arrow

import (
	"fmt"
	"strings"
)

// Column is a column of a table.
type Column struct {
	Name  string
	Truth bool // truth values

	kind       kind
	bits       int // of a number, or of the number of a word in the dictionary
	signed     bool
	words      bool // values are numbers of words
	dictionary int64
	wordsKind  kind
}

type kind int

const (
	kindNone kind = iota // of which every value is missing
	kindInt
	kindFloat
	kindText
	kindWide // text whose offsets have 8 bytes
	kindBool
)

// Types of the format, as the union Type numbers them.
var types = [...]string{4: "bytes", 7: "decimals", 8: "dates", 9: "times of day", 10: "timestamps", 11: "intervals", 12: "lists", 13: "structures", 14: "unions",
	15: "bytes", 16: "lists", 17: "maps", 18: "durations", 19: "bytes", 21: "lists", 22: "runs of equal values", 23: "views of bytes", 24: "views of strings", 25: "views of lists", 26: "views of lists"}

const maxColumns = 1 << 16

// readSchema reads the table Schema.
func (t *Table) readSchema(schema node) error {
	if schema.whole(0, 2, 0) != 0 {
		return t.failed("is big-endian", "write it on another machine, or as Parquet", nil)
	}
	at, n := schema.vector(1, 4)
	if n > maxColumns {
		return t.failed(fmt.Sprintf("has %d columns, at most %d are read", n, maxColumns), "of numbers alone, save an NPY file", nil)
	}
	for i := range n {
		at := at + 4*i
		c, err := t.readField(schema.f.table(at + schema.f.i32(at)))
		if err != nil {
			return err
		}
		t.columns = append(t.columns, c)
	}
	switch {
	case schema.f.damaged:
		return t.failed("has a damaged schema", again, nil)
	case len(t.columns) == 0:
		return t.failed("has no columns", again, nil)
	}
	return nil
}

// readField reads the table Field.
func (t *Table) readField(field node) (Column, error) {
	c := Column{Name: field.text(0)}
	value := field.table(3)
	which := field.whole(2, 1, 0)
	if _, children := field.vector(5, 4); children > 0 {
		which = 12
	}
	switch which {
	case 1:
		c.kind = kindNone
	case 2:
		c.kind, c.bits, c.signed = intOf(value)
	case 3:
		c.kind = kindFloat
		if precision := value.whole(0, 2, 0); precision >= 0 && precision <= 2 {
			c.bits = 16 << precision
		}
	case 5:
		c.kind = kindText
	case 6:
		c.kind, c.bits, c.Truth = kindBool, 1, true
	case 20:
		c.kind = kindWide
	default:
		if field.f.damaged {
			return c, t.failed("has a damaged schema", again, nil)
		}
		what := "values of a type that is not read"
		if which > 0 && which < int64(len(types)) && types[which] != "" {
			what = types[which]
		}
		fix := fmt.Sprintf("in Python: df[%q] = df[%q].astype(str)", c.Name, c.Name)
		if strings.HasPrefix(what, "views") {
			fix = "write it for readers of older versions (in Polars: compat_level=CompatLevel.oldest()), or as Parquet"
		}
		return c, t.column(c, "holds "+what, fix)
	}
	if (c.kind == kindInt && c.bits != 8 && c.bits != 16 && c.bits != 32 && c.bits != 64) || c.kind == kindFloat && c.bits == 0 {
		return c, t.column(c, "holds numbers of an unknown size", again)
	}
	if dictionary := field.table(4); dictionary.at != 0 {
		if c.kind != kindText && c.kind != kindWide {
			return c, t.column(c, "holds a dictionary of what is no text", fmt.Sprintf("in Python: df[%q] = df[%q].astype(str)", c.Name, c.Name))
		}
		c.words, c.wordsKind, c.dictionary = true, c.kind, dictionary.whole(0, 8, 0)
		if c.kind, c.bits, c.signed = kindInt, 32, true; dictionary.field(1) != 0 {
			_, c.bits, c.signed = intOf(dictionary.table(1))
		}
		if c.bits != 8 && c.bits != 16 && c.bits != 32 && c.bits != 64 {
			return c, t.column(c, "holds numbers of an unknown size", again)
		}
	}
	return c, nil
}

func intOf(value node) (kind, int, bool) {
	return kindInt, int(value.whole(0, 4, 0)), value.whole(1, 1, 0) != 0
}

// buffers returns how many buffers hold a column in a batch.
func (k kind) buffers() int {
	switch k {
	case kindNone:
		return 0
	case kindText, kindWide:
		return 3
	}
	return 2
}
