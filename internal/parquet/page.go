package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

const (
	maxPage = 64 << 20
	maxLive = 512 << 20
)

type cursor struct {
	c      Column
	codec  format.CompressionCodec
	at, to int64 // next page, and end of all pages
	unread int64 // values in later pages

	left    int64 // remaining values of the page, including missing values
	present runs  // marks the values that are not missing
	all     bool  // no value is missing
	value   func(dst []byte) ([]byte, error)
	dict    *dictionary

	room, dictRoom []byte
	live           *int64
}

func (c *cursor) start(d *chunkData) {
	if c.dict != nil {
		*c.live -= 4 * int64(len(c.dict.ends))
	}
	c.codec, c.unread, c.left, c.dict = format.CompressionCodec(d.Codec), d.Values, 0, nil
	c.at, c.to = d.span()
}

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
	return c.value(dst)
}

func (c *cursor) page(f *File, u *unpacker) error {
	h, body, err := c.read(f, u)
	if err != nil {
		return err
	}
	switch kind := format.PageType(h.Type); {
	case kind == format.DictionaryPage && h.Dictionary != nil:
		return c.dictionary(u, h, body)
	case kind == format.DataPage && h.Data != nil:
		if err := c.begin(h.Data.Values); err != nil {
			return err
		}
		if c.room, err = c.unpack(u, c.room, body, c.codec, h.Full); err != nil {
			return err
		}
		rest := c.room
		if !c.all {
			var levels []byte
			if levels, rest, err = cutText(rest); err != nil {
				return err
			}
			c.present = runs{buf: levels, width: 1}
		}
		c.value, err = c.values(h.Data.Encoding, rest)
		return err
	case kind == format.DataPageV2 && h.DataV2 != nil:
		if err := c.begin(h.DataV2.Values); err != nil {
			return err
		}
		return c.data2(u, h, body)
	case kind == format.DictionaryPage || kind == format.DataPage || kind == format.DataPageV2:
		return errForeign
	}
	return nil // an index page
}

func (c *cursor) begin(n int32) error {
	if n < 0 || int64(n) > c.unread {
		return complain("has a page of %d values, but only %d values are left", n, c.unread)
	}
	c.unread, c.left, c.all = c.unread-int64(n), int64(n), !c.c.optional
	return nil
}

func (c *cursor) dictionary(u *unpacker, h pageHead, body []byte) (err error) {
	encoding := format.Encoding(h.Dictionary.Encoding)
	if c.dict != nil || encoding != format.Plain && encoding != plainDictionary {
		return complain("has a second dictionary, or a dictionary of an unknown kind")
	}
	if c.dictRoom, err = c.unpack(u, c.dictRoom, body, c.codec, h.Full); err != nil {
		return err
	}
	if c.dict, err = newDictionary(c.c, int(h.Dictionary.Values), c.dictRoom); err == nil {
		*c.live += 4 * int64(len(c.dict.ends))
	}
	return err
}

func (c *cursor) data2(u *unpacker, h pageHead, body []byte) (err error) {
	n := h.DataV2.LevelBytes
	if h.DataV2.Repeats != 0 || n < 0 || int(n) > len(body) || n > h.Full {
		return errForeign
	}
	codec := c.codec
	if packed := h.DataV2.Compressed; packed != nil && !*packed {
		codec = format.Uncompressed
	}
	levels := append([]byte(nil), body[:n]...) // copied, because the next column reuses the memory of body
	body = body[n:]
	c.room = c.room[:0]
	if full := h.Full - n; full > 0 || len(body) > 0 {
		if c.room, err = c.unpack(u, c.room, body, codec, full); err != nil {
			return err
		}
	}
	c.present = runs{buf: levels, width: 1}
	c.value, err = c.values(h.DataV2.Encoding, c.room)
	return err
}

func (c *cursor) unpack(u *unpacker, room, body []byte, codec format.CompressionCodec, size int32) ([]byte, error) {
	full := int64(size)
	if full > maxPage {
		return room, complain("claims a page of %d bytes, but at most %d can be read", full, maxPage)
	}
	*c.live -= int64(cap(room))
	if *c.live+full > maxLive {
		return nil, complain("has pages too large to hold with those of all other columns, in %d MiB; "+
			"in Python, df.to_parquet(FILE, row_group_size=10_000)", maxLive>>20)
	}
	var err error
	if codec == format.Uncompressed {
		if int64(len(body)) != full {
			err = complain("has a page of %d bytes that claims %d bytes", len(body), full)
		}
		room = append(room[:0], body...)
	} else {
		room, err = u.unpack(room[:0], body, codec, int(full))
	}
	*c.live += int64(cap(room))
	return room, err
}

