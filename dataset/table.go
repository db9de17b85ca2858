package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
)

// Table is labelled data from a file, before an [Encoder] turns columns into features.
type Table struct {
	Name    string
	Columns []Column
	Y       []int // label of each row, an index into Labels; -1 if the label is missing or unknown
	// Labels holds the distinct labels of the file. It includes labels of private rows, so it must not be
	// released. The classes of a [Task] are a different list. If Rule.Other is set, a missing label or a
	// label outside Rule.Names becomes "".
	Labels     []string
	Rule       ClassRule // how the split turns labels into classes
	Units      []string  // privacy unit of each row
	Provenance string

	keyBytes int      // leading bytes of a unit that determine the part of its rows; 0 for all bytes
	silos    []string // of each row, nil if there are none
	lines    []int    // line of the first row with each label
	bare     bool     // the file has no header
	rowUnits bool     // each row is declared to be a unit
	text     string   // name of the column of texts; "" if there is none
	header   []string // names of all columns of the file
	path     string   // path of the file, for messages

	split   *ownSplit    // as in CSVOptions
	stored  *cellStore   // cells of a table that is split; Columns then have no values
	encoded *encodedRows // of a private table that was encoded while it was read, otherwise nil; Columns is then empty

	numbers rowSource // rows of an NPY file, an idx file or a folder of images, otherwise nil; Columns is then empty
	ids     []string  // public names of the rows in numbers, nil if there are none
}

// Column is a column of a table that becomes features.
type Column struct {
	Name   string
	Values []string // trimmed cells
}

func (t *Table) file() string { return cmp.Or(t.path, t.Name) }

func (t *Table) Len() int { return len(t.Y) }

// Rows returns a new table that contains the rows at the given indices, in the order of indices.
func (t *Table) Rows(indices []int) *Table {
	out := &Table{Name: t.Name, Columns: make([]Column, len(t.Columns)), Y: pickRows(t.Y, indices), Labels: t.Labels,
		Rule: t.Rule, Units: pickRows(t.Units, indices), Provenance: t.Provenance, keyBytes: t.keyBytes, lines: t.lines, text: t.text}
	for j, c := range t.Columns {
		out.Columns[j] = Column{Name: c.Name, Values: make([]string, len(indices))}
	}
	copies, cells := newInterner(), make([]string, len(t.Columns))
	for k, i := range indices {
		t.read(i, cells)
		for j, c := range cells {
			out.Columns[j].Values[k] = copies.intern(c)
		}
	}
	return out
}

func (t *Table) read(row int, cells []string) {
	if t.stored != nil {
		t.stored.read(row, cells)
		return
	}
	for j, c := range t.Columns {
		if c.Values != nil { // otherwise no feature depends on it
			cells[j] = c.Values[row]
		}
	}
}

type ownSplit struct {
	accept func(units int, all bool) error // as in CSVOptions
	place  *placer                         // of the protocol Literature; nil if all rows are private
	seen   map[string]bool                 // units, if they are in a column
	units  int                             // number of private units so far
}

const acceptEvery = 1 << 16 // rows

func (s *ownSplit) count(rows int, unit string, content *contentNames) error {
	if s == nil || s.accept == nil || s.place == nil && unit != "" { // how early a number of units is reached is private
		return nil
	}
	key, known := unit, s.seen[unit]
	if s.seen[unit] = unit != ""; unit == "" && s.place != nil { // the row is its own unit
		key = string(appendGroup(nil, content.hashes[rows-1]))
	}
	if !known && (s.place == nil || s.place.part(key) == 0) {
		s.units++
	}
	if rows%acceptEvery != 0 {
		return nil
	}
	return s.accept(s.units, false)
}

func pickRows[T any](of []T, indices []int) []T {
	out := make([]T, len(indices))
	for i, from := range indices {
		out[i] = of[from]
	}
	return out
}

