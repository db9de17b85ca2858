package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/npy"
	"github.com/pate-go/pate/internal/parquet"
	"github.com/pate-go/pate/internal/unpack"
)

// Source names the files of rows: a table as CSV or Parquet, an NPY matrix of features, an idx file of
// images, or a folder of images with a folder for each class.
type Source struct {
	Path   string
	Labels string // of NPY and idx: the file with a label for each row; "" if there is none
	Units  string // likewise with the unit of privacy of each row
}

// Reading says how sources are read.
type Reading struct {
	CSV  CSVOptions // of tables: columns by name, header, separator; its Rule is not used
	Rule ClassRule
	Keep []string // columns of a table that become features though they look like ids or free text
	Kind Kind     // of images: one of [Kinds]; default Pictures
	// ImageSize is the size to which images of a folder are brought. By default the public
	// ones say it, and must then have one size.
	ImageSize Shape
	// Ranges, if not nil, declare the columns of a table: public rows, which may be drawn from
	// them, are encoded by it, and not by what they show.
	Ranges *Ranges
	// Accept reads private rows that are unlike the public ones.
	Accept bool
}

// Grouped reports whether a column or file names the units of the rows of a source, which may then
// have several rows.
func (r Reading) Grouped(src Source) bool { return r.CSV.Unit != "" || src.Units != "" }

// rows is what a source holds: a table or numbers.
type rows struct {
	table   *Table
	numbers *numbers
}

// open opens a source. Optional takes what the file has of label and unit, for public rows.
func (r Reading) open(src Source, optional bool) (rows, error) {
	info, err := os.Stat(src.Path)
	if err != nil {
		return rows{}, &fault.Error{File: src.Path, What: "cannot be read", Err: err, Fix: "give a CSV, Parquet, NPY or idx file, or a folder of images"}
	}
	if info.IsDir() {
		return r.openFolder(src, optional)
	}
	head, err := firstBytes(src.Path)
	if err != nil {
		return rows{}, err
	}
	switch {
	case bytes.HasPrefix(head, []byte(npy.Magic)):
		source, err := openRows(src.Path)
		if err != nil {
			return rows{}, err
		}
		return r.openNumbers(src, source, optional)
	case bytes.HasPrefix(head, []byte{0, 0, 8, 3}):
		source, err := openIDX(src.Path)
		if err != nil {
			return rows{}, err
		}
		if src.Labels == "" && !optional {
			src.Labels = labelsBeside(src.Path)
		}
		return r.openNumbers(src, source, optional)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return rows{}, &fault.Error{File: src.Path, What: "is a zip archive, such as .npz or .xlsx", Fix: "save one array with numpy.save, or the table as CSV"}
	}
	if src.Labels != "" || src.Units != "" {
		return rows{}, &fault.Error{File: src.Path, What: "is a table, with files of labels or units beside it", Why: "in a table they are columns", Fix: "name the columns with --label and --unit"}
	}
	opt := r.CSV
	opt.Rule, opt.Optional = r.Rule, optional
	if optional {
		opt.Rule.Other = ""
	}
	t, err := ReadTable(src.Path, opt)
	return rows{table: t}, err
}

// readAsTable reports whether a file that begins so is read as a table.
func readAsTable(head []byte) bool {
	for _, magic := range []string{npy.Magic, "\x00\x00\x08\x03", "PK\x03\x04"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return false
		}
	}
	return true
}

// firstBytes returns how a file begins when it is unpacked.
func firstBytes(path string) ([]byte, error) {
	f, err := unpack.Open(path)
	if err != nil {
		return nil, &fault.Error{File: path, What: "cannot be opened", Err: err}
	}
	defer f.Close()
	plain, err := unpack.Reader(f)
	if err != nil {
		return nil, &fault.Error{File: path, What: "cannot be unpacked", Err: err}
	}
	head, err := bufio.NewReader(plain).Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, &fault.Error{File: path, What: "cannot be read", Err: err}
	}
	return head, nil
}

// labelsBeside returns the file of labels that belongs to an idx file of images by its
// name, "" if there is none.
func labelsBeside(path string) string {
	beside := strings.Replace(path, "images-idx3", "labels-idx1", 1)
	if beside != path {
		for _, name := range []string{beside, strings.TrimSuffix(beside, ".gz"), beside + ".gz"} {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				return name
			}
		}
	}
	return ""
}

