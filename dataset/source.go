package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/npy"
	"github.com/pate-go/pate/internal/parquet"
	"github.com/pate-go/pate/internal/unpack"
)

// Source gives the path of a table (CSV or Parquet), an NPY matrix of features, an idx file of images, or a
// folder of images. A folder of images may have a subfolder for each class. If the features of a table are in
// an NPY matrix, the table gives only labels and units.
type Source struct {
	Path   string
	Labels string // file with a label for each row of an NPY or idx file; "" if none
	Units  string // file with a unit for each row of an NPY or idx file, or for each image of a folder

	Embeddings string // NPY file with the features of each row of a table; "" if columns are features
}

// Reading controls how a [Source] is read.
type Reading struct {
	CSV  CSVOptions // for tables; CSV.Rule is ignored
	Rule ClassRule
	Keep []string // table columns to keep as features even if they look like ids or free text
	Kind Kind     // for images: one of [Kinds]; default Pictures
	// ImageSize is the size to which the images of a folder are resized. If ImageSize is zero, all public
	// images must have one size, which is then used.
	ImageSize Shape
	// Ranges, if not nil, declares the columns of a table. Public rows are then encoded by the declaration.
	Ranges *Ranges
	Accept bool // also read private rows that differ from the public rows, see [Schema.ReadPrivate]
}

// Grouped reports whether a column or file has unit ids, so that a unit may have several rows.
func (r Reading) Grouped(src Source) bool { return r.CSV.Unit != "" || src.Units != "" }

func (t *Table) close() {
	if file, ok := t.numbers.(*array); ok {
		file.Close()
	}
}

const (
	magicIDX3 = "\x00\x00\x08\x03"
	magicIDX1 = "\x00\x00\x08\x01"
	magicZip  = "PK\x03\x04"
)

func magicOf(head []byte) string {
	for _, magic := range []string{npy.Magic, magicIDX3, magicZip} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return magic
		}
	}
	return ""
}

func (r Reading) open(src Source, optional bool) (*Table, error) {
	info, err := os.Stat(src.Path)
	if err != nil {
		return nil, &fault.Error{File: src.Path, What: "cannot be read", Err: err,
			Fix: "give a CSV, Parquet, NPY or idx file, or a folder of images"}
	}
	pictures := info.IsDir() && (r.CSV.Text == "" || isPictureFolder(src.Path))
	var head []byte
	if !info.IsDir() {
		if head, err = firstBytes(src.Path); err != nil {
			return nil, err
		}
	}
	if src.Embeddings != "" && (pictures || magicOf(head) != "") {
		return nil, wrong(src.Path, "is no table, and embeddings are given beside it", "a table gives label and unit of each embedding",
			"give a table, or leave --embeddings out")
	}
	if pictures {
		return r.openFolder(src, optional)
	}
	switch magicOf(head) {
	case npy.Magic:
		source, err := openRows(src.Path)
		if err != nil {
			return nil, err
		}
		return r.openNumbers(src, source, optional)
	case magicIDX3:
		a, err := readIDXFile(src.Path, 3, "images")
		if err != nil {
			return nil, err
		}
		if src.Labels == "" && !optional {
			src.Labels = labelsBeside(src.Path)
		}
		return r.openNumbers(src, a, optional)
	case magicZip:
		return nil, wrong(src.Path, "is a zip archive, such as .npz or .xlsx", "", "save one array with numpy.save, or the table as CSV")
	}
	if src.Labels != "" || src.Units != "" {
		return nil, wrong(src.Path, "is a table, with files of labels or units beside it", "in a table they are columns",
			"name the columns with --label and --unit")
	}
	opt := r.CSV
	opt.Rule, opt.Optional = r.Rule, optional
	if src.Embeddings == "" {
		return ReadTable(src.Path, opt)
	}
	return openEmbeddings(src, opt)
}

func openEmbeddings(src Source, opt CSVOptions) (*Table, error) {
	if opt.Text != "" {
		return nil, wrong(src.Path, "has texts as features, and embeddings beside them", "", "give --text or --embeddings")
	}
	opt.matrix = true
	t, err := ReadTable(src.Path, opt)
	if err != nil {
		return nil, err
	}
	rows, err := openRows(src.Embeddings)
	if err != nil {
		return nil, err
	}
	if n, _ := rows.size(); n != t.Len() {
		rows.Close()
		return nil, wrong(src.Embeddings, fmt.Sprintf("has %d rows, and the table %s has %d", n, filepath.Base(src.Path), t.Len()),
			"there is one row of features for each row of the table", "check that the files belong together")
	}
	t.numbers, t.path = rows, src.Embeddings
	if opt.Unit == "" {
		t.Units = nil
	}
	return t, nil
}

func withFile[T any](path string, read func(f *os.File) (T, error)) (out T, err error) {
	f, err := unpack.Open(path)
	if err != nil {
		return out, failed(path, "cannot be opened", err)
	}
	defer f.Close()
	return read(f)
}

func firstBytes(path string) ([]byte, error) {
	return withFile(path, func(f *os.File) ([]byte, error) {
		plain, err := unpack.Reader(f)
		if err != nil {
			return nil, failed(path, "cannot be unpacked", err)
		}
		head, err := bufio.NewReader(plain).Peek(8)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, failed(path, "cannot be read", err)
		}
		return head, nil
	})
}

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

