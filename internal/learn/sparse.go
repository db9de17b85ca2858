package learn

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/svt"
)

func sparseVector() Mechanism {
	return mechanism("sparse-vector", traceSparse,
		Input{"values", "3,12,5,30,8,41", "one number for each question; one record changes each by at most 1"},
		Input{"threshold", "25", "public"},
		Input{"epsilon", "1", "of the whole run"},
		Input{"answers", "1", "above the threshold, after which the run stops"},
	)
}

// Traces that are readable have laws that are small.
const (
	maxQuestions = 10
	maxValue     = 1e4
)

// integers reads an input that is a list of whole numbers.
func (l *lesson) integers(name string) []int64 {
	xs := l.numbers(name)
	if len(xs) > maxQuestions {
		l.fail(invalid("%s: at most %d questions, not %d", name, maxQuestions, len(xs)))
	}
	out := make([]int64, len(xs))
	for i, x := range xs {
		if out[i] = int64(x); x != math.Trunc(x) || math.Abs(x) > maxValue {
			l.fail(invalid("%s: %v is not a whole number up to 10,000", name, x))
		}
	}
	return out
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
func compare(key rng.Key, law svt.Law, values []int64) (c compared, err error) {
	draw := func(n svt.Noise, label string) (int64, error) {
		d, err := rng.NewDiscreteLaplace(n.Scale)
		if err != nil {
			return 0, invalid("%w", err)
		}
		s := key.Derive(label).Stream()
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

// likely returns the exact probability of the transcript on values, on those of a
// neighbour, and the logarithm of the ratio, beside epsilon.
func (c compared) likely(outcome string, values, moved []int64, epsilon float64) ([]Number, error) {
	p, err := probability(c.law, floats(values[:len(c.above)]), c.above)
	if err != nil {
		return nil, invalid("%w", err)
	}
	q, err := probability(c.law, floats(moved[:len(c.above)]), c.above)
	if err != nil {
		return nil, invalid("%w", err)
	}
	return []Number{scalar("P["+outcome+"]", p), scalar("P'["+outcome+"]", q), scalar("loss", math.Log(p/q)), scalar("epsilon", epsilon)}, nil
}

// probability returns that of a transcript.
func probability(law svt.Law, values []float64, above []bool) (float64, error) {
	outcomes, err := law.Outcomes(values)
	for _, o := range outcomes {
		if slices.Equal(o.Above, above) {
			return o.Prob, err
		}
	}
	return 0, err
}

func floats(xs []int64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = float64(x)
	}
	return out
}

// largestLoss returns the largest logarithm of a ratio of probabilities of transcripts.
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

func traceSparse(l *lesson) error {
	values, threshold := l.integers("values"), l.number("threshold")
	epsilon, answers := l.positive("epsilon"), l.whole("answers")
	if l.err != nil {
		return l.err
	}
	if threshold != math.Trunc(threshold) || math.Abs(threshold) > maxValue {
		return invalid("threshold: %v is not a whole number up to 10,000", threshold)
	}
	m, err := svt.NewSparseVector(svt.SparseVectorConfig{
		Noise: svt.DiscreteLaplace, Epsilon: epsilon, Answers: answers, Sensitivity: 1, Threshold: int64(threshold)})
	if err != nil {
		return invalid("%w", err)
	}
	c, err := compare(l.key, m.Law(), values)
	if err != nil {
		return err
	}
	asked := values[:len(c.above)]
	moved, sums, above := make([]int64, len(asked)), make([]int64, len(asked)), make([]int, len(asked))
	for i, v := range asked {
		sums[i], moved[i] = v+c.nu[i], v+1
		if c.above[i] {
			above[i], moved[i] = 1, v-1
		}
	}
	likely, err := c.likely("answers", asked, moved, epsilon)
	if err != nil {
		return err
	}
	share := svt.ThresholdShare(answers, false)
	l.let("asked", len(asked))
	l.let("questions", len(values))
	l.let("above", total(above))

	l.stepOver("question", "stream", vector("value", values))
	l.step("divide", scalar("epsilon1", epsilon*share), scalar("epsilon2", epsilon*(1-share)), scalar("answers c", answers),
		scalar("scale of the threshold noise", c.law.ThresholdNoise.Scale), scalar("scale of the question noise", c.law.QueryNoise.Scale))
	l.step("threshold", scalar("threshold", threshold), scalar("noise", c.rho), scalar("noisy threshold", int64(threshold)+c.rho))
	l.stepOver("question", "compare", vector("value", asked), vector("noise", c.nu), vector("sum", sums), vector("above", above))
	l.step("likely", likely...)
	free, err := freeAnswers(c.law)
	if err != nil {
		return err
	}
	l.stepOver("row", "free", free...)
	l.release()
	l.cost(claim("epsilon", l.pure(m.Event())), scalar("questions that could be asked", len(values)),
		claim("epsilon if each were paid", l.pure(accountant.Repeated{Event: m.Event(), Count: int64(len(values))})))
	return sparseMistakes(l, epsilon, share)
}

// freeAnswers returns what many answers below cost: no more than one.
func freeAnswers(law svt.Law) ([]Number, error) {
	law.Threshold = 0
	columns := []Number{{Name: "questions"}, {Name: "P[all below]"}, {Name: "P'[all below]"}, {Name: "loss"}}
	for _, k := range []int{1, 3, 10, 30, 100} {
		_, p, err := law.FirstAbove(slices.Repeat([]float64{-10}, k))
		if err != nil {
			return nil, invalid("%w", err)
		}
		_, q, err := law.FirstAbove(slices.Repeat([]float64{-9}, k))
		if err != nil {
			return nil, invalid("%w", err)
		}
		addRow(columns, float64(k), p, q, math.Log(p/q))
	}
	return columns, nil
}

func sparseMistakes(l *lesson, epsilon, share float64) error {
	laplace := func(scale float64) svt.Noise { return svt.Noise{Kind: svt.Laplace, Scale: scale} }
	bare, err := probability(svt.Law{ThresholdNoise: laplace(1 / (epsilon * share))}, []float64{0, 1}, []bool{false, true})
	if err != nil {
		return invalid("%w", err)
	}
	unscaled, err := largestLoss(svt.Law{ThresholdNoise: laplace(4), QueryNoise: laplace(4.0 / 3), Stop: 4},
		[]float64{0, 0, 0, 0, 1, 1, 1, 1}, []float64{1, 1, 1, 1, 0, 0, 0, 0})
	if err != nil {
		return err
	}
	endless, err := largestLoss(svt.Law{ThresholdNoise: laplace(2), QueryNoise: laplace(2)},
		[]float64{0, 0, 0, 0, 0, 0, 0, 0}, []float64{1, 1, 1, 1, -1, -1, -1, -1})
	if err != nil {
		return err
	}
	inverted, err := largestLoss(svt.Law{ThresholdNoise: laplace(0.5), QueryNoise: laplace(1), Stop: 1}, []float64{0, 0, 0, 1}, []float64{1, 1, 1, 0})
	if err != nil {
		return err
	}
	l.mistake("threshold-only", scalar("P[below, above]", bare), scalar("P'[below, above]", 0))
	l.mistake("fixed-scale", claim("epsilon claimed", 1), claim("loss found", unscaled), claim("epsilon, proved", (1+6*4)/4.0))
	l.mistake("endless", claim("epsilon claimed", 1), claim("loss found, eight questions", endless))
	l.mistake("inverted", claim("epsilon claimed", 0.25), claim("loss found, four questions", inverted))
	return nil
}
