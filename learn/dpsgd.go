package learn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
)

func gradient() Mechanism {
	return Mechanism{
		Name:  "dpsgd",
		Short: "Steps of training on clipped gradients with noise",
		Long: `A model trained by steps on random samples of the records: every record's gradient
is clipped, the sum gets noise as large as one clipped gradient, and the expected
size of the sample divides it (Abadi et al. 2016, Algorithm 1). The trace shows
the steps of a real run on a handful of records, with a logistic regression of six
parameters. The misconceptions it ends: that the gradient of the batch may be
clipped, that the noise need not know the clip, and what is divided by.`,
		Inputs: []Input{
			{"records", "8", "of two features and two classes, which the seed draws"},
			{"probability", "0.5", "of a record to be in the sample of a step"},
			{"clip", "2", "largest norm of a record's gradient"},
			{"noise", "1", "standard deviation of the noise over the clip"},
			{"rate", "0.5", "learning rate"},
			{"steps", "3", "of training"},
		},
		trace: traceGradient,
	}
}

type gradientInputs struct {
	records, steps          int
	probability, clip, rate float64
	noise                   float64
}

func (r run) gradientInputs() (in gradientInputs, err error) {
	for _, f := range []struct {
		name string
		to   *float64
	}{{"probability", &in.probability}, {"clip", &in.clip}, {"rate", &in.rate}, {"noise", &in.noise}} {
		if *f.to, err = r.positive(f.name); err != nil {
			return in, err
		}
	}
	if in.rate < 0.01 || in.rate > 100 {
		return in, fmt.Errorf("%w: rate: from 0.01 to 100, not %v", ErrInput, in.rate)
	}
	if in.records, err = r.whole("records"); err != nil {
		return in, err
	}
	if in.steps, err = r.whole("steps"); err != nil {
		return in, err
	}
	if in.records > 32 || in.steps > 10 {
		return in, fmt.Errorf("%w: a trace holds 32 records and 10 steps at most, not %d and %d", ErrInput, in.records, in.steps)
	}
	return in, nil
}

func traceGradient(r run) (Trace, error) {
	in, err := r.gradientInputs()
	if err != nil {
		return Trace{}, err
	}
	cfg := dpsgd.Config{
		SamplingProbability: in.probability, NoiseMultiplier: in.noise, ClipNorm: in.clip,
		Steps: in.steps, LearningRate: in.rate, Workers: 1,
	}
	if err := cfg.Validate(); err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	data := in.draw(r)
	softmax, err := nn.NewSoftmax(data.X.Cols, 2)
	if err != nil {
		return Trace{}, err
	}
	watched := &watchedModel{Model: softmax}
	cfg.Observe = func(dpsgd.Metrics) { watched.finish() }
	paid, err := charge(cfg.Event(), accountant.AddRemove)
	if err != nil {
		return Trace{}, err
	}
	if _, err := dpsgd.Train(context.Background(), watched, data, cfg, paid, r.key); err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	t := Trace{Title: "DP-SGD: training on clipped gradients with noise"}
	t.Steps = []Step{in.dataStep(data)}
	for i, s := range watched.steps {
		t.Steps = append(t.Steps, in.tell(i+1, s)...)
	}
	t.Released = Section{
		Words:   "The parameters after every step; the last are the model. Not the samples, not the norms, not how many gradients were clipped.",
		Numbers: []Number{vector("value", rounded(watched.steps[len(watched.steps)-1].after))},
		Index:   "parameter",
	}
	if t.Cost, err = in.cost(r, cfg.Event()); err != nil {
		return Trace{}, err
	}
	t.Mistakes, err = in.mistakes(r, cfg.Event(), watched.steps)
	return t, err
}

