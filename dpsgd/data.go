package dpsgd

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"
)

// Data is the private training set: row i of X, of class Y[i], is record i.
type Data struct {
	X blas32.General
	Y []int
	// Targets, if it has rows, holds what a model with squared loss is to predict,
	// one row a record; Y is then not read.
	Targets blas32.General
}

func (d Data) validate() error {
	x := d.X
	switch {
	case x.Rows <= 0 || x.Cols <= 0:
		return fmt.Errorf("dpsgd: the data has %d rows and %d columns; both must be positive", x.Rows, x.Cols)
	case x.Stride < x.Cols || len(x.Data) < (x.Rows-1)*x.Stride+x.Cols:
		return fmt.Errorf("dpsgd: the feature matrix is malformed: %d x %d, stride %d, %d values", x.Rows, x.Cols, x.Stride, len(x.Data))
	case len(d.Y) != x.Rows:
		return fmt.Errorf("dpsgd: %d labels for %d rows", len(d.Y), x.Rows)
	}
	return nil
}

func row(x blas32.General, i int) []float32 { return x.Data[i*x.Stride : i*x.Stride+x.Cols] }

// digest returns SHA-256 hashes of consecutive pieces of the records.
func (d Data) digest(workers int) [][sha256.Size]byte {
	const piece = 1024 // records
	sums := make([][sha256.Size]byte, (d.X.Rows+piece-1)/piece)
	parallel(workers, len(sums), func(_, i int) {
		h := sha256.New()
		buffer := make([]byte, 0, 4*d.X.Cols+8)
		for r := i * piece; r < min((i+1)*piece, d.X.Rows); r++ {
			buffer = appendFloats(buffer[:0], row(d.X, r))
			h.Write(binary.LittleEndian.AppendUint64(buffer, uint64(d.Y[r])))
		}
		h.Sum(sums[i][:0])
	})
	return sums
}

func appendFloats(dst []byte, values []float32) []byte {
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}
