package learn

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/stability"
)

func traceMean(l *lesson) {
	values := l.numbers("values")
	moment, epsilon := l.positive("moment"), l.positive("epsilon")
	if len(values) > maxClasses {
		refuse("values: at most %d records, not %d", maxClasses, len(values))
	}
	n := float64(len(values))
	clip, bound, err := laplaceClip(moment, len(values), epsilon)
	m := valid(stability.NewMean(stability.MeanConfig{
		Records: len(values), Dimension: 1, Clip: valid(clip, err), Noise: stability.Laplace, Epsilon: epsilon}))
	released := Must(m.Release(Must(Paid(m.Event(), accountant.ReplaceOne)), l.key, values))
	clipped := make([]float64, len(values))
	sum, clippedSum, beyond, largest := 0.0, 0.0, 0, values[0]
	for i, x := range values {
		clipped[i] = min(clip, max(-clip, x))
		sum, clippedSum = sum+x, clippedSum+clipped[i]
		if clipped[i] != x {
			beyond++
		}
		if math.Abs(x) > math.Abs(largest) {
			largest = x
		}
	}
	scale := 2 * clip / epsilon
	noise := released*n - clippedSum
	influence := math.Abs(clipped[slices.Index(values, largest)])
	l.let("records", len(values))
	l.let("beyond", beyond)
	l.let("largest", largest)
	l.let("influence", influence)
	l.let("released", released)

	l.step("clip", scalar("s", moment), scalar("n", len(values)), scalar("epsilon", epsilon), scalar("c", clip))
	l.stepOver("record", "clipped", vector("x", values), vector("clipped", clipped))
	l.step("sum", scalar("sum of the records", sum), scalar("sum of the clipped records", clippedSum), scalar("sensitivity", 2*clip))
	l.step("noise", scalar("scale b", scale), scalar("noise", noise), scalar("noisy sum", clippedSum+noise))
	l.step("divide", scalar("answer", released), scalar("mean of the records", sum/n))
	l.step("error", scalar("bias", (clippedSum-sum)/n), scalar("noise / n", noise/n),
		scalar("sqrt(2) b / n", math.Sqrt2*scale/n), scalar("square root of the bound", math.Sqrt(bound)))
	l.step("influence", scalar("shift", influence), scalar("loss at most", influence/scale), scalar("epsilon", epsilon))
	l.release()
	l.cost(claim("epsilon", l.pure(m.Event())), scalar("delta of ten means", l.delta),
		claim("epsilon, ten means", l.epsilon(accountant.Repeated{Event: m.Event(), Count: 10})))

	half := m.Event().(accountant.DiscreteLaplace)
	half.Scale /= 2
	const large = 10 // an epsilon for which the textbook formula fails
	textbook := math.Sqrt(2*math.Log(1.25/l.delta)) / large
	s2 := moment * moment
	l.mistake("one-clip", claim("epsilon claimed", epsilon), claim("epsilon spent", l.pure(half)))
	l.mistake("no-clip", scalar("shift", 1e6), scalar("scale b", scale), scalar("loss", 1e6/scale))
	l.mistake("variance", scalar("variance of noise / n", 2*(scale/n)*(scale/n)), scalar("error printed", s2/n+4*s2/(n*epsilon)),
		scalar("error bound", s2/n+6*s2/(n*epsilon)))
	l.mistake("textbook", scalar("noise by the textbook", textbook), scalar("noise needed", Must(accountant.GaussianNoise(large, l.delta))),
		scalar("delta claimed", l.delta), scalar("delta spent", Must(accountant.GaussianDelta(textbook, large))))
}

// laplaceClip returns a clip for a private mean of numbers x with E[x^2] <= rootMoment^2. The result
// squaredError is an upper bound on the mean squared error.
func laplaceClip(rootMoment float64, records int, epsilon float64) (clip, squaredError float64, err error) {
	// Let s be rootMoment, n records and c the clip.
	//
	//  1. Clipping changes the mean by at most E[|x| 1{|x|>c}] <= s^2/c.
	//  2. Laplace noise of scale 2c/(n epsilon) has variance 8 c^2/(n epsilon)^2.
	//  3. So the error is at most s^2/n + s^4/c^2 + 8 c^2/(n epsilon)^2.
	//  4. For c = s sqrt(n epsilon/2) this is s^2/n + 6 s^2/(n epsilon).
	//
	// Lecture notes print 4 instead of 6, because they take b^2 for the variance of Laplace noise of scale b,
	// which is 2 b^2.
	if !(rootMoment >= 0x1p-400 && rootMoment <= 0x1p400) || records < 1 || !(epsilon >= 0x1p-40 && epsilon <= 0x1p40) {
		return 0, 0, fmt.Errorf("learn: no clip for root of the second moment %g, count %d and epsilon or noise multiplier %g",
			rootMoment, records, epsilon)
	}
	n := float64(records)
	s2 := rootMoment * rootMoment
	return rootMoment * math.Sqrt(n*epsilon/2), s2/n + 6*s2/(n*epsilon), nil
}
