package dataset

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/internal/unpack"
)

// DirFS reads a folder with the file names of MNIST: {train,t10k}-images-idx3-ubyte and
// {train,t10k}-labels-idx1-ubyte, perhaps with .gz or .zst. Images may have any size. If rule.Names is nil,
// classes come from the public test file. Errors contain the argument path. The last element of path names
// the sets. A missing or malformed file is an [*fault.Error].
func DirFS(files fs.FS, path string, rule ClassRule) (train, test Set, err error) {
	if err := rule.Validate(); err != nil {
		return Set{}, Set{}, err
	}
	_, keep := files.(interface{ KeepBytes() })
	return readFolder(files, folder{path: path, name: filepath.Base(filepath.Clean(path)), rule: rule, keep: keep})
}

type folder struct {
	path, name string
	rule       ClassRule
	keep       bool // whether sets keep bytes
}

func readFolder(files fs.FS, f folder) (train, test Set, err error) {
	var errs [2]error
	sets := [2]*Set{&train, &test}
	parallel.Each(0, len(errs), func(_, i int) {
		*sets[i], errs[i] = readPair(files, f, [2]string{"train", "t10k"}[i], [2]string{"train", "test"}[i])
	})
	if err := cmp.Or(errs[:]...); err != nil {
		return Set{}, Set{}, err
	}
	if a, b := train.Image, test.Image; a != b {
		what := fmt.Sprintf("has training images of %dx%d pixels and test images of %dx%d", a.Rows, a.Cols, b.Rows, b.Cols)
		return Set{}, Set{}, wrong(f.path, what, "all images of a data set have one size", "")
	}
	names := f.rule.Names
	if names == nil { // the test file is public, the training file is private
		names = Numbers(max(slices.Max(test.Y)+1, 10))
	}
	for _, s := range sets {
		if *s, err = f.classify(*s, names); err != nil {
			return Set{}, Set{}, err
		}
	}
	return train, test, nil
}

func (f folder) classify(s Set, names []string) (Set, error) {
	s.Classes = f.rule.withOther(names)
	other, known := f.rule.other(s.Classes)
	kept := make([]int, 0, s.Len())
	for i, y := range s.Y {
		switch {
		case y < len(names):
		case !known:
			return Set{}, wrong(f.path, fmt.Sprintf("has label %d, and the classes are %d", y, len(names)), whyRefused, fixRefused)
		default:
			s.Y[i] = other
		}
		if s.Y[i] >= 0 {
			kept = append(kept, i)
		} else {
			s.LeftOut = append(s.LeftOut, s.Units[i])
		}
	}
	if len(kept) == s.Len() {
		return s, nil
	}
	return s.rows(kept), nil
}

func readPair(files fs.FS, f folder, prefix, part string) (Set, error) {
	images, err := readFile(files, f.path, prefix+"-images-idx3-ubyte", 3)
	if err != nil {
		return Set{}, err
	}
	labels, err := readFile(files, f.path, prefix+"-labels-idx1-ubyte", 1)
	if err != nil {
		return Set{}, err
	}
	n, shape := images.dims[0], images.image()
	if labels.dims[0] != n {
		return Set{}, wrong(filepath.Join(f.path, prefix+"-labels-idx1-ubyte"),
			fmt.Sprintf("has %d labels, the images file has %d images", labels.dims[0], n), "each image has one label", "")
	}
	units := numbered(part, n)
	s := Set{Name: f.name, X: dense.Matrix{Rows: n, Cols: shape.Pixels(), Stride: shape.Pixels()}, Y: make([]int, n), Units: units,
		IDs: units, Image: shape, Provenance: "idx files in " + f.name, bytes: images.data, values: new([256]float32)}
	for b := range s.values {
		s.values[b] = float32(b) / 255
	}
	for i, y := range labels.data {
		s.Y[i] = int(y)
	}
	if !f.keep {
		x := dense.New(n, s.X.Cols)
		parallel.Each(0, n, func(_, i int) { s.row(dense.Row(x, i), i) })
		s.X, s.bytes, s.values = x, nil, nil
	}
	return s, nil
}

