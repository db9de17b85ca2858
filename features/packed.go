package features

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"math"
	"sync/atomic"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/parallel"
	"gonum.org/v1/gonum/blas/blas32"
)

// Packed is a matrix of features with 16 bits per feature and an exponent e per row. A feature is k 2^e, with
// an integer k from -32767 to 32767. The exponent e is the least value >= -126 at which all features of the
// row fit. If e > -126, rounding changes a feature by at most about 2^-15 times the row's largest absolute
// value. If a row is unpacked and packed again, the row does not change. The packed form of a row depends
// only on this row.
//
// Concurrent reads are safe. While a row is set, other goroutines must not read the row or compute the hash.
type Packed struct {
	rows, cols int
	data       []int16
	exponents  []int8
	hash       atomic.Pointer[[sha256.Size]byte] // nil before it is computed
}

func newPacked(rows, cols int) *Packed {
	return &Packed{rows: rows, cols: cols, data: make([]int16, rows*cols), exponents: make([]int8, rows)}
}

func (p *Packed) Dims() (rows, cols int) { return p.rows, p.cols }

func (p *Packed) row(i int) []int16 { return p.data[i*p.cols : (i+1)*p.cols] }

// Unpack sets dst to row i. The slice dst has one element per column.
func (p *Packed) Unpack(dst []float32, i int) {
	const bias, fraction = 127, 23 // of float32; exponents are in the range of normal numbers
	kernel.UnpackInt16(dst, p.row(i), math.Float32frombits(uint32(int(p.exponents[i])+bias)<<fraction))
}

// Fetch prefetches elements [from, to) of row i into the caches of the processor. It returns immediately.
func (p *Packed) Fetch(i, from, to int) { kernel.Fetch(p.row(i)[from:to]) }

var errNotFinite = errors.New("features: a row to pack is not finite, or would not be finite after rounding")

// Pack rounds src and stores the result in row i. If a value is not finite or rounds to 2^128, Pack
// returns an error and does not change the row.
func (p *Packed) Pack(i int, src []float32) error {
	most := kernel.Largest(src)
	e := exponent(most)
	if most-most != 0 || e > mostExponent {
		return errNotFinite
	}
	kernel.PackInt16(p.row(i), src, float32(math.Ldexp(1, -e)))
	p.exponents[i] = int8(e)
	p.hash.Store(nil)
	return nil
}

const (
	mostUnits     = math.MaxInt16
	unitBits      = 15
	leastExponent = -126
	mostExponent  = 128 - unitBits
)

func exponent(most float32) int {
	fraction, e := math.Frexp(float64(most))
	e -= unitBits
	if math.RoundToEven(math.Ldexp(fraction, unitBits)) > mostUnits {
		e++
	}
	if most == 0 {
		e = 0
	}
	return max(e, leastExponent)
}

const blockRows = 64

// Update calls f for each block of rows, and f replaces the rows in place. The result for a row must not
// depend on other rows. The bytes in the argument `how` must identify f. The new [Packed.Hash] is computed
// from the old hash and these bytes. After an error the rows are undefined.
func (p *Packed) Update(workers int, how []byte, f func(x blas32.General) error) error {
	was := p.Hash(workers)
	blocks := (p.rows + blockRows - 1) / blockRows
	errs, scratch := make([]error, blocks), make([]blas32.General, max(workers, 1))
	parallel.Each(len(scratch), blocks, func(worker, block int) {
		if scratch[worker].Data == nil {
			scratch[worker] = dense.New(blockRows, p.cols)
		}
		from := block * blockRows
		x := dense.Rows(scratch[worker], 0, min(blockRows, p.rows-from))
		for i := range x.Rows {
			p.Unpack(dense.Row(x, i), from+i)
		}
		err := f(x)
		for i := 0; i < x.Rows && err == nil; i++ {
			err = p.Pack(from+i, dense.Row(x, i))
		}
		errs[block] = err
	})
	if err := errors.Join(errs...); err != nil {
		p.hash.Store(nil)
		return err
	}
	updated := sha256.Sum256(append(append([]byte("pate rows updated 1"), was[:]...), how...))
	p.hash.Store(&updated)
	return nil
}

// CopyTo unpacks all rows to dst, which must have the dimensions of p.
func (p *Packed) CopyTo(dst blas32.General, workers int) {
	parallel.Each(max(workers, 1), p.rows, func(_, i int) { p.Unpack(dense.Row(dst, i), i) })
}

// Hash returns a SHA-256 hash of the rows. If the function [Pack] made p, the hash is of the pixels and the
// extractor instead.
func (p *Packed) Hash(workers int) [sha256.Size]byte {
	if known := p.hash.Load(); known != nil {
		return *known
	}
	h := sha256.New()
	fmt.Fprintf(h, "pate packed features 1 %d %d\n", p.rows, p.cols)
	hashAll(h, p.rows, max(workers, 1), func(b []byte, from, to int) []byte {
		for i := from; i < to; i++ {
			b = p.append(b, i)
		}
		return b
	})
	all := [sha256.Size]byte(h.Sum(nil))
	p.hash.Store(&all)
	return all
}

const hashRows = 1024

func hashAll(h hash.Hash, rows, workers int, encode func(b []byte, from, to int) []byte) {
	sums := make([][sha256.Size]byte, (rows+hashRows-1)/hashRows)
	parallel.Each(workers, len(sums), func(_, i int) {
		h, b := sha256.New(), []byte(nil)
		end := min((i+1)*hashRows, rows)
		for r := i * hashRows; r < end; r += blockRows {
			b = encode(b[:0], r, min(r+blockRows, end))
			h.Write(b)
		}
		h.Sum(sums[i][:0])
	})
	for _, sum := range sums {
		h.Write(sum[:])
	}
}

func (p *Packed) append(b []byte, i int) []byte {
	return kernel.AppendInt16(append(b, byte(p.exponents[i])), p.row(i))
}

// SideBySide concatenates packed matrices row by row.
type SideBySide []*Packed

func (b SideBySide) Dims() (rows, cols int) {
	for _, p := range b {
		rows, cols = p.rows, cols+p.cols
	}
	return rows, cols
}

func (b SideBySide) Unpack(dst []float32, i int) {
	for _, p := range b {
		p.Unpack(dst[:p.cols:p.cols], i)
		dst = dst[p.cols:]
	}
}

func (b SideBySide) Fetch(i, from, to int) {
	for _, p := range b {
		if from < p.cols && to > 0 {
			p.Fetch(i, max(from, 0), min(to, p.cols))
		}
		from, to = from-p.cols, to-p.cols
	}
}

func (b SideBySide) Float32(workers int) blas32.General {
	out := dense.New(b.Dims())
	at := 0
	for _, p := range b {
		p.CopyTo(blas32.General{Rows: out.Rows, Cols: p.cols, Stride: out.Stride, Data: out.Data[at:]}, workers)
		at += p.cols
	}
	return out
}

func (b SideBySide) Hash(workers int) [sha256.Size]byte {
	h := sha256.New()
	for _, p := range b {
		sum := p.Hash(workers)
		h.Write(sum[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}
