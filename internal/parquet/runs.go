package parquet

import (
	"encoding/binary"
)

// readBits returns the bits of buf with indices bit to bit+width-1. The caller must check that width
// is at most 64, and that buf has these bits.
func readBits(buf []byte, bit uint64, width uint) uint64 {
	at, shift := bit/8, uint(bit%8)
	if at+8 <= uint64(len(buf)) && width <= 56 {
		return binary.LittleEndian.Uint64(buf[at:]) >> shift & (1<<width - 1)
	}
	var v uint64
	for got := uint(0); got < width; {
		v |= uint64(buf[at]) >> shift << got
		got += 8 - shift
		at, shift = at+1, 0
	}
	if width < 64 {
		v &= 1<<width - 1
	}
	return v
}

// runs decodes integers of at most 32 bits in the RLE encoding of Parquet.
type runs struct {
	buf    []byte
	width  uint
	left   uint64 // remaining values of the run
	value  uint32 // value of a run of one value
	packed []byte // start of a run of packed bits, otherwise nil
	bit    uint64 // position in packed
}

func (r *runs) next() (uint32, error) {
	for r.left == 0 {
		if err := r.start(); err != nil {
			return 0, err
		}
	}
	r.left--
	if r.packed == nil {
		return r.value, nil
	}
	v := readBits(r.packed, r.bit, r.width)
	r.bit += uint64(r.width)
	return uint32(v), nil
}

func (r *runs) start() error {
	head, n := binary.Uvarint(r.buf)
	if n <= 0 {
		return errShort
	}
	r.buf, r.left = r.buf[n:], head>>1
	if head&1 == 0 {
		size := int(r.width+7) / 8
		if len(r.buf) < size {
			return errShort
		}
		var raw [4]byte
		copy(raw[:], r.buf[:size])
		r.value, r.packed, r.buf = binary.LittleEndian.Uint32(raw[:]), nil, r.buf[size:]
		return nil
	}
	width := uint64(r.width)
	if width > 0 && r.left > uint64(len(r.buf))/width || r.left > 1<<40 {
		// Some programs truncate the last group.
		r.left = uint64(len(r.buf)) * 8 / max(1, width)
		r.packed, r.buf, r.bit = r.buf, nil, 0
		if r.left == 0 {
			return errShort
		}
		return nil
	}
	size := r.left * width
	r.left *= 8
	r.packed, r.buf, r.bit = r.buf[:size:size], r.buf[size:], 0
	return nil
}

type deltas struct {
	buf   []byte
	left  uint64 // remaining values
	value int64  // next value
	first bool   // the next value is the first

	perBlock, perPart uint64
	least             int64  // least difference of the block
	widths            []byte // bit widths of the remaining parts of the block
	bit               uint64 // position in the part, which starts at buf
	inPart            uint64 // remaining values of the part
	width             uint
}

const maxBlock = 1 << 16

func cut[T uint64 | int64](buf *[]byte, read func([]byte) (T, int)) (T, error) {
	v, n := read(*buf)
	switch {
	case n == 0:
		return 0, errShort
	case n < 0:
		return 0, errForeign
	}
	*buf = (*buf)[n:]
	return v, nil
}

func newDeltas(buf []byte) (deltas, error) {
	var d deltas
	if len(buf) == 0 {
		return d, nil
	}
	var head [3]uint64 // values per block, parts per block, number of values
	for i := range head {
		var err error
		if head[i], err = cut(&buf, binary.Uvarint); err != nil {
			return d, err
		}
	}
	first, err := cut(&buf, binary.Varint)
	if err != nil {
		return d, err
	}
	block, parts := head[0], head[1]
	if parts == 0 || parts > 1<<10 || block == 0 || block > maxBlock || block%(8*parts) != 0 || head[2] > 1<<31 {
		return d, errForeign
	}
	return deltas{buf: buf, left: head[2], value: first, first: true, perBlock: block, perPart: block / parts}, nil
}

func (d *deltas) next() (int64, error) {
	if d.left == 0 {
		return 0, errShort
	}
	d.left--
	if d.first {
		d.first = false
		return d.value, nil
	}
	if d.inPart == 0 {
		if err := d.start(); err != nil {
			return 0, err
		}
	}
	d.value += d.least + int64(readBits(d.buf, d.bit, d.width))
	d.bit += uint64(d.width)
	d.inPart--
	return d.value, nil
}

func (d *deltas) start() error {
	d.leave()
	if len(d.widths) == 0 {
		var err error
		if d.least, err = cut(&d.buf, binary.Varint); err != nil {
			return err
		}
		parts := d.perBlock / d.perPart
		if uint64(len(d.buf)) < parts {
			return errShort
		}
		d.widths, d.buf = d.buf[:parts], d.buf[parts:]
	}
	d.width, d.widths = uint(d.widths[0]), d.widths[1:]
	if d.width > 64 {
		return errForeign
	}
	if uint64(len(d.buf)) < d.perPart/8*uint64(d.width) {
		return errShort
	}
	d.inPart = d.perPart
	return nil
}

func (d *deltas) leave() {
	if d.bit > 0 {
		d.buf = d.buf[d.perPart/8*uint64(d.width):]
	}
	d.bit, d.inPart = 0, 0
}

func deltasAnd(buf []byte) (deltas, []byte, error) {
	d, err := newDeltas(buf)
	if err != nil {
		return d, nil, err
	}
	last := d
	for last.left > 0 {
		if _, err := last.next(); err != nil {
			return d, nil, err
		}
	}
	last.leave()
	return d, last.buf, nil
}
