package dpsgd

import (
	"math"

	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/mathx"
)

func groupsOf(m Model) []int {
	if g, ok := m.(Grouped); ok {
		return g.Groups()
	}
	return []int{len(m.Parameters())}
}

// meanWorker satisfies the obligations of [Worker] for records:
//
//   - Obligation 1: one call of the model's worker computes the sum of a record's gradients. By obligation 1
//     of that worker, the sum depends only on the parameters and the record.
//   - Obligation 2: the norm of the gradient is computed in double precision, with a relative error below
//     2^-30. The relative rounding error of an element of the contribution is at most 2^-24.
//   - Obligation 3: a contribution passes through at most 32 additions within a run, and 8 additions of runs.

// meanWorker clips one gradient per record: the mean over an image's views or over a unit's rows.
type meanWorker struct {
	inner    Worker
	groups   []int
	gradient []float32 // sum of the gradients of one record
	run      []float32 // sum of the contributions of at most runRecords records
}

func newMeanWorker(m Model) meanWorker {
	n := len(m.Parameters())
	return meanWorker{inner: m.Worker(), groups: groupsOf(m), gradient: make([]float32, n), run: make([]float32, n)}
}

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

type unitModel struct{ Model }

func forRecords(m Model, data Data) Model {
	if data.Packed != nil {
		m = unpackedModel{m}
	}
	if data.Ends != nil {
		m = unitModel{m}
	}
	return m
}

func (m unitModel) Fingerprint() []byte {
	return append([]byte("units "), m.Model.Fingerprint()...)
}

func (m unitModel) Groups() []int  { return groupsOf(m.Model) }
func (m unitModel) Worker() Worker { return &unitWorker{meanWorker: newMeanWorker(m.Model)} }

type unitWorker struct {
	meanWorker
	rows []int // of one unit
}

func (w *unitWorker) Start() { w.inner.Start() }

func (w *unitWorker) AddClipped(sum []float32, data Data, records []int, clip Clip) Tally {
	return w.addMeans(sum, records, clip, func(u int) (Data, []int) {
		from := 0
		if u > 0 {
			from = data.Ends[u-1]
		}
		w.rows = w.rows[:0]
		for r := from; r < data.Ends[u]; r++ {
			w.rows = append(w.rows, r)
		}
		return data, w.rows
	})
}
