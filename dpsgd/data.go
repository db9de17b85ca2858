package dpsgd

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/internal/sealed"
)

// Data is the private training set. Row i of X has class Y[i]. Every row is a record, unless Ends is set.
type Data struct {
	X blas32.General
	// Packed, if not nil, holds the rows instead of X.
	Packed Packed
	Y      []int
	// Targets holds the target of each row for a model with squared loss. If Targets has rows, Y is ignored
	// and may be empty.
	Targets blas32.General
	// Ends, if not nil, groups rows into one record for each privacy unit. Record u has the rows from
	// Ends[u-1] (0 for u = 0) to Ends[u]-1. A record has from 1 to MaxRows rows. It contributes the gradient
	// of the mean loss of its rows, clipped as a whole. Whether Ends is nil must be public.
	Ends []int
}

// Records returns the number of units if Ends is set, and otherwise the number of rows.
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

// Packed stores rows in less memory than float32. Package features implements it with 16 bits per value. The
// training data are the values that Unpack returns. The stored form of a row must depend only on this row.
type Packed interface {
	// Dims returns the number of rows and columns.
	Dims() (rows, cols int)
	// Unpack writes row i to dst, which has one element per column. Concurrent calls are safe.
	Unpack(dst []float32, i int)
	// Hash returns a hash of the rows, or of the data and functions that compute the rows. A function is
	// hashed by name and version. Hash uses at most workers goroutines.
	Hash(workers int) [sha256.Size]byte
}

// Fetcher is a [Packed] that can load rows into CPU caches in advance. Without Fetch, a worker waits for rows
// about half of the time.
type Fetcher interface {
	Packed
	// Fetch announces that columns [from, to) of row i will be unpacked. It does not block.
	Fetch(i, from, to int)
}

// PackedWorker is a [Worker] that unpacks the rows of [Data.Packed] itself, a few at a time. For other
// workers, Train unpacks rows before it calls AddClipped.
type PackedWorker interface {
	Worker
	// Expect announces the likely first rows of the next call of AddClipped. A worker may load them into
	// caches. Expect does not change the sums.
	Expect(rows []int)
}

// Dims returns the number of rows and columns of X or Packed.
func (d Data) Dims() (rows, cols int) {
	if d.Packed != nil {
		return d.Packed.Dims()
	}
	return d.X.Rows, d.X.Cols
}

func (d Data) validatePacked() error {
	switch rows, cols := d.Packed.Dims(); {
	case d.X.Rows != 0 || d.X.Data != nil:
		return errors.New("dpsgd: Data has rows in X and in Packed")
	case rows <= 0 || cols <= 0:
		return fmt.Errorf("dpsgd: the packed matrix has %d rows and %d columns; both must be positive", rows, cols)
	}
	return nil
}

// checkModel calls model.Check. For packed data, model.Check receives zeros in place of the features.
func checkModel(model Model, data Data) error {
	if data.Packed == nil {
		return model.Check(data)
	}
	rows, cols := data.Packed.Dims()
	x := dense.New(min(rows, MaxRows), cols)
	for from := 0; from < rows; from += MaxRows {
		to := min(from+MaxRows, rows)
		part := Data{X: dense.Rows(x, 0, to-from)}
		if len(data.Y) > 0 {
			part.Y = data.Y[from:to]
		}
		if data.Targets.Rows > 0 {
			part.Targets = dense.Rows(data.Targets, from, to)
		}
		if err := model.Check(part); err != nil {
			return fmt.Errorf("rows from %d on: %w", from, err)
		}
	}
	return nil
}

type unpackedModel struct{ Model }

func (m unpackedModel) Fingerprint() []byte {
	return append(fmt.Appendf(nil, "unpacked %T ", m.Model), m.Model.Fingerprint()...)
}

func (m unpackedModel) Groups() []int { return groupsOf(m.Model) }

func (m unpackedModel) Worker() Worker {
	inner := m.Model.Worker()
	if _, ok := inner.(PackedWorker); ok {
		return inner
	}
	return &unpackingWorker{inner: inner}
}

type unpackingWorker struct {
	inner Worker
	view  Data // the unpacked rows of a call
	rows  []int
}

func (w *unpackingWorker) Start() { w.inner.Start() }

func (w *unpackingWorker) AddClipped(sum []float32, data Data, rows []int, clip Clip) Tally {
	w.unpack(data, rows)
	return w.inner.AddClipped(sum, w.view, w.rows[:len(rows)], clip)
}

func (w *unpackingWorker) unpack(data Data, rows []int) {
	_, cols := data.Packed.Dims()
	if need := len(rows) * cols; len(w.view.X.Data) < need {
		w.view.X.Data = make([]float32, need)
	}
	w.view.X = blas32.General{Rows: len(rows), Cols: cols, Stride: cols, Data: w.view.X.Data}
	w.view.Y = w.view.Y[:0]
	if data.Targets.Rows > 0 {
		w.view.Targets = dense.Pick(data.Targets, rows)
	}
	for i, r := range rows {
		data.Packed.Unpack(dense.Row(w.view.X, i), r)
		if len(data.Y) > 0 {
			w.view.Y = append(w.view.Y, data.Y[r])
		}
		if i == len(w.rows) {
			w.rows = append(w.rows, i)
		}
	}
}
