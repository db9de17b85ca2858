package learn

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
)

func moments() Mechanism {
	return Mechanism{
		Name:  "moments",
		Short: "Noisy steps on random samples: the moments accountant",
		Long: `What thousands of Gaussian releases on random samples cost, as in DP-SGD: the
moments of the loss are known for one step and add up over steps (Abadi et al.
2016), which beats composition theorems that see one (epsilon, delta) at a time.
The trace computes the moments, chooses the best, and compares the accountants.
The misconceptions it ends: that epsilon grows like the number of steps, and that
clipping is what makes it small.`,
		Inputs: []Input{
			{"probability", "0.01", "of a record to be in the sample of a step"},
			{"noise", "4", "standard deviation over the clip norm"},
			{"steps", "10000", "of training"},
		},
		trace: traceMoments,
	}
}

func traceMoments(r run) (Trace, error) {
	q, err := r.positive("probability")
	if err != nil {
		return Trace{}, err
	}
	noise, err := r.positive("noise")
	if err != nil {
		return Trace{}, err
	}
	steps, err := r.whole("steps")
	if err != nil {
		return Trace{}, err
	}
	if steps > maxTosses {
		return Trace{}, fmt.Errorf("%w: steps: at most 2^20, not %d", ErrInput, steps)
	}
	step := accountant.PoissonSampled{Probability: q, Event: accountant.Gaussian{NoiseMultiplier: noise}}
	if err := step.Validate(); err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	unsampled, err := accountant.GaussianEpsilon(noise, r.delta)
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	lambdas := []float64{1, 2, 4, 8, 16, 32}
	one, err := divergences(step, lambdas)
	if err != nil {
		return Trace{}, err
	}
	moment, total, answer := make([]float64, len(lambdas)), make([]float64, len(lambdas)), make([]float64, len(lambdas))
	for i, lambda := range lambdas {
		moment[i] = lambda * one[i]
		total[i] = float64(steps) * moment[i]
		answer[i] = (total[i] + math.Log(1/r.delta)) / lambda
		if math.IsInf(total[i], 0) {
			return Trace{}, fmt.Errorf("%w: so little noise on so many steps has no finite moments", ErrInput)
		}
	}
	all, err := momentsOf(step, steps, r.delta)
	if err != nil {
		return Trace{}, err
	}
	s := r.key.Derive("samples").Stream()
	in := 0
	for range steps {
		if float64(s.Uint64()>>11)*0x1p-53 < q {
			in++
		}
	}
	t := Trace{Title: "The moments accountant: many noisy steps on random samples"}
	t.Steps = []Step{
		{
			Name: "Take one step without sampling",
			Words: "A record moves the sum of clipped gradients by at most the clip norm; Gaussian noise of so many clip norms is added. One such release " +
				"alone, exactly (Balle, Wang 2018):",
			Numbers: []Number{scalar("noise", noise), scalar("delta", r.delta), claim("epsilon of one release", unsampled)},
		},
		{
			Name: "Sample",
			Words: fmt.Sprintf("Every record tosses its own coin at every step. In this run our record was in %d of %d samples; nobody is told in which, and "+
				"that is what makes a step cheap.", in, steps),
			Numbers: []Number{scalar("probability", q), scalar("samples expected", q*float64(steps)), scalar("samples in this run", in)},
		},
		{
			Name: "Compute the moments of the loss of one step",
			Words: "The loss l of a step is random, through the noise and the coin. Its moment generating function says more than any one epsilon: alpha(lambda) " +
				"bounds ln E exp(lambda l). It is lambda times the Rényi divergence of order lambda + 1. While lambda is small, " +
				"a check by hand: it is about lambda (lambda + 1) q^2 (e^(1/noise^2) - 1)/2.",
			Formula: &Formula{"alpha(lambda) = ln E[exp(lambda l)]", `\alpha(\lambda) = \ln \mathbb{E}[e^{\lambda \ell}]`},
			Numbers: []Number{vector("lambda", lambdas), vector("alpha", moment)}, Index: "row",
		},
		{
			Name: "Add up the steps, and choose lambda",
			Words: "Moments of this kind add up over steps, also where a step depends on those before: alpha times the number of steps. By Markov's inequality the total exceeds epsilon with probability " +
				"at most exp(steps alpha(lambda) - lambda epsilon); set that to delta and solve for epsilon. Every lambda gives a true answer, so take " +
				"the least.",
			Formula: &Formula{"epsilon = (steps alpha(lambda) + ln(1/delta)) / lambda",
				`\varepsilon = \frac{T \alpha(\lambda) + \ln(1/\delta)}{\lambda}`},
			Numbers: []Number{vector("lambda", lambdas), vector("steps x alpha", total), vector("epsilon", answer),
				scalar("best lambda, of 1 to 32", all.lambda), claim("epsilon, moments accountant", all.moments)}, Index: "row",
		},
		{
			Name: "Compare the accountants",
			Words: "Strong composition is what the moments accountant was compared with when it was published; two of its steps are not valid, so it is an estimate. " +
				"Basic adds up. Rényi is the same account with every real order and a better tail bound; the loss distribution is the tightest known.",
			Numbers: []Number{scalar("strong composition, an estimate", all.strong), claim("basic composition", all.basic),
				claim("moments accountant", all.moments), claim("Rényi accountant", all.renyi), claim("loss distribution", all.pld)},
		},
	}
	longer := Step{
		Name: "Train four times as long",
		Words: "While the moments are those of a small q, epsilon grows like the square root of the number of steps: four times the steps, about twice the " +
			"epsilon.",
		Numbers: []Number{{Name: "steps"}, {Name: "moments", claim: true}, {Name: "Rényi", claim: true}}, Index: "row",
	}
	for _, n := range []int{steps, 4 * steps, 16 * steps} {
		a, err := renyiAndMoments(step, n, r.delta)
		if err != nil {
			return Trace{}, err
		}
		for i, x := range []float64{float64(n), a.moments, a.renyi} {
			longer.Numbers[i].Values = append(longer.Numbers[i].Values, x)
		}
	}
	t.Steps = append(t.Steps, longer)
	t.Released = Section{Words: "All models on the way, and the sum of gradients with its noise at every step: stopping early, or looking at the way, costs nothing more. " +
		"Not the samples: who was in them is what the account relies on."}
	t.Cost = Section{
		Words: "For records added or removed, with samples drawn as above. The Rényi accountant is what this program charges.",
		Numbers: []Number{scalar("steps", steps), scalar("delta", r.delta), claim("epsilon, moments accountant", all.moments),
			claim("epsilon, Rényi accountant", all.renyi)},
	}
	t.Mistakes, err = momentsMistakes(r, step, steps, all)
	return t, err
}

