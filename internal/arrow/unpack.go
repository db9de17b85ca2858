package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/pate-go/pate/internal/parquet"
)

// Codecs, as CompressionType numbers them.
const (
	plain     = -1
	codecLZ4  = 0
	codecZstd = 1
)

// unpacker unpacks buffers. It keeps its room.
type unpacker struct{ zstd *zstd.Decoder }

// buffer unpacks a buffer to at most limit bytes: its length, then what is packed.
func (u *unpacker) buffer(b buf, codec, limit int64) (buf, error) {
	if b.size < 8 {
		return b, errShort
	}
	head, err := b.at(0, 8)
	if err != nil {
		return b, err
	}
	claimed := binary.LittleEndian.Uint64(head)
	if claimed == missingLength {
		b.from, b.size, b.raw = b.from+8, b.size-8, nil
		return b, nil
	}
	if claimed > uint64(limit) {
		return b, fmt.Errorf("claims to unpack to %d bytes: a batch, and dictionaries, may have %d", claimed, int64(MaxLive))
	}
	packed := io.NewSectionReader(b.t.r, b.from+8, b.size-8)
	want := int(claimed)
	var raw []byte
	switch codec {
	case codecLZ4:
		raw, err = unpackFrame(packed, want)
	case codecZstd:
		if u.zstd == nil {
			// One goroutine: none is left behind when reading ends early.
			if u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(64<<20)); err != nil {
				return b, err
			}
		}
		if err := u.zstd.Reset(packed); err != nil {
			return b, fmt.Errorf("is damaged: %w", err)
		}
		var out bytes.Buffer
		_, err = out.ReadFrom(io.LimitReader(u.zstd, int64(want)+1))
		raw = out.Bytes()
	default:
		return b, fmt.Errorf("is compressed by codec %d; LZ4 and Zstandard are read", codec)
	}
	if err != nil {
		return b, fmt.Errorf("is damaged: %w", err)
	}
	if len(raw) != want {
		return b, fmt.Errorf("unpacks to %d bytes or more and claims %d", len(raw), want)
	}
	return buf{t: b.t, size: int64(want), raw: raw}, nil
}

var errFrame = errors.New("no frame of LZ4")

// unpackFrame unpacks a frame of LZ4, at most want bytes, block by block (the LZ4 Frame
// Format 1.6). Checksums are passed over.
func unpackFrame(r io.Reader, want int) ([]byte, error) {
	var head [15]byte
	if _, err := io.ReadFull(r, head[:7]); err != nil {
		return nil, err
	}
	flags := head[4]
	if binary.LittleEndian.Uint32(head[:]) != 0x184d2204 || flags>>6 != 1 || flags&1 != 0 {
		return nil, errFrame
	}
	if flags&8 != 0 { // the length of all
		if _, err := io.ReadFull(r, head[7:15]); err != nil {
			return nil, err
		}
	}
	var dst, block []byte
	for {
		var size [4]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return nil, err
		}
		n := int64(binary.LittleEndian.Uint32(size[:]))
		if n == 0 {
			return dst, nil
		}
		raw := n>>31 != 0
		if n &= 1<<31 - 1; n > 4<<20 { // the largest block
			return nil, errFrame
		}
		block = block[:0]
		room := bytes.NewBuffer(block)
		if k, err := room.ReadFrom(io.LimitReader(r, n)); err != nil || k < n {
			return nil, errors.Join(err, io.ErrUnexpectedEOF)
		}
		block = room.Bytes()
		if flags&16 != 0 {
			if _, err := io.ReadFull(r, size[:]); err != nil {
				return nil, err
			}
		}
		if raw {
			if len(dst)+len(block) > want {
				return nil, errFrame
			}
			dst = append(dst, block...)
			continue
		}
		var err error
		if dst, err = parquet.UnpackLZ4(dst, block, want); err != nil {
			return nil, err
		}
	}
}
