package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/npy"
	"github.com/pate-go/pate/internal/unpack"
)

type array struct {
	file  *os.File
	path  string
	typ   npy.Type
	chars int // characters of a text element; 0 for numbers
	width int // bytes of an element
	start int64
	shape []int
	fort  bool
}

func openArray(path string) (_ *array, err error) {
	f, err := unpack.Open(path)
	if err != nil {
		return nil, failed(path, "cannot be opened", err)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	raw := make([]byte, npy.MaxHeader)
	n, err := io.ReadFull(f, raw)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, failed(path, "cannot be read", err)
	}
	head, used, err := npy.ReadHeader(raw[:n])
	if err != nil {
		return nil, &fault.Error{File: path, What: "is not a readable NPY file", Err: err, Fix: "save it again with numpy.save"}
	}
	a := &array{file: f, path: path, start: int64(used), shape: head.Shape, fort: head.Fortran}
	if err := a.setType(head.Type); err != nil {
		return nil, err
	}
	if len(a.shape) < 1 || len(a.shape) > 2 {
		return nil, wrong(path, fmt.Sprintf("has %d dimensions", len(a.shape)), rowsAndColumns, reshape)
	}
	size := int64(a.width)
	for _, d := range a.shape {
		if d == 0 || int64(d) > (1<<40)/size {
			return nil, wrong(path, "has no rows or no columns, or claims more than fit in memory", "", "")
		}
		size *= int64(d)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, failed(path, "cannot be read", err)
	}
	if info.Size() != a.start+size {
		return nil, wrong(path, fmt.Sprintf("has %d bytes, its head claims %d", info.Size(), a.start+size),
			"", "save it again: it is cut off or damaged")
	}
	return a, nil
}

const (
	maxText        = 1 << 12 // characters of a text element
	blockBytes     = 4 << 20 // approximate number of bytes per read
	rowsAndColumns = "rows are examples, columns are features"
	reshape        = "save x.reshape(len(x), -1)"
)

func (a *array) setType(descr string) error {
	if t, ok := npy.TypeOf(descr); ok {
		a.typ, a.width = t, t.Size
		return nil
	}
	if text := strings.TrimLeft(descr, "<|="); strings.HasPrefix(text, "U") || strings.HasPrefix(text, "S") {
		if n, err := strconv.Atoi(text[1:]); err == nil && n >= 1 && n <= maxText {
			a.chars, a.width = n, n
			if text[0] == 'U' {
				a.width = 4 * n
			}
			return nil
		}
	}
	return wrong(a.path, fmt.Sprintf("holds elements of type %q", descr), "numbers and texts of fixed length are read, and nothing is unpickled",
		"convert them: x.astype('float32') for features, y.astype(str) for names")
}

func (a *array) Close() error { return a.file.Close() }

