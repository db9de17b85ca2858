package dataset

import (
	"strconv"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/unpack"
)

// byteRows are images of one idx file, in memory as bytes.
type byteRows struct {
	data  []byte
	n     int
	shape Shape
	ids   []string
}

func openIDX(path string) (*byteRows, error) {
	f, err := unpack.Open(path)
	if err != nil {
		return nil, &fault.Error{File: path, What: "cannot be opened", Err: err}
	}
	defer f.Close()
	a, err := readIDX(f, 3)
	if err != nil {
		return nil, &fault.Error{File: path, What: "is not a readable idx file of images", Err: err}
	}
	return &byteRows{data: a.data, n: a.dims[0], shape: Shape{Rows: a.dims[1], Cols: a.dims[2]}}, nil
}

func (r *byteRows) size() (rows, cols int) { return r.n, r.shape.Pixels() }
func (r *byteRows) image() Shape           { return r.shape }
func (r *byteRows) names() []string        { return r.ids }

func (r *byteRows) each(visit func(i int, row []float64) error) error {
	row := make([]float64, r.shape.Pixels())
	for i := range r.n {
		for j, b := range r.data[i*len(row) : (i+1)*len(row)] {
			row[j] = float64(b) / 255
		}
		if err := visit(i, row); err != nil {
			return err
		}
	}
	return nil
}

// idxNames reads the labels of an idx file, one byte each.
func idxNames(path string) ([]string, error) {
	f, err := unpack.Open(path)
	if err != nil {
		return nil, &fault.Error{File: path, What: "cannot be opened", Err: err}
	}
	defer f.Close()
	a, err := readIDX(f, 1)
	if err != nil {
		return nil, &fault.Error{File: path, What: "is not a readable idx file of labels", Err: err}
	}
	names := make([]string, len(a.data))
	for i, b := range a.data {
		names[i] = strconv.Itoa(int(b))
	}
	return names, nil
}
