package dataset

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Table is labelled data as it stands in a file, before any column is turned
// into numbers: how to do that is learned from public rows alone, by [FitEncoder].
type Table struct {
	Name       string
	Columns    []Column // the features
	Y          []int    // class of each row, an index into Classes
	Classes    []string
	Units      []string // unit of privacy of each row
	Provenance string

	// groups is what each row is split by, nil if that is Units. Equal rows are
	// units of their own but share a group: which of them are private must not
	// depend on how many there are.
	groups []string
}

// splitKeys is what [SplitTable] splits rows by.
func (t *Table) splitKeys() []string {
	if t.groups != nil {
		return t.groups
	}
	return t.Units
}

// Column is one feature of all rows.
type Column struct {
	Name   string
	Values []string // trimmed cells
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.Y) }

// Rows is a new table of the rows with these indices, in this order.
func (t *Table) Rows(indices []int) *Table {
	out := &Table{
		Name:       t.Name,
		Columns:    make([]Column, len(t.Columns)),
		Y:          make([]int, len(indices)),
		Classes:    t.Classes,
		Units:      make([]string, len(indices)),
		Provenance: t.Provenance,
	}
	for j, c := range t.Columns {
		out.Columns[j] = Column{Name: c.Name, Values: make([]string, len(indices))}
		for i, from := range indices {
			out.Columns[j].Values[i] = c.Values[from]
		}
	}
	for i, from := range indices {
		out.Y[i], out.Units[i] = t.Y[from], t.Units[from]
	}
	if t.groups != nil {
		out.groups = make([]string, len(indices))
		for i, from := range indices {
			out.groups[i] = t.groups[from]
		}
	}
	return out
}

// regroup replaces every class by one of the named ones.
func (t *Table) regroup(classes []string, of func(class string) (int, error)) error {
	to := make([]int, len(t.Classes))
	for i, c := range t.Classes {
		var err error
		if to[i], err = of(c); err != nil {
			return &InputError{File: t.Name, What: fmt.Sprintf("has label %q", c), Err: err}
		}
	}
	for i, y := range t.Y {
		t.Y[i] = to[y]
	}
	t.Classes = classes
	return nil
}

// tableBuilder collects the rows of a file.
type tableBuilder struct {
	path        string
	names       []string
	label, unit int // columns; label is -1 if there is none, unit if each row is a unit
	features    []int
	out         *Table
	class       map[string]int // label -> order of appearance
	copies      map[[16]byte]int
	cells       int // read so far
	repeated    interner
}

func newTableBuilder(path string, opt CSVOptions, names []string) (*tableBuilder, error) {
	b := &tableBuilder{path: path, names: names, label: len(names) - 1, unit: -1, class: map[string]int{}, copies: map[[16]byte]int{}, repeated: newInterner()}
	var err error
	if opt.Unlabelled {
		if opt.Label != "" {
			return nil, &InputError{File: path, What: fmt.Sprintf("would have column %q as label and no label", opt.Label), Fix: "leave one of the two out"}
		}
		b.label = -1
	}
	if opt.Label != "" {
		if b.label, err = findColumn(path, names, opt.Label, "label"); err != nil {
			return nil, err
		}
	}
	skip := map[int]bool{b.label: true}
	if opt.Unit != "" {
		if b.unit, err = findColumn(path, names, opt.Unit, "unit"); err != nil {
			return nil, err
		}
		if b.unit == b.label {
			return nil, &InputError{File: path, What: fmt.Sprintf("would have column %q as label and as unit", names[b.label]), Fix: "give two different columns"}
		}
		skip[b.unit] = true
	}
	for _, d := range opt.Drop {
		at, err := findColumn(path, names, d, "dropped")
		if err != nil {
			return nil, err
		}
		skip[at] = true
	}
	b.out = &Table{Name: tableName(path), Provenance: filepath.Base(path)}
	if b.label >= 0 {
		b.out.Provenance += fmt.Sprintf(", label column %q", names[b.label])
	}
	for j, name := range names {
		if !skip[j] {
			b.features = append(b.features, j)
			b.out.Columns = append(b.out.Columns, Column{Name: name})
		}
	}
	if len(b.features) == 0 {
		return nil, &InputError{File: path, What: fmt.Sprintf("has %d columns and none is left as a feature", len(names)),
			Why: "a table has a column for the label and at least one more", Fix: "check the separator and the columns that are dropped"}
	}
	return b, nil
}

