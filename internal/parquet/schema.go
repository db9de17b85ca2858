package parquet

import (
	"fmt"
)

// Column is a column of a table.
type Column struct {
	Name string
	// Refused says what the column holds, if that is not read: "timestamps". It is empty
	// for what is read.
	Refused string

	kind     kind
	physical int64
	signed   bool
	optional bool
	nested   bool
	leaf     int // its place among the columns of a row group
}

// kind is how a value becomes a text.
type kind int

const (
	kindText kind = iota
	kindInt
	kindFloat
	kindBool
	kindDate
)

// Physical types.
const (
	physBool = iota
	physInt32
	physInt64
	physInt96
	physFloat
	physDouble
	physBytes
	physFixed
)

// element is the structure SchemaElement: a column, or what lies above some.
type element struct {
	name       string
	physical   int64 // -1: it has children
	repetition int64
	children   int64
	converted  int64 // the older way to say what values mean; -1 if it is not used
	logical    int64 // the field of the union LogicalType; 0 if it is not used
	unsigned   bool  // of logical integers
}

func readElement(t *thrift, wire byte) element {
	e := element{physical: -1, converted: -1}
	t.fields(wire, func(id int64, wire byte) {
		switch id {
		case 1:
			e.physical = t.whole(wire)
		case 3:
			e.repetition = t.whole(wire)
		case 4:
			e.name = string(t.bytes(wire))
		case 5:
			e.children = t.whole(wire)
		case 6:
			e.converted = t.whole(wire)
		case 10:
			t.fields(wire, func(id int64, wire byte) {
				e.logical = id
				if id != logicalInteger {
					t.skip(wire)
					return
				}
				t.fields(wire, func(id int64, wire byte) {
					e.unsigned = e.unsigned || id == 2 && wire == wireFalse
					t.skip(wire)
				})
			})
		default:
			t.skip(wire)
		}
	})
	return e
}

// setColumns finds the columns of the schema, which lists a tree from its root.
func (f *File) setColumns(schema []element) error {
	if len(schema) == 0 || schema[0].children < 1 {
		return f.damaged("has no columns", nil)
	}
	rest := schema[1:]
	for range schema[0].children {
		if len(rest) == 0 {
			return f.damaged("has a damaged footer", errShort)
		}
		c := columnOf(rest[0])
		c.leaf = f.leaves
		f.columns = append(f.columns, c)
		// A column takes the elements below it, too.
		for open := int64(1); open > 0; open-- {
			if len(rest) == 0 || rest[0].children < 0 || rest[0].children > int64(len(rest)) {
				return f.damaged("has a damaged footer", errForeign)
			}
			if rest[0].children == 0 {
				f.leaves++
			}
			open += rest[0].children
			rest = rest[1:]
		}
	}
	if len(rest) > 0 {
		return f.damaged("has a damaged footer", errForeign)
	}
	return nil
}

// Fields of the union LogicalType, and values of ConvertedType.
const (
	logicalString, logicalEnum, logicalDecimal, logicalDate, logicalTime, logicalTimestamp      = 1, 4, 5, 6, 7, 8
	logicalInteger, logicalNull, logicalJSON, logicalBSON, logicalUUID, logicalHalf             = 10, 11, 12, 13, 14, 15
	convertedUTF8, convertedEnum, convertedDecimal, convertedDate, convertedTimeMS              = 0, 4, 5, 6, 7
	convertedTimeUS, convertedStampMS, convertedStampUS, convertedUint8, convertedUint64        = 8, 9, 10, 11, 14
	convertedInt8, convertedInt64, convertedJSON, convertedBSON, convertedInterval, noConverted = 15, 18, 19, 20, 21, -1
)

// columnOf says what the values of a column are.
func columnOf(e element) Column {
	c := Column{Name: e.name, physical: e.physical, optional: e.repetition == 1, signed: true}
	if e.children > 0 || e.repetition == 2 {
		c.nested, c.Refused = true, "lists or structures"
		return c
	}
	if e.logical == 0 {
		e.logical = logicalOf(e.converted)
		e.unsigned = e.converted >= convertedUint8 && e.converted <= convertedUint64
	}
	whole := e.physical == physInt32 || e.physical == physInt64
	switch {
	case e.repetition < 0 || e.repetition > 2:
		c.Refused = "values of an unknown form"
	case whole && (e.logical == 0 || e.logical == logicalInteger || e.logical == logicalNull):
		c.kind, c.signed = kindInt, !e.unsigned
	case e.physical == physInt32 && e.logical == logicalDate:
		c.kind = kindDate
	case e.physical == physBool && e.logical == 0:
		c.kind = kindBool
	case (e.physical == physFloat || e.physical == physDouble) && e.logical == 0:
		c.kind = kindFloat
	case e.physical == physBytes && (e.logical == logicalString || e.logical == logicalEnum || e.logical == logicalJSON):
		c.kind = kindText
	default:
		c.Refused = refusal(e)
	}
	return c
}

// logicalOf translates the older way to say what values mean.
func logicalOf(converted int64) int64 {
	switch {
	case converted == noConverted:
		return 0
	case converted == convertedUTF8:
		return logicalString
	case converted == convertedEnum:
		return logicalEnum
	case converted == convertedDecimal:
		return logicalDecimal
	case converted == convertedDate:
		return logicalDate
	case converted == convertedTimeMS || converted == convertedTimeUS:
		return logicalTime
	case converted == convertedStampMS || converted == convertedStampUS:
		return logicalTimestamp
	case converted >= convertedUint8 && converted <= convertedInt64:
		return logicalInteger
	case converted == convertedJSON:
		return logicalJSON
	case converted == convertedBSON:
		return logicalBSON
	}
	return -1
}

// refusal names what is not read.
func refusal(e element) string {
	switch {
	case e.logical == logicalDecimal:
		return "decimals"
	case e.logical == logicalTimestamp || e.physical == physInt96:
		return "timestamps"
	case e.logical == logicalTime:
		return "times of day"
	case e.logical == logicalUUID:
		return "UUIDs as bytes"
	case e.logical == logicalHalf:
		return "floats of 16 bits"
	case e.logical == 0 && (e.physical == physBytes || e.physical == physFixed):
		return "bytes of which the file does not say that they are text"
	case e.converted == convertedInterval:
		return "intervals"
	}
	return "values of a type that is not read"
}

// Truth reports whether the values are truth values.
func (c Column) Truth() bool { return c.kind == kindBool && c.Refused == "" }

// Convert says how a refused column is made one that is read, in words of pandas. It is
// empty where the column is read.
func (c Column) Convert() string {
	switch c.Refused {
	case "":
		return ""
	case "timestamps", "times of day", "UUIDs as bytes":
		return fmt.Sprintf("in Python: df[%q] = df[%q].astype(str)", c.Name, c.Name)
	case "decimals", "floats of 16 bits":
		return fmt.Sprintf("in Python: df[%q] = df[%q].astype('float64')", c.Name, c.Name)
	case "bytes of which the file does not say that they are text":
		return fmt.Sprintf("in Python: df[%q] = df[%q].str.decode('utf-8')", c.Name, c.Name)
	case "intervals":
		return fmt.Sprintf("in Python: df[%q] = df[%q].dt.total_seconds()", c.Name, c.Name)
	}
	return "make columns of its parts, or leave it out"
}
