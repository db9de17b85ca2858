package learn

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
)

func composition() Mechanism {
	return Mechanism{
		Name:  "composition",
		Short: "Many private answers: add up, or let the losses cancel",
		Long: `What many private answers cost together, of which nothing is known but the epsilon
of each: the sum (basic composition), a bound on the sum of random losses
(advanced, Dwork, Roth 2014, Kairouz, Oh, Viswanath 2015), and the exact answer
(optimal). The trace tosses the losses of the worst mechanism there is,
randomised response. The misconceptions it ends: that losses average to zero, and
a drift printed without its factor epsilon.`,
		Inputs: []Input{
			{"epsilon", "0.1", "of one answer, without delta"},
			{"runs", "100", "answers"},
		},
		trace: traceComposition,
	}
}

// maxTosses bounds what a trace draws one by one.
const maxTosses = 1 << 20

func traceComposition(r run) (Trace, error) {
	epsilon, err := r.positive("epsilon")
	if err != nil {
		return Trace{}, err
	}
	runs, err := r.whole("runs")
	if err != nil {
		return Trace{}, err
	}
	if runs > maxTosses || epsilon > 100 {
		return Trace{}, fmt.Errorf("%w: at most 2^20 runs of epsilon 100 at most, not %d of %v", ErrInput, runs, epsilon)
	}
	here, err := composed(epsilon, runs, r.delta)
	if err != nil {
		return Trace{}, err
	}
	losses, total, ups := tosses(r, epsilon, runs)
	k := float64(runs)
	drift, spread := k*epsilon*math.Tanh(epsilon/2), epsilon*math.Sqrt(2*k*math.Log(1/r.delta))
	t := Trace{Title: "Composition: what many private answers cost together"}
	t.Steps = []Step{
		{
			Name: "Take the worst mechanism with this epsilon",
			Words: "Randomised response tells one bit truly with probability e^epsilon/(1+e^epsilon). Its loss, the logarithm of the ratio of " +
				"probabilities with and without the record, is +epsilon when it tells the truth and -epsilon when it lies. Whatever else is " +
				"epsilon-private is randomised response with something computed from its answer: no mechanism composes worse.",
			Formula: &Formula{"P[loss = epsilon] = e^epsilon/(1+e^epsilon);  P[loss = -epsilon] = 1/(1+e^epsilon)",
				`P[\ell = \varepsilon] = \frac{e^\varepsilon}{1+e^\varepsilon},\quad P[\ell = -\varepsilon] = \frac{1}{1+e^\varepsilon}`},
			Numbers: []Number{scalar("epsilon", epsilon), scalar("P[truth]", 1/(1+math.Exp(-epsilon)))},
		},
		{
			Name:    "Run it, and add up the losses",
			Words:   fmt.Sprintf("The first %d losses of this run, and the sum so far. Of %d answers %d were true.", len(losses), runs, ups),
			Formula: &Formula{"total = (truths - lies) x epsilon", `L = (\#\text{truths} - \#\text{lies})\, \varepsilon`},
			Numbers: []Number{vector("loss", losses), vector("sum", sums(losses)), scalar("total of all", total)}, Index: "answer",
		},
		{
			Name:    "Add up the worst cases: basic composition",
			Words:   "No total can exceed runs times epsilon. It is the right answer without delta, and for few answers.",
			Formula: &Formula{"epsilon_basic = k epsilon", `\varepsilon_{\text{basic}} = k \varepsilon`},
			Numbers: []Number{claim("basic", here.basic)},
		},
		{
			Name: "Let them cancel: advanced composition",
			Words: "All answers true is very unlikely. The total is near its mean, the drift, which is not zero: truths are likelier than lies. It exceeds the " +
				"drift by more than the spread with probability below delta (Hoeffding). The accountant takes the best form known.",
			Formula: &Formula{"drift = k epsilon (e^epsilon - 1)/(e^epsilon + 1);  spread = epsilon sqrt(2 k ln(1/delta));  epsilon_advanced = drift + spread",
				`\varepsilon_{\text{adv}} = k \varepsilon\, \frac{e^\varepsilon - 1}{e^\varepsilon + 1} + \varepsilon \sqrt{2 k \ln(1/\delta)}`},
			Numbers: []Number{scalar("drift", drift), scalar("spread", spread), scalar("drift + spread", drift+spread),
				claim("advanced, Dwork and Roth 2014", here.dworkRoth), claim("advanced, best form", here.advanced)},
		},
		{
			Name: "Count exactly: optimal composition",
			Words: "The number of truths is binomial, so delta at every epsilon is a sum that can be evaluated. No smaller epsilon holds for all mechanisms of " +
				"which only this is known.",
			Formula: &Formula{"delta(e) = E[(1 - exp(e - total))+]", `\delta(e) = \mathbb{E}\bigl[(1 - e^{e - L})_+\bigr]`},
			Numbers: []Number{claim("optimal", here.optimal)},
		},
	}
	compare, err := compareCompositions(r, epsilon)
	if err != nil {
		return Trace{}, err
	}
	t.Steps = append(t.Steps, compare)
	t.Released = Section{Words: fmt.Sprintf("All %d answers. The order, and which mechanism came when, may depend on the answers before; their number and epsilons are fixed in advance.", runs)}
	t.Cost = Section{
		Words: "The least of these is what may be claimed. A mechanism of which more is known costs less: for Gaussian noise see moments.",
		Numbers: []Number{scalar("runs", runs), scalar("delta", r.delta), claim("epsilon, basic", here.basic),
			claim("epsilon, advanced", here.advanced), claim("epsilon, optimal", here.optimal)},
	}
	t.Mistakes, err = compositionMistakes(here)
	return t, err
}

