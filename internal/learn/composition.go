package learn

import (
	"context"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/theorems"
)

const maxTosses = 1 << 20

func traceComposition(l *lesson) {
	epsilon, runs := l.positive("epsilon"), l.whole("runs")
	if runs > maxTosses || epsilon > 100 {
		refuse("at most 2^20 runs of epsilon 100 at most, not %d of %v", runs, epsilon)
	}
	here := composed(epsilon, runs, l.delta)
	losses, total, truths := l.tosses(epsilon, runs)
	k := float64(runs)
	drift, spread := k*epsilon*math.Tanh(epsilon/2), noDrift(epsilon, k, l.delta)
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
		t := composed(epsilon, k, l.delta)
		addRow(columns, float64(k), t.basic, t.advanced, t.optimal)
	}
	l.stepOver("row", "counts", columns...)
	l.release()
	l.cost(scalar("runs", runs), scalar("delta", l.delta), claim("epsilon, basic", here.basic),
		claim("epsilon, advanced", here.advanced), claim("epsilon, optimal", here.optimal))
	l.mistake("drift", claim("epsilon claimed, as printed", misprintedDrift(2, 200, 0.01)), claim("epsilon spent", composed(2, 200, 0.01).optimal))
	l.mistake("mean-zero", claim("epsilon claimed, without drift", noDrift(0.5, 1000, 1e-3)),
		claim("epsilon spent", composed(0.5, 1000, 1e-3).optimal))
	l.mistake("no-delta", claim("epsilon without delta", here.basic))
}

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

func sums(xs []float64) []float64 {
	out, sum := make([]float64, len(xs)), 0.0
	for i, x := range xs {
		sum += x
		out[i] = sum
	}
	return out
}

type totals struct{ basic, dworkRoth, advanced, optimal float64 }

func composed(epsilon float64, runs int, delta float64) totals {
	event := accountant.Repeated{Event: accountant.PureDP{Epsilon: epsilon}, Count: int64(runs)}
	const rel = accountant.AddRemove
	return totals{
		basic:     epsilonBy(Must(theorems.NewBasic(rel)), delta, event),
		dworkRoth: epsilonBy(Must(theorems.NewAdvanced(rel, theorems.DworkRoth)), delta, event),
		advanced:  epsilonBy(Must(theorems.NewAdvanced(rel, theorems.BestTheorem)), delta, event),
		optimal:   epsilonBy(Must(theorems.NewOptimal(rel)), delta, event),
	}
}

// misprintedDrift returns epsilon by a misprinted form of advanced composition. The misprint has the drift k
// tanh(epsilon/2) instead of k epsilon tanh(epsilon/2).
func misprintedDrift(epsilon, k, delta float64) float64 {
	return k*math.Tanh(epsilon/2) + noDrift(epsilon, k, delta)
}

// noDrift returns epsilon by advanced composition without the drift, which is the expected privacy loss.
func noDrift(epsilon, k, delta float64) float64 { return epsilon * math.Sqrt(2*k*math.Log(1/delta)) }

// Paid reserves e on a new ledger with a huge budget, because mechanisms need a reservation.
func Paid(e accountant.Event, relation accountant.Relation) (*ledger.Reservation, error) {
	budget, err := ledger.New(ledger.Config{
		Unit: "record", Relation: relation, Epsilon: 1e300, Delta: math.Nextafter(1, 0), Orders: []float64{2}, Noise: ledger.SeededNoise,
	})
	if err != nil {
		return nil, err
	}
	return budget.Reserve(e)
}

func epsilonBy(account accountant.Accountant, delta float64, events ...accountant.Event) float64 {
	if err := account.Compose(accountant.Composed{Events: events}, 1); err != nil {
		Must(0, err)
	}
	return Must(account.Epsilon(context.Background(), delta)).Upper
}

func renyiEpsilon(delta float64, events ...accountant.Event) (float64, error) {
	b, err := accountant.Epsilon(context.Background(), accountant.ByRDP, accountant.AddRemove, delta, events...)
	return b.Upper, err
}
