package learn

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/rng"
)

type gradientInputs struct {
	records, steps                 int
	probability, clip, rate, noise float64
}

func traceGradient(l *lesson) {
	in := gradientInputs{
		records: l.whole("records"), steps: l.whole("steps"), probability: l.positive("probability"),
		clip: l.positive("clip"), rate: l.positive("rate"), noise: l.positive("noise"),
	}
	if in.rate < 0.01 || in.rate > 100 {
		refuse("rate: from 0.01 to 100, not %v", in.rate)
	}
	if in.records > 32 || in.steps > 10 {
		refuse("a trace holds 32 records and 10 steps at most, not %d and %d", in.records, in.steps)
	}
	cfg := dpsgd.Config{
		SamplingProbability: in.probability, NoiseMultiplier: in.noise, ClipNorm: in.clip,
		Steps: in.steps, LearningRate: in.rate, Workers: 1,
	}
	valid(0, cfg.Validate())
	data := in.draw(l)
	steps := Must(Watch(Must(nn.NewSoftmax(data.X.Cols, 2)), data, cfg, l.key))
	x := make([][]float64, 2)
	for i, v := range data.X.Data {
		x[i%2] = append(x[i%2], float64(v))
	}
	l.stepOver("record", "data", vector("x1", rounded(x[0])), vector("x2", rounded(x[1])), vector("class", data.Y))
	l.let("deviation", in.noise*in.clip)
	l.let("expected", in.expected())
	for i, s := range steps {
		l.let("step", i+1)
		in.add(l, s)
	}
	l.release(vector("value", rounded(steps[len(steps)-1].After)))
	l.Released.Index = "parameter"
	l.cost(scalar("steps", in.steps), scalar("noise over clip", in.noise), scalar("probability", in.probability),
		scalar("delta", l.delta), claim("epsilon", l.epsilon(cfg.Event())))
	in.mistakes(l, cfg.Event(), steps)
}

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

func rounded(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Round(x*1e4)/1e4 + 0 // avoids -0
	}
	return out
}

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

func (in gradientInputs) expected() float64 { return in.probability * float64(in.records) }

func (in gradientInputs) add(l *lesson, s TrainingStep) {
	sum, noise, noisy := make([]float64, len(s.Before)), make([]float64, len(s.Before)), make([]float64, len(s.Before))
	for _, g := range s.Clipped {
		for i, x := range g {
			sum[i] += x
		}
	}
	for i := range sum {
		noisy[i] = (s.Before[i] - s.After[i]) / in.rate * in.expected()
		noise[i] = noisy[i] - sum[i]
	}
	l.let("sampled", len(s.Rows))
	l.stepOver("row", "clip", in.clipping(s)...)
	l.stepOver("parameter", "move", vector("before", rounded(s.Before)), vector("sum", rounded(sum)), vector("noise", rounded(noise)),
		vector("noisy sum", rounded(noisy)), vector("after", rounded(s.After)))
}

func (in gradientInputs) clipping(s TrainingStep) []Number {
	if len(s.Rows) == 0 {
		return nil
	}
	order := make([]int, len(s.Rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return s.Rows[a] - s.Rows[b] })
	before, after := norms(s.Gradients), norms(s.Clipped)
	columns := []Number{{Name: "record"}, {Name: "norm"}, {Name: "factor"}, {Name: "norm clipped"}}
	for _, i := range order {
		addRow(columns, rounded([]float64{float64(s.Rows[i]), before[i], min(1, in.clip/before[i]), after[i]})...)
	}
	return columns
}

func (in gradientInputs) mistakes(l *lesson, all accountant.Event, steps []TrainingStep) {
	truth := l.epsilon(all)
	with := func(noise float64) float64 {
		return l.epsilon(accountant.Repeated{Count: int64(in.steps),
			Event: accountant.PoissonSampled{Probability: in.probability, Event: accountant.Gaussian{NoiseMultiplier: noise}}})
	}
	unscaled, batch := in.noise/in.clip, in.noise/(2*in.expected())
	var lengths []float64
	for _, s := range steps {
		lengths = append(lengths, norms(s.Gradients)...)
	}
	if lengths == nil {
		lengths = []float64{0} // every sample was empty
	}
	l.mistake("unscaled", scalar("noise over clip, claimed", in.noise), scalar("noise over clip, spent", unscaled),
		claim("epsilon claimed", truth), claim("epsilon spent", with(unscaled)))
	l.mistake("batch", scalar("noise over sensitivity, claimed", in.noise), scalar("noise over sensitivity, spent", batch),
		claim("epsilon claimed", truth), claim("epsilon spent", with(batch)))
	l.mistake("factor", scalar("shortest gradient of this run", rounded([]float64{slices.Min(lengths)})[0]), scalar("as printed", 1))
	l.mistake("rate", scalar("rate x noise x clip / (q n)", in.rate*in.noise*in.clip/in.expected()), scalar("as printed", in.noise))
	l.mistake("divide")
}

// TrainingStep holds one step of DP-SGD. Before and After are parameters. Clipped holds the clipped Gradients
// of the sampled Rows.
type TrainingStep struct {
	Before, After      []float64
	Rows               []int
	Gradients, Clipped [][]float64
}

// Watch trains model with [dpsgd.Train] and returns every step. The steps are private.
func Watch(model dpsgd.Model, data dpsgd.Data, cfg dpsgd.Config, key rng.Key) ([]TrainingStep, error) {
	watched := &watchedModel{Model: model}
	cfg.Observe = func(dpsgd.Metrics) { watched.finish() }
	paid, err := Paid(cfg.Event(), accountant.AddRemove)
	if err != nil {
		return nil, err
	}
	if _, err := dpsgd.Train(context.Background(), watched, data, cfg, paid, key); err != nil {
		return nil, invalid("%w", err)
	}
	return watched.steps, nil
}

type watchedModel struct {
	dpsgd.Model
	steps []TrainingStep
	open  bool
}

func (m *watchedModel) begin() *TrainingStep {
	if !m.open {
		before := make([]float64, len(m.Parameters())) // the first step starts at 0
		if n := len(m.steps); n > 0 {
			before = m.steps[n-1].After
		}
		m.steps, m.open = append(m.steps, TrainingStep{Before: before}), true
	}
	return &m.steps[len(m.steps)-1]
}

func (m *watchedModel) finish() {
	m.begin().After = doubles(m.Parameters())
	m.open = false
}

func (m *watchedModel) Worker() dpsgd.Worker {
	return &watchedWorker{Worker: m.Model.Worker(), model: m}
}

type watchedWorker struct {
	dpsgd.Worker
	model *watchedModel
}

func (w *watchedWorker) AddClipped(sum []float32, data dpsgd.Data, rows []int, clip dpsgd.Clip) dpsgd.Tally {
	s := w.model.begin()
	for _, row := range rows {
		alone := func(clip dpsgd.Clip) []float64 {
			g := make([]float32, len(sum))
			w.Worker.AddClipped(g, data, []int{row}, clip)
			return doubles(g)
		}
		s.Rows = append(s.Rows, row)
		s.Gradients, s.Clipped = append(s.Gradients, alone(dpsgd.FlatClip(math.Inf(1)))), append(s.Clipped, alone(clip))
	}
	return w.Worker.AddClipped(sum, data, rows, clip)
}

func doubles(xs []float32) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = float64(x)
	}
	return out
}
