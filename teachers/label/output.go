package label

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/npy"
	"github.com/pate-go/pate/internal/parquet"
)

// In a labels file, a declined query has an empty label. After a cap on answers is used up, queries have no
// line.
const (
	labelColumn    = "label"
	withheldColumn = "label_not_releasable"
)

func heading(column string) string { return "query," + column + "\n" }

type counts struct {
	asked, answered int
}

type labelWriter struct {
	counts
	out    io.Writer
	form   Form
	buf    []byte
	names  []string // class names; nil if labels are numbers
	cells  []string // class names in CSV or JSON syntax
	column string
	later  collected // labels of the forms that are written at the end
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
			quoted, _ := json.Marshal(name) // a string can always be marshalled
			name = string(quoted)
		case strings.ContainsAny(name, ",;"): // names contain no quotes or line ends
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

func (w *labelWriter) end() error {
	switch w.form {
	case NPY:
		return w.later.writeNPY(w.out, numbersOf(w.names))
	case Parquet:
		return w.later.writeParquet(w.out, w.column, w.names)
	}
	return w.flush() // for no queries, this writes the heading
}

func countLabels(f io.Reader, each func(query, label string)) (c counts, err error) {
	text, err := ReadCSV(f)
	if err != nil {
		return c, nil
	}
	lines := bufio.NewReaderSize(text, 1<<16)
	for {
		text, err := lines.ReadSlice('\n')
		switch line := string(text); {
		case err == io.EOF:
			return c, nil
		case errors.Is(err, bufio.ErrBufferFull), line == heading(labelColumn), line == heading(withheldColumn):
		case err != nil:
			return c, err
		default:
			query, label, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ",")
			c.asked++
			if label != "" {
				c.answered++
			}
			each(query, strings.Trim(label, `"`))
		}
	}
}

type Form string

const (
	CSV     Form = "csv"     // query,label
	JSONL   Form = "jsonl"   // {"query":17,"label":3}
	NPY     Form = "npy"     // a matrix of int64 with two columns
	Parquet Form = "parquet" // columns query and label
)

// FormOf returns the form of labels for a path. An unknown extension means CSV.
func FormOf(path string) Form {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".jsonl", ".ndjson":
		return JSONL
	case ".npy":
		return NPY
	case ".parquet":
		return Parquet
	}
	return CSV
}

const maxLabels = 1 << 28

type collected struct {
	queries, labels []int64
	declined        []bool
}

func (c *collected) add(query uint64, label int, answered bool) {
	c.queries = append(c.queries, int64(query))
	c.labels = append(c.labels, int64(label))
	c.declined = append(c.declined, !answered)
}

func (c *collected) writeNPY(w io.Writer, numbers []int) error {
	if err := npy.WriteHeader(w, npy.Header{Type: "<i8", Shape: []int{len(c.queries), 2}}); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for i, query := range c.queries {
		label := c.labels[i]
		switch {
		case c.declined[i]:
			label = -1
		case numbers != nil:
			label = int64(numbers[label])
		}
		row := binary.LittleEndian.AppendUint64(nil, uint64(query))
		if _, err := out.Write(binary.LittleEndian.AppendUint64(row, uint64(label))); err != nil {
			return err
		}
	}
	return out.Flush()
}

func (c *collected) writeParquet(w io.Writer, column string, names []string) error {
	label := parquet.Values{Name: column, Ints: c.labels, Missing: c.declined}
	if names != nil {
		label.Ints, label.Texts = nil, make([]string, len(c.labels))
		for i, class := range c.labels {
			if !c.declined[i] {
				label.Texts[i] = names[class]
			}
		}
	}
	return parquet.Write(w, []parquet.Values{{Name: "query", Ints: c.queries}, label})
}

func numbersOf(names []string) []int {
	var numbers []int
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil || n < 0 || strconv.Itoa(n) != name {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}

var errForm = errors.New("the file is not a file of labels")

// ReadCSV returns a reader that converts labels of any form to CSV. CSV and unrecognised content pass through
// unchanged. Other forms may have up to 256 MiB.
func ReadCSV(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	head, err := b.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var read func(raw []byte, out *csv.Writer) error
	switch {
	case bytes.HasPrefix(head, []byte(npy.Magic)):
		read = readNPY
	case bytes.HasPrefix(head, []byte(parquet.Magic)):
		read = readParquet
	case bytes.HasPrefix(head, []byte("{")):
		read = readJSONL
	default:
		return b, nil
	}
	raw, err := io.ReadAll(io.LimitReader(b, maxLabels+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxLabels {
		return nil, fmt.Errorf("labels in a form other than CSV have more than %d bytes", maxLabels)
	}
	var text bytes.Buffer
	out := csv.NewWriter(&text)
	if err := read(raw, out); err != nil {
		return nil, err
	}
	out.Flush()
	if text.Len() > maxLabels {
		return nil, errForm
	}
	return &text, out.Error()
}

func readNPY(raw []byte, out *csv.Writer) error {
	h, used, err := npy.ReadHeader(raw)
	if err != nil {
		return err
	}
	raw = raw[used:]
	if h.Type != "<i8" || h.Fortran || len(h.Shape) != 2 || h.Shape[1] != 2 || h.Shape[0] > len(raw) || len(raw) != 16*h.Shape[0] {
		return errForm
	}
	if err := out.Write([]string{"query", "label"}); err != nil {
		return err
	}
	for ; len(raw) > 0; raw = raw[16:] {
		query, class := int64(binary.LittleEndian.Uint64(raw)), int64(binary.LittleEndian.Uint64(raw[8:]))
		label := ""
		if class != -1 {
			label = strconv.FormatInt(class, 10)
		}
		if err := out.Write([]string{strconv.FormatInt(query, 10), label}); err != nil {
			return err
		}
	}
	return nil
}

func readParquet(raw []byte, out *csv.Writer) error {
	f, err := parquet.Open(bytes.NewReader(raw), int64(len(raw)), "labels")
	if err != nil {
		return err
	}
	columns := f.Columns()
	if len(columns) != 2 || f.Len() > maxLabels/4 {
		return errForm
	}
	if err := out.Write([]string{columns[0].Name, columns[1].Name}); err != nil {
		return err
	}
	rows, err := f.Rows(nil)
	if err != nil {
		return err
	}
	size := 0
	for {
		cells, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if size += 2 + len(cells[0]) + len(cells[1]); size > maxLabels {
			return errForm
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
}

func readJSONL(raw []byte, out *csv.Writer) error {
	first := true
	for line := range bytes.Lines(raw) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var row struct {
			Query *json.Number    `json:"query"`
			Label json.RawMessage `json:"label"`
			Held  json.RawMessage `json:"label_not_releasable"`
		}
		if err := json.Unmarshal(line, &row); err != nil || row.Query == nil || (row.Label == nil) == (row.Held == nil) {
			return errForm
		}
		value, column := row.Label, labelColumn
		if row.Held != nil {
			value, column = row.Held, withheldColumn
		}
		if first {
			first = false
			if err := out.Write([]string{"query", column}); err != nil {
				return err
			}
		}
		label := string(value)
		if label == "null" {
			label = ""
		} else if label[0] == '"' {
			if err := json.Unmarshal(value, &label); err != nil {
				return errForm
			}
		}
		if err := out.Write([]string{row.Query.String(), label}); err != nil {
			return err
		}
	}
	return nil
}
