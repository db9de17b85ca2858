package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/pate-go/pate/internal/unpack"
)

// idxArray is the content of an idx file of unsigned bytes, the format of MNIST: two zero bytes, type 0x08,
// the number of dimensions, each dimension as a big-endian uint32, then the bytes in row-major order. With
// three dimensions it is a [rowSource] of images.
type idxArray struct {
	dims []int
	data []byte
}

// readIDX reads an array of the given number of dimensions, plain or compressed. The header is not trusted:
// memory grows with the bytes that arrive, and the file must hold exactly the data that the header claims.
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
	a.data, err = readExactly(plain, int(size))
	return a, err
}

// readExactly reads size bytes and then the end of the stream. It never holds more than about twice the
// bytes that have arrived.
func readExactly(r io.Reader, size int) ([]byte, error) {
	data := make([]byte, 0, min(size, 1<<16))
	for len(data) < size {
		if len(data) == cap(data) {
			data = append(make([]byte, 0, min(size, 2*cap(data))), data...)
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
			return idxArray{}, failed(path, "is not a readable idx file of "+of, err)
		}
		return a, nil
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
