package dataset

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/unpack"
)

// Ranges holds the possible values of the columns of a table, declared without looking at any row. Without
// public rows, columns are encoded by the ranges, and queries are drawn from the ranges.
type Ranges struct {
	columns []declared
	encoder *Encoder // with equal weights of all bins
}

type declared struct {
	name    string
	edges   []float64 // ascending edges of numeric bins: bin i holds edges[i] <= v < edges[i+1]
	whole   bool      // all numbers are whole
	values  []string
	missing bool
}

const (
	rangeBins     = 32   // bins of a range without inner edges
	maxRangeBins  = 1000 // bins or categories of a column
	maxRangeBytes = 1 << 20
	aLineIs       = "a line is a column: its name, then a range LOW..HIGH or its categories"
)

// ReadRanges reads declarations from a CSV file. Each line declares a column in one of these forms:
//
//	age,17..90               a range of whole numbers, as no edge has a decimal point
//	weight,0.5..250.0        a range of any numbers
//	gain,0..1..5000..100000  a range with inner edges, for finer bins where values matter more
//	sex,Female,Male          categories
//
// A cell that is ? or empty declares that values may be missing. Inner edges separate the bins of a range. A
// range without inner edges has 32 bins of about equal width. If a range has fewer than 32 whole numbers,
// each number has a bin. Lines that begin with # are comments. An invalid file gives a [*fault.Error].
func ReadRanges(path string) (*Ranges, error) {
	file, err := unpack.Open(path)
	if err != nil {
		return nil, failed(path, "cannot be read", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxRangeBytes+1))
	if err != nil {
		return nil, failed(path, "cannot be read", err)
	}
	if len(text) > maxRangeBytes {
		return nil, wrong(path, fmt.Sprintf("has more than %d bytes", maxRangeBytes),
			"a line is a column and what it may hold; it is no table", "declare ranges in place of values")
	}
	return parseRanges(path, text)
}

func parseRanges(path string, text []byte) (*Ranges, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord, r.Comment, r.TrimLeadingSpace = -1, '#', true
	out := &Ranges{}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, failed(path, "is not CSV", err)
		}
		c, err := declare(cells)
		line, _ := r.FieldPos(0)
		if err != nil {
			return nil, &fault.Error{File: path, Row: line, What: err.Error(), Why: aLineIs, Fix: "fix the line"}
		}
		if out.column(c.name) >= 0 {
			return nil, &fault.Error{File: path, Row: line, What: fmt.Sprintf("declares column %q a second time", c.name),
				Fix: "leave one of the two out"}
		}
		out.columns = append(out.columns, c)
	}
	if len(out.columns) == 0 {
		return nil, wrong(path, "declares no column", aLineIs, "")
	}
	out.encoder = out.encode(nil)
	return out, nil
}

func (r *Ranges) column(name string) int {
	return slices.IndexFunc(r.columns, func(d declared) bool { return d.name == name })
}

func declare(cells []string) (declared, error) {
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	d := declared{name: cells[0]}
	if d.name == "" || len(cells) == 1 {
		return d, errors.New("names no column, or nothing that it may hold")
	}
	for _, v := range cells[1:] {
		switch {
		case isMissing(v):
			d.missing = true
		case slices.Contains(d.values, v):
			return d, fmt.Errorf("has the category %q twice", v)
		default:
			d.values = append(d.values, v)
		}
	}
	if len(d.values) == 1 && strings.Contains(d.values[0], "..") {
		text := d.values[0]
		d.values = nil
		return d, d.setEdges(strings.Split(text, ".."))
	}
	if len(d.values) < 2 || len(d.values) > maxRangeBins {
		return d, fmt.Errorf("has %d categories, want 2 to %d", len(d.values), maxRangeBins)
	}
	return d, nil
}

func (d *declared) setEdges(texts []string) error {
	d.whole = true
	for _, text := range texts {
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || math.Abs(v) > 1e15 { // float64 can still add 1 to such a number
			return fmt.Errorf("has the edge %q, which is no number within 1e15", text)
		}
		if len(d.edges) > 0 && v <= d.edges[len(d.edges)-1] {
			return fmt.Errorf("has edges that do not ascend at %q", text)
		}
		d.whole = d.whole && isWhole(strings.TrimSpace(text))
		d.edges = append(d.edges, v)
	}
	if len(d.edges) > maxRangeBins {
		return fmt.Errorf("has more than %d bins", maxRangeBins)
	}
	last := len(d.edges) - 1
	if d.whole { // the last value is included
		d.edges[last]++
	}
	if last > 1 {
		return nil
	}
	low, width, bins := d.edges[0], d.edges[1]-d.edges[0], float64(rangeBins)
	if d.whole {
		bins = math.Min(bins, width)
	}
	d.edges = nil
	for i := 0.0; i <= bins; i++ {
		edge := low + width*i/bins // exact for whole numbers if each number has a bin
		if d.whole {
			edge = math.Floor(edge)
		}
		d.edges = append(d.edges, edge)
	}
	return nil
}

func (d declared) bins() int {
	n := len(d.values)
	if d.edges != nil {
		n = len(d.edges) - 1
	}
	if d.missing {
		n++
	}
	return n
}

func (d declared) place(v float64) int {
	at, found := slices.BinarySearch(d.edges, v)
	if !found {
		at--
	}
	return max(0, min(at, len(d.edges)-2))
}

func (d declared) ends() (low, high float64) {
	low, high = d.edges[0], d.edges[len(d.edges)-1]
	if d.whole {
		high--
	}
	return low, high
}

