package votes

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/pate-go/pate/internal/npy"
)

// CountsForm is how a file holds counts.
type CountsForm string

const (
	CountsCSV CountsForm = "csv" // no header, a line each query, ended by LF
	CountsNPY CountsForm = "npy" // version 1.0, little-endian int32, C order
)

// WriteCounts writes the counts of the chosen queries, queries x classes in ascending order:
// what [Open] reads with Options.Counts, and what databases export. They are as secret as
// the votes. It reads the votes once, in bounded memory; after an error, what was written
// must not be used.
func (s *Source) WriteCounts(ctx context.Context, w io.Writer, form CountsForm) error {
	out := bufio.NewWriterSize(w, bufferBytes)
	add, err := countsWriter(out, form, s.Queries(), s.classes)
	if err == nil {
		err = s.eachCount(ctx, add)
	}
	if err == nil {
		err = out.Flush()
	}
	return err
}

// countsWriter begins a file of counts, and returns what writes the next query's.
func countsWriter(out io.Writer, form CountsForm, queries, classes int) (func(query int, counts []int) error, error) {
	var line []byte
	var add func(n int, last bool)
	switch form {
	case CountsCSV:
		add = func(n int, last bool) {
			line = strconv.AppendInt(line, int64(n), 10)
			if last {
				line = append(line, '\n')
			} else {
				line = append(line, ',')
			}
		}
	case CountsNPY:
		if err := npy.WriteHeader(out, npy.Header{Type: "<i4", Shape: []int{queries, classes}}); err != nil {
			return nil, fmt.Errorf("votes: writing counts: %w", err)
		}
		add = func(n int, _ bool) { line = binary.LittleEndian.AppendUint32(line, uint32(n)) }
	default:
		return nil, fmt.Errorf("votes: counts are written as %q or %q, not %q", CountsCSV, CountsNPY, form)
	}
	return func(_ int, counts []int) error {
		line = line[:0]
		for class, n := range counts {
			add(n, class == len(counts)-1)
		}
		_, err := out.Write(line)
		return err
	}, nil
}
