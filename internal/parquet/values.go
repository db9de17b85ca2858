package parquet

import (
	"encoding/binary"
)

// Encodings.
const (
	encPlain           = 0
	encPlainDictionary = 2
	encRLE             = 3
	encDelta           = 5
	encDeltaLength     = 6
	encDeltaText       = 7
	encDictionary      = 8
	encSplit           = 9
)

// values are the values of a page that are not missing, one after the other.
type values interface {
	// next appends the text of the next value.
	next(dst []byte) ([]byte, error)
}

// newValues reads values from the bytes of a page.
func (c Column) newValues(encoding int64, buf []byte, dict *dictionary) (values, error) {
	width := c.width()
	switch {
	case encoding == encDictionary || encoding == encPlainDictionary:
		if dict == nil {
			return nil, complain("needs a dictionary and has none")
		}
		if len(buf) == 0 {
			return &picked{dict: dict}, nil // all are missing
		}
		h, err := newHybrid(buf[1:], uint(buf[0]))
		return &picked{dict, h}, err
	case encoding == encPlain && c.kind == kindBool:
		return &plainBools{buf: buf}, nil
	case encoding == encRLE && c.kind == kindBool:
		if len(buf) < 4 {
			return &runBools{}, nil
		}
		h, err := newHybrid(buf[4:], 1)
		return &runBools{h}, err
	case encoding == encPlain && c.kind == kindText:
		return &plainTexts{buf}, nil
	case encoding == encPlain && width > 0:
		return &plainFixed{c, width, buf}, nil
	case encoding == encSplit && width > 0:
		return &split{c: c, width: width, buf: buf}, nil
	case encoding == encDelta && (c.physical == physInt32 || c.physical == physInt64):
		d, err := deltaOf(buf)
		return &deltaInts{c, d}, err
	case encoding == encDeltaLength && c.kind == kindText:
		lengths, text, err := lengthsAnd(buf)
		return &lengthTexts{lengths, text}, err
	case encoding == encDeltaText && c.kind == kindText:
		prefixes, buf, err := lengthsAnd(buf)
		if err != nil {
			return nil, err
		}
		suffixes, text, err := lengthsAnd(buf)
		return &prefixTexts{prefixes: prefixes, suffixes: lengthTexts{suffixes, text}}, err
	}
	return nil, complain("has encoding %d, which is not read", encoding)
}

// deltaOf reads differences. Some programs write nothing where all values are missing.
func deltaOf(buf []byte) (delta, error) {
	if len(buf) == 0 {
		return delta{}, nil
	}
	return newDelta(buf)
}

// lengthsAnd reads lengths and returns what follows them.
func lengthsAnd(buf []byte) (delta, []byte, error) {
	d, err := deltaOf(buf)
	if err != nil {
		return d, nil, err
	}
	rest, err := d.rest()
	return d, rest, err
}

// dictionary is the values of a column that pages name by number.
type dictionary struct {
	c     Column
	buf   []byte
	n     int
	width int
	texts []uint32 // of texts: where each ends; the four bytes of a length are before each
}

func newDictionary(c Column, n int64, buf []byte) (*dictionary, error) {
	d := &dictionary{c: c, buf: buf, width: c.width()}
	switch {
	case c.kind == kindBool || n < 0:
		return nil, errForeign
	case d.width > 0:
		if n > int64(len(buf)/d.width) {
			return nil, complain("claims %d values in %d bytes", n, len(buf))
		}
	default:
		if n > int64(len(buf)/4) {
			return nil, complain("claims %d texts in %d bytes", n, len(buf))
		}
		d.texts = make([]uint32, n)
		at := 0
		for i := range d.texts {
			_, rest, err := cutText(buf[at:])
			if err != nil {
				return nil, err
			}
			at = len(buf) - len(rest)
			d.texts[i] = uint32(at)
		}
	}
	d.n = int(n)
	return d, nil
}

