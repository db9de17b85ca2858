package votes

import (
	"context"
	"fmt"
	"io"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/npy"
)

// Save writes the votes to path as an NPY file, version 1.0: int8 up to 127
// classes, little-endian int16 beyond, C order, shape (queries, teachers), -1
// for an abstention. The file is wholly there or not there, and has mode 0600:
// votes are as secret as the data they were learned from.
func (v Matrix) Save(path string) error {
	err := durable.WriteFile(path, 0o600, func(w io.Writer) error {
		typ := "|i1"
		if v.narrow == nil {
			typ = "<i2"
		}
		if err := npy.WriteHeader(w, npy.Header{Type: typ, Shape: []int{v.queries, v.teachers}}); err != nil {
			return err
		}
		buf := make([]byte, 0, 2*v.teachers)
		for q := range v.queries {
			buf = v.appendRow(buf[:0], q)
			if _, err := w.Write(buf); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("votes: saving: %w", err)
	}
	return nil
}

// Load reads a matrix of labels, queries x teachers, into memory; see
// [Open] for the formats.
func Load(path string, classes int) (*Matrix, error) {
	s, err := Open(context.Background(), []string{path}, Options{Classes: classes})
	if err != nil {
		return nil, err
	}
	return s.Load(context.Background())
}

// noEOF makes a clean end of file an unexpected one.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
