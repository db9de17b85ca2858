package learn

import (
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
)

func composition() Mechanism {
	return mechanism("composition", traceComposition,
		Input{"epsilon", "0.1", "of one answer, without delta"},
		Input{"runs", "100", "answers"},
	)
}

// maxTosses bounds what a trace draws one by one.
const maxTosses = 1 << 20

func traceComposition(l *lesson) error {
	epsilon, runs := l.positive("epsilon"), l.whole("runs")
	if l.err != nil {
		return l.err
	}
	if runs > maxTosses || epsilon > 100 {
		return invalid("at most 2^20 runs of epsilon 100 at most, not %d of %v", runs, epsilon)
	}
	here, err := composed(epsilon, runs, l.delta)
	if err != nil {
		return err
	}
	losses, total, truths := l.tosses(epsilon, runs)
	k := float64(runs)
	drift, spread := k*epsilon*math.Tanh(epsilon/2), epsilon*math.Sqrt(2*k*math.Log(1/l.delta))
	l.let("shown", len(losses))
	l.let("truths", truths)

	l.step("response", scalar("epsilon", epsilon), scalar("P[truth]", 1/(1+math.Exp(-epsilon))))
	l.stepOver("answer", "losses", vector("loss", losses), vector("sum", sums(losses)), scalar("total of all", total))
	l.step("basic", claim("basic", here.basic))
	l.step("advanced", scalar("drift", drift), scalar("spread", spread), scalar("drift + spread", drift+spread),
		claim("advanced, Dwork and Roth 2014", here.dworkRoth), claim("advanced, best form", here.advanced))
	l.step("optimal", claim("optimal", here.optimal))
	columns := []Number{{Name: "answers"}, {Name: "basic", claim: true}, {Name: "advanced", claim: true}, {Name: "optimal", claim: true}}
	for _, k := range []int{1, 10, 100, 1000, 10000} {
		t, err := composed(epsilon, k, l.delta)
		if err != nil {
			return err
		}
		addRow(columns, float64(k), t.basic, t.advanced, t.optimal)
	}
	l.stepOver("row", "counts", columns...)
	l.release()
	l.cost(scalar("runs", runs), scalar("delta", l.delta), claim("epsilon, basic", here.basic),
		claim("epsilon, advanced", here.advanced), claim("epsilon, optimal", here.optimal))
	return compositionMistakes(l, here)
}

// tosses returns the first losses of the runs, their total, and how many were truths.
func (l *lesson) tosses(epsilon float64, runs int) (losses []float64, total float64, truths int) {
	s := l.key.Derive("responses").Stream()
	for i := range runs {
		loss := -epsilon
		if uniform(s) < 1/(1+math.Exp(-epsilon)) {
			loss = epsilon
			truths++
		}
		if i < 10 {
			losses = append(losses, loss)
		}
	}
	return losses, float64(2*truths-runs) * epsilon, truths
}

// sums returns the sums of the first one, two, three of xs, and so on.
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

// misprintedDrift returns advanced composition as lecture notes print it: the drift lacks
// a factor epsilon.
func misprintedDrift(epsilon, k, delta float64) float64 {
	return k*math.Tanh(epsilon/2) + noDrift(epsilon, k, delta)
}

// noDrift returns what "the loss has mean 0" leads to.
func noDrift(epsilon, k, delta float64) float64 { return epsilon * math.Sqrt(2*k*math.Log(1/delta)) }

func compositionMistakes(l *lesson, here totals) error {
	missing, err := composed(2, 200, 0.01)
	if err != nil {
		return err
	}
	centred, err := composed(0.5, 1000, 1e-3)
	if err != nil {
		return err
	}
	l.mistake("drift", claim("epsilon claimed, as printed", misprintedDrift(2, 200, 0.01)), claim("epsilon spent", missing.optimal))
	l.mistake("mean-zero", claim("epsilon claimed, without drift", noDrift(0.5, 1000, 1e-3)), claim("epsilon spent", centred.optimal))
	l.mistake("no-delta", claim("epsilon without delta", here.basic))
	return nil
}
