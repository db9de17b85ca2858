package learn

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/svt"
)

func stableSVT() Mechanism {
	return Mechanism{
		Name:  "stable-svt",
		Short: "True winners of many votes; only refusals are paid",
		Long: `Sparse vector turned round: stable answers leave without noise and free of charge,
and only refusals are paid, up to a cap. With noise that is never negative, two
numbers say it all: (1/b1 + 2Q/b2, P[rho > w])-private for any number of
questions. The trace calibrates, draws both noises, and makes every comparison.
The misconceptions it ends: one refusal too many, and the printed calibration.`,
		Inputs: []Input{
			{"distances", "40,3,38,46,0,61,44", "to instability, in votes, of one question each"},
			{"epsilon", "2", "of the whole run"},
			{"failures", "2", "refusals, after which the run stops"},
			{"refusal", "0.05", "probability of refusing an answer that is just stable enough"},
		},
		trace: traceStableSVT,
	}
}

func traceStableSVT(r run) (Trace, error) {
	distances, err := r.integers("distances")
	if err != nil {
		return Trace{}, err
	}
	for _, d := range distances {
		if d < 0 {
			return Trace{}, fmt.Errorf("%w: distances: %d is negative", ErrInput, d)
		}
	}
	epsilon, err := r.positive("epsilon")
	if err != nil {
		return Trace{}, err
	}
	failures, err := r.whole("failures")
	if err != nil {
		return Trace{}, err
	}
	refusal, err := r.positive("refusal")
	if err != nil {
		return Trace{}, err
	}
	cfg, err := svt.CalibrateStableSVT(epsilon, r.delta, failures, refusal)
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	m, err := svt.NewStableSVT(cfg)
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	negated := make([]int64, len(distances)) // a law is about value = -distance
	for i, d := range distances {
		negated[i] = -d
	}
	c, err := r.compare(m.Law(), negated)
	if err != nil {
		return Trace{}, err
	}
	asked := distances[:len(c.above)]
	moved, left, released, refuse := make([]int64, len(distances)), make([]int64, len(asked)), make([]int, len(asked)), make([]float64, len(asked))
	for i, d := range asked {
		left[i], refuse[i] = d-c.nu[i], math.Exp(second(m.LawAt(d)))
		moved[i] = -d - 1 // further from instability: refused less often
		if !c.above[i] {
			released[i], moved[i] = 1, min(0, -d+1)
		}
	}
	p, q, err := c.likely(negated, moved)
	if err != nil {
		return Trace{}, err
	}
	need, err := svt.DistanceFor(m, 1-refusal)
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	t := Trace{Title: "Stable sparse vector: pay for refusals, not for answers"}
	t.Steps = []Step{
		{
			Name: "Measure the distances",
			Words: "Each question has a true winner, and a distance: how many votes must move before it changes (see stability). One record changes every distance " +
				"by at most 1, and where it changes the winner the distance is 0 for both data sets.",
			Numbers: []Number{vector("distance", distances)}, Index: "question",
		},
		{
			Name: "Calibrate",
			Words: fmt.Sprintf("From epsilon, delta and the cap on refusals Q = %d, before any vote is read. b1 is the scale of the noise on the threshold, b2 of the "+
				"noise on each question, w the threshold. The pair that lets answers at the least distance leave with probability 1 - %s is:", failures, short(refusal)),
			Formula: &Formula{"epsilon = 1/b1 + 2Q/b2;  delta = P[rho > w] = e^(-(w+1)/b1)",
				`\varepsilon = \frac{1}{b_1} + \frac{2Q}{b_2},\quad \delta = P[\rho > w] = e^{-(w+1)/b_1}`},
			Numbers: []Number{scalar("b1", cfg.B1), scalar("b2", cfg.B2), scalar("threshold w", cfg.Threshold), scalar("1/b1", 1/cfg.B1),
				scalar("2Q/b2", 2*float64(failures)/cfg.B2), scalar("least distance", need)},
		},
		{
			Name: "Draw the noise of the threshold, once",
			Words: "A whole number that is never negative. It lowers the threshold for the whole run. Should it exceed w, an answer at distance 0 could leave: that is " +
				"delta, paid once for all questions, because the noise of a question can only make it harder.",
			Formula: &Formula{"P[rho = k] proportional to e^(-k/b1), k >= 0", `P[\rho = k] \propto e^{-k/b_1},\ k \ge 0`},
			Numbers: []Number{scalar("threshold w", cfg.Threshold), scalar("noise rho", c.rho), scalar("w - rho", cfg.Threshold-c.rho)},
		},
		{
			Name: "Compare, until the refusals are used up",
			Words: fmt.Sprintf("Each question has noise of its own, never negative too. Answers with 1 are released as they are. The run ended after %d of %d questions, "+
				"with %d refusals of at most %d.", len(asked), len(distances), count(c.above), failures),
			Formula: &Formula{"release if distance - noise > w - rho", `d_i - \nu_i > w - \rho`},
			Numbers: []Number{vector("distance", asked), vector("noise", c.nu), vector("left", left), vector("released", released),
				vector("P[refused]", refuse)}, Index: "question",
		},
		{
			Name: "Ask how likely that was",
			Words: "The probability of exactly these outcomes is known, here and for a neighbour: released answers one closer to instability, refused ones one " +
				"further. Releases are no less likely after rho grows by 1, which costs 1/b1; each refusal costs 2/b2 at most.",
			Formula: &Formula{"loss = ln(P[outcomes] / P'[outcomes])", `\ell = \ln \frac{P[o]}{P'[o]}`},
			Numbers: []Number{scalar("P[outcomes]", p), scalar("P'[outcomes]", q), scalar("loss", math.Log(p/q)), scalar("epsilon", epsilon)},
		},
	}
	t.Released = Section{Words: fmt.Sprintf("The true answers of %d questions, and that %d were refused. Not the distances, and nothing about the questions that were not asked.",
		len(asked)-count(c.above), count(c.above))}
	spent, err := r.epsilon(m.Event())
	if err != nil {
		return Trace{}, err
	}
	t.Cost = Section{
		Words: "For the whole run, whatever number of questions; stable answers are free. Status: the noise that is never negative is known (Liu et al. 2024), that no sum " +
			"over the questions is needed for releases is derived in package svt, checked by enumeration, and not yet reviewed by others.",
		Numbers: []Number{scalar("delta", r.delta), claim("epsilon by the formula", epsilon), claim("epsilon by the accountant", spent)},
	}
	t.Mistakes, err = stableSVTMistakes(r, cfg, epsilon)
	return t, err
}

