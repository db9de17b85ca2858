package learn

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/rng"
	"github.com/pate-go/pate/svt"
)

func sparseVector() Mechanism {
	return Mechanism{
		Name:  "sparse-vector",
		Short: "Many yes-or-no questions; only the yes is paid",
		Long: `Which of many numbers reach a threshold? The threshold gets noise once, every number
gets noise of its own, and the run stops after so many that are above; those below
are free, however many (AboveThreshold of Dwork, Roth 2014; Lyu, Su, Li 2017). The
trace shows both noises, every comparison, and the exact probability of the
transcript. The misconceptions it ends are four published variants that are not
private.`,
		Inputs: []Input{
			{"values", "3,12,5,30,8,41", "one number for each question; one record changes each by at most 1"},
			{"threshold", "25", "public"},
			{"epsilon", "1", "of the whole run"},
			{"answers", "1", "above the threshold, after which the run stops"},
		},
		trace: traceSparse,
	}
}

// Traces that are readable have laws that are small.
const (
	maxQuestions = 10
	maxValue     = 1e4
)

// integers reads an input that is a list of whole numbers.
func (r run) integers(name string) ([]int64, error) {
	xs, err := r.numbers(name)
	if err != nil {
		return nil, err
	}
	if len(xs) > maxQuestions {
		return nil, fmt.Errorf("%w: %s: at most %d questions, not %d", ErrInput, name, maxQuestions, len(xs))
	}
	out := make([]int64, len(xs))
	for i, x := range xs {
		if out[i] = int64(x); x != math.Trunc(x) || math.Abs(x) > maxValue {
			return nil, fmt.Errorf("%w: %s: %v is not a whole number up to 10,000", ErrInput, name, x)
		}
	}
	return out, nil
}

// compared is a run of a sparse vector, told from outside.
type compared struct {
	law   svt.Law
	rho   int64   // noise of the threshold
	nu    []int64 // of each question that was asked
	above []bool
}

// compare draws the noises of a law by the samplers that mechanisms use, and makes
// its comparisons.
func (r run) compare(law svt.Law, values []int64) (c compared, err error) {
	draw := func(n svt.Noise, label string) (int64, error) {
		d, err := rng.NewDiscreteLaplace(n.Scale)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", ErrInput, err)
		}
		s := r.key.Derive(label).Stream()
		if n.Kind == svt.Geometric {
			return d.Geometric(s), nil
		}
		return d.Sample(s), nil
	}
	c.law = law
	if c.rho, err = draw(law.ThresholdNoise, "threshold"); err != nil {
		return c, err
	}
	count := 0
	for i, v := range values {
		nu, err := draw(law.QueryNoise, fmt.Sprint("question ", i))
		if err != nil {
			return c, err
		}
		above := v+nu >= int64(law.Threshold)+c.rho
		c.nu, c.above = append(c.nu, nu), append(c.above, above)
		if above {
			if count++; count == law.Stop {
				break
			}
		}
	}
	return c, nil
}

// likely is the exact probability of the transcript on values, and on those of a
// neighbour.
func (c compared) likely(values, moved []int64) (p, q float64, err error) {
	for _, side := range []struct {
		values []int64
		to     *float64
	}{{values, &p}, {moved, &q}} {
		outcomes, err := c.law.Outcomes(floats(side.values[:len(c.above)]))
		if err != nil {
			return 0, 0, fmt.Errorf("%w: %w", ErrInput, err)
		}
		for _, o := range outcomes {
			if slices.Equal(o.Above, c.above) {
				*side.to = o.Prob
			}
		}
	}
	return p, q, nil
}

func floats(xs []int64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = float64(x)
	}
	return out
}

func yes(bs []bool) []int {
	out := make([]int, len(bs))
	for i, b := range bs {
		if b {
			out[i] = 1
		}
	}
	return out
}

// largestLoss is the largest logarithm of a ratio of probabilities of transcripts.
func largestLoss(law svt.Law, a, b []float64) (float64, error) {
	p, err := law.Outcomes(a)
	if err != nil {
		return 0, err
	}
	q, err := law.Outcomes(b)
	if err != nil {
		return 0, err
	}
	loss := 0.0
	for i := range p { // the same transcripts in the same order
		loss = max(loss, math.Abs(math.Log(p[i].Prob/q[i].Prob)))
	}
	return loss, nil
}

