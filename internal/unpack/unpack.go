// Package unpack opens data files, plain or compressed by gzip or Zstandard, and limits their unpacked size.
package unpack

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/zstd"
)

// MaxBytes is the maximum size of an unpacked file. This limit prevents a small compressed file from filling
// the memory. The largest common idx file (EMNIST ByClass) has 0.55 GB.
const MaxBytes = 1 << 30

// Open opens a regular file for reading. It refuses pipes and devices without opening them, because opening a
// pipe can block and a device may have no end.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	return os.Open(path)
}

// A file of n compressed bytes may have at most max(smallBytes, maxRatio*n) unpacked bytes.
const (
	maxRatio   = 256
	smallBytes = 64 << 20
)

var (
	errTooLarge = errors.New("more than 1 GiB when unpacked")
	errTooDense = fmt.Errorf("more than %d times its size when unpacked; unpack it, and give that if it is right", maxRatio)
)

// Reader returns a reader of the unpacked bytes of r. It recognises gzip and Zstandard by the first bytes.
// More than MaxBytes unpacked bytes are an error. For a compressed [fs.File] of n bytes, more than
// max(smallBytes, maxRatio*n) unpacked bytes are also an error.
func Reader(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	magic, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	out := &capped{r: b, left: MaxBytes, full: errTooLarge}
	format := Format(magic)
	if format == "" {
		return out, nil
	}
	if out.r, err = Decoder(b, format); err != nil {
		return nil, err
	}
	if f, ok := r.(fs.File); ok {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if most := max(smallBytes, maxRatio*info.Size()); most < MaxBytes {
			out.left, out.full = most, errTooDense
		}
	}
	return out, nil
}

// Format returns the compression of a file that begins with the bytes head, or "" for none.
func Format(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return "gzip"
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return "Zstandard"
	}
	return ""
}

// Decoder unpacks r without a limit on the size. The format is "gzip" or "Zstandard".
func Decoder(r io.Reader, format string) (io.Reader, error) {
	if format == "gzip" {
		return gzip.NewReader(r)
	}
	// With one goroutine, none remains when reading ends early.
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(smallBytes))
}

type capped struct {
	r    io.Reader
	left int64
	full error // error that is returned beyond the limit
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left < 0 {
		return 0, c.full
	}
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.r.Read(p)
	c.left -= int64(n)
	if c.left < 0 {
		return n - 1, c.full
	}
	return n, err
}

// Sum returns the SHA-256 of a file's unpacked bytes in hexadecimal.
func Sum(path string) (string, error) {
	f, err := Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	plain, err := Reader(f)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, plain); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