// tosses are the first losses of the runs, their total, and how many were truths.
func tosses(r run, epsilon float64, runs int) (losses []float64, total float64, truths int) {
	s := r.key.Derive("responses").Stream()
	for i := range runs {
		loss := -epsilon
		if float64(s.Uint64()>>11)*0x1p-53 < 1/(1+math.Exp(-epsilon)) {
			loss = epsilon
			truths++
		}
		if i < 10 {
			losses = append(losses, loss)
		}
	}
	return losses, float64(2*truths-runs) * epsilon, truths
}

func sums(xs []float64) []float64 {
	out, sum := make([]float64, len(xs)), 0.0
	for i, x := range xs {
		sum += x
		out[i] = sum
	}
	return out
}

// totals are the answers of the accountants of composition theorems.
type totals struct{ basic, dworkRoth, advanced, optimal float64 }

func composed(epsilon float64, runs int, delta float64) (t totals, err error) {
	event := accountant.Repeated{Event: accountant.PureDP{Epsilon: epsilon}, Count: int64(runs)}
	const rel = accountant.AddRemove
	for _, a := range []struct {
		to *float64
		by func() (accountant.Accountant, error)
	}{
		{&t.basic, func() (accountant.Accountant, error) { return theorems.NewBasic(rel) }},
		{&t.dworkRoth, func() (accountant.Accountant, error) { return theorems.NewAdvanced(rel, theorems.DworkRoth) }},
		{&t.advanced, func() (accountant.Accountant, error) { return theorems.NewAdvanced(rel, theorems.BestTheorem) }},
		{&t.optimal, func() (accountant.Accountant, error) { return theorems.NewOptimal(rel) }},
	} {
		account, err := a.by()
		if err != nil {
			return totals{}, err
		}
		if *a.to, err = epsilonBy(account, delta, event); err != nil {
			return totals{}, err
		}
	}
	return t, nil
}

func compareCompositions(r run, epsilon float64) (Step, error) {
	counts := []int{1, 10, 100, 1000, 10000}
	columns := []Number{{Name: "answers"}, {Name: "basic", claim: true}, {Name: "advanced", claim: true}, {Name: "optimal", claim: true}}
	for _, k := range counts {
		t, err := composed(epsilon, k, r.delta)
		if err != nil {
			return Step{}, err
		}
		for i, x := range []float64{float64(k), t.basic, t.advanced, t.optimal} {
			columns[i].Values = append(columns[i].Values, x)
		}
	}
	return Step{
		Name:    "See when cancelling helps",
		Words:   "Basic grows like k, the others like sqrt(k) until the drift, which grows like k, overtakes: when k epsilon^2 reaches about 8 ln(1/delta).",
		Numbers: columns, Index: "row",
	}, nil
}

// misprintedDrift is advanced composition as lecture notes print it: the drift lacks
// a factor epsilon.
func misprintedDrift(epsilon, k, delta float64) float64 {
	return k*math.Tanh(epsilon/2) + epsilon*math.Sqrt(2*k*math.Log(1/delta))
}

// noDrift is what "the loss has mean 0" leads to.
func noDrift(epsilon, k, delta float64) float64 { return epsilon * math.Sqrt(2*k*math.Log(1/delta)) }

func compositionMistakes(here totals) ([]Mistake, error) {
	missing, err := composed(2, 200, 0.01)
	if err != nil {
		return nil, err
	}
	centred, err := composed(0.5, 1000, 1e-3)
	if err != nil {
		return nil, err
	}
	return []Mistake{
		{
			If: "the drift were written without its factor epsilon",
			Words: "Lecture notes print k (e^epsilon - 1)/(e^epsilon + 1) + epsilon sqrt(2 k ln(1/delta)). Below epsilon 1 that is too much, above it too little: " +
				"take 200 answers of epsilon 2 at delta 0.01. The optimal value is exact, so nothing below it is true.",
			Numbers: []Number{claim("epsilon claimed, as printed", misprintedDrift(2, 200, 0.01)), claim("epsilon spent", missing.optimal)},
		},
		{
			If: "the losses were thought to average to zero",
			Words: "Then epsilon sqrt(2 k ln(1/delta)) would do. Their mean is epsilon tanh(epsilon/2), about epsilon^2/2, and adds up: take 1000 answers of " +
				"epsilon 0.5 at delta 0.001.",
			Numbers: []Number{claim("epsilon claimed, without drift", noDrift(0.5, 1000, 1e-3)), claim("epsilon spent", centred.optimal)},
		},
		{
			If: "delta were set to 0 in the advanced formula",
			Words: "Some notes state it for delta >= 0. The spread contains ln(1/delta), which is infinite at 0; with no delta to give, only the sum of the worst " +
				"cases is true.",
			Numbers: []Number{claim("epsilon without delta", here.basic)},
		},
	}, nil
}
