package parquet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/format"
)

type Column struct {
	Name    string
	Refused string // content of a column that cannot be read, such as "timestamps", otherwise ""

	kind     kind
	physical format.Type
	unsigned bool
	optional bool
	nested   bool
	leaf     int // index among the columns of a row group
}

type kind int

const (
	kindText kind = iota
	kindInt
	kindFloat
	kindBool
	kindDate
)

func (f *File) setColumns(schema []element) error {
	if len(schema) == 0 || schema[0].Children < 1 {
		return f.damaged("has no columns", nil)
	}
	rest := schema[1:]
	for range schema[0].Children {
		if len(rest) == 0 {
			return f.damaged("has a damaged footer", errShort)
		}
		c := columnOf(rest[0])
		c.leaf = f.leaves
		f.columns = append(f.columns, c)
		// Skip the children of the column.
		for open := 1; open > 0; open-- {
			if len(rest) == 0 || rest[0].Children < 0 || int(rest[0].Children) > len(rest) {
				return f.damaged("has a damaged footer", errForeign)
			}
			if rest[0].Children == 0 {
				f.leaves++
			}
			open += int(rest[0].Children)
			rest = rest[1:]
		}
	}
	if len(rest) > 0 {
		return f.damaged("has a damaged footer", errForeign)
	}
	return nil
}

const (
	meansNothing  = ""
	meansText     = "text"
	meansInteger  = "integers"
	meansUnsigned = "unsigned integers"
	meansDate     = "dates"
	meansDecimal  = "decimals"
	meansTime     = "times of day"
	meansStamp    = "timestamps"
	meansUUID     = "UUIDs as bytes"
	meansHalf     = "floats of 16 bits"
	meansInterval = "intervals"
	meansOther    = "values of an unknown type"
	meansBytes    = "bytes that are not declared as text"
)

var convertedMeans = [...]string{
	meansText, meansOther, meansOther, meansOther, meansText, meansDecimal, meansDate, meansTime, meansTime,
	meansStamp, meansStamp, meansUnsigned, meansUnsigned, meansUnsigned, meansUnsigned,
	meansInteger, meansInteger, meansInteger, meansInteger, meansText, meansOther, meansInterval,
}

func (e element) means() string {
	l := e.Logical
	switch {
	case l == nil && e.Converted == nil:
		return meansNothing
	case l == nil && (*e.Converted < 0 || int(*e.Converted) >= len(convertedMeans)):
		return meansOther
	case l == nil:
		return convertedMeans[*e.Converted]
	case l.Integer != nil && l.Integer.Signed != nil && !*l.Integer.Signed:
		return meansUnsigned
	}
	for _, m := range []struct {
		there bool
		means string
	}{
		{l.String != nil || l.Enum != nil || l.JSON != nil, meansText}, {l.Integer != nil || l.Null != nil, meansInteger},
		{l.Date != nil, meansDate}, {l.Decimal != nil, meansDecimal}, {l.Time != nil, meansTime}, {l.Stamp != nil, meansStamp},
		{l.UUID != nil, meansUUID}, {l.Half != nil, meansHalf},
	} {
		if m.there {
			return m.means
		}
	}
	return meansOther
}

func columnOf(e element) Column {
	c := Column{Name: strings.Clone(e.Name), physical: -1}
	if e.Physical != nil {
		c.physical = format.Type(*e.Physical)
	}
	var repetition int32
	if e.Repetition != nil {
		repetition = *e.Repetition
	}
	c.optional = repetition == int32(format.Optional)
	means := e.means()
	c.unsigned = means == meansUnsigned
	switch whole := c.physical == format.Int32 || c.physical == format.Int64; {
	case e.Children > 0 || repetition == int32(format.Repeated):
		c.nested, c.Refused = true, "lists or structures"
	case repetition < 0 || repetition > 2:
		c.Refused = "values of an unknown form"
	case whole && (means == meansNothing || means == meansInteger || means == meansUnsigned):
		c.kind = kindInt
	case c.physical == format.Int32 && means == meansDate:
		c.kind = kindDate
	case c.physical == format.Boolean && means == meansNothing:
		c.kind = kindBool
	case (c.physical == format.Float || c.physical == format.Double) && means == meansNothing:
		c.kind = kindFloat
	case c.physical == format.ByteArray && means == meansText:
		c.kind = kindText
	default:
		c.Refused = refusal(c.physical, means)
	}
	return c
}

func refusal(physical format.Type, means string) string {
	switch {
	case slices.Contains([]string{meansDecimal, meansStamp, meansTime, meansUUID, meansHalf, meansInterval}, means):
		return means
	case means == meansNothing && (physical == format.ByteArray || physical == format.FixedLenByteArray):
		return meansBytes
	case physical == format.Int96:
		return meansStamp
	}
	return meansOther
}

// Truth reports whether the column holds booleans and can be read.
func (c Column) Truth() bool { return c.kind == kindBool && c.Refused == "" }

// Convert returns advice on how to replace a refused column by supported columns, or "" for every other
// column.
func (c Column) Convert() string {
	calls := map[string]string{meansStamp: "astype(str)", meansTime: "astype(str)", meansUUID: "astype(str)",
		meansDecimal: "astype('float64')", meansHalf: "astype('float64')",
		meansBytes: "str.decode('utf-8')", meansInterval: "dt.total_seconds()"}
	call := calls[c.Refused]
	switch {
	case c.Refused == "":
		return ""
	case call == "":
		return "make columns of its parts, or drop the column"
	}
	return fmt.Sprintf("convert the column in Python: df[%q] = df[%[1]q].%s", c.Name, call)
}
