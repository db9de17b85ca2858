package parquet

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go/format"
)

const plainDictionary format.Encoding = 2

func appending[T any](next func() (T, error), write func(dst []byte, v T) []byte) func(dst []byte) ([]byte, error) {
	return func(dst []byte) ([]byte, error) {
		v, err := next()
		if err != nil {
			return dst, err
		}
		return write(dst, v), nil
	}
}

func appendText(dst, text []byte) []byte { return append(dst, text...) }

func (c *cursor) values(encoding int32, buf []byte) (next func(dst []byte) ([]byte, error), err error) {
	col, width := c.c, c.c.width()
	whole := col.physical == format.Int32 || col.physical == format.Int64
	switch e := format.Encoding(encoding); {
	case e == format.RLEDictionary || e == plainDictionary:
		return picked(c.dict, buf)
	case e == format.Plain && col.kind == kindBool:
		bit := uint64(0)
		return appending(func() (uint32, error) {
			if bit/8 >= uint64(len(buf)) {
				return 0, errShort
			}
			bit++
			return uint32(readBits(buf, bit-1, 1)), nil
		}, appendBool), nil
	case e == format.RLE && col.kind == kindBool:
		r := runs{buf: buf[min(4, len(buf)):], width: 1} // skip the length
		return appending(r.next, appendBool), nil
	case e == format.Plain && col.kind == kindText:
		return appending(func() (text []byte, err error) {
			text, buf, err = cutText(buf)
			return text, err
		}, appendText), nil
	case e == format.Plain && width > 0:
		return appending(func() ([]byte, error) {
			if len(buf) < width {
				return nil, errShort
			}
			raw := buf
			buf = buf[width:]
			return raw, nil
		}, col.appendFixed), nil
	case e == format.ByteStreamSplit && width > 0: // all first bytes, then all second bytes, ...
		at, n := 0, len(buf)/width
		raw := make([]byte, width)
		return appending(func() ([]byte, error) {
			if at == n {
				return nil, errShort
			}
			for i := range raw {
				raw[i] = buf[i*n+at]
			}
			at++
			return raw, nil
		}, col.appendFixed), nil
	case e == format.DeltaBinaryPacked && whole:
		d, err := newDeltas(buf)
		return appending(d.next, func(dst []byte, v int64) []byte {
			if col.physical == format.Int32 {
				v = int64(int32(v))
			}
			return col.appendWhole(dst, v)
		}), err
	case e == format.DeltaLengthByteArray && col.kind == kindText:
		text, err := textsByLength(buf)
		return appending(text, appendText), err
	case e == format.DeltaByteArray && col.kind == kindText:
		text, err := textsByPrefix(buf)
		return appending(text, appendText), err
	}
	return nil, complain("has encoding %d, which cannot be read", encoding)
}

func cutText(buf []byte) (text, rest []byte, err error) {
	if len(buf) < 4 || uint64(binary.LittleEndian.Uint32(buf)) > uint64(len(buf)-4) {
		return nil, nil, errShort
	}
	n := 4 + int(binary.LittleEndian.Uint32(buf))
	return buf[4:n], buf[n:], nil
}

func textsByLength(buf []byte) (func() ([]byte, error), error) {
	lengths, text, err := deltasAnd(buf)
	return func() ([]byte, error) {
		n, err := lengths.next()
		if err == nil && (n < 0 || n > int64(len(text))) {
			err = errShort
		}
		if err != nil {
			return nil, err
		}
		next := text[:n]
		text = text[n:]
		return next, nil
	}, err
}

func textsByPrefix(buf []byte) (func() ([]byte, error), error) {
	prefixes, buf, err := deltasAnd(buf)
	if err != nil {
		return nil, err
	}
	suffix, err := textsByLength(buf)
	var last []byte
	return func() ([]byte, error) {
		n, err := prefixes.next()
		if err == nil && (n < 0 || n > int64(len(last))) {
			err = errForeign
		}
		if err != nil {
			return nil, err
		}
		rest, err := suffix()
		if err != nil {
			return nil, err
		}
		if n+int64(len(rest)) > maxRow {
			return nil, complain("ends a row of more than %d bytes", maxRow)
		}
		last = append(last[:n], rest...)
		return last, nil
	}, err
}

type dictionary struct {
	c     Column
	buf   []byte
	n     int
	width int
	ends  []uint32 // ends of texts in buf; each text follows its length in four bytes
}

func newDictionary(c Column, n int, buf []byte) (*dictionary, error) {
	d := &dictionary{c: c, buf: buf, n: n, width: c.width()}
	switch {
	case c.kind == kindBool || n < 0:
		return nil, errForeign
	case d.width > 0 && n > len(buf)/d.width:
		return nil, complain("claims %d values in %d bytes", n, len(buf))
	case d.width > 0:
		return d, nil
	case n > len(buf)/4:
		return nil, complain("claims %d texts in %d bytes", n, len(buf))
	}
	d.ends = make([]uint32, n)
	rest := buf
	for i := range d.ends {
		var err error
		if _, rest, err = cutText(rest); err != nil {
			return nil, err
		}
		d.ends[i] = uint32(len(buf) - len(rest))
	}
	return d, nil
}

func (d *dictionary) append(dst []byte, i int) ([]byte, error) {
	if i >= d.n {
		return dst, complain("names value %d of a dictionary of %d", i, d.n)
	}
	if d.width > 0 {
		return d.c.appendFixed(dst, d.buf[i*d.width:]), nil
	}
	from := uint32(4)
	if i > 0 {
		from += d.ends[i-1]
	}
	return append(dst, d.buf[from:d.ends[i]]...), nil
}

func picked(d *dictionary, buf []byte) (func(dst []byte) ([]byte, error), error) {
	if d == nil {
		return nil, complain("needs a dictionary but has none")
	}
	var r runs
	if len(buf) > 0 { // if empty, all values are missing
		if buf[0] > 32 {
			return nil, complain("packs values in %d bits", buf[0])
		}
		r = runs{buf: buf[1:], width: uint(buf[0])}
	}
	return func(dst []byte) ([]byte, error) {
		i, err := r.next()
		if err != nil {
			return dst, err
		}
		return d.append(dst, int(i))
	}, nil
}

func (c Column) width() int {
	switch c.physical {
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	}
	return 0
}

func (c Column) appendFixed(dst, raw []byte) []byte {
	le := binary.LittleEndian
	switch c.physical {
	case format.Float:
		return appendFloat(dst, float64(math.Float32frombits(le.Uint32(raw))), 32)
	case format.Double:
		return appendFloat(dst, math.Float64frombits(le.Uint64(raw)), 64)
	case format.Int32:
		return c.appendWhole(dst, int64(int32(le.Uint32(raw))))
	}
	return c.appendWhole(dst, int64(le.Uint64(raw)))
}

func (c Column) appendWhole(dst []byte, v int64) []byte {
	switch {
	case c.kind == kindDate:
		return time.Unix(v*86400, 0).UTC().AppendFormat(dst, "2006-01-02")
	case !c.unsigned:
		return strconv.AppendInt(dst, v, 10)
	case c.physical == format.Int32:
		return strconv.AppendUint(dst, uint64(uint32(v)), 10)
	}
	return strconv.AppendUint(dst, uint64(v), 10)
}

// appendFloat appends nothing for NaN, which pandas stores for missing numbers.
func appendFloat(dst []byte, v float64, bits int) []byte {
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

func appendBool(dst []byte, v uint32) []byte {
	if v == 1 {
		return append(dst, "True"...)
	}
	return append(dst, "False"...)
}