func openRows(path string) (*array, error) {
	a, err := openArray(path)
	if err != nil {
		return nil, err
	}
	switch {
	case a.chars > 0:
		err = wrong(path, "holds texts", "features are numbers", "give a table with texts as CSV")
	case len(a.shape) != 2:
		err = wrong(path, "has one dimension", rowsAndColumns, reshape)
	case a.shape[0] > maxNumbers/a.shape[1]:
		err = wrong(path, fmt.Sprintf("has %d rows of %d numbers, more than %d in all", a.shape[0], a.shape[1], maxNumbers),
			"", "give fewer rows or columns")
	}
	if err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

func (a *array) size() (rows, cols int) { return a.shape[0], a.shape[1] }
func (a *array) image() Shape           { return Shape{} }

func (a *array) blocks(cols int, visit func(from, n int, raw []byte) error) error {
	rows := a.shape[0]
	block := max(1, min(rows, blockBytes/(cols*a.width)))
	room := make([]byte, block*cols*a.width)
	for from := 0; from < rows; from += block {
		n := min(block, rows-from)
		raw, pieces, step := room[:n*cols*a.width], 1, 0
		at := int64(from) * int64(cols)
		if a.fort {
			at, pieces, step = int64(from), cols, rows
		}
		size := len(raw) / pieces
		for j := range pieces {
			if _, err := a.file.ReadAt(raw[j*size:(j+1)*size], a.start+(at+int64(j)*int64(step))*int64(a.width)); err != nil {
				return &fault.Error{File: a.path, What: "cannot be read", Err: err, Fix: "do not change the file while it is read"}
			}
		}
		if a.chars == 0 && a.typ.Big {
			npy.SwapBytes(raw, a.typ.Size)
		}
		if err := visit(from, n, raw); err != nil {
			return err
		}
	}
	return nil
}

func (a *array) each(visit func(i int, row []float64) error) error {
	_, cols := a.size()
	row := make([]float64, cols)
	var values []float64
	return a.blocks(cols, func(from, n int, raw []byte) error {
		values = slices.Grow(values[:0], n*cols)[:n*cols]
		a.decode(values, raw)
		for i := range n {
			for j := range row {
				if a.fort {
					row[j] = values[j*n+i]
				} else {
					row[j] = values[i*cols+j]
				}
			}
			if err := visit(from+i, row); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *array) decode(dst []float64, raw []byte) {
	if a.typ.Kind == 'f' {
		npy.Floats(dst, raw, a.typ.Size)
		return
	}
	for i := range dst {
		signed, unsigned := npy.Whole(raw[i*a.typ.Size:], a.typ)
		if a.typ.Kind == 'i' {
			dst[i] = float64(signed)
		} else {
			dst[i] = float64(unsigned)
		}
	}
}

func (l *nameList) npy() ([]string, error) {
	a, err := openArray(l.path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if len(a.shape) == 2 && a.shape[1] != 1 {
		return nil, wrong(l.path, fmt.Sprintf("has %d columns", a.shape[1]), "there is one label, or one unit, for each row", "save one column")
	}
	if n := a.shape[0]; n > maxNumbers/16 {
		return nil, wrong(l.path, fmt.Sprintf("has %d rows, more than fit in memory", n), "", "")
	}
	err = a.blocks(1, func(from, _ int, raw []byte) error {
		for at := 0; at < len(raw); at += a.width {
			name, err := a.name(raw[at : at+a.width])
			if err != nil {
				return &fault.Error{File: l.path, Row: from + at/a.width + 1, What: err.Error(),
					Why: "labels and units are names or whole numbers", Fix: "save y.astype('int64') or y.astype(str)"}
			}
			if err := l.add(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l.names, nil
}

func (a *array) name(raw []byte) (string, error) {
	switch {
	case a.chars > 0 && a.width == a.chars:
		return strings.TrimSpace(string(bytes.TrimRight(raw, "\x00"))), nil
	case a.chars > 0:
		var b strings.Builder
		for ; len(raw) >= 4; raw = raw[4:] {
			r := rune(raw[0]) | rune(raw[1])<<8 | rune(raw[2])<<16 | rune(raw[3])<<24
			if r == 0 {
				break
			}
			if !utf8.ValidRune(r) {
				return "", errors.New("holds a text that is not Unicode")
			}
			b.WriteRune(r)
		}
		return strings.TrimSpace(b.String()), nil
	case a.typ.Kind == 'f':
		var v [1]float64
		npy.Floats(v[:], raw, a.typ.Size)
		if v[0] != float64(int64(v[0])) || v[0] > 1<<53 || v[0] < -(1<<53) {
			return "", errors.New("holds a number that is not whole")
		}
		return strconv.FormatInt(int64(v[0]), 10), nil
	}
	signed, unsigned := npy.Whole(raw, a.typ)
	if a.typ.Kind == 'i' {
		return strconv.FormatInt(signed, 10), nil
	}
	return strconv.FormatUint(unsigned, 10), nil
}

const ownerNotice = "this message may reveal private rows: show it to the data owner alone"

// forOwner adds ownerNotice to an error about a private file, because the error may quote a cell or count
// rows.
func forOwner(err error) error {
	var path *fs.PathError
	if err == nil || errors.As(err, &path) || strings.Contains(err.Error(), "owner alone") {
		return err
	}
	var e *fault.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%w; %s", err, ownerNotice)
	}
	marked := *e
	if marked.Why == "" && marked.Err != nil { // Err is printed in the place of Why
		marked.Why = marked.Err.Error()
	}
	if marked.Why != "" {
		marked.Why += "; "
	}
	marked.Why += ownerNotice
	return &marked
}

// columnsAre describes the columns of a file for an error. It omits names that may be cells of a private row.
func columnsAre(names, public []string) string {
	has := func(name string) bool { return slices.Contains(names, name) }
	if slices.ContainsFunc(names, numberForm{}.reads) || len(public) > 0 && !slices.ContainsFunc(public, has) {
		return fmt.Sprintf("it has %d columns, whose names look like a row without a header and are not repeated", len(names))
	}
	return fmt.Sprintf("its %d columns are %s", len(names), shown(names))
}

func wrong(file, what, why, fix string) error {
	return &fault.Error{File: file, What: what, Why: why, Fix: fix}
}

func failed(file, what string, err error) error {
	return &fault.Error{File: file, What: what, Err: err}
}
