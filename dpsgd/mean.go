package dpsgd

import (
	"math"

	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/mathx"
)

// groupsOf returns the groups of a model. One without groups is one group.
func groupsOf(m Model) []int {
	if g, ok := m.(Grouped); ok {
		return g.Groups()
	}
	return []int{len(m.Parameters())}
}

// meanWorker adds records that have several gradients each, of the views of an image or of the rows of a
// unit. A record contributes the mean of its gradients, clipped as a whole. So its norm is bounded however
// many there are.
//
// The obligations of [Worker], for records:
//
//   - Obligation 1: the sum over a record's gradients is the result of one call of the model's worker, by the
//     model's own obligation 1 a function of parameters and record. It is the gradient, whatever its
//     rounding.
//   - Obligation 2: the norm of the gradient is computed in double precision, with a relative error below
//     2^-30. An element of the contribution is rounded once, by at most 2^-24.
//   - Obligation 3: a record passes through 32 additions in its run and at most 8 more.
type meanWorker struct {
	inner    Worker
	groups   []int
	gradient []float32 // sum over the gradients of one record
	run      []float32 // sum of at most runRecords records
}

func newMeanWorker(m Model) meanWorker {
	n := len(m.Parameters())
	return meanWorker{inner: m.Worker(), groups: groupsOf(m), gradient: make([]float32, n), run: make([]float32, n)}
}

// addMeans adds the contributions of records to sum. The function of returns the data and rows of a record.
func (w *meanWorker) addMeans(sum []float32, records []int, clip Clip, of func(record int) (Data, []int)) (tally Tally) {
	const runRecords = 32
	for i, r := range records {
		data, rows := of(r)
		tally.add(w.addMean(data, rows, clip))
		if (i+1)%runRecords == 0 || i == len(records)-1 {
			for j, v := range w.run {
				sum[j] += v
			}
			clear(w.run)
		}
	}
	return tally
}

// addMean adds the clipped mean gradient of rows to run.
func (w *meanWorker) addMean(data Data, rows []int, clip Clip) Tally {
	clear(w.gradient)
	inner := w.inner.AddClipped(w.gradient, data, rows, FlatClip(math.Inf(1)))
	if inner.NonFinite > 0 {
		return Tally{NonFinite: 1}
	}
	share := 1 / float64(len(rows))
	groups := w.groups
	if len(clip.Norms) == 1 {
		groups = []int{len(w.gradient)}
	}
	scales := make([]float64, len(groups))
	tally := Tally{Loss: inner.Loss * share}
	low := 0
	for g, n := range groups {
		norm := math.Sqrt(kernel.SquaredNorm(w.gradient[low:low+n])) * share
		if !mathx.IsFinite(norm) {
			return Tally{NonFinite: 1}
		}
		scale, clipped := clip.Scale(g, norm)
		if clipped {
			tally.Clipped = 1
		}
		scales[g] = scale * share
		low += n
	}
	low = 0
	for g, n := range groups {
		for j := low; j < low+n; j++ {
			w.run[j] += float32(scales[g] * float64(w.gradient[j]))
		}
		low += n
	}
	return tally
}
