package parquet

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

const (
	// maxPage bounds the unpacked bytes of a page; programs write 1 MiB or so.
	maxPage = 64 << 20
	// MaxLive bounds the pages and dictionaries of all columns that are held at a time.
	MaxLive = 512 << 20
)

// Types of pages.
const (
	pageData       = 0
	pageDictionary = 2
	pageData2      = 3
)

// pageHead is the structure PageHeader.
type pageHead struct {
	kind, full, packed int64
	crc                uint32
	hasCRC             bool
	values, encoding   int64
	levels, repeats    int64 // of version 2: the bytes of levels
	plain              bool  // of version 2: values are not compressed
}

func readPageHead(t *thrift) (h pageHead) {
	h.kind, h.full, h.packed, h.values = -1, -1, -1, -1
	t.fields(wireStruct, func(id int64, wire byte) {
		switch id {
		case 1:
			h.kind = t.whole(wire)
		case 2:
			h.full = t.whole(wire)
		case 3:
			h.packed = t.whole(wire)
		case 4:
			h.crc, h.hasCRC = uint32(t.whole(wire)), true
		case 5, 7: // of version 1, of a dictionary
			t.fields(wire, func(id int64, wire byte) {
				switch id {
				case 1:
					h.values = t.whole(wire)
				case 2:
					h.encoding = t.whole(wire)
				default:
					t.skip(wire)
				}
			})
		case 8:
			t.fields(wire, func(id int64, wire byte) {
				switch id {
				case 1:
					h.values = t.whole(wire)
				case 4:
					h.encoding = t.whole(wire)
				case 5:
					h.levels = t.whole(wire)
				case 6:
					h.repeats = t.whole(wire)
				case 7:
					h.plain = wire == wireFalse
				default:
					t.skip(wire)
				}
			})
		default:
			t.skip(wire)
		}
	})
	return h
}

// cursor goes through the values of one column in one row group.
type cursor struct {
	c      Column
	chunk  chunk
	at     int64 // of the next page
	unread int64 // values of pages that are still to come

	left    int64 // values of the page, missing ones too
	present hybrid
	all     bool // none is missing
	values  values
	dict    *dictionary

	room, dictRoom []byte
	live           *int64
}

// start goes to the pages of a row group.
func (c *cursor) start(k chunk) {
	if c.dict != nil {
		*c.live -= 4 * int64(len(c.dict.texts))
	}
	c.chunk, c.at, c.unread, c.left, c.dict = k, k.from, k.values, 0, nil
}

// next appends the text of the next value, nothing for a missing one.
func (c *cursor) next(f *File, u *unpacker, dst []byte) ([]byte, error) {
	for c.left == 0 {
		if c.unread == 0 {
			return dst, complain("has fewer values than rows")
		}
		if err := c.page(f, u); err != nil {
			return dst, err
		}
	}
	c.left--
	if !c.all {
		level, err := c.present.next()
		if err != nil || level == 0 {
			return dst, err
		}
	}
	return c.values.next(dst)
}

// page reads the next page.
func (c *cursor) page(f *File, u *unpacker) error {
	h, body, err := c.read(f, u)
	if err != nil {
		return err
	}
	switch h.kind {
	case pageDictionary:
		if c.dict != nil || h.encoding != encPlain && h.encoding != encPlainDictionary {
			return complain("has a second dictionary, or one that is not read")
		}
		if c.dictRoom, err = c.unpack(u, c.dictRoom, body, c.chunk.codec, h.full); err != nil {
			return err
		}
		if c.dict, err = newDictionary(c.c, h.values, c.dictRoom); err == nil {
			*c.live += 4 * int64(len(c.dict.texts))
		}
		return err
	case pageData, pageData2:
	default:
		return nil // an index
	}
	if h.values < 0 || h.values > c.unread {
		return complain("has a page of %d values where %d are left", h.values, c.unread)
	}
	c.unread -= h.values
	c.left = h.values
	if h.kind == pageData2 {
		return c.data2(u, h, body)
	}
	if c.room, err = c.unpack(u, c.room, body, c.chunk.codec, h.full); err != nil {
		return err
	}
	rest := c.room
	if c.all = !c.c.optional; !c.all {
		if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return errShort
		}
		n := binary.LittleEndian.Uint32(rest)
		c.present, _ = newHybrid(rest[4:4+n], 1) // one bit is never too wide
		rest = rest[4+n:]
	}
	c.values, err = c.c.newValues(h.encoding, rest, c.dict)
	return err
}