// openNumbers puts labels and units beside rows.
func (r Reading) openNumbers(src Source, source rowSource, optional bool) (rows, error) {
	count, _ := source.size()
	n := &numbers{path: src.Path, rows: source, about: Table{Name: tableName(src.Path), Rule: r.Rule, Provenance: tableName(src.Path)}}
	n.about.Y = make([]int, count)
	for i := range n.about.Y {
		n.about.Y[i] = -1
	}
	if src.Labels != "" {
		labels, err := readLines(src.Labels, count)
		if err != nil {
			return rows{}, err
		}
		if err := n.label(src.Labels, labels, optional); err != nil {
			return rows{}, err
		}
	}
	if src.Units == "" {
		return rows{numbers: n}, nil
	}
	units, err := readLines(src.Units, count)
	if err != nil {
		return rows{}, err
	}
	for i, u := range units {
		if isMissing(u) && !optional {
			return rows{}, &fault.Error{File: src.Units, Row: i + 1, What: "has no unit", Why: "every row belongs to a unit of privacy", Fix: "fill in the unit"}
		}
	}
	n.about.Units = units
	return rows{numbers: n}, nil
}

// label takes a label for every row, as a table takes those of its column.
func (n *numbers) label(path string, labels []string, optional bool) error {
	b := tableBuilder{path: path, names: []string{"label"}, rule: n.about.Rule, optional: optional, labels: map[string]int{}, out: &n.about}
	if b.rule.Names != nil {
		b.declared = make(map[string]bool, len(b.rule.Names))
		for _, name := range b.rule.Names {
			b.declared[name] = true
		}
	}
	for i, l := range labels {
		y, err := b.labelOf(row{line: i + 1, cells: []string{l}})
		if err != nil {
			return err
		}
		n.about.Y[i] = y
	}
	return nil
}

// readLines reads a name for each of n rows: from an NPY array, an idx file of labels, a
// Parquet file of one column, or a text with one a line, under a header or not.
func readLines(path string, n int) (names []string, err error) {
	head, err := firstBytes(path)
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte(npy.Magic)):
		names, err = readNames(path)
	case bytes.HasPrefix(head, []byte{0, 0, 8, 1}):
		names, err = idxNames(path)
	case bytes.HasPrefix(head, []byte(parquet.Magic)):
		names, err = parquetNames(path)
	default:
		names, err = textNames(path)
		if len(names) == n+1 {
			names = names[1:]
		}
	}
	if err != nil {
		return nil, err
	}
	if len(names) != n {
		return nil, &fault.Error{File: path, What: fmt.Sprintf("has %d rows, the features have %d", len(names), n), Why: "there is one label, or one unit, for each row of features", Fix: "check that the files belong together"}
	}
	return names, nil
}

func textNames(path string) ([]string, error) {
	f, err := unpack.Open(path)
	if err != nil {
		return nil, &fault.Error{File: path, What: "cannot be opened", Err: err}
	}
	defer f.Close()
	plain, err := unpack.Reader(f)
	if err != nil {
		return nil, &fault.Error{File: path, What: "cannot be unpacked", Err: err}
	}
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, maxRecord)
	names := nameList{path: path, repeated: newInterner()}
	for lines.Scan() {
		text := strings.Trim(strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff")), `"`)
		if err := names.add(text); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, &fault.Error{File: path, What: "cannot be read", Err: err}
	}
	return names.names, nil
}

// nameList is names of a file, each kept once, within the memory of a table.
type nameList struct {
	path     string
	names    []string
	repeated interner
}

func (l *nameList) add(name string) error {
	l.names = append(l.names, l.repeated.intern(name))
	if 16*len(l.names)+l.repeated.size > maxTable {
		return &fault.Error{File: l.path, What: "is larger than fits in memory"}
	}
	return nil
}

// openFolder opens a folder of images. Folders in it name classes.
func (r Reading) openFolder(src Source, optional bool) (rows, error) {
	if !isPictureFolder(src.Path) {
		return rows{}, &fault.Error{File: src.Path, What: "is a folder without images",
			Why: "a folder holds PNG, JPEG or GIF files, or a folder of them for each class", Fix: "of idx files name one: DIR/train-images-idx3-ubyte", Err: fs.ErrNotExist}
	}
	files, err := listPictures(src.Path)
	if err != nil {
		return rows{}, err
	}
	n := &numbers{path: src.Path, rows: &pictureRows{dir: src.Path, files: files, shape: r.ImageSize}, about: Table{Name: tableName(src.Path), Rule: r.Rule, Provenance: tableName(src.Path)}}
	labels := make([]string, len(files))
	units := make([]string, len(files))
	n.about.Y = make([]int, len(files))
	for i, f := range files {
		labels[i], units[i] = f.class, f.name
		n.about.Y[i] = -1
	}
	if src.Units != "" {
		if units, err = readLines(src.Units, len(files)); err != nil {
			return rows{}, err
		}
	}
	n.about.Units = units
	for _, f := range files {
		if f.class != "" { // otherwise there are no labels at all
			return rows{numbers: n}, n.label(src.Path, labels, optional)
		}
	}
	return rows{numbers: n}, nil
}
