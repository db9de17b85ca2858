package votes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pate-go/pate/fault"
)

// withoutIndexColumn replaces a CSV file by the same without its column 1, line by line.
func withoutIndexColumn(ctx context.Context, in *input, into *store, opt Options) (*input, error) {
	var r reader
	isNPY, err := sniff(&r, in)
	r.close()
	if err != nil {
		return nil, err
	}
	if isNPY || in.table() {
		return nil, &fault.Error{File: in.name, What: "is no CSV file, and has no column that names rows", Why: "an index column is what pandas writes before the others in CSV", Fix: "leave --index-column out"}
	}
	if opt.Transpose {
		return nil, errors.New("votes: an index column is for files of queries x teachers")
	}
	return unpackInput(ctx, in, packedIndexed, into, opt)
}

// cutFirstColumn copies lines without their first cell. Blank lines stay as they are, so that lines keep
// their numbers.
func cutFirstColumn(w *bufio.Writer, r *bufio.Reader, in *input) error {
	head, err := r.Peek(1 << 16)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bom := []byte("\xef\xbb\xbf"); bytes.HasPrefix(head, bom) {
		head = head[len(bom):]
		if _, err := r.Discard(len(bom)); err != nil {
			return err
		}
	}
	sep := csvSeparator(head)
	for line := 1; ; line++ {
		cut, blank := false, true // is the first cell behind us; is the line empty so far
		quoted := false
		length := 0
		for !cut {
			c, err := r.ReadByte()
			if errors.Is(err, io.EOF) {
				if blank {
					return nil
				}
				c, err = '\n', nil
			}
			if err != nil {
				return err
			}
			switch {
			case c == '\n' && blank:
				if err := w.WriteByte('\n'); err != nil {
					return err
				}
				cut = true
			case c == '\n':
				return &fault.Error{File: in.name, What: fmt.Sprintf("row %d has one cell", line), Why: "with --index-column it names the row, and votes follow it", Fix: "leave --index-column out, or fix the row"}
			case c == sep && !quoted:
				if err := copyLine(w, r); err != nil {
					return err
				}
				cut = true
			case c == '"':
				quoted = !quoted
				fallthrough
			default:
				blank = blank && (c == ' ' || c == '\r')
				if length++; length > maxCSVCell {
					return longCell(in)
				}
			}
		}
	}
}

// copyLine copies what is left of a line, and its end.
func copyLine(w *bufio.Writer, r *bufio.Reader) error {
	for {
		part, err := r.ReadSlice('\n')
		if _, err := w.Write(part); err != nil {
			return err
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}
