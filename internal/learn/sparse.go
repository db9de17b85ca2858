package learn

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/svt"
)

const (
	maxQuestions = 10
	maxValue     = 1e4
)

func (l *lesson) integers(name string) []int64 {
	xs := l.numbers(name)
	if len(xs) > maxQuestions {
		refuse("%s: at most %d questions, not %d", name, maxQuestions, len(xs))
	}
	out := make([]int64, len(xs))
	for i, x := range xs {
		if out[i] = int64(x); x != math.Trunc(x) || math.Abs(x) > maxValue {
			refuse("%s: %v is not a whole number up to 10,000", name, x)
		}
	}
	return out
}

// Compared is one run of a sparse vector mechanism, with the noise of the run.
type Compared struct {
	Law   svt.Law
	Rho   int64   // noise of the threshold
	Nu    []int64 // noise of each query that was compared
	Above []bool
	Found int // number of queries above the threshold
}

// Compare runs a sparse vector mechanism on values. It stops when the number of answers above the threshold
// is law.Stop. The call draw(n, i) returns the noise of question i. If i is -1, draw returns the noise of the
// threshold.
func Compare(law svt.Law, values []int64, draw func(n svt.Noise, question int) int64) Compared {
	c := Compared{Law: law, Rho: draw(law.ThresholdNoise, -1)}
	for i, v := range values {
		nu := draw(law.QueryNoise, i)
		above := v+nu >= int64(law.Threshold)+c.Rho
		c.Nu, c.Above = append(c.Nu, nu), append(c.Above, above)
		if above {
			if c.Found++; c.Found == law.Stop {
				break
			}
		}
	}
	return c
}

func compare(key rng.Key, law svt.Law, values []int64) Compared {
	return Compare(law, values, func(n svt.Noise, question int) int64 {
		label := "threshold"
		if question >= 0 {
			label = fmt.Sprint("question ", question)
		}
		d, s := valid(rng.NewDiscreteLaplace(n.Scale)), key.Derive(label).Stream()
		if n.Kind == svt.Geometric {
			return d.Geometric(s)
		}
		return d.Sample(s)
	})
}

func (c Compared) likely(outcome string, values, moved []int64, epsilon float64) []Number {
	p, q := probability(c.Law, floats(values[:len(c.Above)]), c.Above), probability(c.Law, floats(moved[:len(c.Above)]), c.Above)
	return []Number{scalar("P["+outcome+"]", p), scalar("P'["+outcome+"]", q), scalar("loss", math.Log(p/q)), scalar("epsilon", epsilon)}
}

func probability(law svt.Law, values []float64, above []bool) float64 {
	for _, o := range valid(law.Outcomes(values)) {
		if slices.Equal(o.Above, above) {
			return o.Prob
		}
	}
	return 0
}

func floats(xs []int64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = float64(x)
	}
	return out
}

func largestLoss(law svt.Law, a, b []float64) (loss float64) {
	p, q := Must(law.Outcomes(a)), Must(law.Outcomes(b))
	for i := range p { // Outcomes has a fixed order of transcripts
		loss = max(loss, math.Abs(math.Log(p[i].Prob/q[i].Prob)))
	}
	return loss
}

