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

// Labels are CSV, unless the name of the file asks for another [Form]: a line for each query that was
// asked, in order, with the number or the name of a class, and an empty label where the mechanism declined.
// Queries after a cap on answers was reached have no line. Labels that must not be released stand in a
// column of their own name.
const (
	labelColumn    = "label"
	withheldColumn = "label_not_releasable"
)

func heading(column string) string { return "query," + column + "\n" }

// counts counts the labels of a file.
type counts struct {
	asked, answered int
}

// labelWriter writes and counts labels.
type labelWriter struct {
	counts
	out    io.Writer
	form   Form
	buf    []byte
	names  []string // of the classes; nil for numbers
	cells  []string // the names in the syntax of CSV or JSON
	column string
	later  collected // of forms that are written at the end
	each   func(query uint64, class int)
}

func newLabelWriter(out io.Writer, form Form, names []string, held bool) *labelWriter {
	w := &labelWriter{out: out, form: form, names: names, column: labelColumn}
	if held {
		w.column = withheldColumn
	}
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
		w.buf = []byte(heading(w.column))
	}
	return w
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
			w.buf = append(strconv.AppendUint(append(w.buf, `{"query":`...), query, 10), `,"`+w.column+`":`...)
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

// end writes the rest: everything, if a file begins with its length.
func (w *labelWriter) end() error {
	switch w.form {
	case NPY:
		return w.later.writeNPY(w.out, numbersOf(w.names))
	case Parquet:
		return w.later.writeParquet(w.out, w.column, w.names)
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
		case string(text) == heading(labelColumn) || string(text) == heading(withheldColumn):
			continue
		}
		c.asked++
		if !bytes.HasSuffix(text, []byte(",\n")) {
			c.answered++
		}
	}
}
