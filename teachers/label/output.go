package label

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/pate-go/pate/aggregate"
)

// The labels are CSV, unless the name of the file asks for another [Form]: a line for each query that was
// asked, in order, with the number or the name of a class, and an empty label where the mechanism declined.
// Queries that were not asked, since a cap on answers was reached before, have no line.
const heading = "query,label\n"

// withheldHeading is that of labels that must not be released.
const withheldHeading = "query,label_not_releasable\n"

// counts is what a file of labels says.
type counts struct {
	asked, answered int
}

// labelWriter writes and counts labels.
type labelWriter struct {
	counts
	out   io.Writer
	form  Form
	buf   []byte
	names []string  // of the classes; nil for numbers
	cells []string  // the names as CSV and JSON have them
	held  bool      // must not be released
	later collected // of forms that are written at the end
	each  func(query uint64, class int)
}

func newLabelWriter(out io.Writer, form Form, names []string, held bool) *labelWriter {
	w := &labelWriter{out: out, form: form, names: names, held: held}
	for _, name := range names {
		switch {
		case form == JSONL:
			quoted, _ := json.Marshal(name) // a text always is JSON
			name = string(quoted)
		case strings.ContainsAny(name, ",;"): // it has neither quotes nor line ends
			name = `"` + name + `"`
		}
		w.cells = append(w.cells, name)
	}
	if form == CSV {
		w.buf = []byte(w.heading())
	}
	return w
}

func (w *labelWriter) heading() string {
	if w.held {
		return withheldHeading
	}
	return heading
}

// column returns what labels are called.
func (w *labelWriter) column() string {
	return strings.TrimSuffix(strings.TrimPrefix(w.heading(), "query,"), "\n")
}

func (w *labelWriter) write(first uint64, answers []aggregate.Answer) error {
	for i, a := range answers {
		query := first + uint64(i)
		w.asked++
		class := -1
		if a.Answered {
			w.answered++
			class = a.Label
		}
		if w.each != nil {
			w.each(query, class)
		}
		switch w.form {
		case CSV:
			w.buf = append(strconv.AppendUint(w.buf, query, 10), ',')
			w.buf = append(w.appendLabel(a, ""), '\n')
		case JSONL:
			w.buf = append(strconv.AppendUint(append(w.buf, `{"query":`...), query, 10), `,"`+w.column()+`":`...)
			w.buf = append(w.appendLabel(a, "null"), "}\n"...)
		default:
			w.later.add(query, a.Label, a.Answered)
		}
	}
	return w.flush()
}

// appendLabel appends the number or the name of a class.
func (w *labelWriter) appendLabel(a aggregate.Answer, declined string) []byte {
	switch {
	case !a.Answered:
		return append(w.buf, declined...)
	case w.cells != nil:
		return append(w.buf, w.cells[a.Label]...)
	}
	return strconv.AppendInt(w.buf, int64(a.Label), 10)
}

func (w *labelWriter) flush() error {
	_, err := w.out.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// end writes what is left: all of it, where a file begins with how long it is.
func (w *labelWriter) end() error {
	switch w.form {
	case NPY:
		return w.later.writeNPY(w.out, numbersOf(w.names))
	case Parquet:
		return w.later.writeParquet(w.out, w.column(), w.names)
	}
	return w.flush() // the heading, if there was no query
}

// countLabels counts the labels of a file, in whatever form they are.
func countLabels(f io.Reader) (c counts, err error) {
	text, err := ReadCSV(f)
	if err != nil {
		return c, nil // no file of ours: the hash will differ
	}
	lines := bufio.NewReaderSize(text, 1<<16)
	for {
		text, err := lines.ReadSlice('\n')
		switch {
		case err == io.EOF:
			return c, nil
		case errors.Is(err, bufio.ErrBufferFull): // no line of ours: the hash will differ
			continue
		case err != nil:
			return c, err
		case string(text) == heading || string(text) == withheldHeading:
			continue
		}
		c.asked++
		if !bytes.HasSuffix(text, []byte(",\n")) {
			c.answered++
		}
	}
}
