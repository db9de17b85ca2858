package learn

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
)

func gradient() Mechanism {
	return mechanism("dpsgd", traceGradient,
		Input{"records", "8", "of two features and two classes, which the seed draws"},
		Input{"probability", "0.5", "of a record to be in the sample of a step"},
		Input{"clip", "2", "largest norm of a record's gradient"},
		Input{"noise", "1", "standard deviation of the noise over the clip"},
		Input{"rate", "0.5", "learning rate"},
		Input{"steps", "3", "of training"},
	)
}

type gradientInputs struct {
	records, steps          int
	probability, clip, rate float64
	noise                   float64
}

func (l *lesson) gradientInputs() (in gradientInputs, err error) {
	in = gradientInputs{
		records: l.whole("records"), steps: l.whole("steps"), probability: l.positive("probability"),
		clip: l.positive("clip"), rate: l.positive("rate"), noise: l.positive("noise"),
	}
	if in.rate < 0.01 || in.rate > 100 {
		l.fail(invalid("rate: from 0.01 to 100, not %v", in.rate))
	}
	if in.records > 32 || in.steps > 10 {
		l.fail(invalid("a trace holds 32 records and 10 steps at most, not %d and %d", in.records, in.steps))
	}
	return in, l.err
}

func traceGradient(l *lesson) error {
	in, err := l.gradientInputs()
	if err != nil {
		return err
	}
	cfg := dpsgd.Config{
		SamplingProbability: in.probability, NoiseMultiplier: in.noise, ClipNorm: in.clip,
		Steps: in.steps, LearningRate: in.rate, Workers: 1,
	}
	if err := cfg.Validate(); err != nil {
		return invalid("%w", err)
	}
	data := in.draw(l)
	softmax, err := nn.NewSoftmax(data.X.Cols, 2)
	if err != nil {
		return err
	}
	watched := &watchedModel{Model: softmax}
	cfg.Observe = func(dpsgd.Metrics) { watched.finish() }
	paid, err := Paid(cfg.Event(), accountant.AddRemove)
	if err != nil {
		return err
	}
	if _, err := dpsgd.Train(context.Background(), watched, data, cfg, paid, l.key); err != nil {
		return invalid("%w", err)
	}
	in.tellData(l, data)
	l.let("deviation", in.noise*in.clip)
	l.let("expected", in.expected())
	for i, s := range watched.steps {
		l.let("step", i+1)
		in.tell(l, s)
	}
	l.release(vector("value", rounded(watched.steps[len(watched.steps)-1].after)))
	l.Released.Index = "parameter"
	l.cost(scalar("steps", in.steps), scalar("noise over clip", in.noise), scalar("probability", in.probability),
		scalar("delta", l.delta), claim("epsilon", l.epsilon(cfg.Event())))
	in.mistakes(l, cfg.Event(), watched.steps)
	return nil
}

// draw makes two clouds of points, and one record far out.
func (in gradientInputs) draw(l *lesson) dpsgd.Data {
	s := l.key.Derive("data").Stream()
	tenths := func() float32 { return float32(int(s.Uint64N(21))-10) / 10 }
	d := dpsgd.Data{X: blas32.General{Rows: in.records, Cols: 2, Stride: 2}}
	for i := range in.records {
		class := i % 2
		x := []float32{tenths() + 1 - float32(class), tenths() + float32(class)}
		if i == in.records-1 {
			x[0], x[1] = 4*x[0]-3, 4*x[1]+3
		}
		d.X.Data = append(d.X.Data, x...)
		d.Y = append(d.Y, class)
	}
	return d
}

func (in gradientInputs) tellData(l *lesson, d dpsgd.Data) {
	a, b := make([]float64, in.records), make([]float64, in.records)
	for i := range in.records {
		a[i], b[i] = float64(d.X.Data[2*i]), float64(d.X.Data[2*i+1])
	}
	l.stepOver("record", "data", vector("x1", rounded(a)), vector("x2", rounded(b)), vector("class", d.Y))
}

// watchedModel is a model whose training is written down: what a worker is asked, and
// the parameters before and after.
type watchedModel struct {
	dpsgd.Model
	steps []watchedStep
	open  bool
}

type watchedStep struct {
	before, after []float64
	rows          []int
	gradients     [][]float64 // of rows, not clipped
	clipped       [][]float64
}

func (m *watchedModel) parameters() []float64 {
	var out []float64
	for _, p := range m.Parameters() {
		out = append(out, float64(p))
	}
	return out
}

// begin opens a step if none is open: a step without records asks no worker.
func (m *watchedModel) begin() *watchedStep {
	if !m.open {
		before := make([]float64, len(m.Parameters())) // 0 before the first step
		if n := len(m.steps); n > 0 {
			before = m.steps[n-1].after
		}
		m.steps, m.open = append(m.steps, watchedStep{before: before}), true
	}
	return &m.steps[len(m.steps)-1]
}