// draw makes two clouds of points, and one record far out.
func (in gradientInputs) draw(r run) dpsgd.Data {
	s := r.key.Derive("data").Stream()
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

func (in gradientInputs) dataStep(d dpsgd.Data) Step {
	a, b := make([]float64, in.records), make([]float64, in.records)
	for i := range in.records {
		a[i], b[i] = float64(d.X.Data[2*i]), float64(d.X.Data[2*i+1])
	}
	return Step{
		Name: "Look at the data and the model",
		Words: "The model gives each class a score, two weights times the features plus an intercept, and probabilities in proportion to e^score: six " +
			"parameters, 0 at first (weights of class 0, weights of class 1, the two intercepts). What follows is rounded to four decimals.",
		Formula: &Formula{"p_k proportional to exp(w_k . x + b_k)", `p_k \propto e^{w_k \cdot x + b_k}`},
		Numbers: []Number{vector("x1", rounded(a)), vector("x2", rounded(b)), vector("class", d.Y)}, Index: "record",
	}
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

// rounded is xs to four decimals, which single precision and the grid of the noise
// leave intact.
func rounded(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Round(x*1e4)/1e4 + 0 // no -0
	}
	return out
}

func norm(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x * x
	}
	return math.Sqrt(sum)
}

func norms(gs [][]float64) []float64 {
	out := make([]float64, len(gs))
	for i, g := range gs {
		out[i] = norm(g)
	}
	return out
}

// expected is the expected size of a sample.
func (in gradientInputs) expected() float64 { return in.probability * float64(in.records) }

// tell is one step of training in two steps of the trace.
func (in gradientInputs) tell(number int, s watchedStep) []Step {
	clip := Step{
		Name: fmt.Sprintf("Step %d: sample, and clip each gradient", number),
		Words: fmt.Sprintf("%d of %d records are in the sample. Each has a gradient of its own; longer ones than the clip %s are scaled down to it.",
			len(s.rows), in.records, short(in.clip)),
		Formula: &Formula{"clipped = g min(1, C/|g|)", `\bar g_i = g_i \min\Bigl(1, \frac{C}{\lVert g_i \rVert}\Bigr)`},
		Index:   "row",
	}
	sum := make([]float64, len(s.before))
	for _, g := range s.clipped {
		for i, x := range g {
			sum[i] += x
		}
	}
	if len(s.rows) > 0 {
		order := make([]int, len(s.rows))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return s.rows[a] - s.rows[b] })
		before, after := norms(s.gradients), norms(s.clipped)
		columns := []Number{{Name: "record"}, {Name: "norm"}, {Name: "factor"}, {Name: "norm clipped"}}
		for _, i := range order {
			for c, x := range rounded([]float64{float64(s.rows[i]), before[i], min(1, in.clip/before[i]), after[i]}) {
				columns[c].Values = append(columns[c].Values, x)
			}
		}
		clip.Numbers = columns
	} else {
		clip.Words = "No record is in the sample. The step is made all the same, of noise alone: leaving it out would tell that the sample was empty."
	}
	noise, noisy := make([]float64, len(sum)), make([]float64, len(sum))
	for i := range sum {
		noisy[i] = (s.before[i] - s.after[i]) / in.rate * in.expected()
		noise[i] = noisy[i] - sum[i]
	}
	move := Step{
		Name: fmt.Sprintf("Step %d: add noise, divide, move", number),
		Words: fmt.Sprintf("The sum of the clipped gradients gets Gaussian noise of standard deviation noise x clip = %s in every coordinate. It is divided by the "+
			"expected size of a sample, %s, whatever the size was, and the parameters move against it by the learning rate.",
			short(in.noise*in.clip), short(in.expected())),
		Formula: &Formula{"parameters = parameters - rate (sum + N(0, noise^2 C^2)) / (q n)",
			`\theta \leftarrow \theta - \frac{\eta}{qn} \Bigl(\sum_i \bar g_i + \mathcal{N}(0, \sigma^2 C^2 I)\Bigr)`},
		Numbers: []Number{vector("before", rounded(s.before)), vector("sum", rounded(sum)), vector("noise", rounded(noise)),
			vector("noisy sum", rounded(noisy)), vector("after", rounded(s.after))},
		Index: "parameter",
	}
	return []Step{clip, move}
}