func (r Reading) newNumbers(path string, source rowSource) *Table {
	count, _ := source.size()
	return &Table{Name: tableName(path), Rule: r.Rule, Provenance: tableName(path), path: path,
		Y: slices.Repeat([]int{-1}, count), numbers: source}
}

func (r Reading) openNumbers(src Source, source rowSource, optional bool) (*Table, error) {
	t := r.newNumbers(src.Path, source)
	if src.Labels != "" {
		labels, err := readLines(src.Labels, t.Len())
		if err != nil {
			return nil, err
		}
		if err := t.setLabels(src.Labels, labels, optional); err != nil {
			return nil, err
		}
	}
	if src.Units == "" {
		return t, nil
	}
	return t, t.readUnits(src.Units, optional)
}

func (t *Table) readUnits(path string, optional bool) (err error) {
	if t.Units, err = readLines(path, t.Len()); err != nil {
		return err
	}
	for i, unit := range t.Units {
		if isMissing(unit) && !optional {
			return &fault.Error{File: path, Row: i + 1, What: "has no unit",
				Why: "every row must belong to a privacy unit", Fix: "fill in the unit"}
		}
		t.Units[i] = unitName(unit)
	}
	return nil
}

// unitName returns the same name for the cells 3 and 3.0, which are one unit.
func unitName(cell string) string {
	whole, zeros, _ := strings.Cut(cell, ".")
	if digits := strings.TrimPrefix(whole, "-"); digits == "" || strings.Trim(digits, "0123456789") != "" || strings.Trim(zeros, "0") != "" {
		return cell
	}
	return whole
}

func (t *Table) setLabels(path string, labels []string, optional bool) (err error) {
	b := tableBuilder{path: path, names: []string{"label"}, rule: t.Rule, declared: t.Rule.declared(), optional: optional,
		labels: map[string]int{}, out: t}
	for i, l := range labels {
		if t.Y[i], err = b.labelOf(row{line: i + 1, cells: []string{l}}); err != nil {
			return err
		}
	}
	return nil
}

func readLines(path string, n int) (names []string, err error) {
	head, err := firstBytes(path)
	if err != nil {
		return nil, err
	}
	list := &nameList{path: path, repeated: newInterner()}
	switch {
	case bytes.HasPrefix(head, []byte(npy.Magic)):
		names, err = list.npy()
	case bytes.HasPrefix(head, []byte(magicIDX1)):
		names, err = idxNames(path)
	case bytes.HasPrefix(head, []byte(parquet.Magic)):
		names, err = withFile(path, list.parquet)
	default:
		names, err = withFile(path, list.text)
		if len(names) == n+1 {
			names = names[1:]
		}
	}
	if err != nil {
		return nil, err
	}
	if len(names) != n {
		return nil, wrong(path, fmt.Sprintf("has %d rows, the features have %d", len(names), n),
			"there is one label, or one unit, for each row of features", "check that the files belong together")
	}
	return names, nil
}

func (l *nameList) text(f *os.File) ([]string, error) {
	plain, err := unpack.Reader(f)
	if err != nil {
		return nil, failed(l.path, "cannot be unpacked", err)
	}
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, maxRecord)
	for lines.Scan() {
		if err := l.add(strings.Trim(strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff")), `"`)); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, failed(l.path, "cannot be read", err)
	}
	return l.names, nil
}

func (l *nameList) parquet(f *os.File) ([]string, error) {
	file, err := openParquet(f, l.path)
	if err != nil {
		return nil, err
	}
	if n := len(file.Columns()); n != 1 {
		return nil, wrong(l.path, fmt.Sprintf("has %d columns", n), "there is one label, or one unit, for each row", "save one column")
	}
	rows, err := file.Rows(nil)
	for err == nil {
		var cells []string
		if cells, err = rows.Next(); err == nil {
			err = l.add(strings.TrimSpace(cells[0]))
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return l.names, nil
}

type nameList struct {
	path     string
	names    []string
	repeated interner
}

func (l *nameList) add(name string) error {
	l.names = append(l.names, l.repeated.intern(name))
	if 16*len(l.names)+l.repeated.size > maxTable {
		return wrong(l.path, "is larger than fits in memory", "", "")
	}
	return nil
}

func (r Reading) openFolder(src Source, optional bool) (*Table, error) {
	if !isPictureFolder(src.Path) {
		return nil, &fault.Error{File: src.Path, What: "is a folder without images",
			Why: "a folder holds PNG, JPEG or GIF files, or a folder of them for each class",
			Fix: "of idx files name one: DIR/train-images-idx3-ubyte; a folder of texts needs --text text", Err: fs.ErrNotExist}
	}
	files, err := listFiles(src.Path, "images", isPicture)
	if err != nil {
		return nil, err
	}
	t := r.newNumbers(src.Path, &pictureRows{dir: src.Path, files: files, shape: r.ImageSize})
	classes, labelled := make([]string, len(files)), false
	for i, f := range files {
		classes[i], labelled = f.class, labelled || f.class != ""
		t.ids = append(t.ids, f.name)
	}
	if labelled {
		err = t.setLabels(src.Path, classes, optional)
	}
	if t.Units = t.ids; src.Units == "" || err != nil {
		return t, err
	}
	return t, t.readUnits(src.Units, optional)
}