func traceSparse(r run) (Trace, error) {
	values, err := r.integers("values")
	if err != nil {
		return Trace{}, err
	}
	threshold, err := r.number("threshold")
	if err != nil {
		return Trace{}, err
	}
	if threshold != math.Trunc(threshold) || math.Abs(threshold) > maxValue {
		return Trace{}, fmt.Errorf("%w: threshold: %v is not a whole number up to 10,000", ErrInput, threshold)
	}
	epsilon, err := r.positive("epsilon")
	if err != nil {
		return Trace{}, err
	}
	answers, err := r.whole("answers")
	if err != nil {
		return Trace{}, err
	}
	m, err := svt.NewSparseVector(svt.SparseVectorConfig{
		Noise: svt.DiscreteLaplace, Epsilon: epsilon, Answers: answers, Sensitivity: 1, Threshold: int64(threshold)})
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	c, err := r.compare(m.Law(), values)
	if err != nil {
		return Trace{}, err
	}
	asked := values[:len(c.above)]
	moved, sums := make([]int64, len(values)), make([]int64, len(asked))
	for i, v := range values {
		moved[i] = v + 1
		if i < len(asked) {
			if sums[i] = v + c.nu[i]; c.above[i] {
				moved[i] = v - 1
			}
		}
	}
	p, q, err := c.likely(values, moved)
	if err != nil {
		return Trace{}, err
	}
	share := svt.ThresholdShare(answers, false)
	t := Trace{Title: "Sparse vector: pay for the yes, not for the no"}
	t.Steps = []Step{
		{
			Name: "Ask a stream of questions",
			Words: fmt.Sprintf("Does the number reach %s? One record changes each number by at most 1, up or down, as it likes. Questions may depend on the "+
				"answers before.", short(threshold)),
			Numbers: []Number{vector("value", values)}, Index: "question",
		},
		{
			Name: "Divide epsilon",
			Words: "One part pays for the noise of the threshold, the other for the answers above it. The parts below give the least variance (Lyu, Su, Li " +
				"2017).",
			Formula: &Formula{"epsilon1 : epsilon2 = 1 : (2c)^(2/3);  threshold noise scale = 1/epsilon1;  question noise scale = 2c/epsilon2",
				`\varepsilon_1 : \varepsilon_2 = 1 : (2c)^{2/3},\quad b_1 = \frac{1}{\varepsilon_1},\quad b_2 = \frac{2c}{\varepsilon_2}`},
			Numbers: []Number{scalar("epsilon1", epsilon*share), scalar("epsilon2", epsilon*(1-share)), scalar("answers c", answers),
				scalar("scale of the threshold noise", c.law.ThresholdNoise.Scale), scalar("scale of the question noise", c.law.QueryNoise.Scale)},
		},
		{
			Name:    "Draw the noise of the threshold, once",
			Words:   "It is kept for the whole run, and secret for ever. It is what makes all the answers below free: see step 6.",
			Numbers: []Number{scalar("threshold", threshold), scalar("noise", c.rho), scalar("noisy threshold", int64(threshold)+c.rho)},
		},
		{
			Name: "Compare, until the answers are used up",
			Words: fmt.Sprintf("Every question gets noise of its own, and only whether the sum reaches the noisy threshold is told. The run ended after %d of %d "+
				"questions, with %d above of at most %d.", len(asked), len(values), count(c.above), answers),
			Formula: &Formula{"above if value + noise >= threshold + threshold noise", `q_i + \nu_i \ge T + \rho`},
			Numbers: []Number{vector("value", asked), vector("noise", c.nu), vector("sum", sums), vector("above", yes(c.above))}, Index: "question",
		},
		{
			Name: "Ask how likely that was",
			Words: "The probability of exactly these answers is known, here and for a neighbour that makes them as unlikely as one record can: values of those " +
				"below one higher, of those above one lower.",
			Formula: &Formula{"loss = ln(P[answers] / P'[answers])", `\ell = \ln \frac{P[a]}{P'[a]}`},
			Numbers: []Number{scalar("P[answers]", p), scalar("P'[answers]", q), scalar("loss", math.Log(p/q)), scalar("epsilon", epsilon)},
		},
	}
	free, err := freeStep(c.law)
	if err != nil {
		return Trace{}, err
	}
	t.Steps = append(t.Steps, free)
	t.Released = Section{Words: fmt.Sprintf("For %d questions, whether they are above. Not by how much: a noisy value would be another question, with noise of its own.", len(asked))}
	spent, err := pure(m.Event())
	if err != nil {
		return Trace{}, err
	}
	each, err := pure(accountant.Repeated{Event: m.Event(), Count: int64(len(values))})
	if err != nil {
		return Trace{}, err
	}
	t.Cost = Section{
		Words: "Epsilon for the whole run, without any delta. Had every question been answered by a noisy number with this epsilon, each would have cost it.",
		Numbers: []Number{claim("epsilon", spent), scalar("questions that could be asked", len(values)),
			claim("epsilon if each were paid", each)},
	}
	t.Mistakes, err = sparseMistakes(epsilon, share)
	return t, err
}

