package dpsgd

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/rng"
)

// Between selects what a distance is measured between.
type Between int

const (
	// Batches measures between the sum of a batch with one record and the sum without it: the norm of the
	// record's contribution, at most the clip norm. This matches the sampling of a step, in which a record
	// independently joins a batch or not.
	Batches Between = iota
	// Records measures between the contributions of two records, as in the published accountant, where one
	// record replaces another. The distance is at most twice the clip norm.
	Records
)

// String returns the name used in JSON.
func (b Between) String() string {
	switch b {
	case Batches:
		return "batches"
	case Records:
		return "records"
	}
	return fmt.Sprintf("Between(%d)", int(b))
}

// Distances configures Train to measure distances at every step, for figures of a typical record. They do not
// change the training. They are exact functions of the private data, not protected and not charged.
type Distances struct {
	// Observe is called with the distances of each step, before the parameters change. After a resume it is
	// not called for the steps before the checkpoint. If nil, nothing is measured.
	Observe func(StepDistances)
	Between Between
	// Most bounds the number of distances of a step, and is at least 2. The default keeps their time below a
	// tenth of a usual step: between batches a 16th of the expected batch, at most 128; between records a
	// 256th, at most 16.
	Most int
}

// StepDistances are the distances of one step. They are private, and print redacted.
type StepDistances struct {
	private
	Step        int     // from 1
	Probability float64 // of a record to be in the batch
	Noise       float64 // standard deviation, in the unit of the distances
	Bound       float64 // upper bound of the distances, up to the rounding of single precision
	// Values are the distances. No two have a record in common. The receiver may keep the slice.
	Values []float64
}

// Normer is a [Worker] that can compute norms without summing gradients.
type Normer interface {
	Worker
	// AppendNorms appends, for each of at most [MaxRows] rows, the norm of its contribution in AddClipped. A
	// gradient that is not finite has norm 0. The clip norm must be finite.
	AppendNorms(dst []float64, data Data, rows []int, clip Clip) []float64
}

func (c Config) validateDistances() error {
	d := c.Distances
	if d.Observe == nil {
		return nil
	}
	if d.Between != Batches && d.Between != Records {
		return fmt.Errorf("dpsgd: Config.Distances.Between is %v", d.Between)
	}
	if c.NonPrivate || c.Laplace || c.Clipping.Adaptive.on() {
		return errors.New("dpsgd: Config.Distances needs Gaussian noise and a fixed clip norm: " +
			"not with NonPrivate, Laplace or Clipping.Adaptive")
	}
	return within("Config.Distances.Most", float64(d.Most), 0, math.MaxInt32)
}

// most returns the number of distances to measure in a batch of the expected size.
func (d Distances) most(expected float64) int {
	switch {
	case d.Most > 0:
		return d.Most
	case d.Between == Records:
		return int(math.Min(16, math.Max(2, expected/256)))
	}
	return int(math.Min(128, math.Max(2, expected/16)))
}

type meter struct {
	worker  Worker
	one     []float32 // contribution of a record
	another []float32
}

func newMeter(model Model) *meter {
	n := len(model.Parameters())
	return &meter{worker: model.Worker(), one: make([]float32, n), another: make([]float32, n)}
}

// measure returns the distances of rows in order: one for each row, or one for every two rows. A single row
// that is left over has no distance.
func (m *meter) measure(data Data, rows []int, clip Clip, between Between) []float64 {
	m.worker.Start()
	var values []float64
	if between == Records {
		for ; len(rows) >= 2; rows = rows[2:] {
			m.add(m.one, data, rows[:1], clip)
			m.add(m.another, data, rows[1:2], clip)
			for i, v := range m.another {
				m.one[i] -= v
			}
			values = append(values, math.Sqrt(kernel.SquaredNorm(m.one)))
		}
		return values
	}
	if fast, ok := m.worker.(Normer); ok {
		for len(rows) > 0 {
			n := min(len(rows), MaxRows)
			values = fast.AppendNorms(values, data, rows[:n], clip)
			rows = rows[n:]
		}
		return values
	}
	for i := range rows {
		m.add(m.one, data, rows[i:i+1], clip)
		values = append(values, math.Sqrt(kernel.SquaredNorm(m.one)))
	}
	return values
}

func (m *meter) add(sum []float32, data Data, rows []int, clip Clip) {
	clear(sum)
	m.worker.AddClipped(sum, data, rows, clip)
}

// MeasureDistances returns distances of rows of data at the model's parameters, as in a step whose batch
// holds these rows: one for each row between batches, one for every two consecutive rows between records.
// Clip norms must be finite. The distances are as private as the rows.
func MeasureDistances(model Model, data Data, rows []int, clip Clip, between Between) ([]float64, error) {
	if err := cmp.Or(data.validate(), checkModel(model, data), data.allFinite()); err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r < 0 || r >= data.Records() {
			return nil, fmt.Errorf("dpsgd: record %d is not one of %d", r, data.Records())
		}
	}
	if norm := clip.Norm(); !(norm > 0) || math.IsInf(norm, 1) {
		return nil, fmt.Errorf("dpsgd: clip norm %g must be finite and above 0", norm)
	}
	return newMeter(forRecords(model, data)).measure(data, rows, clip, between), nil
}

// observeDistances measures a sample of the batch that was just summed. The sample is drawn from its own key,
// independently of the rows' places in the data.
func (t *trainer) observeDistances(phase Phase) {
	d := t.cfg.Distances
	if d.Observe == nil {
		return
	}
	if t.meter == nil {
		t.meter = newMeter(t.model)
	}
	n := d.most(phase.SamplingProbability * float64(t.release.records))
	step := StepDistances{
		Step: t.done + 1, Probability: phase.SamplingProbability,
		Noise: phase.NoiseMultiplier * t.clip.Norm(), Bound: t.clip.Norm(),
	}
	if d.Between == Records {
		n, step.Bound = 2*n, 2*step.Bound
	}
	rows := chosen(t.release.batch.rows, n, t.release.key.Derive("distances", uint64(t.done)).Stream())
	step.Values = t.meter.measure(t.data, rows, t.clip, d.Between)
	d.Observe(step)
}

// chosen returns n of the rows, or all, in random order.
func chosen(rows []int, n int, s *rng.Stream) []int {
	out := slices.Clone(rows)
	n = min(n, len(out))
	for i := range n {
		j := i + int(s.Uint64N(uint64(len(out)-i)))
		out[i], out[j] = out[j], out[i]
	}
	return out[:n]
}
