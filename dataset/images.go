package dataset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
)

// Dir reads a folder that holds MNIST-shaped files:
// {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte, each plain
// or with .gz or .zst. Images may have any size. Which classes there are is said by the rule, or
// by the test file, whose rows are public.
// What is missing or malformed is an [*fault.Error].
func Dir(path string, rule ClassRule) (train, test Set, err error) {
	return DirFS(os.DirFS(path), path, rule)
}

// DirFS does what [Dir] does of any file system; path stands for it in messages, and its
// last element is the name of the sets.
func DirFS(files fs.FS, path string, rule ClassRule) (train, test Set, err error) {
	if err := rule.Validate(); err != nil {
		return Set{}, Set{}, err
	}
	name := filepath.Base(filepath.Clean(path))
	return readFolder(files, folder{path: path, name: name, provenance: "idx files in " + name, rule: rule})
}

// folder says how the files of one folder are to be presented.
type folder struct {
	path, name, provenance string
	rule                   ClassRule
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
	for _, err := range errs {
		if err != nil {
			return Set{}, Set{}, err
		}
	}
	if train.Image != test.Image {
		return Set{}, Set{}, &fault.Error{File: f.path, What: fmt.Sprintf("has training images of %dx%d pixels and test images of %dx%d",
			train.Image.Rows, train.Image.Cols, test.Image.Rows, test.Image.Cols), Why: "all images of a data set have one size"}
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
			return Set{}, &fault.Error{File: f.path, What: fmt.Sprintf("has label %d, and the classes are %d", y, len(names)), Why: whyRefused, Fix: fixRefused}
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
	n, shape := images.dims[0], Shape{Rows: images.dims[1], Cols: images.dims[2]}
	if labels.dims[0] != n {
		return Set{}, &fault.Error{File: filepath.Join(f.path, prefix+"-labels-idx1-ubyte"),
			What: fmt.Sprintf("has %d labels, the images file has %d images", labels.dims[0], n), Why: "each image has one label"}
	}
	s := Set{
		Name:       f.name,
		Y:          make([]int, n),
		Units:      numbered(part, n),
		Image:      shape,
		Provenance: f.provenance,
		X:          dense.New(n, shape.Pixels()),
	}
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
	})
	for i, b := range labels.data {
		s.Y[i] = int(b)
	}
	s.IDs = s.Units
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
	a, err := readIDX(io.Reader(r), dimensions)
	if err != nil {
		return idxArray{}, &fault.Error{File: filepath.Join(path, name), What: "is not a readable idx file", Err: err}
	}
	return a, nil
}
