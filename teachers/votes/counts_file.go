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

// WriteCounts writes the counts of the chosen queries, queries x classes in ascending order:
// what [Open] reads with Options.Counts, and what databases export. They are as secret as
// the votes. They are written as CSV, a line for each query without a header, or as NPY of
// int32. It reads the votes once, in bounded memory; after an error, what was written must
// not be used.
func (s *Source) WriteCounts(ctx context.Context, w io.Writer, asNPY bool) error {
	out := bufio.NewWriterSize(w, bufferBytes)
	add, err := countsWriter(out, asNPY, s.Queries(), s.classes)
	if err == nil {
		err = s.eachCount(ctx, add)
	}
	if err == nil {
		err = out.Flush()
	}
	return err
}

// countsWriter begins a file of counts, and returns what writes the next query's.
func countsWriter(out io.Writer, asNPY bool, queries, classes int) (func(query int, counts []int) error, error) {
	if asNPY {
		if err := npy.WriteHeader(out, npy.Header{Type: "<i4", Shape: []int{queries, classes}}); err != nil {
			return nil, fmt.Errorf("votes: writing counts: %w", err)
		}
	}
	var line []byte
	return func(_ int, counts []int) error {
		line = line[:0]
		for _, n := range counts {
			if asNPY {
				line = binary.LittleEndian.AppendUint32(line, uint32(n))
			} else {
				line = append(strconv.AppendInt(line, int64(n), 10), ',')
			}
		}
		if !asNPY {
			line[len(line)-1] = '\n'
		}
		_, err := out.Write(line)
		return err
	}, nil
}
