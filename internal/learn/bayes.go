package learn

import (
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/accountant/bayes"
	"github.com/pate-go/pate/internal/opaque"
	"github.com/pate-go/pate/rng"
)

func bayesian() Mechanism {
	return mechanism("bayes", traceBayes,
		Input{"sample", "32", "norms at a step"},
		Input{"shape", "0.5", "of the Weibull law of gradient norms"},
		Input{"scale", "0.02", "of that law, over the clip norm"},
		Input{"probability", "0.01", "of a record to be in the sample of a step"},
		Input{"noise", "1", "standard deviation over the clip norm"},
		Input{"steps", "1000", "of training"},
		Input{"delta-mu", "1e-10", "delta of the Bayesian bound"},
	)
}

// typicalRun is the run that is traced, in units of the clip norm.
type typicalRun struct {
	shape, scale  float64
	q, noise      float64
	steps, count  int
	delta         float64
	distances     []float64
	lambdas       []int
	clippedShare  float64 // of records, in the law
	clippedSample int     // of the distances, at the clip norm
}

func (l *lesson) typicalRun() (typicalRun, error) {
	r := typicalRun{
		shape: l.positive("shape"), scale: l.positive("scale"), q: l.positive("probability"), noise: l.positive("noise"),
		steps: l.whole("steps"), count: l.whole("sample"), delta: l.positive("delta-mu"), lambdas: []int{1, 2, 4, 8, 16, 32},
	}
	if l.err != nil {
		return r, l.err
	}
	switch {
	case r.count < 2 || r.count > 1000:
		return r, invalid("sample: from 2 to 1000, not %d", r.count)
	case r.steps > maxTosses:
		return r, invalid("steps: at most 2^20, not %d", r.steps)
	case !(r.delta >= 1e-200 && r.delta < 1):
		return r, invalid("delta-mu: from 1e-200 to below 1, not %v", r.delta)
	case !(r.shape >= 0.05 && r.shape <= 20) || !(r.scale >= 1e-6 && r.scale <= 1e6):
		return r, invalid("shape: from 0.05 to 20, and scale: from 1e-6 to 1e6")
	case !(r.noise >= 1e-3 && r.noise <= 1e6) || r.q > 1:
		return r, invalid("noise: from 0.001 to 10^6, and probability: at most 1")
	}
	s := l.key.Derive("distances").Stream()
	for range r.count {
		r.distances = append(r.distances, r.draw(s))
	}
	slices.Sort(r.distances)
	r.clippedShare = math.Exp(-math.Pow(1/r.scale, r.shape))
	for _, d := range r.distances {
		if d == 1 {
			r.clippedSample++
		}
	}
	return r, nil
}

// draw returns a norm of the Weibull law, clipped to 1.
func (r typicalRun) draw(s *rng.Stream) float64 {
	return min(1, r.scale*math.Pow(-math.Log1p(-uniform(s)), 1/r.shape))
}

// figure accounts for the run at one order, or at all of them.
func (r typicalRun) figure(e bayes.Estimator, steps int, distances []float64, orders ...int) (bayes.Figure, error) {
	if len(orders) == 0 {
		orders = r.lambdas
	}
	a, err := bayes.New(bayes.Config{
		Steps: steps, Delta: r.delta, Orders: orders, Estimator: e, Bound: 1,
		Failure: r.delta / 10 / float64(r.steps) / float64(len(r.lambdas)),
	})
	if err != nil {
		return bayes.Figure{}, invalid("%w", err)
	}
	if err := a.AddRepeated(bayes.Step{SamplingProbability: r.q, Noise: r.noise}, distances, steps); err != nil {
		return bayes.Figure{}, invalid("%w", err)
	}
	return a.Figure(), nil
}

func traceBayes(l *lesson) error {
	r, err := l.typicalRun()
	if err != nil {
		return err
	}
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
		student, err := r.figure(bayes.StudentT, r.steps, r.distances, lambda)
		if err != nil {
			return err
		}
		bernstein, err := r.figure(bayes.Bernstein, r.steps, r.distances, lambda)
		if err != nil {
			return err
		}
		addRow(rows, float64(lambda), opaque.Open(student.OpaqueEstimate()), opaque.Open(bernstein.OpaqueEstimate()), opaque.Open(student.OpaqueWorst()))
	}
	l.stepOver("row", "orders", rows...)
	student, err := r.figure(bayes.StudentT, r.steps, r.distances)
	if err != nil {
		return err
	}
	missed := math.Pow(1-r.clippedShare, float64(r.count))
	l.step("coverage", scalar("promised chance to fail, all steps and orders", student.FailureDelta),
		scalar("chance that no distance is at the clip norm", missed))
	share := math.Min(1, r.delta/l.delta)
	l.step("reading", scalar("mu, Student's t", opaque.Open(student.Opaque())), scalar("attack success", bayes.AttackSuccess(student)),
		scalar("delta", l.delta), scalar("share of records outside", share))
	l.release()
	event := accountant.Repeated{Event: accountant.PoissonSampled{Probability: r.q, Event: accountant.Gaussian{NoiseMultiplier: r.noise}}, Count: int64(r.steps)}
	if err := accountant.Validate(event); err != nil {
		return invalid("%w", err)
	}
	l.cost(scalar("delta", l.delta), claim("epsilon, Rényi accountant", l.epsilon(event)))
	return r.mistakes(l)
}

func (r typicalRun) mistakes(l *lesson) error {
	typical := r.distances[len(r.distances)/2]
	l.mistake("taken-for-dp", scalar("median distance", typical),
		scalar("K of the median", bayes.LogMoment(8, r.q, typical*typical/r.noise/r.noise)),
		scalar("K of an outlier", bayes.LogMoment(8, r.q, 1/r.noise/r.noise)))
	one, err := r.figure(bayes.StudentT, 1, r.distances, 8)
	if err != nil {
		return err
	}
	all, err := r.figure(bayes.StudentT, r.steps, r.distances, 8)
	if err != nil {
		return err
	}
	cost := func(f bayes.Figure) float64 {
		return (8*opaque.Open(f.OpaqueEstimate()) + math.Log(f.Delta-f.FailureDelta)) / float64(f.Steps)
	}
	l.mistake("without-steps", scalar("cost of a step without T", cost(one)), scalar("cost of a step with T", cost(all)))
	l.mistake("reverse", scalar("K, used", bayes.LogMoment(8, r.q, 1/r.noise/r.noise)), scalar("printed bound of the reverse", bayes.PrintedReverse(8, r.q, 1/r.noise/r.noise)))
	return nil
}
