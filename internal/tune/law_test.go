package tune

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

func laws(t *testing.T) []Law {
	var all []Law
	for _, mean := range []float64{0.3, 1, 3.7, 20} {
		all = append(all, testkit.Must(Poisson(mean)))
		if mean <= 1 {
			continue
		}
		for _, eta := range []float64{-0.5, 0, 0.4, 1} {
			all = append(all, testkit.Must(NegativeBinomial(eta, mean)))
		}
	}
	return all
}

func probabilities(l Law, n int) []float64 {
	p := make([]float64, n)
	if l.Mean != 0 {
		p[0] = math.Exp(-l.Mean)
		for k := 1; k < n; k++ {
			p[k] = p[k-1] * l.Mean / float64(k)
		}
		return p
	}
	whole := math.Pow(l.Gamma, -l.Eta) - 1
	weight := l.Eta
	if l.Eta == 0 {
		whole, weight = math.Log(1/l.Gamma), 1
	}
	for k := 1; k < n; k++ {
		p[k] = math.Pow(1-l.Gamma, float64(k)) * weight / whole
		weight *= (float64(k) + l.Eta) / float64(k+1)
	}
	return p
}

func TestLawsSayWhatTheyAre(t *testing.T) {
	for _, l := range laws(t) {
		p := probabilities(l, 60_000)
		sum, mean, missed := 0.0, 0.0, 0.0
		for k, x := range p {
			sum, mean, missed = sum+x, mean+float64(k)*x, missed+x*math.Pow(0.8, float64(k))
		}
		assert.InDelta(t, 1, sum, 1e-9, l)
		assert.InEpsilon(t, mean, l.Expected(), 1e-9, l)
		assert.InDelta(t, missed, l.Missed(0.2), 1e-9, l)
		assert.InDelta(t, p[0], l.Missed(1), 1e-12, l)
		for _, share := range []float64{0.01, 0.5, 0.99} {
			at, below := l.Quantile(share), 0.0
			for _, x := range p[:at] {
				below += x
			}
			assert.Less(t, below, share+1e-12, l)
			assert.GreaterOrEqual(t, below+p[at], share-1e-12, l)
		}
		switch run := (accountant.PureDP{Epsilon: 1}); e := l.Event(run).(type) {
		case accountant.PoissonSelection:
			assert.Equal(t, accountant.PoissonSelection{Mean: l.Expected(), Event: run}, e)
		case accountant.Selection:
			assert.Equal(t, accountant.Selection{Eta: l.Eta, Gamma: l.Gamma, Event: run}, e)
		default:
			t.Errorf("%v is charged as %#v", l, e)
		}
	}
}

// Numbers of runs have the law. False alarm of each of the laws: testkit.FalseAlarm.
func TestDrawsHaveTheLaw(t *testing.T) {
	const draws, cells = 100_000, 400
	for i, l := range laws(t) {
		s := rng.SeedKey(uint64(i)).Stream()
		observed, expected := make([]float64, cells+1), make([]float64, cells+1)
		for range draws {
			observed[min(cells, l.Draw(s))]++
		}
		rest := 1.0
		for k, p := range probabilities(l, cells) {
			expected[k] = p * draws
			rest -= p
		}
		expected[cells] = math.Max(0, rest) * draws
		assert.Greater(t, testkit.ChiSquare(observed, expected), testkit.FalseAlarm, l)
	}
}

// A coin falls with the probability that its digits say, down to numbers that random bits hardly ever
// reach.
func TestCoinsAreExact(t *testing.T) {
	const n = 200_000
	s := rng.SeedKey(1).Stream()
	for _, p := range []float64{0, 1e-300, 1.0 / 64, 0.3, 0.5, 1 - 1.0/64, 1} {
		ones := 0
		for range n {
			if bernoulli(s, p) {
				ones++
			}
		}
		assert.InDelta(t, n*p, ones, 6.2*math.Sqrt(n*p*(1-p)), p) // false alarm below 1e-9
	}
}

func TestBadLaws(t *testing.T) {
	nan := math.NaN()
	for _, x := range []float64{0, -1, nan, math.Inf(1), 1e6} {
		assert.ErrorIs(t, testkit.Err(Poisson(x)), ErrLaw, x)
		assert.ErrorIs(t, testkit.Err(NegativeBinomial(1, x)), ErrLaw, x)
	}
	for _, eta := range []float64{-1, 1.5, nan, math.Inf(-1)} {
		assert.ErrorIs(t, testkit.Err(NegativeBinomial(eta, 10)), ErrLaw, eta)
	}
	for _, l := range []Law{{}, {Mean: 3, Gamma: 0.1}, {Gamma: 1}, {Gamma: 1e-9}, {Eta: 2, Gamma: 0.5}, {Mean: -1}, {Mean: nan}, {Eta: nan, Gamma: 0.5}} {
		assert.ErrorIs(t, l.Validate(), ErrLaw, fmt.Sprintf("%+v", l))
	}
	_, err := NegativeBinomial(-0.999, 1e5)
	assert.True(t, err == nil || errors.Is(err, ErrLaw))
}
