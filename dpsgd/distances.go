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

// Between selects which distances of gradients are measured: [Batches] or [Records].
type Between int

const (
	// Batches measures how far one record moves the sum of a batch. This distance is the norm of the record's
	// clipped gradient.
	Batches Between = iota
	// Records measures the distance between the clipped gradients of two records. The distance is at most
	// twice the clip norm. The published Bayesian accountant uses this distance, because its neighbours
	// replace one record by another.
	Records
)

// String returns the name of b in JSON.
func (b Between) String() string {
	switch b {
	case Batches:
		return "batches"
	case Records:
		return "records"
	}
	return fmt.Sprintf("Between(%d)", int(b))
}

// Distances configures the measurement of distances between gradients at every step. Bayesian accounting of
// typical records uses the distances. Measuring does not change the training. The distances are private, have
// no noise and are not charged.
type Distances struct {
	// Observe receives the distances of each step before the parameters change. After a resume, Observe
	// receives only later steps. If Observe is nil, nothing is measured.
	Observe func(StepDistances)
	Between Between
	// Most limits the number of distances of a step. For an expected batch size b, the default is b/16,
	// clamped to [2, 128]. If Between is Records, the default is b/256, clamped to [2, 16].
	Most int
}

// StepDistances holds the distances of one step. The distances are private, and printing gives redacted text.
type StepDistances struct {
	private
	Step        int     // counts from 1
	Probability float64 // that a given record is in the batch
	Noise       float64 // standard deviation, in the unit of the distances
	Bound       float64 // upper bound on the distances, up to single-precision rounding
	// Values holds the distances. Each record contributes to at most one distance. The function Observe may
	// keep the slice.
	Values []float64
}

// Normer is a [Worker] that can compute norms without summing gradients.
type Normer interface {
	Worker
	// AppendNorms appends the norm of each row's clipped gradient, or 0 if the gradient is not finite. The
	// caller must pass at most [MaxRows] rows and a finite clip norm.
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
	one     []float32 // contribution of one record
	another []float32
}

func newMeter(model Model) *meter {
	n := len(model.Parameters())
	return &meter{worker: model.Worker(), one: make([]float32, n), another: make([]float32, n)}
}

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

// MeasureDistances returns distances between gradients at the current parameters. The argument `rows` holds
// indices of records. For [Batches], the result has one distance per record. For [Records], the result has
// one distance per pair rows[2i], rows[2i+1]. Clip norms must be finite. Distances are private.
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

func chosen(rows []int, n int, s *rng.Stream) []int {
	out := slices.Clone(rows)
	n = min(n, len(out))
	for i := range n {
		j := i + int(s.Uint64N(uint64(len(out)-i)))
		out[i], out[j] = out[j], out[i]
	}
	return out[:n]
}