func traceSparse(l *lesson) {
	values, threshold := l.integers("values"), l.number("threshold")
	epsilon, answers := l.positive("epsilon"), l.whole("answers")
	if threshold != math.Trunc(threshold) || math.Abs(threshold) > maxValue {
		refuse("threshold: %v is not a whole number up to 10,000", threshold)
	}
	m := valid(svt.NewSparseVector(svt.SparseVectorConfig{
		Noise: svt.DiscreteLaplace, Epsilon: epsilon, Answers: answers, Sensitivity: 1, Threshold: int64(threshold)}))
	c := compare(l.key, m.Law(), values)
	asked := values[:len(c.Above)]
	moved, sums, above := make([]int64, len(asked)), make([]int64, len(asked)), make([]int, len(asked))
	for i, v := range asked {
		sums[i], moved[i] = v+c.Nu[i], v+1
		if c.Above[i] {
			above[i], moved[i] = 1, v-1
		}
	}
	likely := c.likely("answers", asked, moved, epsilon)
	share := svt.ThresholdShare(answers, false)
	l.let("asked", len(asked))
	l.let("questions", len(values))
	l.let("above", total(above))

	l.stepOver("question", "stream", vector("value", values))
	l.step("divide", scalar("epsilon1", epsilon*share), scalar("epsilon2", epsilon*(1-share)), scalar("answers c", answers),
		scalar("scale of the threshold noise", c.Law.ThresholdNoise.Scale), scalar("scale of the question noise", c.Law.QueryNoise.Scale))
	l.step("threshold", scalar("threshold", threshold), scalar("noise", c.Rho), scalar("noisy threshold", int64(threshold)+c.Rho))
	l.stepOver("question", "compare", vector("value", asked), vector("noise", c.Nu), vector("sum", sums), vector("above", above))
	l.step("likely", likely...)
	l.stepOver("row", "free", freeAnswers(c.Law)...)
	l.release()
	l.cost(claim("epsilon", l.pure(m.Event())), scalar("questions that could be asked", len(values)),
		claim("epsilon if each were paid", l.pure(accountant.Repeated{Event: m.Event(), Count: int64(len(values))})))
	sparseMistakes(l, epsilon, share)
}

func freeAnswers(law svt.Law) []Number {
	law.Threshold = 0
	columns := []Number{{Name: "questions"}, {Name: "P[all below]"}, {Name: "P'[all below]"}, {Name: "loss"}}
	for _, k := range []int{1, 3, 10, 30, 100} {
		p, q := allBelow(law, -10, k), allBelow(law, -9, k)
		addRow(columns, float64(k), p, q, math.Log(p/q))
	}
	return columns
}

func allBelow(law svt.Law, value float64, k int) float64 {
	_, p, err := law.FirstAbove(slices.Repeat([]float64{value}, k))
	return valid(p, err)
}

// Broken is an incorrect sparse vector mechanism. For the inputs Here and There, the privacy loss exceeds the
// epsilon Claimed.
type Broken struct {
	Law         svt.Law
	Here, There []float64
	Claimed     float64
}

// BrokenVariants returns incorrect sparse vector mechanisms by name (Lyu, Su, Li 2017, section 3). The
// threshold noise in the variant "threshold-only" has the Laplace scale `scale`.
func BrokenVariants(scale float64) map[string]Broken {
	laplace := func(scale float64) svt.Noise { return svt.Noise{Kind: svt.Laplace, Scale: scale} }
	return map[string]Broken{
		"threshold-only": {svt.Law{ThresholdNoise: laplace(scale)}, []float64{0, 1}, []float64{1, 0}, 1},
		"fixed-scale": {svt.Law{ThresholdNoise: laplace(4), QueryNoise: laplace(4.0 / 3), Stop: 4},
			[]float64{0, 0, 0, 0, 1, 1, 1, 1}, []float64{1, 1, 1, 1, 0, 0, 0, 0}, 1},
		"endless": {svt.Law{ThresholdNoise: laplace(2), QueryNoise: laplace(2)},
			[]float64{0, 0, 0, 0, 0, 0, 0, 0}, []float64{1, 1, 1, 1, -1, -1, -1, -1}, 1},
		"inverted": {svt.Law{ThresholdNoise: laplace(0.5), QueryNoise: laplace(1), Stop: 1}, []float64{0, 0, 0, 1}, []float64{1, 1, 1, 0}, 0.25},
	}
}

func sparseMistakes(l *lesson, epsilon, share float64) {
	broken := BrokenVariants(1 / (epsilon * share))
	loss := func(name string) float64 { return largestLoss(broken[name].Law, broken[name].Here, broken[name].There) }
	bare := broken["threshold-only"]
	l.mistake("threshold-only", scalar("P[below, above]", probability(bare.Law, bare.Here, []bool{false, true})), scalar("P'[below, above]", 0))
	l.mistake("fixed-scale", claim("epsilon claimed", 1), claim("loss found", loss("fixed-scale")), claim("epsilon, proved", (1+6*4)/4.0))
	l.mistake("endless", claim("epsilon claimed", 1), claim("loss found, eight questions", loss("endless")))
	l.mistake("inverted", claim("epsilon claimed", 0.25), claim("loss found, four questions", loss("inverted")))
}