// data2 takes a page of version 2, whose levels are never compressed.
func (c *cursor) data2(u *unpacker, h pageHead, body []byte) (err error) {
	if h.repeats != 0 || h.levels < 0 || h.levels > int64(len(body)) || h.levels > h.full {
		return errForeign
	}
	codec := c.chunk.codec
	if h.plain {
		codec = codecPlain
	}
	levels := append([]byte(nil), body[:h.levels]...) // body is room that the next column uses
	body = body[h.levels:]
	c.room = c.room[:0]
	if full := h.full - h.levels; full > 0 || len(body) > 0 {
		if c.room, err = c.unpack(u, c.room, body, codec, full); err != nil {
			return err
		}
	}
	if c.all = !c.c.optional; !c.all {
		c.present, _ = newHybrid(levels, 1)
	}
	c.values, err = c.c.newValues(h.encoding, c.room, c.dict)
	return err
}

// unpack unpacks a page into room, within what all columns may hold.
func (c *cursor) unpack(u *unpacker, room, body []byte, codec, full int64) ([]byte, error) {
	if full > maxPage {
		return room, complain("claims a page of %d bytes, at most %d are read", full, maxPage)
	}
	had := int64(cap(room))
	*c.live -= had
	if *c.live+full > MaxLive {
		return nil, complain("has pages too large to hold with those of all other columns, in %d MiB; in Python, df.to_parquet(FILE, row_group_size=10_000)", MaxLive>>20)
	}
	var err error
	if codec == codecPlain {
		if int64(len(body)) != full {
			err = complain("has a page of %d bytes that claims %d", len(body), full)
		}
		room = append(room[:0], body...)
	} else {
		room, err = u.unpack(room[:0], body, codec, int(full))
	}
	*c.live += int64(cap(room))
	return room, err
}

// read reads the head and the body of the next page.
func (c *cursor) read(f *File, u *unpacker) (h pageHead, body []byte, err error) {
	left := c.chunk.to - c.at
	for size := int64(1 << 10); ; size *= 32 { // statistics may make a head long
		head, err := u.readAt(f, c.at, min(size, left))
		if err != nil {
			return h, nil, err
		}
		t := &thrift{buf: head}
		h = readPageHead(t)
		if t.err == nil {
			c.at += int64(len(head) - len(t.buf))
			break
		}
		if errors.Is(t.err, errShort) && size < left && size < 1<<20 {
			continue
		}
		return h, nil, complain("has a damaged page: %v", t.err)
	}
	if h.full < 0 || h.packed < 0 || h.packed > c.chunk.to-c.at || h.packed > maxPage {
		return h, nil, complain("claims a page of %d bytes, packed in %d, where %d are left", h.full, h.packed, c.chunk.to-c.at)
	}
	if body, err = u.readAt(f, c.at, h.packed); err != nil {
		return h, nil, err
	}
	c.at += h.packed
	if h.hasCRC && crc32.ChecksumIEEE(body) != h.crc {
		return h, nil, complain("has a page that differs from its checksum")
	}
	return h, body, nil
}

// readAt reads bytes of the file, which are known to be there.
func (u *unpacker) readAt(f *File, at, n int64) ([]byte, error) {
	if int64(cap(u.raw)) < n {
		u.raw = make([]byte, n)
	}
	part := u.raw[:n]
	if _, err := f.r.ReadAt(part, at); err != nil && err != io.EOF {
		return nil, err
	}
	return part, nil
}
