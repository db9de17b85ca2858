package published

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/teachers/label"
	"github.com/pate-go/pate/teachers/votes"
)

// Labels holds the released labels of the rows of a pool.
type Labels struct {
	Of       []int    // class of each pool row, or student.Unlabelled
	Classes  []string // names of all classes
	Released int      // number of rows with a label
	Asked    int      // number of lines of the file
	Withheld bool     // marked as not releasable: nothing may be published
	SHA256   string   // of the file, hexadecimal
}

const (
	maxLabels = 1 << 28 // largest labels file, in bytes
	// WithheldLabel is the heading of labels that must not be released. See package teachers/label.
	WithheldLabel = "label_not_releasable"
)

// ReadLabels reads labels of `pate label`: CSV, JSONL, NPY or Parquet. CSV has one line "query,label" per
// query. Files of [Labels.Write] have "row,label". Queries and rows count from 0. An empty label means that
// the mechanism declined. Columns of noisy votes are ignored. If rows is not nil, query q is row rows[q] of
// the pool. A label is a name in classes, or else a class index from 0. If classes is nil, max(2, largest
// label + 1) classes are assumed. An error about the file is a [*fault.Error].
func ReadLabels(r io.Reader, pool int, rows []int, classes []string) (Labels, error) {
	l := Labels{Of: slices.Repeat([]int{student.Unlabelled}, pool), Classes: classes}
	sum := sha256.New()
	counted := &io.LimitedReader{R: io.TeeReader(r, sum), N: maxLabels + 1}
	text, err := label.ReadCSV(counted)
	if err != nil {
		return Labels{}, &fault.Error{What: "the labels cannot be read", Err: err, Fix: "give the file that pate label wrote"}
	}
	lines := csv.NewReader(text)
	lines.ReuseRecord, lines.FieldsPerRecord = true, -1
	p := labelParser{Labels: &l, rows: rows, seen: make([]bool, pool), number: map[string]int{}}
	for i, name := range classes {
		p.number[name] = i
	}
	var malformed *csv.ParseError
	for err == nil {
		var cells []string
		if cells, err = lines.Read(); err == nil {
			n, _ := lines.FieldPos(0)
			err = p.line(n, cells)
		}
	}
	switch {
	case counted.N <= 0:
		return Labels{}, &fault.Error{What: "the labels are no file of labels: the file is too long"}
	case errors.As(err, &malformed):
		return Labels{}, refusal(malformed.StartLine, "has a wrong quote")
	case errors.As(err, new(*fault.Error)):
		return Labels{}, err
	case !errors.Is(err, io.EOF):
		return Labels{}, &fault.Error{What: "the labels cannot be read", Err: err}
	case p.columns == 0:
		return Labels{}, &fault.Error{
			What: "the labels are empty", Why: "they begin with the line query,label", Fix: "give the file that pate label wrote",
		}
	}
	if classes == nil {
		l.Classes = names(max(2, p.most+1))
	}
	l.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return l, nil
}

type labelParser struct {
	*Labels
	rows    []int
	seen    []bool
	number  map[string]int
	columns int // of the heading
	most    int
}

func refusal(line int, format string, args ...any) error {
	return &fault.Error{
		What: fmt.Sprintf("line %d of the labels %s", line, fmt.Sprintf(format, args...)),
		Why:  "every line is query,label: a row of the pool from 0, and a class or nothing; noisy votes may follow",
		Fix:  "give the file that pate label wrote, and the public rows that its votes were on",
	}
}

func (p *labelParser) line(n int, cells []string) error {
	refuse := func(format string, args ...any) error { return refusal(n, format, args...) }
	if len(cells) < 2 || !utf8.ValidString(strings.Join(cells, "")) {
		return refuse("is not two cells")
	}
	query, label := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1])
	switch {
	case p.columns == 0:
		p.columns, p.Withheld = len(cells), label == WithheldLabel
		query = strings.TrimPrefix(query, "\ufeff")
		if query != "query" && query != "row" || label != "label" && !p.Withheld ||
			slices.ContainsFunc(cells[2:], func(name string) bool { return !strings.HasPrefix(name, "votes ") }) {
			return refuse("is not the heading query,label")
		}
		return nil
	case len(cells) != p.columns:
		return refuse("has %d cells, and the heading has %d", len(cells), p.columns)
	}
	row, err := strconv.Atoi(query)
	if err == nil && p.rows != nil && row >= 0 && row < len(p.rows) {
		row = p.rows[row]
	} else if p.rows != nil {
		return refuse("has query %.20q, and %d were asked", query, len(p.rows))
	}
	switch {
	case err != nil || row < 0 || row >= len(p.Of):
		return refuse("has query %.20q, and the pool has %d rows", query, len(p.Of))
	case p.seen[row]:
		return refuse("has query %d a second time", row)
	}
	p.seen[row] = true
	p.Asked++
	if label == "" {
		return nil
	}
	class, named := p.number[label]
	if !named {
		if class, err = strconv.Atoi(label); err != nil || class < 0 || p.Classes != nil && class >= len(p.Classes) || class >= votes.MaxClasses {
			return refuse("has label %.40q, which is not a class", label)
		}
	}
	p.most = max(p.most, class)
	p.Of[row] = class
	p.Released++
	return nil
}

func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}

// Write writes CSV with one line per labelled row: the index of the row and the class name. The headings
// are row and label. If labels must not be released, the second heading is [WithheldLabel] instead.
func (l Labels) Write(w io.Writer) error {
	t := table.Table{Header: []string{"row", "label"}, Left: []bool{false, true}}
	if l.Withheld {
		t.Header[1] = WithheldLabel
	}
	for row, class := range l.Of {
		if class != student.Unlabelled {
			t.Rows = append(t.Rows, []string{strconv.Itoa(row), l.Classes[class]})
		}
	}
	return t.Write(w, table.CSV)
}
