package votes

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/parquet"
)

// maxUnpacked bounds what compressed files and tables of one source unpack to.
const maxUnpacked = 4 << 30

// packing is how a file holds the text or the array that votes are read from.
type packing string

const (
	packedGzip    packing = "gzip"
	packedZstd    packing = "Zstandard"
	packedParquet packing = "Parquet"
	packedIndexed packing = "column 1"
)

// packingOf recognises how a file begins.
func packingOf(head []byte) packing {
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return packedGzip
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return packedZstd
	case bytes.HasPrefix(head, []byte(parquet.Magic)):
		return packedParquet
	}
	return ""
}

// store is a temporary file for all that is unpacked, one part after the other. Like a [Spool] it is
// readable by its owner alone, has no name where the system allows that, and goes with the last reference.
type store struct {
	file *os.File
	size int64
	full int64 // the most that it takes
}

func newStore() (*store, error) {
	f, named, err := temporary()
	if err != nil {
		return nil, err
	}
	s := &store{file: f, full: maxUnpacked}
	if named {
		runtime.AddCleanup(s, func(name string) { _ = os.Remove(name) }, f.Name())
	}
	return s, nil
}

var errFull = errors.New("full")

// Write appends to the file.
func (s *store) Write(p []byte) (int, error) {
	if int64(len(p)) > s.full-s.size {
		return 0, errFull
	}
	n, err := s.file.WriteAt(p, s.size)
	s.size += int64(n)
	return n, err
}

// unpackInputs replaces compressed files and Parquet by their contents, and class probabilities by votes.
func unpackInputs(ctx context.Context, files []*input, perTeacher bool, opt Options) ([]*input, error) {
	room := sync.OnceValues(newStore)
	out := slices.Clone(files)
	for i, in := range out {
		for range 2 { // a table in gzip
			head, err := firstBytes(in)
			if err != nil {
				return nil, err
			}
			how := packingOf(head)
			if how == "" || in.table() {
				break
			}
			into, err := room()
			if err != nil {
				return nil, err
			}
			if in, err = unpackInput(ctx, in, how, into, opt); err != nil {
				return nil, err
			}
		}
		if opt.IndexColumn || opt.Probabilities {
			into, err := room()
			if err != nil {
				return nil, err
			}
			if opt.IndexColumn {
				if in, err = withoutIndexColumn(ctx, in, into, opt); err != nil {
					return nil, err
				}
			}
			if opt.Probabilities {
				if in, err = voteByShares(ctx, in, i, perTeacher, into, opt); err != nil {
					return nil, err
				}
			}
		}
		out[i] = in
	}
	return out, nil
}

func firstBytes(in *input) ([]byte, error) {
	f, err := in.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, min(int64(len(parquet.Magic)), in.size))
	if n, err := f.ReadAt(head, 0); n < len(head) {
		return nil, changed(in.name, noEOF(err))
	}
	return head, nil
}

// unpackInput appends the contents of a file to the store, and makes an input from it.
func unpackInput(ctx context.Context, in *input, how packing, into *store, opt Options) (*input, error) {
	f, err := in.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	from := into.size
	w := bufio.NewWriterSize(watched{ctx, into}, bufferBytes)
	switch how {
	case packedParquet:
		err = writeParquet(w, f, in, opt)
	case packedIndexed:
		err = cutFirstColumn(w, bufio.NewReaderSize(io.NewSectionReader(f, 0, in.size), bufferBytes), in)
	default:
		err = inflate(w, io.NewSectionReader(f, 0, in.size), how)
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return nil, unpackError(ctx, in, how, into, err)
	}
	again, err := in.open() // as it was when it was opened first
	if err != nil {
		return nil, err
	}
	if err := again.Close(); err != nil {
		return nil, changed(in.name, err)
	}
	out := into.input(in, from, "")
	out.packed = append(slices.Clone(in.packed), how)
	return out, nil
}

// input makes an input of what the store has from an offset on, which was made of another.
func (s *store) input(of *input, from int64, kind string) *input {
	size := s.size - from
	return &input{name: of.name, size: size, kind: kind, open: func() (openInput, error) {
		return spooled{io.NewSectionReader(s.file, from, size)}, nil
	}}
}

// unpackError returns the error for a file that is not unpacked.
func unpackError(ctx context.Context, in *input, how packing, into *store, err error) error {
	var told *fault.Error
	switch {
	case errors.Is(err, errFull):
		return in.refuse(fmt.Sprintf("unpacks to more than %d GiB", into.full>>30),
			"it is unpacked into a temporary file", "save the votes as NPY, of int8 where that is enough")
	case ctx.Err() != nil:
		return fmt.Errorf("votes: unpacking: %w", ctx.Err())
	case errors.As(err, &told):
		return told
	}
	return &fault.Error{File: in.name, What: fmt.Sprintf("cannot be unpacked (%s)", how),
		Fix: "make the file again; or set TMPDIR to a folder with room", Err: err}
}

// watched stops to write when ctx is done.
type watched struct {
	ctx context.Context
	w   io.Writer
}

func (w watched) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}

func inflate(w io.Writer, r io.Reader, how packing) error {
	if how == packedGzip {
		z, err := gzip.NewReader(r)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, z)
		return err
	}
	// One goroutine: none is left behind when reading ends early.
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return err
	}
	_, err = z.WriteTo(w)
	return err
}
