package main

import "github.com/pate-go/pate/aggregate"

// lawMechanism is one mechanism whose law can be asked for.
type lawMechanism struct {
	name     string
	short    string
	long     string
	example  string
	noise    string
	declines bool
	flags    []lawFlag
	law      func(value map[string]float64) lawFunc
}

type lawFlag struct{ name, usage string }

type lawFunc func(aggregate.Histogram) (aggregate.Law, error)

// exactLaw is the law of what is sampled.
func exactLaw[M interface {
	Law(aggregate.Histogram) (aggregate.Law, error)
}](m M, err error) lawFunc {
	if err != nil {
		return func(aggregate.Histogram) (aggregate.Law, error) { return aggregate.Law{}, err }
	}
	return m.Law
}

// continuousLaw is the law of the papers, with continuous noise.
func continuousLaw[M interface {
	ContinuousLaw(aggregate.Histogram) (aggregate.Law, error)
}](m M, err error) lawFunc {
	if err != nil {
		return func(aggregate.Histogram) (aggregate.Law, error) { return aggregate.Law{}, err }
	}
	return m.ContinuousLaw
}

// lawMechanisms are the mechanisms in the order the help shows them.
func lawMechanisms() []lawMechanism {
	sigma := lawFlag{"sigma", "standard deviation of the noise on each count, in votes (required)"}
	scale := lawFlag{"scale", "scale of the noise, in votes (required)"}
	return []lawMechanism{
		{
			name: "gnmax", short: "Largest count plus Gaussian noise", noise: "continuous",
			long: `The class whose count plus Gaussian noise is largest (Papernot et al. 2018):

  P[i] = integral of phi((x-n_i)/sigma)/sigma
         times prod_{j != i} Phi((x-n_j)/sigma) dx

Only differences of counts matter, in units of sigma. With two classes it is
Phi(gap / (sigma sqrt 2)).`,
			example: `  pate law gnmax --counts 60,40,3 --sigma 20
  pate law gnmax --counts 230,12,8 --sigma 40 --format json`,
			flags: []lawFlag{sigma},
			law: func(v map[string]float64) lawFunc {
				return continuousLaw(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: v["sigma"], Queries: 1}))
			},
		},
		{
			name: "discrete-gaussian", short: "Largest count plus integer Gaussian noise", noise: "discrete",
			long: `The class whose count plus discrete Gaussian noise is largest: what pate really
samples. Noise k has weight exp(-k^2 / (2 sigma^2)); equal noisy counts go to the
class with the lowest index, which is why two equal counts do not get the same
probability. The tie rule changes the law, not the privacy.`,
			example: `  pate law discrete-gaussian --counts 2,0 --sigma 4
  pate law discrete-gaussian --counts 60,40,3 --sigma 20 --format json`,
			flags: []lawFlag{sigma},
			law: func(v map[string]float64) lawFunc {
				return exactLaw(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: v["sigma"], Queries: 1}))
			},
		},
		{
			name: "confident", short: "Answer only if the largest count passes a noisy threshold", noise: "continuous",
			declines: true,
			long: `Confident-GNMax (Papernot et al. 2018, Algorithm 1): if the largest count plus
Gaussian noise of sigma1 reaches the threshold, GNMax with sigma2 answers;
otherwise nothing is released but that nothing is.

  P[answered] = Phi((largest - threshold) / sigma1)

Probabilities are of being answered with that class.`,
			example: `  pate law confident --counts 180,30,10 --threshold 150 --sigma1 50 --sigma2 20
  pate law confident --counts 60,59,58 --threshold 60 --sigma1 10 --sigma2 4`,
			flags: []lawFlag{
				{"threshold", "of the largest count, in votes (required)"},
				{"sigma1", "standard deviation of the noise of the threshold test, in votes (required)"},
				{"sigma2", "standard deviation of the noise on each count of an answer, in votes (required)"},
			},
			law: func(v map[string]float64) lawFunc {
				return continuousLaw(aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{
					Threshold: v["threshold"], Sigma1: v["sigma1"], Sigma2: v["sigma2"], Queries: 1, Answers: 1}))
			},
		},
		{
			name: "lnmax", short: "Largest count plus Laplace noise", noise: "continuous",
			long: `The class whose count plus Laplace noise is largest (Papernot et al. 2017). With
two classes and a gap g the smaller one wins with probability

  (2 + g/scale) exp(-g/scale) / 4

One moved vote changes two counts: the answer is 2/scale-differentially private,
not 1/scale as is often printed.`,
			example: `  pate law lnmax --counts 60,40,3 --scale 20
  pate law lnmax --counts 2,0 --scale 4 --format json`,
			flags: []lawFlag{scale},
			law: func(v map[string]float64) lawFunc {
				return continuousLaw(aggregate.NewLNMax(aggregate.LNMaxConfig{Scale: v["scale"], Queries: 1}))
			},
		},
		{
			name: "discrete-laplace", short: "Largest count plus integer Laplace noise", noise: "discrete",
			long: `The class whose count plus discrete Laplace noise is largest: what pate really
samples for LNMax. Noise k has weight exp(-|k|/scale); equal noisy counts go to
the class with the lowest index.`,
			example: `  pate law discrete-laplace --counts 60,40,3 --scale 20
  pate law discrete-laplace --counts 2,0 --scale 4 --format json`,
			flags: []lawFlag{scale},
			law: func(v map[string]float64) lawFunc {
				return exactLaw(aggregate.NewLNMax(aggregate.LNMaxConfig{Scale: v["scale"], Queries: 1}))
			},
		},
		{
			name: "exponential", short: "Probability proportional to exp(count/scale)", noise: "exact",
			long: `The exponential mechanism: class j with probability proportional to
exp(n_j/scale), the same law as the largest count plus Gumbel noise. Its
log-ratios under a moved vote lie in an interval of length 2/scale, which costs
less over many queries than 2/scale-differential privacy alone.`,
			example: `  pate law exponential --counts 60,40,3 --scale 20
  pate law exponential --counts 2,0 --scale 4 --format json`,
			flags: []lawFlag{scale},
			law: func(v map[string]float64) lawFunc {
				return exactLaw(aggregate.NewExponential(aggregate.ExponentialConfig{Scale: v["scale"], Queries: 1}))
			},
		},
		{
			name: "permute-and-flip", short: "First class accepted, in random order", noise: "exact",
			long: `Permute-and-flip: classes take turns in random order, and class j is accepted with
probability p_j = exp((n_j - largest)/scale):

  P[r] = p_r integral_0^1 prod_{j != r} (1 - u p_j) du

It is right at least as often as the exponential mechanism of the same scale, and
over many queries it costs more: it has not that mechanism's curve.`,
			example: `  pate law permute-and-flip --counts 60,40,3 --scale 20
  pate law permute-and-flip --counts 2,0 --scale 4 --format json`,
			flags: []lawFlag{scale},
			law: func(v map[string]float64) lawFunc {
				return exactLaw(aggregate.NewPermuteAndFlip(aggregate.PermuteAndFlipConfig{Scale: v["scale"], Queries: 1}))
			},
		},
		{
			name: mstabLaw, short: "Release the plurality if it is far from changing", noise: "continuous",
			declines: true,
			long: `M_stab (Dwork, Lei 2009; Smith, Thakurta 2013): release the plurality, without
noise, if its distance to instability plus Laplace noise of scale 1/epsilon exceeds
the threshold. The distance is the number of votes that can move with the same class
still winning: floor((gap-1)/2) over a class with a lower index, floor(gap/2) over the
others, as ties go to the lowest index.

  P[released] = exp(-epsilon (threshold-distance)) / 2       up to the threshold
                1 - exp(-epsilon (distance-threshold)) / 2   above it

Neighbours whose pluralities differ are both at distance 0 and told apart with
probability delta = exp(-epsilon threshold)/2; all others cost epsilon. Declining
costs as much. "distance" and "released" are in the JSON form.`,
			example: `  pate law m-stab --counts 60,40,3 --epsilon 1 --threshold 7.6
  pate law m-stab --counts 230,12,8 --epsilon 0.5 --threshold 23.03 \
      --format json`,
			flags: []lawFlag{
				{"epsilon", "of one query: the noise has scale 1/epsilon, in votes that move (required)"},
				{"threshold", "of the distance, in votes that move (required)"},
			},
			law: mstabLawOf,
		},
	}
}