func (m *watchedModel) finish() {
	m.begin().after = m.parameters()
	m.open = false
}

// Worker implements dpsgd.Model.
func (m *watchedModel) Worker() dpsgd.Worker {
	return &watchedWorker{Worker: m.Model.Worker(), model: m}
}

type watchedWorker struct {
	dpsgd.Worker
	model *watchedModel
}

// AddClipped implements dpsgd.Worker. The contribution of a row is the same alone as
// in company.
func (w *watchedWorker) AddClipped(sum []float32, data dpsgd.Data, rows []int, clip dpsgd.Clip) dpsgd.Tally {
	s := w.model.begin()
	for _, row := range rows {
		alone := func(clip dpsgd.Clip) []float64 {
			g := make([]float32, len(sum))
			w.Worker.AddClipped(g, data, []int{row}, clip)
			out := make([]float64, len(g))
			for i, x := range g {
				out[i] = float64(x)
			}
			return out
		}
		s.rows = append(s.rows, row)
		s.gradients, s.clipped = append(s.gradients, alone(dpsgd.FlatClip(math.Inf(1)))), append(s.clipped, alone(clip))
	}
	return w.Worker.AddClipped(sum, data, rows, clip)
}

// rounded returns xs to four decimals, which single precision and the grid of the noise
// leave intact.
func rounded(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Round(x*1e4)/1e4 + 0 // no -0
	}
	return out
}

// norms returns the Euclidean norm of each of gs.
func norms(gs [][]float64) []float64 {
	out := make([]float64, len(gs))
	for i, g := range gs {
		for _, x := range g {
			out[i] += x * x
		}
		out[i] = math.Sqrt(out[i])
	}
	return out
}

// expected returns the expected size of a sample.
func (in gradientInputs) expected() float64 { return in.probability * float64(in.records) }

// tell tells one step of training in two steps of the trace.
func (in gradientInputs) tell(l *lesson, s watchedStep) {
	sum, noise, noisy := make([]float64, len(s.before)), make([]float64, len(s.before)), make([]float64, len(s.before))
	for _, g := range s.clipped {
		for i, x := range g {
			sum[i] += x
		}
	}
	for i := range sum {
		noisy[i] = (s.before[i] - s.after[i]) / in.rate * in.expected()
		noise[i] = noisy[i] - sum[i]
	}
	l.let("sampled", len(s.rows))
	l.stepOver("row", "clip", in.clipping(s)...)
	l.stepOver("parameter", "move", vector("before", rounded(s.before)), vector("sum", rounded(sum)), vector("noise", rounded(noise)),
		vector("noisy sum", rounded(noisy)), vector("after", rounded(s.after)))
}

// clipping returns what clipping does to the gradients of a sample, by record.
func (in gradientInputs) clipping(s watchedStep) []Number {
	if len(s.rows) == 0 {
		return nil
	}
	order := make([]int, len(s.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return s.rows[a] - s.rows[b] })
	before, after := norms(s.gradients), norms(s.clipped)
	columns := []Number{{Name: "record"}, {Name: "norm"}, {Name: "factor"}, {Name: "norm clipped"}}
	for _, i := range order {
		addRow(columns, rounded([]float64{float64(s.rows[i]), before[i], min(1, in.clip/before[i]), after[i]})...)
	}
	return columns
}

func (in gradientInputs) mistakes(l *lesson, all accountant.Event, steps []watchedStep) {
	truth := l.epsilon(all)
	with := func(noise float64) float64 {
		return l.epsilon(accountant.Repeated{Count: int64(in.steps),
			Event: accountant.PoissonSampled{Probability: in.probability, Event: accountant.Gaussian{NoiseMultiplier: noise}}})
	}
	unscaled, batch := in.noise/in.clip, in.noise/(2*in.expected())
	shortest := math.Inf(1)
	for _, s := range steps {
		for _, n := range norms(s.gradients) {
			shortest = min(shortest, n)
		}
	}
	if math.IsInf(shortest, 1) {
		shortest = 0 // no record in any sample
	}
	l.mistake("unscaled", scalar("noise over clip, claimed", in.noise), scalar("noise over clip, spent", unscaled),
		claim("epsilon claimed", truth), claim("epsilon spent", with(unscaled)))
	l.mistake("batch", scalar("noise over sensitivity, claimed", in.noise), scalar("noise over sensitivity, spent", batch),
		claim("epsilon claimed", truth), claim("epsilon spent", with(batch)))
	l.mistake("factor", scalar("shortest gradient of this run", rounded([]float64{shortest})[0]), scalar("as printed", 1))
	l.mistake("rate", scalar("rate x noise x clip / (q n)", in.rate*in.noise*in.clip/in.expected()), scalar("as printed", in.noise))
	l.mistake("divide")
}
