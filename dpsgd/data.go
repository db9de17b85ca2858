package dpsgd

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/internal/sealed"
)

// Data is the private training set. Row i of X, of class Y[i], is record i, or part of a record of several
// rows: see Ends.
type Data struct {
	X blas32.General
	// Packed, if not nil, holds the rows in place of X, which must then have none.
	Packed Packed
	Y      []int
	// Targets, if it has rows, holds the numbers that a model with squared loss is to predict, one row a
	// record. Y is then not read, and may be empty.
	Targets blas32.General
	// Ends, if not nil, makes a record of all rows of one unit of privacy: record u is the rows from
	// Ends[u-1], or 0, up to Ends[u], at least one and at most MaxRows. It contributes the gradient of the
	// mean loss of its rows, clipped as a whole. Whether Ends is nil must be public, as it decides how sums
	// round.
	Ends []int
}

// Records returns the number of records.
func (d Data) Records() int {
	if d.Ends != nil {
		return len(d.Ends)
	}
	rows, _ := d.Dims()
	return rows
}

func (d Data) validate() error {
	if d.Packed != nil {
		if err := d.validatePacked(); err != nil {
			return err
		}
	} else if err := wellFormed("feature", d.X); err != nil {
		return err
	}
	if err := d.validateEnds(); err != nil {
		return err
	}
	targets := d.Targets.Rows > 0
	switch rows, _ := d.Dims(); {
	case targets && d.Targets.Rows != rows:
		return fmt.Errorf("dpsgd: %d rows of targets for %d rows", d.Targets.Rows, rows)
	case len(d.Y) != rows && !(targets && len(d.Y) == 0):
		return fmt.Errorf("dpsgd: %d labels for %d rows", len(d.Y), rows)
	case targets:
		return wellFormed("target", d.Targets)
	}
	return nil
}

func (d Data) validateEnds() error {
	if d.Ends == nil {
		return nil
	}
	last := 0
	for u, end := range d.Ends {
		if n := end - last; n < 1 || n > MaxRows {
			return fmt.Errorf("dpsgd: record %d ends at row %d, the one before at %d; it must have 1 to %d rows",
				u, end, last, MaxRows)
		}
		last = end
	}
	if rows, _ := d.Dims(); last != rows {
		return fmt.Errorf("dpsgd: the last record ends at row %d of %d", last, rows)
	}
	return nil
}

func wellFormed(name string, x blas32.General) error {
	if x.Rows <= 0 || x.Cols <= 0 {
		return fmt.Errorf("dpsgd: the %s matrix has %d rows and %d columns; both must be positive", name, x.Rows, x.Cols)
	}
	if err := dense.Check(x); err != nil {
		return fmt.Errorf("dpsgd: %ss: %w", name, err)
	}
	return nil
}

// digest returns SHA-256 hashes of consecutive pieces of the records, and of packed rows.
func (d Data) digest(workers int) [][sha256.Size]byte {
	const piece = 1024 // records
	rows, _ := d.Dims()
	sums := make([][sha256.Size]byte, (rows+piece-1)/piece)
	parallel.Each(workers, len(sums), func(_, i int) {
		h := sha256.New()
		buffer := make([]byte, 0, 4*d.X.Cols+8)
		for r := i * piece; r < min((i+1)*piece, rows); r++ {
			buffer = buffer[:0]
			if d.Packed == nil {
				buffer = sealed.Append(buffer, dense.Row(d.X, r))
			}
			if d.Targets.Rows > 0 {
				buffer = sealed.Append(buffer, dense.Row(d.Targets, r))
			}
			if len(d.Y) > 0 {
				buffer = binary.LittleEndian.AppendUint64(buffer, uint64(d.Y[r]))
			}
			h.Write(buffer)
		}
		h.Sum(sums[i][:0])
	})
	if d.Packed != nil {
		sums = append(sums, d.Packed.Hash(workers))
	}
	return sums
}