func readFile(files fs.FS, path, name string, dimensions int) (idxArray, error) {
	found := name
	info, err := fs.Stat(files, found)
	for _, ending := range []string{".gz", ".zst"} {
		if errors.Is(err, fs.ErrNotExist) {
			found = name + ending
			info, err = fs.Stat(files, found)
		}
	}
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would block until a writer opens it
		err = errors.New(found + " is no regular file")
	}
	var r fs.File
	if err == nil {
		r, err = files.Open(found)
	}
	if err != nil {
		return idxArray{}, &fault.Error{File: path, What: "has no readable " + name + ", " + name + ".gz or " + name + ".zst",
			Why: "a folder of images holds {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte", Err: err}
	}
	defer r.Close()
	a, err := readIDX(r, dimensions)
	if err != nil {
		err = failed(filepath.Join(path, name), "is not a readable idx file", err)
	}
	return a, err
}

// The file holds two zero bytes, type 0x08, the number of dimensions, each dimension as a big-endian uint32,
// and the bytes in row-major order. A three-dimensional array is a [rowSource] of images.

// idxArray is the content of an idx file of unsigned bytes, as for MNIST.
type idxArray struct {
	dims []int
	data []byte
}

// readIDX lets memory grow only with the bytes that are read, because the header may be false.
func readIDX(r io.Reader, dimensions int) (idxArray, error) {
	plain, err := unpack.Reader(r)
	if err != nil {
		return idxArray{}, err
	}
	head := make([]byte, 4+4*dimensions)
	if n, err := io.ReadFull(plain, head); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return idxArray{}, fmt.Errorf("%d bytes, the header of an idx%d file has %d", n, dimensions, len(head))
		}
		return idxArray{}, err
	}
	if head[0] != 0 || head[1] != 0 || head[2] != 0x08 || int(head[3]) != dimensions {
		return idxArray{}, fmt.Errorf("begins with % x, an idx%d file of bytes begins with 00 00 08 %02x", head[:4], dimensions, dimensions)
	}
	a := idxArray{dims: make([]int, dimensions)}
	size := int64(1)
	for i := range a.dims {
		d := int64(binary.BigEndian.Uint32(head[4+4*i:]))
		if d == 0 {
			return idxArray{}, fmt.Errorf("dimension %d is 0", i+1)
		}
		// The product fits: size <= unpack.MaxBytes < 2^31 and d < 2^32.
		if size *= d; size > unpack.MaxBytes {
			return idxArray{}, fmt.Errorf("the header claims more than %d bytes", unpack.MaxBytes)
		}
		a.dims[i] = int(d)
	}
	a.data, err = io.ReadAll(io.LimitReader(plain, size+1))
	switch n := int64(len(a.data)); {
	case err != nil:
		return idxArray{}, err
	case n < size:
		return idxArray{}, fmt.Errorf("the header claims %d bytes of data, there are %d", size, n)
	case n > size:
		return idxArray{}, fmt.Errorf("more than the %d bytes of data that the header claims", size)
	}
	return a, nil
}

func (a idxArray) size() (rows, cols int) { return a.dims[0], a.image().Pixels() }
func (a idxArray) image() Shape           { return Shape{Rows: a.dims[1], Cols: a.dims[2]} }

func (a idxArray) each(visit func(i int, row []float64) error) error {
	row := make([]float64, a.image().Pixels())
	for i := range a.dims[0] {
		for j, b := range a.data[i*len(row) : (i+1)*len(row)] {
			row[j] = float64(b) / 255
		}
		if err := visit(i, row); err != nil {
			return err
		}
	}
	return nil
}

func readIDXFile(path string, dimensions int, of string) (idxArray, error) {
	return withFile(path, func(f *os.File) (idxArray, error) {
		a, err := readIDX(f, dimensions)
		if err != nil {
			err = failed(path, "is not a readable idx file of "+of, err)
		}
		return a, err
	})
}

func idxNames(path string) ([]string, error) {
	a, err := readIDXFile(path, 1, "labels")
	names := make([]string, len(a.data))
	for i, b := range a.data {
		names[i] = strconv.Itoa(int(b))
	}
	return names, err
}
