package learn

import (
	"context"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
)

func traceMoments(l *lesson) {
	q, noise, steps := l.positive("probability"), l.positive("noise"), l.whole("steps")
	if steps > maxTosses {
		refuse("steps: at most 2^20, not %d", steps)
	}
	step := accountant.PoissonSampled{Probability: q, Event: accountant.Gaussian{NoiseMultiplier: noise}}
	valid(0, accountant.Validate(step))
	unsampled := valid(accountant.GaussianEpsilon(noise, l.delta))
	lambdas := []float64{1, 2, 4, 8, 16, 32}
	one := divergences(step, lambdas)
	moment, total, answer := make([]float64, len(lambdas)), make([]float64, len(lambdas)), make([]float64, len(lambdas))
	for i, lambda := range lambdas {
		moment[i] = lambda * one[i]
		total[i] = float64(steps) * moment[i]
		answer[i] = (total[i] + math.Log(1/l.delta)) / lambda
		if math.IsInf(total[i], 0) {
			refuse("so little noise on so many steps has no finite moments")
		}
	}
	all := momentsOf(step, steps, l.delta)
	s := l.key.Derive("samples").Stream()
	samples := 0
	for range steps {
		if uniform(s) < q {
			samples++
		}
	}
	l.let("samples", samples)

	l.step("unsampled", scalar("noise", noise), scalar("delta", l.delta), claim("epsilon of one release", unsampled))
	l.step("sample", scalar("probability", q), scalar("samples expected", q*float64(steps)), scalar("samples in this run", samples))
	l.stepOver("row", "moments", vector("lambda", lambdas), vector("alpha", moment))
	l.stepOver("row", "lambda", vector("lambda", lambdas), vector("steps x alpha", total), vector("epsilon", answer),
		scalar("best lambda, of 1 to 32", all.lambda), claim("epsilon, moments accountant", all.moments))
	l.step("accountants", scalar("strong composition, an estimate", all.strong), claim("basic composition", all.basic),
		claim("moments accountant", all.moments), claim("Rényi accountant", all.renyi), claim("privacy loss distribution", all.pld))
	longer := []Number{{Name: "steps"}, {Name: "moments", claim: true}, {Name: "Rényi", claim: true}}
	for _, n := range []int{steps, 4 * steps, 16 * steps} {
		a := renyiAndMoments(step, n, l.delta)
		addRow(longer, float64(n), a.moments, a.renyi)
	}
	l.stepOver("row", "longer", longer...)
	l.release()
	l.cost(scalar("steps", steps), scalar("delta", l.delta), claim("epsilon, moments accountant", all.moments),
		claim("epsilon, Rényi accountant", all.renyi))

	four, near := renyiAndMoments(step, 4*steps, l.delta), divergences(step, []float64{1e-3})
	amplified := l.pure(accountant.PoissonSampled{Probability: 0.01, Event: accountant.PureDP{Epsilon: 1}})
	l.mistake("mean-loss", claim("mean of the total loss, at most", float64(steps)*near[0]), claim("epsilon spent", all.renyi))
	l.mistake("linear", claim("epsilon of four times the steps, added up", 4*all.renyi), claim("epsilon of four times the steps", four.renyi))
	l.mistake("clipping", scalar("strong composition, an estimate", all.strong), claim("moments accountant", all.moments))
	l.mistake("recipe", claim("epsilon, published recipe", all.moments), claim("epsilon, Rényi accountant", all.renyi))
	l.mistake("sampling", claim("q epsilon", 0.01), claim("epsilon spent", amplified), claim("as printed", 0.02*2*math.Sinh(1)))
}

func divergences(step accountant.Event, lambdas []float64) []float64 {
	account := Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove}))
	Must(0, account.Compose(step, 1))
	orders := make([]float64, len(lambdas))
	for i, lambda := range lambdas {
		orders[i] = lambda + 1
	}
	divergence, _, err := account.RDP(orders)
	return Must(divergence, err)
}

type accounts struct{ lambda, moments, renyi, strong, basic, pld float64 }

func renyiAndMoments(step accountant.Event, steps int, delta float64) accounts {
	all := accountant.Repeated{Event: step, Count: int64(steps)}
	published := Must(theorems.NewMoments(accountant.AddRemove))
	Must(0, published.Compose(all, 1))
	b := Must(published.Epsilon(context.Background(), delta))
	return accounts{renyi: Must(renyiEpsilon(delta, all)), moments: b.Upper, lambda: b.Order - 1}
}

func momentsOf(step accountant.Event, steps int, delta float64) accounts {
	a := renyiAndMoments(step, steps, delta)
	all := accountant.Repeated{Event: step, Count: int64(steps)}
	strong := Must(theorems.NewStrongComposition(accountant.AddRemove))
	Must(0, strong.Compose(all, 1))
	a.strong = Must(strong.Estimate(delta)).Epsilon
	a.basic = epsilonBy(Must(theorems.NewBasic(accountant.AddRemove)), delta, all)
	a.pld = epsilonBy(Must(accountant.NewPLD(accountant.PLDConfig{Relation: accountant.AddRemove})), delta, all)
	return a
}
