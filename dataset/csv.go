package dataset

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/unpack"
)

// Header states whether the first row of a CSV file is a header. By default, if Names is given, the first row
// is no header. Otherwise it is a header if Label or Unit is a name and not a number. Otherwise, if Expect is
// given, it is a header if it contains a name of Expect. In all other cases a Header is required.
type Header string

const (
	headerAuto Header = ""
	HeaderYes  Header = "yes"
	HeaderNo   Header = "no"
)

// CSVOptions configures the reading of a table. Columns are given by name or by number from 1.
type CSVOptions struct {
	Label    string   // column of the class; default: the last column
	Unit     string   // column of the privacy unit (a patient, a user); default: each row is a unit, named by its content
	RowUnits bool     // each row is a unit even if ids repeat in a column; not with Unit
	Drop     []string // columns that are not features
	Silo     string   // column of the silo (a hospital) of each row, no feature; see [Task]
	Header   Header
	Names    []string // names of all columns, in place of a header
	Expect   []string // names of which a header contains at least one
	// Comma separates cells. With HeaderNo or Names, the default is a comma. Otherwise the first line is
	// searched for a comma, a semicolon, then a tab. The first found is the default, or a comma if none.
	Comma   rune
	Missing []string  // feature cells that are missing values, in addition to the usual cells
	Text    string    // column of texts, encoded by words of public texts; see [Encoder]
	Rule    ClassRule // determines which labels are classes
	// If AskLabel is true and Label is empty, the label is the column with a name such as label, class or
	// target. Reading fails if no column or several columns have such a name.
	AskLabel bool
	// Optional is for public rows. The columns Label, Unit and Drop may be missing. A label that is missing
	// or not a class becomes -1.
	Optional bool
	// Unlabelled is for rows whose labels a model will predict. Every column becomes a feature, and Y is -1.
	// Unlabelled together with Label is an error.
	Unlabelled bool
	// Accept, if not nil, is called with the number of private units of a table. An error refuses the table.
	// While rows are read, all is false, and units counts the private units so far, as protocol Literature
	// splits them. Before rows are encoded, all is true, and units is the number in the split. All is always
	// false in a call by [Schema.ReadPrivate], which calls Accept only if each row is a unit.
	Accept func(units int, all bool) error `json:"-"`

	split  *ownSplit // the table is split after reading; nil for other tables
	needed []string  // features that are used, nil for all; other columns may have a type that cannot be read
	matrix bool      // features are in another file, so no column is a feature
	public []string  // columns of the public rows, if the file is private
	schema *Schema   // encodes the rows of a private table while they are read; nil for other tables
}

func (o CSVOptions) isZero() bool {
	return o.Label == "" && o.Unit == "" && o.Silo == "" && len(o.Drop) == 0 && len(o.Missing) == 0 && o.Text == "" &&
		o.Header == headerAuto && len(o.Names) == 0 && o.Comma == 0 &&
		!o.Optional && !o.Unlabelled
}

const (
	maxRecord = 1 << 20 // bytes of a row in the file
	maxTable  = 1 << 30 // bytes of memory of a table, apart from its names
	cellBytes = 16      // memory of a cell, without its text
	rowBytes  = 144     // memory of a row, without its cells
)

func readCSV(r io.Reader, path string, opt CSVOptions) (*Table, error) {
	plain, err := unpack.Reader(r)
	if err != nil {
		return nil, failed(path, "cannot be unpacked", err)
	}
	rows, err := newRowReader(plain, path, opt)
	if err != nil {
		return nil, err
	}
	first, err := rows.next()
	if errors.Is(err, io.EOF) {
		return nil, wrong(path, "is empty", "a table has a row for each example", "check that the right file is given")
	}
	if err != nil {
		return nil, err
	}
	rows.width = len(first.cells)
	names, isHeader, err := columnNames(path, opt, first.cells)
	if err != nil {
		return nil, err
	}
	b, err := newTableBuilder(path, opt, names)
	if err != nil {
		return nil, err
	}
	b.out.bare = !isHeader && len(opt.Names) == 0
	if !isHeader {
		if err := b.add(first); err != nil {
			return nil, err
		}
	}
	return b.table(rows.next)
}

func columnNames(path string, opt CSVOptions, first []string) (names []string, isHeader bool, err error) {
	if isHeader, err = opt.header(path, first); err != nil {
		return nil, false, err
	}
	names = make([]string, len(first))
	switch {
	case len(opt.Names) > 0 && len(opt.Names) != len(first):
		return nil, false, &fault.Error{File: path, Row: 1,
			What: fmt.Sprintf("has %d cells, %d column names are given", len(first), len(opt.Names))}
	case len(opt.Names) > 0:
		copy(names, opt.Names)
	case isHeader:
		copy(names, first)
	}
	nameColumns(names)
	return names, isHeader, nil
}

func nameColumns(names []string) {
	for i := range names {
		if names[i] == "" {
			names[i] = "column " + strconv.Itoa(i+1)
		}
	}
}

// header depends only on the options and the first row.
func (o CSVOptions) header(path string, first []string) (bool, error) {
	named := func(column string) bool {
		_, err := strconv.Atoi(column)
		return column != "" && err != nil
	}
	switch {
	case o.Header == HeaderYes || o.Header == HeaderNo:
		return o.Header == HeaderYes, nil
	case o.Header != headerAuto:
		return false, fmt.Errorf("dataset: header %q is none of %q, %q, %q", o.Header, headerAuto, HeaderYes, HeaderNo)
	case len(o.Names) > 0:
		return false, nil
	case named(o.Label) || named(o.Unit):
		return true, nil
	case len(o.Expect) > 0:
		return slices.ContainsFunc(o.Expect, func(name string) bool { return slices.Contains(first, name) }), nil
	}
	return false, wrong(path, "begins with a line that may be a header or data", "the command does not guess, because the rows may be private",
		"give --header yes or --header no, or name the label column (--label; pate student: --label-column)")
}

func isMissing(cell string) bool {
	return cell == "" || len(cell) <= 4 && (cell[0] == '?' || cell[0]|' ' == 'n') && isMissingWord(cell)
}

func isMissingWord(cell string) bool {
	return cell == "?" || cell == "NA" ||
		strings.EqualFold(cell, "nan") || strings.EqualFold(cell, "n/a") || strings.EqualFold(cell, "null")
}

func findColumn(path string, names, public []string, want, role string) (int, error) {
	at := slices.Index(names, want)
	if at >= 0 {
		if slices.Contains(names[at+1:], want) {
			return 0, wrong(path, fmt.Sprintf("has more than one column %q", want), "", "give the "+role+" column by its number, counted from 1")
		}
		return at, nil
	}
	if n, err := strconv.Atoi(want); err == nil && n >= 1 && n <= len(names) {
		return n - 1, nil
	}
	return 0, wrong(path, fmt.Sprintf("has no column %q", want), columnsAre(names, public),
		"give the "+role+" column by its name or by its number, counted from 1")
}

func tableName(path string) string {
	name := plainName(filepath.Base(path))
	return strings.TrimSuffix(name, filepath.Ext(name))
}
