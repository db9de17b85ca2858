package learn

import (
	"context"
	"math"
	"slices"

	"github.com/pate-go/pate/svt"
)

func traceStableSVT(l *lesson) {
	distances := l.integers("distances")
	epsilon, failures, refusal := l.positive("epsilon"), l.whole("failures"), l.positive("refusal")
	if d := slices.Min(distances); d < 0 {
		refuse("distances: %d is negative", d)
	}
	cfg := valid(svt.CalibrateStableSVT(epsilon, l.delta, failures, refusal))
	m := valid(svt.NewStableSVT(cfg))
	negated := make([]int64, len(distances)) // the query value is -distance
	for i, d := range distances {
		negated[i] = -d
	}
	c := compare(l.key, m.Law(), negated)
	asked := distances[:len(c.Above)]
	moved, left, released, refuses := make([]int64, len(asked)), make([]int64, len(asked)), make([]int, len(asked)), make([]float64, len(asked))
	for i, d := range asked {
		left[i], refuses[i] = d-c.Nu[i], math.Exp(second(m.LawAt(d)))
		moved[i] = -d - 1 // farther from instability, so refusals are less likely
		if !c.Above[i] {
			released[i], moved[i] = 1, min(0, -d+1)
		}
	}
	likely := c.likely("outcomes", negated, moved, epsilon)
	need := valid(svt.DistanceFor(m, 1-refusal))
	l.let("asked", len(asked))
	l.let("questions", len(distances))
	l.let("released", total(released))
	l.let("refused", len(asked)-total(released))

	l.stepOver("question", "distance", vector("distance", distances))
	l.step("calibrate", scalar("b1", cfg.B1), scalar("b2", cfg.B2), scalar("threshold w", cfg.Threshold), scalar("1/b1", 1/cfg.B1),
		scalar("2Q/b2", 2*float64(failures)/cfg.B2), scalar("least distance", need))
	l.step("threshold", scalar("threshold w", cfg.Threshold), scalar("noise rho", c.Rho), scalar("w - rho", cfg.Threshold-c.Rho))
	l.stepOver("question", "compare", vector("distance", asked), vector("noise", c.Nu), vector("left", left), vector("released", released),
		vector("P[refused]", refuses))
	l.step("likely", likely...)
	l.release()
	l.cost(scalar("delta", l.delta), claim("epsilon by the formula", epsilon), claim("epsilon by the accountant", l.epsilon(m.Event())))
	stableSVTMistakes(l, m, cfg, epsilon)
}

func stableSVTMistakes(l *lesson, m *svt.StableSVT, cfg svt.StableSVTConfig, epsilon float64) {
	longer := cfg
	longer.Failures++
	one := valid(svt.NewStableSVT(longer))
	below, above := slices.Repeat([]float64{0}, 30), slices.Repeat([]float64{1}, 30)
	below[29], above[29] = 1, 0
	same := svt.Noise{Kind: svt.Laplace, Scale: 2}
	narrow := largestLoss(svt.Law{ThresholdNoise: same, QueryNoise: same, Stop: 1}, below, above)
	const questions = 1000
	few, many := Must(svt.DistanceFor(m, 0.95)), Must(svt.DistanceFor(m, max(0.95, 1-float64(cfg.Failures)/(2*questions))))
	l.mistake("loop", claim("epsilon claimed", epsilon), claim("epsilon spent", l.epsilon(one.Event())))
	l.mistake("printed", distancesNeeded(1, l.delta, 1000, 20)...)
	l.mistake("same-scale", claim("epsilon claimed", 1), claim("loss found", narrow), claim("epsilon, proved", 1.5))
	l.mistake("refused", scalar("distance released with probability 0.95", few), scalar("distance for 1000 questions", many))
}

func distancesNeeded(epsilon, delta float64, questions, failures int) []Number {
	delta = max(delta, 1e-15)
	printed := Must(svt.PrintedMSvec(epsilon, min(delta, 0.25), questions, failures))
	tight := Must(svt.CalibrateMSvec(context.Background(), epsilon, min(delta, 0.25), failures))
	oneSided := Must(svt.CalibrateStableSVT(epsilon, delta, failures, 0.05))
	need := func(name string, m svt.StableMechanism) Number { return scalar(name, Must(svt.DistanceFor(m, 0.95))) }
	return []Number{
		need("M_svec, as printed", Must(svt.NewMSvec(printed))),
		need("M_svec, calibrated by the accountant", Must(svt.NewMSvec(tight))),
		need("stable sparse vector", Must(svt.NewStableSVT(oneSided))),
	}
}
