package parquet

import (
	"encoding/binary"
)

// readBits reads width bits, at most 64, from a bit of buf on, the lowest first. They must
// be there.
func readBits(buf []byte, bit uint64, width uint) uint64 {
	at, shift := bit/8, uint(bit%8)
	if at+8 <= uint64(len(buf)) && width <= 56 {
		return binary.LittleEndian.Uint64(buf[at:]) >> shift & (1<<width - 1)
	}
	var v uint64
	for got := uint(0); got < width; {
		part := uint64(buf[at]) >> shift
		v |= part << got
		got += 8 - shift
		at, shift = at+1, 0
	}
	if width < 64 {
		v &= 1<<width - 1
	}
	return v
}

// hybrid reads the encoding RLE: runs of one value, and runs of packed bits.
type hybrid struct {
	buf   []byte
	width uint
	left  uint64 // of the run
	value uint32 // of a run of one value
	bit   uint64 // of a packed run, which lies at the start of packed
	// packed is nil in a run of one value.
	packed []byte
}

func newHybrid(buf []byte, width uint) (hybrid, error) {
	if width > 32 {
		return hybrid{}, complain("packs values in %d bits", width)
	}
	return hybrid{buf: buf, width: width}, nil
}

func (h *hybrid) next() (uint32, error) {
	for h.left == 0 {
		head, n := binary.Uvarint(h.buf)
		if n <= 0 {
			return 0, errShort
		}
		h.buf = h.buf[n:]
		h.left = head >> 1
		if head&1 == 0 {
			size := int(h.width+7) / 8
			if len(h.buf) < size {
				return 0, errShort
			}
			h.value, h.packed = 0, nil
			for i := size - 1; i >= 0; i-- {
				h.value = h.value<<8 | uint32(h.buf[i])
			}
			h.buf = h.buf[size:]
			continue
		}
		if h.left > uint64(len(h.buf))/max(1, uint64(h.width)) && h.width > 0 || h.left > 1<<40 {
			// Some programs cut off the last group, where nothing follows.
			h.left = uint64(len(h.buf)) * 8 / max(1, uint64(h.width))
			h.packed, h.buf, h.bit = h.buf, nil, 0
			if h.left == 0 {
				return 0, errShort
			}
			continue
		}
		size := h.left * uint64(h.width)
		h.left *= 8
		h.packed, h.buf, h.bit = h.buf[:size:size], h.buf[size:], 0
	}
	h.left--
	if h.packed == nil {
		return h.value, nil
	}
	v := readBits(h.packed, h.bit, h.width)
	h.bit += uint64(h.width)
	return uint32(v), nil
}

// delta reads the encoding DELTA_BINARY_PACKED: differences in blocks of packed bits.
type delta struct {
	buf   []byte
	left  uint64 // values that are still to come
	value int64  // the next one
	first bool   // the next one is the first

	perBlock, perMini uint64
	least             int64  // of the differences of a block
	widths            []byte // of the parts of a block that are still to come
	bit               uint64 // in the part that lies at the start of buf
	inMini            uint64 // values left in it
	width             uint
}

// maxBlock bounds the differences of a block; programs write 128 to 2048.
const maxBlock = 1 << 16

func newDelta(buf []byte) (delta, error) {
	t := thrift{buf: buf}
	d := delta{perBlock: t.uvarint()}
	minis := t.uvarint()
	d.left = t.uvarint()
	d.value = unzigzag(t.uvarint())
	if t.err != nil {
		return d, t.err
	}
	if minis == 0 || minis > 1<<10 || d.perBlock == 0 || d.perBlock > maxBlock || d.perBlock%minis != 0 || d.perBlock/minis%8 != 0 || d.left > 1<<31 {
		return d, errForeign
	}
	d.buf, d.perMini, d.first = t.buf, d.perBlock/minis, true
	return d, nil
}

func (d *delta) next() (int64, error) {
	if d.left == 0 {
		return 0, errShort
	}
	d.left--
	if d.first {
		d.first = false
		return d.value, nil
	}
	if d.inMini == 0 {
		if err := d.startMini(); err != nil {
			return 0, err
		}
	}
	d.value += d.least + int64(readBits(d.buf, d.bit, d.width))
	d.bit += uint64(d.width)
	d.inMini--
	return d.value, nil
}

// startMini goes to the next part of a block.
func (d *delta) startMini() error {
	d.leaveMini()
	if len(d.widths) == 0 {
		t := thrift{buf: d.buf}
		d.least = unzigzag(t.uvarint())
		minis := d.perBlock / d.perMini
		if t.err == nil && uint64(len(t.buf)) < minis {
			t.fail(errShort)
		}
		if t.err != nil {
			return t.err
		}
		d.widths, d.buf = t.buf[:minis], t.buf[minis:]
	}
	d.width, d.widths = uint(d.widths[0]), d.widths[1:]
	if d.width > 64 {
		return errForeign
	}
	if uint64(len(d.buf)) < d.perMini/8*uint64(d.width) {
		return errShort
	}
	d.inMini = d.perMini
	return nil
}

// leaveMini passes over the part that was read, which is filled up to its full length.
func (d *delta) leaveMini() {
	if d.bit > 0 {
		d.buf = d.buf[d.perMini/8*uint64(d.width):]
	}
	d.bit, d.inMini = 0, 0
}

// rest returns what follows the last value. It reads a copy to the end.
func (d delta) rest() ([]byte, error) {
	for d.left > 0 {
		if _, err := d.next(); err != nil {
			return nil, err
		}
	}
	d.leaveMini()
	return d.buf, nil
}
