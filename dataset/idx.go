package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

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