type tableBuilder struct {
	path        string
	names       []string
	label, unit int // indices of columns; label is -1 without labels, unit is -1 if each row is a unit
	silo        int // index of the column of silos, or -1
	features    []int
	out         *Table
	rule        ClassRule
	declared    map[string]bool // names of the rule, nil if the rule has none
	optional    bool            // a label may be missing
	labels      map[string]int
	missing     []string // cells that stand for a missing value
	content     contentNames
	schema      *Schema  // as in CSVOptions
	size        int      // approximate memory of the table in bytes, without the text of the cells
	cells       []string // features of a row
	repeated    interner
}

func newTableBuilder(path string, opt CSVOptions, names []string) (*tableBuilder, error) {
	b := &tableBuilder{path: path, names: names, label: len(names) - 1, unit: -1, silo: -1, rule: opt.Rule, declared: opt.Rule.declared(),
		labels: map[string]int{}, repeated: newInterner()}
	if err := opt.Rule.Validate(); err != nil {
		return nil, err
	}
	if opt.Unlabelled {
		if opt.Label != "" {
			return nil, wrong(path, fmt.Sprintf("would have column %q as label and no label", opt.Label), "", "leave one of the two out")
		}
		b.label = -1
	}
	if opt.Optional {
		b.label, b.optional = -1, true
	}
	if opt.AskLabel && opt.Label == "" && b.label >= 0 {
		if b.label = obviousLabel(names); b.label < 0 {
			return nil, wrong(path, "has no column that is named to be the label", columnsAre(names, opt.public),
				"name the column of the class with --label: a name, or a number from 1")
		}
	}
	find := func(column, role string, at *int) error {
		if column == "" {
			return nil
		}
		found, err := findColumn(path, names, opt.public, column, role)
		switch {
		case err == nil:
			*at = found
		case !opt.Optional:
			return err
		}
		return nil
	}
	if err := cmp.Or(find(opt.Label, "label", &b.label), find(opt.Unit, "unit", &b.unit), find(opt.Silo, "silo", &b.silo)); err != nil {
		return nil, err
	}
	if b.unit >= 0 && b.unit == b.label {
		return nil, wrong(path, fmt.Sprintf("column %q cannot be the label and the unit", opt.Unit), "", "give two different columns")
	}
	if b.silo >= 0 && (b.silo == b.label || b.silo == b.unit) {
		return nil, wrong(path, fmt.Sprintf("column %q cannot be the silo, because it is the label or the unit", opt.Silo), "",
			"give different columns")
	}
	text := -1
	if opt.Text != "" {
		var err error
		if text, err = findColumn(path, names, opt.public, opt.Text, "text"); err != nil {
			return nil, err
		}
	}
	skip := map[int]bool{b.label: true, b.unit: true, b.silo: true}
	for _, d := range opt.Drop {
		at := -1
		if err := find(d, "dropped", &at); err != nil {
			return nil, err
		}
		skip[at] = true
	}
	b.out = &Table{Name: tableName(path), Provenance: filepath.Base(path), Rule: opt.Rule, header: names, rowUnits: opt.RowUnits}
	b.missing, b.schema = opt.Missing, opt.schema
	if b.out.split = opt.split; opt.split != nil && opt.schema == nil {
		b.out.stored = &cellStore{}
	}
	if text >= 0 {
		if skip[text] {
			return nil, wrong(path, fmt.Sprintf("would have column %q as text and as something else", names[text]), "", "give another --text")
		}
		b.out.text = names[text]
	}
	if b.label >= 0 {
		b.out.Provenance += fmt.Sprintf(", label column %q", names[b.label])
	}
	for j, name := range names {
		if !skip[j] && !opt.matrix {
			b.features = append(b.features, j)
			b.out.Columns = append(b.out.Columns, Column{Name: name})
		}
	}
	if len(b.features) == 0 && !opt.matrix {
		return nil, wrong(path, fmt.Sprintf("has %d columns and none is left as a feature", len(names)),
			"a table has a column for the label and at least one more", "check the separator and the columns that are dropped")
	}
	return b, nil
}

