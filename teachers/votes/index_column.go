package votes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
		return nil, in.refuse("is no CSV file, and has no column that names rows",
			"an index column is what pandas writes before the others in CSV", "leave --index-column out")
	}
	if opt.Transpose {
		return nil, errors.New("votes: an index column is for files of queries x teachers")
	}
	return unpackInput(ctx, in, packedIndexed, into, opt)
}

// cutFirstColumn copies lines without their first cell. Blank lines stay, so that lines keep their numbers.
func cutFirstColumn(w *bufio.Writer, r *bufio.Reader, in *input) error {
	head, err := r.Peek(1 << 16)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if text := bytes.TrimPrefix(head, []byte(byteOrderMark)); len(text) < len(head) {
		_, _ = r.Discard(len(head) - len(text))
		head = text
	}
	sep := csvSeparator(head)
	for line := 1; ; line++ {
		cell, err := r.Peek(maxCSVCell + 1)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		end, closed := cellEnd(cell, 0, sep)
		switch {
		case end > maxCSVCell:
			return longCell(in)
		case closed && cell[end] == sep:
			end++
		case !isBlank(cell[:end]):
			return in.refuse(fmt.Sprintf("row %d has one cell", line), "with --index-column it names the row, and votes follow it",
				"leave --index-column out, or fix the row")
		case !closed:
			return nil
		}
		_, _ = r.Discard(end)
		if err := copyLine(w, r); err != nil {
			return err
		}
	}
}

// copyLine copies the rest of a line, and its end.
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
