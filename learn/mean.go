package learn

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/stability"
)

func mean() Mechanism {
	return Mechanism{
		Name:  "mean",
		Short: "The average of private numbers: clip, add noise, divide",
		Long: `The average of private numbers, the simplest mechanism of all: every number is
clipped, so that one record has a bounded influence; the sum gets noise as large
as that influence; the rest is arithmetic. The trace shows both errors, that of
clipping and that of the noise, and how the clip balances them. The
misconceptions it ends: that one record moves the sum by the clip, and that the
noise of scale b has variance b^2.`,
		Inputs: []Input{
			{"values", "3.1,2.4,4,2.9,3.6,1.8,30,2.2,3.3,2.7", "one number for each record; how many there are is public"},
			{"moment", "4", "public guess of the root mean square of a record, from which the clip follows"},
			{"epsilon", "1", "to spend on this mean"},
		},
		trace: traceMean,
	}
}

func traceMean(r run) (Trace, error) {
	values, err := r.numbers("values")
	if err != nil {
		return Trace{}, err
	}
	if len(values) > maxClasses {
		return Trace{}, fmt.Errorf("%w: values: at most %d records, not %d", ErrInput, maxClasses, len(values))
	}
	moment, err := r.positive("moment")
	if err != nil {
		return Trace{}, err
	}
	epsilon, err := r.positive("epsilon")
	if err != nil {
		return Trace{}, err
	}
	n := float64(len(values))
	clip, bound, err := stability.LaplaceClip(moment, len(values), epsilon)
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	m, err := stability.NewMean(stability.MeanConfig{Records: len(values), Dimension: 1, Clip: clip, Noise: stability.Laplace, Epsilon: epsilon})
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	paid, err := charge(m.Event(), accountant.ReplaceOne)
	if err != nil {
		return Trace{}, err
	}
	released, err := m.Release(paid, r.key, values)
	if err != nil {
		return Trace{}, err
	}
	clipped := make([]float64, len(values))
	sum, clippedSum, cut := 0.0, 0.0, 0
	for i, x := range values {
		clipped[i] = min(clip, max(-clip, x))
		sum, clippedSum = sum+x, clippedSum+clipped[i]
		if clipped[i] != x {
			cut++
		}
	}
	scale := 2 * clip / epsilon
	noise := released*n - clippedSum
	largest := values[0]
	for _, x := range values {
		if math.Abs(x) > math.Abs(largest) {
			largest = x
		}
	}
	influence := math.Abs(clipped[slices.Index(values, largest)])

	t := Trace{Title: "The private mean: clip, add up, add noise, divide"}
	t.Steps = []Step{
		{
			Name: "Choose the clip without looking",
			Words: "Numbers beyond the clip c will count as c. Small c: records are cut and the mean is biased, by at most s^2/c if the root mean " +
				"square is s. Large c: more noise. The two errors balance at the c below; s is a public guess, not computed from the data.",
			Formula: &Formula{"c = s sqrt(n epsilon / 2)", `c = s \sqrt{n \varepsilon / 2}`},
			Numbers: []Number{scalar("s", moment), scalar("n", len(values)), scalar("epsilon", epsilon), scalar("c", clip)},
		},
		{
			Name:    "Clip every record",
			Words:   fmt.Sprintf("Of %d records %d lie beyond c. The others are unchanged.", len(values), cut),
			Formula: &Formula{"clipped = min(c, max(-c, x))", `\bar x_i = \min(c, \max(-c, x_i))`},
			Numbers: []Number{vector("x", values), vector("clipped", clipped)}, Index: "record",
		},
		{
			Name: "Add up",
			Words: "Whatever one record is replaced by, it stays between -c and c, so the sum moves by at most 2c. That is the sensitivity, for all " +
				"data that could be, not for these.",
			Formula: &Formula{"sensitivity = 2c", `\Delta = 2c`},
			Numbers: []Number{scalar("sum of the records", sum), scalar("sum of the clipped records", clippedSum), scalar("sensitivity", 2*clip)},
		},
		{
			Name: "Add noise",
			Words: "Laplace noise of scale sensitivity/epsilon: wherever the sum is, a shift by the sensitivity changes the probability of every " +
				"outcome by at most e^epsilon. It is drawn as a whole number of grid units far below the noise, before the records are read.",
			Formula: &Formula{"density exp(-|z|/b) / (2b),  b = 2c/epsilon", `\frac{1}{2b} e^{-|z|/b},\quad b = \frac{2c}{\varepsilon}`},
			Numbers: []Number{scalar("scale b", scale), scalar("noise", noise), scalar("noisy sum", clippedSum+noise)},
		},
		{
			Name:    "Divide",
			Words:   "The number of records is public, so dividing by it costs nothing.",
			Formula: &Formula{"answer = (sum + noise) / n", `\hat\mu = \frac{1}{n} \Bigl(\sum_i \bar x_i + Z\Bigr)`},
			Numbers: []Number{scalar("answer", released), scalar("mean of the records", sum/n)},
		},
		{
			Name: "Ask how far off that is",
			Words: "The bias is what clipping moved. The noise has standard deviation sqrt(2) b/n: the variance of Laplace noise is twice its scale " +
				"squared. The bound holds, on average over the noise and the drawing of the records, for all laws with root mean square at most s.",
			Formula: &Formula{"E[error^2] <= s^2/n + s^4/c^2 + 8 c^2/(n epsilon)^2;  = s^2/n + 6 s^2/(n epsilon) at this c",
				`E[\mathrm{error}^2] \le \frac{s^2}{n} + \frac{s^4}{c^2} + \frac{8c^2}{n^2\varepsilon^2} = \frac{s^2}{n} + \frac{6 s^2}{n \varepsilon}`},
			Numbers: []Number{scalar("bias", (clippedSum-sum)/n), scalar("noise / n", noise/n),
				scalar("sqrt(2) b / n", math.Sqrt2*scale/n), scalar("square root of the bound", math.Sqrt(bound))},
		},
		{
			Name: "Ask what one record can do",
			Words: fmt.Sprintf("Replace the record %s by 0: the clipped sum moves by at most %s. The logarithm of the ratio of the two densities, at any "+
				"outcome, is at most that shift over b, and for no record more than epsilon.", short(largest), short(influence)),
			Formula: &Formula{"loss <= shift / b", `\ell \le \frac{|\bar x - \bar x'|}{b}`},
			Numbers: []Number{scalar("shift", influence), scalar("loss at most", influence/scale), scalar("epsilon", epsilon)},
		},
	}
	t.Released = Section{Words: fmt.Sprintf("The number %s, and nothing else: not how many records were clipped, not the noise, not the sum without it.", short(released))}
	if t.Cost, err = meanCost(r, m.Event()); err != nil {
		return Trace{}, err
	}
	t.Mistakes, err = meanMistakes(r, m.Event(), moment, n, epsilon, scale)
	return t, err
}