func (b *tableBuilder) add(r row) error {
	if b.cells += len(r.cells); b.cells > maxCells || len(b.out.Y) == maxRows {
		return &InputError{File: b.path, Row: r.line, What: "is one too many",
			Why: fmt.Sprintf("a table has at most %d cells and %d rows, so that it fits in memory", maxCells, maxRows), Fix: "give fewer rows or columns"}
	}
	y, err := b.classOf(r)
	if err != nil {
		return err
	}
	if b.unit < 0 {
		unit, group := b.contentUnit(r.cells)
		b.out.Units = append(b.out.Units, unit)
		b.out.groups = append(b.out.groups, group)
	} else {
		unit := r.cells[b.unit]
		if isMissing(unit) {
			return &InputError{File: b.path, Row: r.line, What: fmt.Sprintf("has no unit in column %q", b.names[b.unit]),
				Why: "every row belongs to a unit of privacy", Fix: "remove the row or fill in the unit"}
		}
		b.out.Units = append(b.out.Units, b.repeated.intern(unit))
	}
	b.out.Y = append(b.out.Y, y)
	for k, j := range b.features {
		b.out.Columns[k].Values = append(b.out.Columns[k].Values, b.repeated.intern(r.cells[j]))
	}
	return nil
}

// classOf is the class of a row, -1 without labels.
func (b *tableBuilder) classOf(r row) (int, error) {
	if b.label < 0 {
		return -1, nil
	}
	label := r.cells[b.label]
	if isMissing(label) {
		return 0, &InputError{File: b.path, Row: r.line, What: fmt.Sprintf("has no label in column %q", b.names[b.label]),
			Why: "only features may be missing", Fix: "remove the row or fill in the label"}
	}
	y, known := b.class[label]
	if !known {
		if y = len(b.out.Classes); y == maxClasses {
			return 0, &InputError{File: b.path, Row: r.line, What: fmt.Sprintf("has a label beyond %d different ones in column %q", maxClasses, b.names[b.label]),
				Why: "the label is a class, not a measurement", Fix: "choose another label column or group its values"}
		}
		label = strings.Clone(label)
		b.class[label] = y
		b.out.Classes = append(b.out.Classes, label)
	}
	return y, nil
}

// contentUnit names a row by what stands in it and by how many equal rows stand
// above it, so that adding or removing a row renames no other (of equal rows any
// may count as the last): a line number would, and all teachers would change.
// The group is the same for equal rows.
func (b *tableBuilder) contentUnit(cells []string) (unit, group string) {
	h := sha256.New()
	for _, c := range cells {
		fmt.Fprintf(h, "%d:%s", len(c), c)
	}
	name := [16]byte(h.Sum(nil))
	b.copies[name]++
	unit = fmt.Sprintf("content/%x/%d", name, b.copies[name])
	return unit, unit[:len("content/")+2*len(name)]
}

// interner gives equal strings one place in memory, most of the time: it
// remembers the last string of each hash. A string it returns is a copy: a cell
// as it was read would keep its whole row in memory.
type interner struct {
	seed  maphash.Seed
	known []string
}

func newInterner() interner {
	return interner{seed: maphash.MakeSeed(), known: make([]string, 1<<12)}
}

func (n interner) intern(s string) string {
	known := &n.known[maphash.String(n.seed, s)%uint64(len(n.known))]
	if *known != s {
		*known = strings.Clone(s)
	}
	return *known
}

// table ends the reading: classes are put in order.
func (b *tableBuilder) table() (*Table, error) {
	if b.label < 0 && b.out.Len() > 0 {
		return b.out, nil
	}
	switch len(b.out.Classes) {
	case 0:
		return nil, &InputError{File: b.path, What: "has no rows below its header", Why: "a table has a row for each example"}
	case 1:
		return nil, &InputError{File: b.path, What: fmt.Sprintf("has one label only, %q, in column %q", b.out.Classes[0], b.names[b.label]),
			Why: "there must be at least two classes", Fix: "choose another label column"}
	}
	sortClasses(b.out.Classes)
	rank := make([]int, len(b.out.Classes))
	for i, c := range b.out.Classes {
		rank[b.class[c]] = i
	}
	for i, y := range b.out.Y {
		b.out.Y[i] = rank[y]
	}
	return b.out, nil
}

// sortClasses sorts by value if all are whole numbers, so that 10 follows 9;
// otherwise, and between "1" and "01", by bytes.
func sortClasses(classes []string) {
	value := make(map[string]int64, len(classes))
	for _, c := range classes {
		v, err := strconv.ParseInt(c, 10, 64)
		if err != nil {
			slices.Sort(classes)
			return
		}
		value[c] = v
	}
	slices.SortFunc(classes, func(a, b string) int {
		return cmp.Or(cmp.Compare(value[a], value[b]), cmp.Compare(a, b))
	})
}
