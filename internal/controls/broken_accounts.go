package controls

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
)

// brokenAccounts returns right mechanisms with a wrong price: answers of accountants that were in use, and
// rules that look plausible. All are refuted by exact laws.
func brokenAccounts() []Target {
	priced := func(name, mistake, on string, claim claimer, pair laws) Target {
		return byLaw(name, on, claim, pair).mistaken(mistake)
	}
	return []Target{
		priced("account-count-ignored", "10 randomised responses charged as one (dp_accounting 0.6.0, PLD)",
			"answers of 10 responses, log-ratio log 3", stated(1.0986866665777768, 1e-5),
			onePair(binomial(10, math.Log(3)), binomial(10, -math.Log(3)))),
		priced("account-selections-ignored", "10 selections charged as one (dp_accounting 0.6.0, RDP)",
			"10 selections of two, log-ratios 0.5 and -0.5", stated(1.0035014096770716, 1e-5),
			onePair(binomial(10, 0.5), binomial(10, -0.5))),
		priced("account-replaced-gaussian", "replacing a record charged as adding one (dp_accounting 0.6.0, RDP)",
			"noise multiplier 1 around -1 and 1", stated(4.728507067217623, 1e-5),
			onePair(halfLines(distuv.Normal{Mu: 1, Sigma: 1}.Survival), halfLines(distuv.Normal{Mu: -1, Sigma: 1}.Survival))),
		priced("account-replaced-laplace", "replacing a record charged as adding one (dp_accounting 0.6.0, RDP)",
			"noise multiplier 1 around -1 and 1", stated(1.0118275891413084, 1e-5),
			onePair(halfLines(distuv.Laplace{Mu: 1, Scale: 1}.Survival), halfLines(distuv.Laplace{Mu: -1, Scale: 1}.Survival))),
		priced("account-best-of-twenty", "the best of 20 runs charged as one: hyper-parameters chosen free of charge",
			"whether any of 20 runs is good, log odds 0.5 and -0.5", stated(0.5, 1e-5), onePair(anyOf(20, 0.5), anyOf(20, -0.5))),
		priced("account-permute-and-flip", "permute-and-flip charged as the exponential mechanism",
			"500 queries on votes [3 3] and [4 2]", exponential, onePair(permuteAndFlip(0), permuteAndFlip(2))),
		priced("account-any-order", "go on while some Rényi order is in budget", "a mechanism of two steps",
			stated(2, 0.01), anyOrder()),
	}
}

// binomial returns the law of the number of ones among n, each of the given log odds.
func binomial(n int, logOdds float64) []float64 {
	hit, miss := -math.Log1p(math.Exp(-logOdds)), -math.Log1p(math.Exp(logOdds))
	law := make([]float64, n+1)
	for k := range law {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		law[k] = a - b - c + float64(k)*hit + float64(n-k)*miss
	}
	return law
}

// anyOf returns the law of whether the best of n runs is good, where a run is of the given log odds.
func anyOf(n int, logOdds float64) []float64 {
	none := -float64(n) * math.Log1p(math.Exp(logOdds))
	return []float64{none, math.Log(-math.Expm1(none))}
}

// halfLines returns the law of how many of 400 numbers a real number exceeds.
func halfLines(survival func(float64) float64) []float64 {
	var law []float64
	above := 0.0
	for i := 200; i >= -200; i-- {
		s := survival(float64(i) / 25)
		law = append(law, math.Log(s-above))
		above = s
	}
	return append(law, math.Log1p(-above))
}

// Queries of permute-and-flip are charged as queries of the exponential mechanism: both are
// 2/Scale-private, but only the latter has log-ratios in an interval of that length.
const flipScale, flips = 10.0, 500

var exponential = profile(accountant.Repeated{
	Event: accountant.ExponentialMechanism{Epsilon: 2 / flipScale}, Count: flips}, accountant.ReplaceOne)

// permuteAndFlip returns the law of the wins of the class that is behind by a lead, of two, which wins a
// query with probability e^(-lead/Scale)/2.
func permuteAndFlip(lead float64) []float64 {
	p := math.Exp(-lead/flipScale) / 2
	return binomial(flips, math.Log(p/(1-p)))
}

// anyOrder returns a mechanism of two steps that goes on while some Rényi order, of 6 and 32, is still in a
// budget of (2, 0.01): every path stays within it, and its delta is 1.37 times that (Whitehouse et al. 2023
// have filters that are valid).
func anyOrder() laws {
	steps := func(first [3]float64, after0, after1 float64) []float64 {
		law := []float64{first[0] * after0, first[0] * (1 - after0), first[1] * after1, first[1] * (1 - after1), first[2]}
		for i := range law {
			law[i] = math.Log(law[i])
		}
		return law
	}
	return onePair(
		steps([3]float64{0.5225300182101352, 0.19362214385532694, 0.2838478379345378}, 0.06980065969791138, 0.7435517244067299),
		steps([3]float64{0.21553814107764094, 0.07196521247854767, 0.7124966464438114}, 0.01909420663808228, 0.25644727559326125))
}
