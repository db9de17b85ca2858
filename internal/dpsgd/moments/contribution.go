package moments

import (
	"math"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/mathx"
)

// contributor sets dst to what a row contributes, before clipping.
type contributor func(dst, row []float32)

// model is a [dpsgd.Model] whose contributions do not depend on parameters.
type model struct {
	cols        int
	parameters  []float32 // zeros, as many as a contribution has entries
	fingerprint []byte
	contributor func() contributor // with working memory of its own
}

func (m *model) Parameters() []float32 { return m.parameters }

func (m *model) Fingerprint() []byte { return m.fingerprint }

func (m *model) Check(data dpsgd.Data) error { return matrixError(data.X, m.cols) }

func (m *model) Worker() dpsgd.Worker {
	n := len(m.parameters)
	return &worker{contribute: m.contributor(), run: make([]float32, runRows*n)}
}

// runRows is how many contributions are summed before they are added to the sum. With at most 256 rows in a
// call no term passes through more than 32 + 8 additions.
const runRows = 32

type worker struct {
	contribute contributor
	run        []float32 // runRows scaled contributions
}

func (w *worker) Start() {}

// AddClipped implements [dpsgd.Worker]. A contribution is a function of its row, computed by itself. Its
// norm is taken in double precision and its scaled entries are rounded once. So its norm is at most C (1 +
// 2^-23).
func (w *worker) AddClipped(sum []float32, data dpsgd.Data, rows []int, clip dpsgd.Clip) dpsgd.Tally {
	var tally dpsgd.Tally
	n, filled := len(sum), 0
	for _, i := range rows {
		to := w.run[filled*n : (filled+1)*n]
		w.contribute(to, data.X.Data[i*data.X.Stride:i*data.X.Stride+data.X.Cols])
		norm := math.Sqrt(kernel.SquaredNorm(to))
		if !mathx.IsFinite(norm) {
			tally.NonFinite++
			continue
		}
		scale, clipped := clip.Scale(0, norm)
		if clipped {
			tally.Clipped++
		}
		if scale != 1 {
			for j, v := range to {
				to[j] = float32(float64(v) * scale)
			}
		}
		if filled++; filled == runRows {
			kernel.AddRows(sum, w.run, n, filled, n)
			filled = 0
		}
	}
	kernel.AddRows(sum, w.run, n, filled, n)
	return tally
}