func (d *dictionary) append(dst []byte, i uint32) ([]byte, error) {
	if int64(i) >= int64(d.n) {
		return dst, complain("names value %d of a dictionary of %d", i, d.n)
	}
	if d.width > 0 {
		return d.c.appendFixed(dst, d.buf[int(i)*d.width:]), nil
	}
	from := uint32(4)
	if i > 0 {
		from += d.texts[i-1]
	}
	return append(dst, d.buf[from:d.texts[i]]...), nil
}

// cutText takes a text in the plain encoding from buf.
func cutText(buf []byte) (text, rest []byte, err error) {
	if len(buf) < 4 {
		return nil, nil, errShort
	}
	n := uint64(binary.LittleEndian.Uint32(buf))
	if n > uint64(len(buf)-4) {
		return nil, nil, errShort
	}
	return buf[4 : 4+n], buf[4+n:], nil
}

type picked struct {
	dict *dictionary
	at   hybrid
}

func (p *picked) next(dst []byte) ([]byte, error) {
	i, err := p.at.next()
	if err != nil {
		return dst, err
	}
	return p.dict.append(dst, i)
}

type plainTexts struct{ buf []byte }

func (p *plainTexts) next(dst []byte) ([]byte, error) {
	text, rest, err := cutText(p.buf)
	p.buf = rest
	return append(dst, text...), err
}

type plainFixed struct {
	c     Column
	width int
	buf   []byte
}

func (p *plainFixed) next(dst []byte) ([]byte, error) {
	if len(p.buf) < p.width {
		return dst, errShort
	}
	dst = p.c.appendFixed(dst, p.buf)
	p.buf = p.buf[p.width:]
	return dst, nil
}

type plainBools struct {
	buf []byte
	bit uint64
}

func (p *plainBools) next(dst []byte) ([]byte, error) {
	if p.bit/8 >= uint64(len(p.buf)) {
		return dst, errShort
	}
	v := p.buf[p.bit/8]>>(p.bit%8)&1 == 1
	p.bit++
	return AppendBool(dst, v), nil
}

type runBools struct{ at hybrid }

func (r *runBools) next(dst []byte) ([]byte, error) {
	v, err := r.at.next()
	if err != nil {
		return dst, err
	}
	return AppendBool(dst, v == 1), nil
}

// split reads values whose first bytes stand together, then their second ones, and so on.
type split struct {
	c     Column
	width int
	buf   []byte
	at    int
}

func (s *split) next(dst []byte) ([]byte, error) {
	n := len(s.buf) / s.width
	if s.at >= n {
		return dst, errShort
	}
	var raw [8]byte
	for i := range s.width {
		raw[i] = s.buf[i*n+s.at]
	}
	s.at++
	return s.c.appendFixed(dst, raw[:]), nil
}

type deltaInts struct {
	c  Column
	at delta
}

func (d *deltaInts) next(dst []byte) ([]byte, error) {
	v, err := d.at.next()
	if err != nil {
		return dst, err
	}
	if d.c.physical == physInt32 {
		v = int64(int32(v)) // differences wrap
	}
	return d.c.appendWhole(dst, v), nil
}

type lengthTexts struct {
	lengths delta
	buf     []byte
}

func (l *lengthTexts) next(dst []byte) ([]byte, error) {
	n, err := l.lengths.next()
	switch {
	case err != nil:
		return dst, err
	case n < 0 || n > int64(len(l.buf)):
		return dst, errShort
	}
	dst, l.buf = append(dst, l.buf[:n]...), l.buf[n:]
	return dst, nil
}

// prefixTexts reads texts that begin as the one before.
type prefixTexts struct {
	prefixes delta
	suffixes lengthTexts
	last     []byte
}

func (p *prefixTexts) next(dst []byte) ([]byte, error) {
	n, err := p.prefixes.next()
	switch {
	case err != nil:
		return dst, err
	case n < 0 || n > int64(len(p.last)):
		return dst, errForeign
	}
	if p.last, err = p.suffixes.next(p.last[:n]); err != nil {
		return dst, err
	}
	if len(p.last) > maxRow {
		return dst, complain("has a text of more than %d bytes", maxRow)
	}
	return append(dst, p.last...), nil
}
