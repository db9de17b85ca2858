package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/unpack"
)

// idxArray is the content of an idx file of unsigned bytes, the format of MNIST:
// two zero bytes, type 0x08, the number of dimensions, each dimension as a
// big-endian uint32, then the bytes in row-major order.
type idxArray struct {
	dims []int
	data []byte
}

// readIDX reads an array of the given number of dimensions, plain or gzip. The
// header is not believed: memory grows with the bytes that arrive, and the file
// must hold exactly what the header claims.
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
		// size <= unpack.MaxBytes < 2^31 and d < 2^32, so the product fits.
		if size *= d; size > unpack.MaxBytes {
			return idxArray{}, fmt.Errorf("the header claims more than %d bytes", unpack.MaxBytes)
		}
		a.dims[i] = int(d)
	}
	if a.data, err = readExactly(plain, int(size)); err != nil {
		return idxArray{}, err
	}
	return a, nil
}

// readExactly reads size bytes and then the end of the stream. It never holds
// more than about twice what has arrived.
func readExactly(r io.Reader, size int) ([]byte, error) {
	data := make([]byte, 0, min(size, 1<<16))
	for len(data) < size {
		if len(data) == cap(data) {
			grown := make([]byte, len(data), min(size, 2*cap(data)))
			copy(grown, data)
			data = grown
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) && len(data) < size {
			return nil, fmt.Errorf("the header claims %d bytes of data, there are %d", size, len(data))
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return nil, fmt.Errorf("more than the %d bytes of data that the header claims", size)
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return data, nil
}

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