func (b *tableBuilder) add(r row) error {
	if b.size += rowBytes + cellBytes*len(b.features); b.size+b.repeated.size > maxTable {
		return &fault.Error{File: b.path, Row: r.line, What: "is one too many",
			Why: fmt.Sprintf("a table takes at most %d MiB of memory when it is read", maxTable>>20), Fix: "give fewer rows or columns"}
	}
	y, err := b.labelOf(r)
	if err != nil {
		return err
	}
	unit := ""
	if b.unit < 0 {
		b.content.addCells(r.cells)
	} else {
		unit = r.cells[b.unit]
		if isMissing(unit) && !b.optional {
			return &fault.Error{File: b.path, Row: r.line, What: fmt.Sprintf("has no unit in column %q", b.names[b.unit]),
				Why: "every row must belong to a privacy unit", Fix: "remove the row or fill in the unit"}
		}
		unit = b.repeated.intern(unitName(unit))
		b.out.Units = append(b.out.Units, unit)
	}
	if err := b.out.split.count(b.out.Len()+1, unit, &b.content); err != nil {
		return err
	}
	if b.silo >= 0 {
		silo := r.cells[b.silo]
		if isMissing(silo) {
			return &fault.Error{File: b.path, Row: r.line, What: fmt.Sprintf("has no silo in column %q", b.names[b.silo]),
				Why: "every row must belong to a silo", Fix: "remove the row or fill in the silo"}
		}
		b.out.silos = append(b.out.silos, b.repeated.intern(silo))
	}
	if b.schema != nil && b.out.Len() == 0 {
		b.out.encoded = b.schema.encodedRows(b.out, b.features)
	}
	b.out.Y = append(b.out.Y, y)
	for _, j := range b.features {
		if slices.Contains(b.missing, r.cells[j]) {
			r.cells[j] = ""
		}
	}
	if b.out.encoded != nil {
		b.out.encoded.add(r.cells)
		return nil
	}
	cells := b.cells[:0]
	for _, j := range b.features {
		cells = append(cells, r.cells[j])
	}
	if b.cells = cells; b.out.stored != nil {
		b.size += b.out.stored.add(cells) - cellBytes*len(cells)
		return nil
	}
	for k, c := range cells {
		b.out.Columns[k].Values = append(b.out.Columns[k].Values, b.repeated.intern(c))
	}
	return nil
}

func (b *tableBuilder) labelOf(r row) (int, error) {
	if b.label < 0 {
		return -1, nil
	}
	label := r.cells[b.label]
	missing := isMissing(label) && !b.declared[label]
	switch other := missing || b.declared != nil && !b.declared[label]; {
	case other && b.optional:
		return -1, nil
	case other && b.rule.Other != "":
		label = ""
	case missing:
		return 0, &fault.Error{File: b.path, Row: r.line, What: fmt.Sprintf("has no label in column %q", b.names[b.label]),
			Why: "only features may be missing", Fix: "remove the row, " + fixMissing}
	case other:
		return 0, &fault.Error{File: b.path, Row: r.line, What: fmt.Sprintf("has label %q, which is not a class", label),
			Why: whyRefused, Fix: fixRefused}
	}
	y, known := b.labels[label]
	if !known {
		y = len(b.out.Labels)
		label = strings.Clone(label)
		b.labels[label] = y
		b.out.Labels, b.out.lines = append(b.out.Labels, label), append(b.out.lines, r.line)
	}
	return y, nil
}

type interner struct {
	seed  maphash.Seed
	known []string
	size  int // bytes of all copies
}

func newInterner() interner {
	return interner{seed: maphash.MakeSeed(), known: make([]string, 1<<12)}
}

func (n *interner) intern(s string) string {
	known := &n.known[maphash.String(n.seed, s)%uint64(len(n.known))]
	if *known != s {
		*known = strings.Clone(s)
		n.size += (len(s) + 15) &^ 15
	}
	return *known
}

func (b *tableBuilder) table(next func() (row, error)) (*Table, error) {
	for {
		r, err := next()
		switch {
		case errors.Is(err, io.EOF) && b.out.Len() == 0:
			return nil, wrong(b.path, "has no rows below its header", "a table has a row for each example", "")
		case errors.Is(err, io.EOF):
			if b.unit < 0 {
				b.out.Units, b.out.keyBytes = b.content.names(), groupBytes
			}
			return b.out, nil
		case err == nil:
			err = b.add(r)
		}
		if err != nil {
			return nil, err
		}
	}
}
