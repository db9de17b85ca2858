package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
)

// DirFS reads a folder that holds MNIST-shaped files: {train,t10k}-images-idx3-ubyte and
// {train,t10k}-labels-idx1-ubyte, each plain or with .gz or .zst. Images may have any size. The classes
// come from the rule, or from the test file, whose rows are public. Path stands for the file system in
// messages, and its last element is the name of the sets. A file that is missing or malformed is an
// [*fault.Error].
func DirFS(files fs.FS, path string, rule ClassRule) (train, test Set, err error) {
	if err := rule.Validate(); err != nil {
		return Set{}, Set{}, err
	}
	return readFolder(files, folder{path: path, name: filepath.Base(filepath.Clean(path)), rule: rule})
}

type folder struct {
	path, name string
	rule       ClassRule
}

func readFolder(files fs.FS, f folder) (train, test Set, err error) {
	var errs [2]error
	parallel.Each(0, len(errs), func(_, i int) {
		if i == 0 {
			train, errs[i] = readPair(files, f, "train", "train")
		} else {
			test, errs[i] = readPair(files, f, "t10k", "test")
		}
	})
	if err := cmp.Or(errs[:]...); err != nil {
		return Set{}, Set{}, err
	}
	if a, b := train.Image, test.Image; a != b {
		what := fmt.Sprintf("has training images of %dx%d pixels and test images of %dx%d", a.Rows, a.Cols, b.Rows, b.Cols)
		return Set{}, Set{}, wrong(f.path, what, "all images of a data set have one size", "")
	}
	names := f.rule.Names
	if names == nil { // the test file is public, the training file is not
		names = Numbers(max(slices.Max(test.Y)+1, 10))
	}
	for _, s := range []*Set{&train, &test} {
		if *s, err = f.classify(*s, names); err != nil {
			return Set{}, Set{}, err
		}
	}
	return train, test, nil
}

// classify gives a set its classes. Labels count names, from 0.
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

// readPair reads the images and labels with one prefix; units are named part/i.
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
	s := Set{Name: f.name, X: dense.New(n, shape.Pixels()), Y: make([]int, n), Units: units, IDs: units, Image: shape,
		Provenance: "idx files in " + f.name}
	var value [256]float32
	for i := range value {
		value[i] = float32(i) / 255
	}
	pixels := shape.Pixels()
	parallel.Each(0, n, func(_, i int) {
		row := dense.Row(s.X, i)
		for j, b := range images.data[i*pixels : (i+1)*pixels] {
			row[j] = value[b]
		}
		s.Y[i] = int(labels.data[i])
	})
	return s, nil
}

// readFile reads one idx file, plain or with .gz or .zst at the end of its name.
func readFile(files fs.FS, path, name string, dimensions int) (idxArray, error) {
	found := name
	info, err := fs.Stat(files, found)
	for _, ending := range []string{".gz", ".zst"} {
		if errors.Is(err, fs.ErrNotExist) {
			found = name + ending
			info, err = fs.Stat(files, found)
		}
	}
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for a writer
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
		return idxArray{}, failed(filepath.Join(path, name), "is not a readable idx file", err)
	}
	return a, nil
}
