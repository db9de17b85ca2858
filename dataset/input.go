package dataset

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"os"

	"github.com/pate-go/pate/internal/fault"
)

// MaxBytes is how much unpacked data one file may hold: 1 GiB. It is above the
// largest idx file in common use (EMNIST ByClass, 0.55 GB) and keeps a small
// compressed file from filling the memory.
const MaxBytes = 1 << 30

// InputError says that data are missing or not as they should be.
type InputError = fault.Error[origin]

type origin struct{}

func (origin) Package() string { return "dataset" }

// openRegular opens a file for reading. Pipes and devices are refused before they are
// opened: opening a pipe waits for a writer, and a device may have no end.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	return os.Open(path)
}

var errTooLarge = errors.New("more than 1 GiB when unpacked")

// unpack returns the plain bytes behind r, gzip or not by the two magic bytes,
// and stops with errTooLarge after MaxBytes of them.
func unpack(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	magic, err := b.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	plain := io.Reader(b)
	if len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		if plain, err = gzip.NewReader(b); err != nil {
			return nil, err
		}
	}
	return &capped{r: plain, left: MaxBytes}, nil
}

// capped is io.LimitedReader that fails, instead of ending, beyond its limit.
type capped struct {
	r    io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.r.Read(p)
	c.left -= int64(n)
	if c.left < 0 {
		return n - 1, errTooLarge
	}
	return n, err
}