func count(bs []bool) (n int) {
	for _, b := range bs {
		if b {
			n++
		}
	}
	return n
}

// freeStep is what many answers below cost: no more than one.
func freeStep(law svt.Law) (Step, error) {
	law.Threshold = 0
	counts := []int{1, 3, 10, 30, 100}
	columns := []Number{{Name: "questions"}, {Name: "P[all below]"}, {Name: "P'[all below]"}, {Name: "loss"}}
	for _, k := range counts {
		here, there := slices.Repeat([]float64{-10}, k), slices.Repeat([]float64{-9}, k)
		_, p, err := law.FirstAbove(here)
		if err != nil {
			return Step{}, fmt.Errorf("%w: %w", ErrInput, err)
		}
		_, q, err := law.FirstAbove(there)
		if err != nil {
			return Step{}, fmt.Errorf("%w: %w", ErrInput, err)
		}
		for i, x := range []float64{float64(k), p, q, math.Log(p / q)} {
			columns[i].Values = append(columns[i].Values, x)
		}
	}
	return Step{
		Name: "See why those below are free",
		Words: "Take questions that are all 10 under the threshold, and 9 under it for the neighbour. A threshold noise higher by 1 makes up for the record in all " +
			"comparisons at once, so the loss stays below epsilon1, that of one noise, however many questions there are.",
		Numbers: columns, Index: "row",
	}, nil
}

func sparseMistakes(epsilon, share float64) ([]Mistake, error) {
	laplace := func(scale float64) svt.Noise { return svt.Noise{Kind: svt.Laplace, Scale: scale} }
	bare := svt.Law{ThresholdNoise: laplace(1 / (epsilon * share))}
	outcomes, err := bare.Outcomes([]float64{0, 1})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	known := 0.0
	for _, o := range outcomes {
		if slices.Equal(o.Above, []bool{false, true}) {
			known = o.Prob
		}
	}
	four := [2][]float64{{0, 0, 0, 0, 1, 1, 1, 1}, {1, 1, 1, 1, 0, 0, 0, 0}}
	unscaled, err := largestLoss(svt.Law{ThresholdNoise: laplace(4), QueryNoise: laplace(4.0 / 3), Stop: 4}, four[0], four[1])
	if err != nil {
		return nil, err
	}
	endless, err := largestLoss(svt.Law{ThresholdNoise: laplace(2), QueryNoise: laplace(2)},
		[]float64{0, 0, 0, 0, 0, 0, 0, 0}, []float64{1, 1, 1, 1, -1, -1, -1, -1})
	if err != nil {
		return nil, err
	}
	inverted, err := largestLoss(svt.Law{ThresholdNoise: laplace(0.5), QueryNoise: laplace(1), Stop: 1}, []float64{0, 0, 0, 1}, []float64{1, 1, 1, 0})
	if err != nil {
		return nil, err
	}
	return []Mistake{
		{
			If: "only the threshold got noise",
			Words: "Two questions at the threshold, values 0 and 1, for the neighbour 1 and 0: that the first is below and the second above happens here, and never " +
				"there, where one noise would have to lie on both sides. No epsilon covers that.",
			Numbers: []Number{scalar("P[below, above]", known), scalar("P'[below, above]", 0)},
		},
		{
			If: "the noise of the questions did not grow with the number of answers",
			Words: "Every answer above moves against the noise of its own question, so c answers need c times the scale. A published variant with a fixed scale, " +
				"epsilon/4 for the threshold and 3 epsilon/4 for the questions, is (1 + 6c)/4 epsilon private; below for c = 4, eight questions at the " +
				"threshold.",
			Numbers: []Number{claim("epsilon claimed", 1), claim("loss found", unscaled), claim("epsilon, proved", (1+6*4)/4.0)},
		},
		{
			If: "the run never stopped",
			Words: "Without a cap on answers above each of them adds to the loss: below for eight questions only. It grows with their number, so that no epsilon covers " +
				"it.",
			Numbers: []Number{claim("epsilon claimed", 1), claim("loss found, eight questions", endless)},
		},
		{
			If: "the scale were multiplied by epsilon as printed",
			Words: "Notes print sqrt(..) epsilon where sqrt(..)/epsilon is meant. At epsilon 1 nobody sees it. At epsilon 1/4 the noise of AboveThreshold has scales " +
				"2/4 and 4/4 where 8 and 16 are needed.",
			Numbers: []Number{claim("epsilon claimed", 0.25), claim("loss found, four questions", inverted)},
		},
	}, nil
}
