package learn

import (
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/accountant/bayes"
	"github.com/pate-go/pate/internal/opaque"
)

type typicalRun struct {
	shape, scale  float64
	q, noise      float64
	steps, count  int
	delta         float64
	distances     []float64
	lambdas       []int
	clippedShare  float64 // fraction of records at the clip norm, in the distribution
	clippedSample int     // number of drawn distances at the clip norm
}

func (l *lesson) typicalRun() typicalRun {
	r := typicalRun{
		shape: l.positive("shape"), scale: l.positive("scale"), q: l.positive("probability"), noise: l.positive("noise"),
		steps: l.whole("steps"), count: l.whole("sample"), delta: l.positive("delta-mu"), lambdas: []int{1, 2, 4, 8, 16, 32},
	}
	switch {
	case r.count < 2 || r.count > 1000:
		refuse("sample: from 2 to 1000, not %d", r.count)
	case r.steps > maxTosses:
		refuse("steps: at most 2^20, not %d", r.steps)
	case !(r.delta >= 1e-200 && r.delta < 1):
		refuse("delta-mu: from 1e-200 to below 1, not %v", r.delta)
	case !(r.shape >= 0.05 && r.shape <= 20) || !(r.scale >= 1e-6 && r.scale <= 1e6):
		refuse("shape: from 0.05 to 20, and scale: from 1e-6 to 1e6")
	case !(r.noise >= 1e-3 && r.noise <= 1e6) || r.q > 1:
		refuse("noise: from 0.001 to 10^6, and probability: at most 1")
	}
	s := l.key.Derive("distances").Stream()
	for range r.count {
		d := min(1, r.scale*math.Pow(-math.Log1p(-uniform(s)), 1/r.shape)) // Weibull distribution, clipped
		r.distances = append(r.distances, d)
		if d == 1 {
			r.clippedSample++
		}
	}
	slices.Sort(r.distances)
	r.clippedShare = math.Exp(-math.Pow(1/r.scale, r.shape))
	return r
}

func (r typicalRun) figure(e bayes.Estimator, steps int, orders ...int) bayes.Figure {
	if len(orders) == 0 {
		orders = r.lambdas
	}
	a := valid(bayes.New(bayes.Config{
		Steps: steps, Delta: r.delta, Orders: orders, Estimator: e, Bound: 1,
		Failure: r.delta / 10 / float64(r.steps) / float64(len(r.lambdas)),
	}))
	valid(0, a.AddRepeated(bayes.Step{SamplingProbability: r.q, Noise: r.noise}, r.distances, steps))
	return a.Figure()
}

func traceBayes(l *lesson) {
	r := l.typicalRun()
	l.let("clipped", r.clippedSample)
	shown := r.distances[max(0, len(r.distances)-8):]
	moments, exponents := make([]float64, len(shown)), make([]float64, len(shown))
	for i, d := range shown {
		moments[i] = bayes.LogMoment(8, r.q, d*d/r.noise/r.noise)
		exponents[i] = float64(r.steps) * moments[i]
	}
	l.stepOver("distance", "distances", vector("d", shown), scalar("share of records at the clip norm", r.clippedShare))
	l.stepOver("distance", "moments", vector("d", shown), vector("K at lambda 8", moments), vector("T K", exponents))

	rows := []Number{{Name: "lambda"}, {Name: "Student's t"}, {Name: "Bernstein"}, {Name: "worst case"}}
	for _, lambda := range r.lambdas {
		student, bernstein := r.figure(bayes.StudentT, r.steps, lambda), r.figure(bayes.Bernstein, r.steps, lambda)
		addRow(rows, float64(lambda), opaque.Open(student.OpaqueEstimate()),
			opaque.Open(bernstein.OpaqueEstimate()), opaque.Open(student.OpaqueWorst()))
	}
	l.stepOver("row", "orders", rows...)
	student := r.figure(bayes.StudentT, r.steps)
	l.step("coverage", scalar("promised chance to fail, all steps and orders", student.FailureDelta),
		scalar("chance that no distance is at the clip norm", math.Pow(1-r.clippedShare, float64(r.count))))
	l.step("reading", scalar("mu, Student's t", opaque.Open(student.Opaque())), scalar("attack success", bayes.AttackSuccess(student)),
		scalar("delta", l.delta), scalar("share of records outside", math.Min(1, r.delta/l.delta)))
	l.release()
	step := accountant.PoissonSampled{Probability: r.q, Event: accountant.Gaussian{NoiseMultiplier: r.noise}}
	event := accountant.Repeated{Event: step, Count: int64(r.steps)}
	valid(0, accountant.Validate(event))
	l.cost(scalar("delta", l.delta), claim("epsilon, Rényi accountant", l.epsilon(event)))
	r.mistakes(l)
}

func (r typicalRun) mistakes(l *lesson) {
	typical, worst := r.distances[len(r.distances)/2], 1/r.noise/r.noise
	l.mistake("taken-for-dp", scalar("median distance", typical),
		scalar("K of the median", bayes.LogMoment(8, r.q, typical*typical/r.noise/r.noise)),
		scalar("K of an outlier", bayes.LogMoment(8, r.q, worst)))
	cost := func(steps int) float64 {
		f := r.figure(bayes.StudentT, steps, 8)
		return (8*opaque.Open(f.OpaqueEstimate()) + math.Log(f.Delta-f.FailureDelta)) / float64(f.Steps)
	}
	l.mistake("without-steps", scalar("cost of a step without T", cost(1)), scalar("cost of a step with T", cost(r.steps)))
	l.mistake("reverse", scalar("K, used", bayes.LogMoment(8, r.q, worst)),
		scalar("printed bound of the reverse", bayes.PrintedReverse(8, r.q, worst)))
}