func (c *cursor) read(f *File, u *unpacker) (h pageHead, body []byte, err error) {
	left := c.to - c.at
	for size := int64(1 << 10); ; size *= 32 { // statistics can make a head long
		head, err := u.readAt(f, c.at, min(size, left))
		if err != nil {
			return h, nil, err
		}
		h = pageHead{}
		used, err := decode(head, &h)
		if err == nil {
			c.at += int64(used)
			break
		}
		if !errors.Is(err, errShort) || size >= left || size >= 1<<20 {
			return h, nil, complain("has a damaged page: %v", err)
		}
	}
	packed := int64(h.Packed)
	if h.Full < 0 || packed < 0 || packed > c.to-c.at || packed > maxPage {
		return h, nil, complain("claims a page of %d bytes, packed in %d bytes, but only %d bytes are left", h.Full, packed, c.to-c.at)
	}
	if body, err = u.readAt(f, c.at, packed); err != nil {
		return h, nil, err
	}
	c.at += packed
	if h.CRC != nil && crc32.ChecksumIEEE(body) != uint32(*h.CRC) {
		return h, nil, complain("has a page that differs from its checksum")
	}
	return h, body, nil
}

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

var otherCodecs = map[format.CompressionCodec]string{format.LZO: "LZO", format.Brotli: "Brotli", format.Lz4: "the old LZ4"}

type unpacker struct {
	gzip *gzip.Reader
	zstd *zstd.Decoder
	raw  []byte // packed page
}

// unpack unpacks the page src to exactly `want` bytes. The number `want` is from the file, and may be forged.
func (u *unpacker) unpack(dst, src []byte, codec format.CompressionCodec, want int) ([]byte, error) {
	var err error
	switch codec {
	case format.Snappy:
		n, err := snappy.DecodedLen(src)
		// Three bytes of Snappy expand to at most 64 bytes.
		if err != nil || n != want || want > 24*len(src)+64 {
			return nil, complain("claims to unpack %d bytes to %d", len(src), want)
		}
		if cap(dst) < n {
			dst = make([]byte, n)
		}
		return snappy.Decode(dst[:n], src)
	case format.Lz4Raw:
		dst, err = unpackLZ4(dst[:0], src, want)
	case format.Gzip:
		if u.gzip == nil {
			u.gzip = new(gzip.Reader)
		}
		if err := u.gzip.Reset(bytes.NewReader(src)); err != nil {
			return nil, err
		}
		dst, err = fill(dst, u.gzip, want)
	case format.Zstd:
		if u.zstd == nil {
			// With one goroutine, none remains if reading ends early.
			u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxMemory(maxPage))
			if err != nil {
				return nil, err
			}
		}
		if err := u.zstd.Reset(bytes.NewReader(src)); err != nil {
			return nil, err
		}
		dst, err = fill(dst, u.zstd, want)
	default:
		name, known := otherCodecs[codec]
		if !known {
			name = fmt.Sprintf("codec %d", codec)
		}
		return nil, complain("is compressed by %s; only Snappy, gzip, Zstandard and LZ4_RAW can be read: "+
			"in Python, df.to_parquet(FILE, compression='zstd')", name)
	}
	if err == nil && len(dst) != want {
		err = complain("unpacks to at least %d bytes but claims %d", len(dst), want)
	}
	return dst, err
}

func fill(dst []byte, r io.Reader, want int) ([]byte, error) {
	out := bytes.NewBuffer(dst[:0])
	_, err := out.ReadFrom(io.LimitReader(r, int64(want)+1))
	return out.Bytes(), err
}

func unpackLZ4(dst, src []byte, want int) ([]byte, error) {
	length := func(n int) (int, error) { // extends a length of 15
		for n >= 15 {
			if len(src) == 0 {
				return 0, errShort
			}
			b := src[0]
			src = src[1:]
			if n += int(b); b < 255 {
				break
			}
		}
		return n, nil
	}
	for len(src) > 0 {
		token := src[0]
		src = src[1:]
		n, err := length(int(token >> 4))
		if err != nil {
			return dst, err
		}
		if n > len(src) || len(dst)+n > want {
			return dst, errShort
		}
		dst, src = append(dst, src[:n]...), src[n:]
		if len(src) == 0 {
			break // the last literals have no copy
		}
		if len(src) < 2 {
			return dst, errShort
		}
		back := int(binary.LittleEndian.Uint16(src))
		src = src[2:]
		if n, err = length(int(token & 15)); err != nil {
			return dst, err
		}
		n += 4
		if back == 0 || back > len(dst) || len(dst)+n > want {
			return dst, errForeign
		}
		for n > 0 { // a copy may overlap with its output
			part := dst[len(dst)-back:]
			part = part[:min(len(part), n)]
			dst = append(dst, part...)
			n -= len(part)
		}
	}
	return dst, nil
}
