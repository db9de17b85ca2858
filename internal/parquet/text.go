package parquet

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"
)

// width returns the bytes of a value in the plain encoding, 0 if they differ.
func (c Column) width() int {
	switch c.physical {
	case physInt32, physFloat:
		return 4
	case physInt64, physDouble:
		return 8
	}
	return 0
}

// appendFixed writes a value of fixed width as a text.
func (c Column) appendFixed(dst, raw []byte) []byte {
	le := binary.LittleEndian
	switch c.physical {
	case physFloat:
		return AppendFloat(dst, float64(math.Float32frombits(le.Uint32(raw))), 32)
	case physDouble:
		return AppendFloat(dst, math.Float64frombits(le.Uint64(raw)), 64)
	case physInt32:
		return c.appendWhole(dst, int64(int32(le.Uint32(raw))))
	}
	return c.appendWhole(dst, int64(le.Uint64(raw)))
}

// appendWhole writes an integer or a date, given with its sign extended.
func (c Column) appendWhole(dst []byte, v int64) []byte {
	switch {
	case c.kind == kindDate:
		return time.Unix(v*86400, 0).UTC().AppendFormat(dst, "2006-01-02")
	case c.signed:
		return strconv.AppendInt(dst, v, 10)
	case c.physical == physInt32:
		return strconv.AppendUint(dst, uint64(uint32(v)), 10)
	}
	return strconv.AppendUint(dst, uint64(v), 10)
}

// AppendFloat writes the shortest text that reads back to v: nothing for NaN, which is how
// pandas keeps a missing number, and no point in a whole number.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return dst
	case math.IsInf(v, 1):
		return append(dst, "inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	}
	form := byte('f')
	if size := math.Abs(v); size != 0 && (size < 1e-4 || size >= 1e16) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, v, form, -1, bits)
}

// AppendBool writes truth as pandas does.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, "True"...)
	}
	return append(dst, "False"...)
}
