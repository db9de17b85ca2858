package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// otherCodecs are named in refusals.
var otherCodecs = map[format.CompressionCodec]string{format.LZO: "LZO", format.Brotli: "Brotli", format.Lz4: "the old LZ4"}

// unpacker unpacks pages. It keeps its room.
type unpacker struct {
	gzip *gzip.Reader
	zstd *zstd.Decoder
	raw  []byte // of the page as it is in the file
}

// unpack returns the want bytes behind a page, using the room of dst. It allocates as bytes come out, or
// where their number is plausible for the bytes that are there.
func (u *unpacker) unpack(dst, src []byte, codec format.CompressionCodec, want int) ([]byte, error) {
	var err error
	switch codec {
	case format.Snappy:
		n, err := snappy.DecodedLen(src)
		// Three bytes stand for 64 at most.
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
			// One goroutine: none is left behind when reading ends early.
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
		return nil, complain("is compressed by %s; Snappy, gzip, Zstandard and LZ4_RAW are read: "+
			"in Python, df.to_parquet(FILE, compression='zstd')", name)
	}
	if err == nil && len(dst) != want {
		err = complain("unpacks to %d bytes or more and claims %d", len(dst), want)
	}
	return dst, err
}

// fill reads want bytes and no more, and the end of r.
func fill(dst []byte, r io.Reader, want int) ([]byte, error) {
	out := bytes.NewBuffer(dst[:0])
	_, err := out.ReadFrom(io.LimitReader(r, int64(want)+1))
	return out.Bytes(), err
}

// unpackLZ4 unpacks a block of LZ4: literals, and copies of earlier output.
func unpackLZ4(dst, src []byte, want int) ([]byte, error) {
	length := func(n int) (int, error) { // continues a length of 15
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
			break // the last literals have no copy behind them
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
		for n > 0 { // a copy may overlap with its own output
			part := dst[len(dst)-back:]
			part = part[:min(len(part), n)]
			dst = append(dst, part...)
			n -= len(part)
		}
	}
	return dst, nil
}