func (r *Ranges) Bins() []int {
	n := make([]int, len(r.columns))
	for j, d := range r.columns {
		n[j] = d.bins()
	}
	return n
}

func noTexts(column string) error {
	if column == "" {
		return nil
	}
	return wrong("", fmt.Sprintf("column %q has texts, and there are no public texts", column),
		"words and their weights come from public texts alone, never from private texts",
		"give texts that anybody may read as public rows, or leave the column out with --drop")
}

// Ordered returns, for each column, the number of bins that are intervals. The intervals are the first bins,
// in ascending order.
func (r *Ranges) Ordered() []int {
	n := make([]int, len(r.columns))
	for j, d := range r.columns {
		n[j] = max(0, len(d.edges)-1)
	}
	return n
}

// pick returns an error for an undeclared column, because the encoding of this column would depend on private
// rows.
func (r *Ranges) pick(t *Table) (*Ranges, error) {
	if err := noTexts(t.text); err != nil {
		return nil, err
	}
	out := &Ranges{}
	var undeclared []string
	count := make(map[string]int)
	for _, c := range t.Columns {
		count[c.Name]++
		if at := r.column(c.Name); at >= 0 {
			out.columns = append(out.columns, r.columns[at])
		} else {
			undeclared = append(undeclared, strconv.Quote(c.Name))
		}
	}
	if undeclared != nil {
		what := "has columns of which no range is declared"
		if out.columns != nil { // otherwise the first line may be a private row
			what += ": " + shown(undeclared)
		}
		return nil, wrong(t.Name, what,
			"without public rows the values of a column are known from its declaration alone, never from private rows",
			"declare them in --ranges, or leave them out with --drop")
	}
	for _, d := range r.columns {
		if n := count[d.name]; n != 1 {
			return nil, wrong(t.Name, fmt.Sprintf("has %d feature columns %q, and one is declared", n, d.name),
				columnsAre(t.header, nil), "declare the columns that it has")
		}
	}
	out.encoder = out.encode(nil)
	return out, nil
}

func (r *Ranges) encode(weights [][]float64) *Encoder {
	e := &Encoder{}
	for j, d := range r.columns {
		f := encodedColumn{name: d.name, missing: -1, width: len(d.values)}
		n := ColumnNote{Name: d.name, Is: fmt.Sprintf("category, %d levels, declared", len(d.values)), Becomes: plural(len(d.values), "feature")}
		if d.edges != nil {
			f.width = 1
			w := slices.Repeat([]float64{1}, d.bins())
			if weights != nil {
				w = weights[j]
			}
			f.mean, f.sd = d.scale(w)
			low, high := d.ends()
			n.Is, n.Becomes = fmt.Sprintf("numeric, declared from %g to %g", low, high), "1 feature"
		} else {
			f.categories = indices(d.values)
		}
		if d.missing {
			f.markMissing()
			n.Becomes += ", and one for missing values"
		}
		e.add(f)
		e.notes = append(e.notes, n)
	}
	return e
}

func (d declared) scale(weights []float64) (mean, sd float64) {
	total, square := 0.0, 0.0
	for b := range len(d.edges) - 1 {
		w := weights[b]
		width := d.edges[b+1] - d.edges[b]
		m, variance := d.edges[b]+width/2, width*width/12 // uniform in the bin
		if d.whole {
			m, variance = d.edges[b]+(width-1)/2, (width*width-1)/12
		}
		total, mean, square = total+w, mean+w*m, square+w*(variance+m*m)
	}
	low, high := d.ends()
	if total > 0 {
		mean /= total
		sd = math.Sqrt(math.Max(0, square/total-mean*mean))
	} else {
		mean = (low + high) / 2
	}
	// If nearly all weight is in one bin, this deviation still separates the ends of the range.
	return mean, math.Max(sd, (high-low)/1000)
}

// Cells returns the bin of each row of x in each column, or -1 for an undeclared category. The rows must be
// encoded by r with equal weights for all bins.
func (r *Ranges) Cells(x blas32.General) [][]int {
	cells := make([][]int, x.Rows)
	for i := range cells {
		row := x.Data[i*x.Stride : i*x.Stride+x.Cols]
		cells[i] = make([]int, len(r.columns))
		for j, d := range r.columns {
			cells[i][j] = d.cell(r.encoder.columns[j], row)
		}
	}
	return cells
}

func (d declared) cell(f encodedColumn, row []float32) int {
	if f.missing >= 0 && row[f.missing] == 1 {
		return d.bins() - 1
	}
	if d.edges != nil {
		return d.place(d.number(f, row[f.at]))
	}
	return slices.Index(row[f.at:f.at+len(d.values)], 1)
}

func (d declared) number(f encodedColumn, encoded float32) float64 {
	low, high := d.ends()
	v := max(low, min(high, float64(encoded)*f.sd+f.mean))
	if d.whole {
		v = math.Round(v)
	}
	return v
}

// Describe returns the name of a column and a description of each bin.
func (r *Ranges) Describe(column int) (name string, bins []string) {
	d := r.columns[column]
	bins = slices.Clone(d.values)
	for b := range max(0, len(d.edges)-1) {
		low, high := d.edges[b], d.edges[b+1]
		switch {
		case d.whole && high-low == 1:
			bins = append(bins, fmt.Sprintf("%g", low))
		case d.whole:
			bins = append(bins, fmt.Sprintf("%g to %g", low, high-1))
		default:
			bins = append(bins, fmt.Sprintf("%g up to %g", low, high))
		}
	}
	if d.missing {
		bins = append(bins, "missing")
	}
	return d.name, bins
}
