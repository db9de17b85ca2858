// Package sealed defines the format of the project's binary files: a magic line, the fields, and the SHA-256
// of all preceding bytes. The magic identifies kind and version. All values are little-endian. The hash
// detects damage but does not authenticate.
package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unsafe"

	"github.com/pate-go/pate/internal/mathx"
)

// ErrKind matches the error for bytes with a wrong prefix. ErrDamaged matches the error for a wrong hash.
var (
	ErrKind    = errors.New("the file has another kind or version")
	ErrDamaged = errors.New("the file is damaged, because its hash does not match")
)

// Seal appends the SHA-256 of b to b.
func Seal(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

var little = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Append appends values in little-endian IEEE 754 format to b.
func Append[F float32 | float64](b []byte, values []F) []byte {
	if !little {
		out, _ := binary.Append(b, binary.LittleEndian, values) // cannot fail, because the values have a fixed size
		return out
	}
	size := int(unsafe.Sizeof(F(0))) * len(values)
	return append(b, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), size)...)
}

// Reader reads fields in sequence. If a field is missing, the methods return zero for this field and all
// later fields. Err then returns the error. A field takes no more memory than its bytes in the file.
type Reader struct {
	rest []byte
	err  error
}

// Open checks the magic and the hash of b, and returns a reader of the fields.
func Open(b []byte, magic string) (*Reader, error) {
	r, err := Fields(b, magic)
	if err != nil {
		return nil, err
	}
	body := len(r.rest) - sha256.Size
	if body < 0 || sha256.Sum256(b[:len(magic)+body]) != [sha256.Size]byte(r.rest[body:]) {
		return nil, ErrDamaged
	}
	r.rest = r.rest[:body]
	return r, nil
}

// Fields returns a reader of all bytes of b after the magic. It checks the magic, but not the hash.
func Fields(b []byte, magic string) (*Reader, error) {
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok {
		return nil, ErrKind
	}
	return &Reader{rest: rest}, nil
}

// Intact reports whether the first size bytes of f begin with magic and end with the right hash. It takes
// constant memory.
func Intact(f io.ReaderAt, size int64, magic string) (bool, error) {
	body := size - sha256.Size
	if body < int64(len(magic)) {
		return false, nil
	}
	h, ends := sha256.New(), make([]byte, len(magic)+sha256.Size)
	_, hashing := io.Copy(h, io.NewSectionReader(f, 0, body))
	_, first := f.ReadAt(ends[:len(magic)], 0)
	_, last := io.ReadFull(io.NewSectionReader(f, body, sha256.Size), ends[len(magic):])
	return string(ends) == magic+string(h.Sum(nil)), errors.Join(hashing, first, last)
}

// Bytes returns the next n bytes of the file, without a copy.
func (r *Reader) Bytes(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.rest)) {
		r.err = fmt.Errorf("the file ends early: %d bytes are needed, but %d are left", n, len(r.rest))
	}
	if r.err != nil {
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// Uint returns the next n bytes, at most 8, as a little-endian integer.
func (r *Reader) Uint(n int) uint64 {
	var word [8]byte
	copy(word[:], r.Bytes(uint64(n)))
	return binary.LittleEndian.Uint64(word[:])
}

// Numbers returns the next n numbers. The argument n must be in [0, 2^60]. A number that is not finite is an
// error.
func Numbers[F float32 | float64](r *Reader, n int) []F {
	b := r.Bytes(uint64(n) * uint64(binary.Size(F(0))))
	if b == nil {
		return nil
	}
	values := make([]F, n)
	_, r.err = binary.Decode(b, binary.LittleEndian, values)
	for i, v := range values {
		if !mathx.IsFinite(v) {
			r.err = fmt.Errorf("number %d is not finite", i)
		}
	}
	return values
}

// Left returns the number of unread bytes.
func (r *Reader) Left() uint64 { return uint64(len(r.rest)) }

func (r *Reader) Err() error { return r.err }

// End returns the first error, or an error if unread bytes remain.
func (r *Reader) End() error {
	if r.err == nil && len(r.rest) > 0 {
		return fmt.Errorf("the file has %d bytes too many", len(r.rest))
	}
	return r.err
}
