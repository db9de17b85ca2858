package votes_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// element encodes a whole number as an element of an NPY type.
func element(buf []byte, typ string, v int) []byte {
	var order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	} = binary.LittleEndian
	if typ[0] == '>' {
		order = binary.BigEndian
	}
	switch typ[1:] {
	case "i1", "u1", "b1":
		return append(buf, byte(v))
	case "i2", "u2":
		return order.AppendUint16(buf, uint16(v))
	case "i4", "u4":
		return order.AppendUint32(buf, uint32(v))
	case "i8", "u8":
		return order.AppendUint64(buf, uint64(v))
	case "f2":
		return order.AppendUint16(buf, half(v))
	case "f4":
		return order.AppendUint32(buf, math.Float32bits(float32(v)))
	case "f8":
		return order.AppendUint64(buf, math.Float64bits(float64(v)))
	}
	panic(typ)
}

// half is a whole number below 2048 in 16 bits, found by trying all exponents.
func half(v int) uint16 {
	sign := uint16(0)
	if v < 0 {
		sign, v = 0x8000, -v
	}
	if v == 0 {
		return sign
	}
	exp := 0
	for v>>(exp+1) > 0 {
		exp++
	}
	return sign | uint16(exp+15)<<10 | uint16(v<<(10-exp)&0x3ff)
}

// encodeNPY writes a matrix as NumPy would.
func encodeNPY(version byte, typ string, fortran bool, rows, cols int, at func(row, col int) int) []byte {
	var data []byte
	order := "False"
	if fortran {
		order = "True"
		for c := range cols {
			for r := range rows {
				data = element(data, typ, at(r, c))
			}
		}
	} else {
		for r := range rows {
			for c := range cols {
				data = element(data, typ, at(r, c))
			}
		}
	}
	return npy(version, fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }\n", typ, order, rows, cols), data)
}

// encodeCSV writes a matrix with a cell in one of the forms that are read.
func encodeCSV(sep, newline string, header bool, rows, cols int, cell func(row, col int) string) []byte {
	var b strings.Builder
	if header {
		for c := range cols {
			if c > 0 {
				b.WriteString(sep)
			}
			fmt.Fprintf(&b, `"teacher%s %d"`, sep, c)
		}
		b.WriteString(newline)
	}
	for r := range rows {
		for c := range cols {
			if c > 0 {
				b.WriteString(sep)
			}
			b.WriteString(cell(r, c))
		}
		b.WriteString(newline)
	}
	return []byte(b.String())
}

var npyTypes = []string{"|i1", "|u1", "|b1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"}