// divergences are those of one step at the orders lambda + 1.
func divergences(step accountant.Event, lambdas []float64) ([]float64, error) {
	account, err := accountant.NewRDP(accountant.Config{Relation: accountant.AddRemove})
	if err != nil {
		return nil, err
	}
	if err := account.Compose(step, 1); err != nil {
		return nil, err
	}
	orders := make([]float64, len(lambdas))
	for i, lambda := range lambdas {
		orders[i] = lambda + 1
	}
	divergence, _, err := account.RDP(orders)
	return divergence, err
}

// accounts are what the accountants make of the same steps.
type accounts struct{ lambda, moments, renyi, strong, basic, pld float64 }

func renyiAndMoments(step accountant.Event, steps int, delta float64) (a accounts, err error) {
	all := accountant.Repeated{Event: step, Count: int64(steps)}
	rdp, err := accountant.NewRDP(accountant.Config{Relation: accountant.AddRemove})
	if err != nil {
		return a, err
	}
	if a.renyi, err = epsilonBy(rdp, delta, all); err != nil {
		return a, err
	}
	published, err := theorems.NewMoments(accountant.AddRemove)
	if err != nil {
		return a, err
	}
	if err = published.Compose(all, 1); err != nil {
		return a, err
	}
	b, err := published.Epsilon(delta)
	a.moments, a.lambda = b.Upper, b.Order-1
	return a, err
}

