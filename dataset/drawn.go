package dataset

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/blas/blas32"
)

// A drawn pool has drawnForTest rows per test row, but at least fewestDrawn and at most mostDrawn rows. The
// number of test rows is public.
const (
	drawnForTest = 2
	fewestDrawn  = 1000
	mostDrawn    = 6000
)

// Drawn returns the task with a pool drawn from its declared ranges. The entry bins(rows)[i][j] is the bin of
// row i in column j. If bins or its result is nil, columns are drawn independently. Bin b of column j then
// has a probability proportional to weights[j][b]. If weights is nil, or all weights of a column are 0, the
// bins have equal probabilities. Numbers are scaled to mean 0 and deviation 1 under the weights. Weights must
// be finite, not negative, and either public or charged to the ledger. Equal weights and bins give equal
// pools. The labels of the pool are unknown.
func (t Task) Drawn(weights [][]float64, bins func(rows int) [][]int) (Task, error) {
	r := t.Ranges
	if r == nil {
		return t, fmt.Errorf("dataset: %q has no declared ranges to draw from", t.Name)
	}
	if err := r.checkWeights(weights); err != nil {
		return t, err
	}
	out := t
	out.Encoder = r.encode(weights)
	n := max(fewestDrawn, min(drawnForTest*t.Test.Len(), mostDrawn))
	out.Questions = r.draw(weights, bins, n)
	x, err := out.Encoder.Encode(out.Questions)
	if err != nil {
		return t, err
	}
	ids := numbered("pool", n)
	out.Pool = Set{Name: t.Name, X: x, Y: make([]int, n), Units: ids, IDs: ids, Classes: t.Classes, Provenance: "drawn from declared ranges"}
	if weights != nil {
		out.Private.X, out.Test.X = r.Rescale(out.Encoder, t.Private.X), r.Rescale(out.Encoder, t.Test.X)
	}
	return out, nil
}

func (r *Ranges) checkWeights(weights [][]float64) error {
	if weights != nil && len(weights) != len(r.columns) {
		return fmt.Errorf("dataset: weights of %d columns, %d are declared", len(weights), len(r.columns))
	}
	return nil
}

// Schema returns a schema for tasks without public rows. The schema depends only on the declaration. Private
// rows that differ from the declaration are refused unless Reading.Accept is set.
func (r *Ranges) Schema(reading Reading) (*Schema, error) {
	if err := cmp.Or(reading.Rule.Validate(), noTexts(reading.CSV.Text)); err != nil {
		return nil, err
	}
	reading.Ranges = r
	s := &Schema{Kind: Columns, Encoder: r.encoder, Features: r.encoder.Dim(), usual: r.usual(), reading: reading}
	if reading.Rule.Names != nil {
		s.Classes = reading.Rule.withOther(reading.Rule.Names)
	}
	return s, nil
}

// Draw draws the given number of rows in the way that [Task.Drawn] draws a pool.
func (r *Ranges) Draw(weights [][]float64, bins func(rows int) [][]int, rows int) (*Table, error) {
	if err := r.checkWeights(weights); err != nil {
		return nil, err
	}
	return r.draw(weights, bins, rows), nil
}

// draw returns rows that depend only on r and the arguments (see [Task.Drawn]).
func (r *Ranges) draw(weights [][]float64, bins func(rows int) [][]int, rows int) *Table {
	var given [][]int
	if bins != nil {
		given = bins(rows)
	}
	out := &Table{Name: "drawn", Y: slices.Repeat([]int{-1}, rows), Units: make([]string, rows)}
	for j, d := range r.columns {
		rnd := rand.New(rand.NewPCG(0x70617465, uint64(j)))
		sums, total := make([]float64, d.bins()), 0.0
		for b := range sums {
			if weights != nil {
				total += weights[j][b]
			}
			sums[b] = total
		}
		c := Column{Name: d.name, Values: make([]string, rows)}
		for i := range c.Values {
			b := rnd.IntN(d.bins())
			if total > 0 {
				u := rnd.Float64() * total
				b = slices.IndexFunc(sums, func(sum float64) bool { return sum > u })
			}
			if given != nil {
				b = given[i][j]
			} else if b < 0 {
				b = d.bins() - 1
			}
			c.Values[i] = d.drawn(b, rnd)
		}
		out.Columns = append(out.Columns, c)
	}
	return out
}

func (d declared) drawn(bin int, rnd *rand.Rand) string {
	switch {
	case d.missing && bin == d.bins()-1:
		return ""
	case d.edges == nil:
		return d.values[bin]
	}
	v := d.edges[bin] + rnd.Float64()*(d.edges[bin+1]-d.edges[bin])
	if d.whole {
		v = math.Floor(v)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Rescale converts x to features of `to`, an encoder of r's columns. The encoder of [Ranges.Schema] must have
// encoded x.
func (r *Ranges) Rescale(to *Encoder, x blas32.General) blas32.General {
	out := blas32.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: make([]float32, x.Rows*x.Cols)}
	for i := range x.Rows {
		dst, src := out.Data[i*x.Cols:(i+1)*x.Cols], x.Data[i*x.Stride:i*x.Stride+x.Cols]
		copy(dst, src)
		for j, d := range r.columns {
			from, f := r.encoder.columns[j], to.columns[j]
			if d.edges == nil || f.missing >= 0 && src[f.missing] == 1 {
				continue
			}
			dst[f.at] = clip((d.number(from, src[f.at]) - f.mean) / f.sd)
		}
	}
	return out
}