func meanCost(r run, e accountant.Event) (Section, error) {
	one, err := pure(e)
	if err != nil {
		return Section{}, err
	}
	ten, err := r.epsilon(accountant.Repeated{Event: e, Count: 10})
	if err != nil {
		return Section{}, err
	}
	return Section{
		Words: "Epsilon, without any delta, for neighbours that differ in one record. Ten means of the same records cost ten times that at most, and " +
			"less when the accountant may use delta.",
		Numbers: []Number{claim("epsilon", one), scalar("delta of ten means", r.delta), claim("epsilon, ten means", ten)},
	}, nil
}

func meanMistakes(r run, e accountant.Event, moment, n, epsilon, scale float64) ([]Mistake, error) {
	noise := e.(accountant.DiscreteLaplace)
	truth, err := pure(accountant.DiscreteLaplace{Scale: noise.Scale / 2, Sensitivity: noise.Sensitivity})
	if err != nil {
		return nil, err
	}
	const large = 10 // an epsilon at which the textbook formula fails
	textbook := math.Sqrt(2*math.Log(1.25/r.delta)) / large
	spent, err := accountant.GaussianDelta(textbook, large)
	if err != nil {
		return nil, err
	}
	needed, err := accountant.GaussianNoise(large, r.delta)
	if err != nil {
		return nil, err
	}
	s2 := moment * moment
	return []Mistake{
		{
			If: "a record clipped to c were thought to move the sum by c",
			Words: "By c it moves it when it comes or goes. Here the number of records is public, so a neighbour has another record in its place, and " +
				"from c to -c is 2c. Noise of scale c/epsilon is half of what is needed.",
			Numbers: []Number{claim("epsilon claimed", epsilon), claim("epsilon spent", truth)},
		},
		{
			If: "nothing were clipped",
			Words: "One record of a million moves the sum by a million, and no noise fixed in advance covers that. The loss below is that of the noise " +
				"above. Clipping at the largest record of the data is the same mistake: the clip itself then tells about that record.",
			Numbers: []Number{scalar("shift", 1e6), scalar("scale b", scale), scalar("loss", 1e6/scale)},
		},
		{
			If: "the noise were taken to have the variance of its scale squared",
			Words: "Lecture notes print the error s^2/n + 4 s^2/(n epsilon). At this clip the noise alone has variance 4 s^2/(n epsilon), nothing is " +
				"left for the bias; with both it is 6.",
			Numbers: []Number{scalar("variance of noise / n", 2*(scale/n)*(scale/n)), scalar("error printed", s2/n+4*s2/(n*epsilon)),
				scalar("error bound", s2/n+6*s2/(n*epsilon))},
		},
		{
			If: "Gaussian noise were scaled by the textbook formula at a large epsilon",
			Words: "sqrt(2 ln(1.25/delta))/epsilon is proved for epsilon below 1 only. At epsilon 10 its delta is larger than claimed; the exact " +
				"condition (Balle, Wang 2018) needs a little more noise. Noise is in units of the sensitivity.",
			Numbers: []Number{scalar("noise by the textbook", textbook), scalar("noise needed", needed),
				scalar("delta claimed", r.delta), scalar("delta spent", spent)},
		},
	}, nil
}