func momentsOf(step accountant.Event, steps int, delta float64) (accounts, error) {
	a, err := renyiAndMoments(step, steps, delta)
	if err != nil {
		return a, err
	}
	all := accountant.Repeated{Event: step, Count: int64(steps)}
	strong, err := theorems.NewStrongComposition(accountant.AddRemove)
	if err != nil {
		return a, err
	}
	if err = strong.Compose(all, 1); err != nil {
		return a, err
	}
	estimate, err := strong.Estimate(delta)
	if err != nil {
		return a, err
	}
	a.strong = estimate.Epsilon
	basic, err := theorems.NewBasic(accountant.AddRemove)
	if err != nil {
		return a, err
	}
	if a.basic, err = epsilonBy(basic, delta, all); err != nil {
		return a, err
	}
	pld, err := accountant.NewPLD(accountant.PLDConfig{Relation: accountant.AddRemove})
	if err != nil {
		return a, err
	}
	a.pld, err = epsilonBy(pld, delta, all)
	return a, err
}

func momentsMistakes(r run, step accountant.PoissonSampled, steps int, all accounts) ([]Mistake, error) {
	four, err := renyiAndMoments(step, 4*steps, r.delta)
	if err != nil {
		return nil, err
	}
	near, err := divergences(step, []float64{1e-3})
	if err != nil {
		return nil, err
	}
	amplified, err := pure(accountant.PoissonSampled{Probability: 0.01, Event: accountant.PureDP{Epsilon: 1}})
	if err != nil {
		return nil, err
	}
	return []Mistake{
		{
			If: "the moment were the logarithm of the mean loss",
			Words: "Slides print ln E[l] where ln E[exp(lambda l)] is meant. The mean of the total loss is a number without a tail: the total exceeds it about half " +
				"of the time, which is no delta.",
			Numbers: []Number{claim("mean of the total loss, at most", float64(steps)*near[0]), claim("epsilon spent", all.renyi)},
		},
		{
			If:    "epsilon were thought to grow like the number of steps",
			Words: "It grows like its square root: who multiplies gives up long before the budget does.",
			Numbers: []Number{claim("epsilon of four times the steps, added up", 4*all.renyi),
				claim("epsilon of four times the steps", four.renyi)},
		},
		{
			If: "the gain were put down to clipping",
			Words: "Clipping makes the sensitivity finite, and both accounts above have it. The gain over strong composition is the accountant's alone: same noise, same " +
				"samples, same clip.",
			Numbers: []Number{scalar("strong composition, an estimate", all.strong), claim("moments accountant", all.moments)},
		},
		{
			If: "the published recipe were taken for the last word",
			Words: "Whole moments up to 32 and Markov's inequality are valid and loose: every real order and the improved conversion (Canonne, Kamath, Steinke 2020) " +
				"claim less for the same run.",
			Numbers: []Number{claim("epsilon, published recipe", all.moments), claim("epsilon, Rényi accountant", all.renyi)},
		},
		{
			If: "sampling were thought to multiply epsilon by q, or by 4 q",
			Words: "A sample of probability q turns epsilon into ln(1 + q (e^epsilon - 1)). Notes print 2 q (e^epsilon - e^-epsilon), true and loose; q epsilon is not " +
				"even true. Below for epsilon 1 and q 0.01.",
			Numbers: []Number{claim("q epsilon", 0.01), claim("epsilon spent", amplified), claim("as printed", 0.02*2*math.Sinh(1))},
		},
	}, nil
}
