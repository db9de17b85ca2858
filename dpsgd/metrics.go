package dpsgd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/scores"
)

// Metrics describes the progress of a run. All fields but Private may be published.
type Metrics struct {
	Step, Steps  int // steps done, and steps in all
	LearningRate float64
	ClipNorm     float64 // of this step
	// Unclipped is the noisy fraction of records that were not clipped, or NaN without adaptive clipping.
	Unclipped float64
	Event     accountant.Event // event of the steps so far; see Config.EventAfter
	// Public is the score on Config.Public, or nil after a step without evaluation.
	Public  *Score
	Private Diagnostics // counts of this step
}

// Score is the quality of a model on public data.
type Score struct {
	Loss float64 // mean over the rows whose gradient is finite
	// Accuracy is the fraction of correctly predicted classes. It is NaN if the data have no classes, or if
	// the model cannot predict classes.
	Accuracy float64
}

// Predictor is a [Model] that predicts classes.
type Predictor interface {
	// Predict sets dst[i] to the class of row i of data.
	Predict(ctx context.Context, dst []int, data Data) error
}

// Diagnostics counts sampled records, summed over steps. The counts are exact functions of the private data,
// and are not charged. Printing a Diagnostics hides the counts, and encoding it as JSON fails.
type Diagnostics struct {
	private
	Sampled   int64   // records in batches
	Clipped   int64   // records whose gradient was scaled down
	NonFinite int64   // records whose gradient is not finite and counts as zero
	Loss      float64 // sum of the losses of the records with a finite gradient
}

// ClipFraction returns the fraction of sampled records that were clipped, or NaN if no record was sampled.
func (d Diagnostics) ClipFraction() float64 { return float64(d.Clipped) / float64(d.Sampled) }

// MeanLoss returns the mean loss of the sampled records with a finite gradient, or NaN if there are none.
func (d Diagnostics) MeanLoss() float64 { return d.Loss / float64(d.Sampled-d.NonFinite) }

func (d *Diagnostics) add(e Diagnostics) {
	d.Sampled += e.Sampled
	d.Clipped += e.Clipped
	d.NonFinite += e.NonFinite
	d.Loss += e.Loss
}

func diagnosticsOf(sampled int, tally Tally) Diagnostics {
	return Diagnostics{Sampled: int64(sampled), Clipped: tally.Clipped, NonFinite: tally.NonFinite, Loss: tally.Loss}
}

type private struct{}

func (private) String() string { return "dpsgd: private(redacted)" }

func (p private) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.String()) }

func (p private) LogValue() slog.Value { return slog.StringValue(p.String()) }

func (private) MarshalJSON() ([]byte, error) {
	return nil, errors.New("dpsgd: private counts and distances have no JSON form; read the fields on purpose")
}

func (d Data) allFinite() error {
	fail := func(i int) error { return fmt.Errorf("dpsgd: row %d has a value that is not finite", i) }
	if d.Packed == nil {
		if i := dense.NotFinite(d.X); i >= 0 {
			return fail(i)
		}
		return nil
	}
	rows, cols := d.Packed.Dims()
	row := make([]float32, cols)
	for i := range rows {
		if d.Packed.Unpack(row, i); !dense.Finite(row) {
			return fail(i)
		}
	}
	return nil
}

type observer struct {
	cfg       Config
	model     Model
	worker    Worker // for public data; nil if there is none
	scratch   []float32
	predicted []int
}

func newObserver(model Model, cfg Config) (*observer, error) {
	if a, ok := model.(*augmented); ok {
		model = a.Model // evaluation uses no views
	}
	o := &observer{cfg: cfg, model: model}
	if cfg.Observe != nil && cfg.Public.Packed != nil {
		return nil, errors.New("dpsgd: Config.Public is packed; give its rows in X")
	}
	if cfg.Observe == nil || cfg.Public.X.Rows == 0 {
		return o, nil
	}
	if err := cmp.Or(cfg.Public.validate(), model.Check(cfg.Public), cfg.Public.allFinite()); err != nil {
		return nil, errors.Join(errors.New("dpsgd: Config.Public does not fit"), err)
	}
	o.worker = model.Worker()
	o.scratch = make([]float32, len(model.Parameters()))
	if _, ok := model.(Predictor); ok && len(cfg.Public.Y) > 0 {
		o.predicted = make([]int, len(cfg.Public.Y))
	}
	return o, nil
}

func (o *observer) report(ctx context.Context, m Metrics) error {
	if o.cfg.Observe == nil {
		return nil
	}
	m.Event = o.cfg.EventAfter(m.Step)
	if o.worker != nil && (m.Step%o.cfg.every(o.cfg.PublicEvery) == 0 || m.Step == m.Steps) {
		score, err := o.score(ctx)
		if err != nil {
			return err
		}
		m.Public = &score
	}
	o.cfg.Observe(m)
	return nil
}

func (o *observer) score(ctx context.Context) (Score, error) {
	data := o.cfg.Public
	o.worker.Start()
	var total Tally
	var rows []int
	for i := range data.X.Rows {
		if rows = append(rows, i); len(rows) == MaxRows || i == data.X.Rows-1 {
			clear(o.scratch)
			total.add(o.worker.AddClipped(o.scratch, data, rows, FlatClip(math.Inf(1))))
			rows = rows[:0]
		}
	}
	s := Score{Loss: total.Loss / float64(int64(data.X.Rows)-total.NonFinite), Accuracy: math.NaN()}
	if o.predicted == nil {
		return s, nil
	}
	if err := o.model.(Predictor).Predict(ctx, o.predicted, data); err != nil {
		return s, ctx.Err() // for logits that overflow; the charged run continues
	}
	s.Accuracy = scores.Accuracy(o.predicted, data.Y)
	return s, nil
}
