package learn

import (
	"context"
	"math"
	"slices"

	"github.com/pate-go/pate/svt"
)

func stableSVT() Mechanism {
	return mechanism("stable-svt", traceStableSVT,
		Input{"distances", "40,3,38,46,0,61,44", "to instability, in votes, of one question each"},
		Input{"epsilon", "2", "of the whole run"},
		Input{"failures", "2", "refusals, after which the run stops"},
		Input{"refusal", "0.05", "probability of refusing an answer that is just stable enough"},
	)
}

func traceStableSVT(l *lesson) error {
	distances := l.integers("distances")
	epsilon, failures, refusal := l.positive("epsilon"), l.whole("failures"), l.positive("refusal")
	if d := slices.Min(distances); d < 0 {
		l.fail(invalid("distances: %d is negative", d))
	}
	if l.err != nil {
		return l.err
	}
	cfg, err := svt.CalibrateStableSVT(epsilon, l.delta, failures, refusal)
	if err != nil {
		return invalid("%w", err)
	}
	m, err := svt.NewStableSVT(cfg)
	if err != nil {
		return invalid("%w", err)
	}
	negated := make([]int64, len(distances)) // a law is about value = -distance
	for i, d := range distances {
		negated[i] = -d
	}
	c, err := compare(l.key, m.Law(), negated)
	if err != nil {
		return err
	}
	asked := distances[:len(c.above)]
	moved, left, released, refuse := make([]int64, len(asked)), make([]int64, len(asked)), make([]int, len(asked)), make([]float64, len(asked))
	for i, d := range asked {
		left[i], refuse[i] = d-c.nu[i], math.Exp(second(m.LawAt(d)))
		moved[i] = -d - 1 // further from instability: refused less often
		if !c.above[i] {
			released[i], moved[i] = 1, min(0, -d+1)
		}
	}
	likely, err := c.likely("outcomes", negated, moved, epsilon)
	if err != nil {
		return err
	}
	need, err := svt.DistanceFor(m, 1-refusal)
	if err != nil {
		return invalid("%w", err)
	}
	l.let("asked", len(asked))
	l.let("questions", len(distances))
	l.let("released", total(released))
	l.let("refused", len(asked)-total(released))

	l.stepOver("question", "distance", vector("distance", distances))
	l.step("calibrate", scalar("b1", cfg.B1), scalar("b2", cfg.B2), scalar("threshold w", cfg.Threshold), scalar("1/b1", 1/cfg.B1),
		scalar("2Q/b2", 2*float64(failures)/cfg.B2), scalar("least distance", need))
	l.step("threshold", scalar("threshold w", cfg.Threshold), scalar("noise rho", c.rho), scalar("w - rho", cfg.Threshold-c.rho))
	l.stepOver("question", "compare", vector("distance", asked), vector("noise", c.nu), vector("left", left), vector("released", released),
		vector("P[refused]", refuse))
	l.step("likely", likely...)
	l.release()
	l.cost(scalar("delta", l.delta), claim("epsilon by the formula", epsilon), claim("epsilon by the accountant", l.epsilon(m.Event())))
	return stableSVTMistakes(l, cfg, epsilon)
}

func stableSVTMistakes(l *lesson, cfg svt.StableSVTConfig, epsilon float64) error {
	longer := cfg
	longer.Failures++
	one, err := svt.NewStableSVT(longer)
	if err != nil {
		return invalid("%w", err)
	}
	calibrated, err := distancesNeeded(1, l.delta, 1000, 20)
	if err != nil {
		return err
	}
	below, above := slices.Repeat([]float64{0}, 30), slices.Repeat([]float64{1}, 30)
	below[29], above[29] = 1, 0
	same := svt.Noise{Kind: svt.Laplace, Scale: 2}
	narrow, err := largestLoss(svt.Law{ThresholdNoise: same, QueryNoise: same, Stop: 1}, below, above)
	if err != nil {
		return err
	}
	m, err := svt.NewStableSVT(cfg)
	if err != nil {
		return err
	}
	const questions = 1000
	few, err := svt.DistanceFor(m, 0.95)
	if err != nil {
		return err
	}
	many, err := svt.DistanceFor(m, max(0.95, 1-float64(cfg.Failures)/(2*questions)))
	if err != nil {
		return err
	}
	l.mistake("loop", claim("epsilon claimed", epsilon), claim("epsilon spent", l.epsilon(one.Event())))
	l.mistake("printed", calibrated...)
	l.mistake("same-scale", claim("epsilon claimed", 1), claim("loss found", narrow), claim("epsilon, proved", 1.5))
	l.mistake("refused", scalar("distance released with probability 0.95", few), scalar("distance for 1000 questions", many))
	return nil
}

// distancesNeeded returns the distances at which three calibrations release answers.
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