func stableSVTMistakes(r run, cfg svt.StableSVTConfig, epsilon float64) ([]Mistake, error) {
	longer := cfg
	longer.Failures++
	one, err := svt.NewStableSVT(longer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	spent, err := r.epsilon(one.Event())
	if err != nil {
		return nil, err
	}
	calibrated, err := distancesNeeded(1, r.delta, 1000, 20)
	if err != nil {
		return nil, err
	}
	m, err := svt.NewStableSVT(cfg)
	if err != nil {
		return nil, err
	}
	below, above := slices.Repeat([]float64{0}, 30), slices.Repeat([]float64{1}, 30)
	below[29], above[29] = 1, 0
	same := svt.Noise{Kind: svt.Laplace, Scale: 2}
	narrow, err := largestLoss(svt.Law{ThresholdNoise: same, QueryNoise: same, Stop: 1}, below, above)
	if err != nil {
		return nil, err
	}
	const questions = 1000
	few, err := svt.DistanceFor(m, 0.95)
	if err != nil {
		return nil, err
	}
	many, err := svt.DistanceFor(m, max(0.95, 1-float64(cfg.Failures)/(2*questions)))
	if err != nil {
		return nil, err
	}
	return []Mistake{
		{
			If:      "the loop went on while the count is at most Q",
			Words:   "As it is printed. That is Q + 1 refusals where Q are paid.",
			Numbers: []Number{claim("epsilon claimed", epsilon), claim("epsilon spent", spent)},
		},
		{
			If: "the printed calibration of M_svec were used",
			Words: "The older mechanism has noise on both sides and draws the threshold anew at each refusal. sqrt(32 Q ln(2/delta))/epsilon is safe and ruinous: below Q = 8 " +
				"ln(2/delta) it is more noise than plain addition needs. Distances released with probability 0.95, for epsilon 1, 20 refusals, 1000 questions. " +
				"And it is printed as a product with epsilon: see sparse-vector.",
			Numbers: calibrated,
		},
		{
			If: "the noise of the questions had the scale of that of the threshold",
			Words: "As it is printed for M_svec. A record moves threshold and question apart by 2, so a question needs twice the scale. Scale 2 for both at epsilon 1: " +
				"thirty questions, 0 then 1 for the last, 1 then 0 for the neighbour, of which only the last is above.",
			Numbers: []Number{claim("epsilon claimed", 1), claim("loss found", narrow), claim("epsilon, proved", 1.5)},
		},
		{
			If: "stable answers were thought never to be refused",
			Words: "They are, at the rate chosen, and use up the cap: of 1000 questions at a distance where one in twenty is refused, 50 are. A run that is to answer them all needs a " +
				"rate of Q/2000, and a larger distance. It is a matter of use, not of privacy: refused questions are paid whatever their reason.",
			Numbers: []Number{scalar("distance released with probability 0.95", few), scalar("distance for 1000 questions", many)},
		},
	}, nil
}

// distancesNeeded are the distances at which three calibrations release answers.
func distancesNeeded(epsilon, delta float64, questions, failures int) ([]Number, error) {
	delta = max(delta, 1e-15)
	printed, err := svt.PrintedMSvec(epsilon, min(delta, 0.25), questions, failures)
	if err != nil {
		return nil, err
	}
	tight, err := svt.CalibrateMSvec(context.Background(), epsilon, min(delta, 0.25), failures)
	if err != nil {
		return nil, err
	}
	oneSided, err := svt.CalibrateStableSVT(epsilon, delta, failures, 0.05)
	if err != nil {
		return nil, err
	}
	older, err := svt.NewMSvec(printed)
	if err != nil {
		return nil, err
	}
	better, err := svt.NewMSvec(tight)
	if err != nil {
		return nil, err
	}
	best, err := svt.NewStableSVT(oneSided)
	if err != nil {
		return nil, err
	}
	var out []Number
	for _, m := range []struct {
		name string
		svt.StableMechanism
	}{{"M_svec, as printed", older}, {"M_svec, calibrated by the accountant", better}, {"stable sparse vector", best}} {
		d, err := svt.DistanceFor(m, 0.95)
		if err != nil {
			return nil, err
		}
		out = append(out, scalar(m.name, d))
	}
	return out, nil
}