func (in gradientInputs) cost(r run, all accountant.Event) (Section, error) {
	spent, err := r.epsilon(all)
	if err != nil {
		return Section{}, err
	}
	return Section{
		Words: "Each step is a Gaussian release on a random sample, for a record that is added or removed; the sum of clipped gradients then changes by at most the " +
			"clip. Steps add up in the accountant: see moments. So few records cannot hide one: real runs have thousands, and small probabilities.",
		Numbers: []Number{scalar("steps", in.steps), scalar("noise over clip", in.noise), scalar("probability", in.probability),
			scalar("delta", r.delta), claim("epsilon", spent)},
	}, nil
}

func (in gradientInputs) mistakes(r run, all accountant.Event, steps []watchedStep) ([]Mistake, error) {
	truth, err := r.epsilon(all)
	if err != nil {
		return nil, err
	}
	with := func(noise float64) (float64, error) {
		return r.epsilon(accountant.Repeated{Count: int64(in.steps),
			Event: accountant.PoissonSampled{Probability: in.probability, Event: accountant.Gaussian{NoiseMultiplier: noise}}})
	}
	unscaled, err := with(in.noise / in.clip)
	if err != nil {
		return nil, err
	}
	batch, err := with(in.noise / (2 * in.expected()))
	if err != nil {
		return nil, err
	}
	shortest := math.Inf(1)
	for _, s := range steps {
		for _, n := range norms(s.gradients) {
			shortest = min(shortest, n)
		}
	}
	if math.IsInf(shortest, 1) {
		shortest = 0 // no record in any sample
	}
	return []Mistake{
		{
			If: "the noise did not know the clip",
			Words: "Printed as N(0, noise^2 I), it lacks the factor clip: what covers one clipped gradient is noise x clip. With a clip above 1 less is hidden than " +
				"is claimed; below 1 noise is wasted.",
			Numbers: []Number{scalar("noise over clip, claimed", in.noise), scalar("noise over clip, spent", in.noise/in.clip),
				claim("epsilon claimed", truth), claim("epsilon spent", unscaled)},
		},
		{
			If: "the gradient of the batch were clipped, not that of each record",
			Words: "Then one record can turn the clipped mean round: from C one way to C the other, by 2C, whatever the size of the batch, while the noise was made for " +
				"a change of C/(q n). Clipping by micro-batches is this mistake too.",
			Numbers: []Number{scalar("noise over sensitivity, claimed", in.noise), scalar("noise over sensitivity, spent", in.noise/(2*in.expected())),
				claim("epsilon claimed", truth), claim("epsilon spent", batch)},
		},
		{
			If: "gradients were scaled to the clip as printed, by min(C, g/|g|)",
			Words: "That makes every gradient as long as 1, the short ones longer: records the model has long learned pull as strongly as the others, and the " +
				"clip has no effect. The factor is min(1, C/|g|): short gradients stay as they are.",
			Numbers: []Number{scalar("shortest gradient of this run", rounded([]float64{shortest})[0]), scalar("as printed", 1)},
		},
		{
			If: "the noise were not multiplied by the learning rate",
			Words: "Printed so, the noise is added to the parameters, not to the sum of gradients. It is the same mechanism with another amount of noise: below, the " +
				"standard deviation of a parameter after one step.",
			Numbers: []Number{scalar("rate x noise x clip / (q n)", in.rate*in.noise*in.clip/in.expected()), scalar("as printed", in.noise)},
		},
		{
			If: "the sum were divided by the size the sample had",
			Words: "That size changes when a record is in it or not, and with it every coordinate: another function, of another sensitivity. The expected size is a " +
				"constant. An empty sample would even divide noise by zero.",
		},
	}, nil
}
