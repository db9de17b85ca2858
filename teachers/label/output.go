package label

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/pate-go/pate/aggregate"
)

// The labels are CSV: a line for each query that was asked, in order, with the number
// or the name of a class, and an empty label where the mechanism declined. Queries that were not asked, since a cap
// on answers was reached before, have no line.
const heading = "query,label\n"

// seededHeading is that of labels whose noise comes from a seed.
const seededHeading = "query,label_seeded_not_releasable\n"

// counts is what a file of labels says.
type counts struct {
	asked, answered int
}

// labelWriter writes and counts labels.
type labelWriter struct {
	counts
	out   io.Writer
	buf   []byte
	names []string // of the classes, as cells; nil for numbers
}

func newLabelWriter(out io.Writer, names []string, seeded bool) *labelWriter {
	w := &labelWriter{out: out, buf: []byte(heading)}
	if seeded {
		w.buf = []byte(seededHeading)
	}
	for _, name := range names {
		if strings.ContainsAny(name, ",;") { // it has neither quotes nor line ends
			name = `"` + name + `"`
		}
		w.names = append(w.names, name)
	}
	return w
}

func (w *labelWriter) write(first uint64, answers []aggregate.Answer) error {
	for i, a := range answers {
		w.buf = append(strconv.AppendUint(w.buf, first+uint64(i), 10), ',')
		w.asked++
		if a.Answered {
			w.answered++
			if w.names != nil {
				w.buf = append(w.buf, w.names[a.Label]...)
			} else {
				w.buf = strconv.AppendInt(w.buf, int64(a.Label), 10)
			}
		}
		w.buf = append(w.buf, '\n')
	}
	return w.flush()
}

func (w *labelWriter) flush() error {
	_, err := w.out.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// countLabels counts the lines of a file.
func countLabels(f io.Reader) (c counts, err error) {
	lines := bufio.NewReaderSize(f, 1<<16)
	for {
		text, err := lines.ReadSlice('\n')
		switch {
		case err == io.EOF:
			return c, nil
		case errors.Is(err, bufio.ErrBufferFull): // no line of ours: the hash will differ
			continue
		case err != nil:
			return c, err
		case string(text) == heading || string(text) == seededHeading:
			continue
		}
		c.asked++
		if !bytes.HasSuffix(text, []byte(",\n")) {
			c.answered++
		}
	}
}
