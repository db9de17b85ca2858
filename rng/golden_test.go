package rng

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

type noiseReference struct {
	Sigma2   float64            `json:"sigma2"`
	T        float64            `json:"t"`
	PMF      map[string]float64 `json:"pmf"`
	Variance float64            `json:"variance"`
	TailGE   map[string]float64 `json:"tail_ge"`
}

func TestLogProbReference(t *testing.T) {
	var ref struct {
		Gaussian []noiseReference `json:"discrete_gaussian"`
		Laplace  []noiseReference `json:"discrete_laplace"`
	}
	testkit.ReadJSON(t, "testdata/discrete_noise.json", &ref)
	require.NotEmpty(t, ref.Gaussian)
	require.NotEmpty(t, ref.Laplace)

	check := func(r noiseReference, prob func(int64) float64, reach int64) {
		require.NotEmpty(t, r.PMF)
		for k, want := range r.PMF {
			i := testkit.Must(strconv.ParseInt(k, 10, 64))
			require.InEpsilon(t, want, prob(i), 1e-12)
			require.InEpsilon(t, want, prob(-i), 1e-12)
		}
		var variance float64
		for k := reach; k > 0; k-- {
			variance += 2 * float64(k) * float64(k) * prob(k)
		}
		require.InEpsilon(t, r.Variance, variance, 1e-12)
		for m, want := range r.TailGE {
			from := testkit.Must(strconv.ParseInt(m, 10, 64))
			var tail float64
			for k := from + reach; k >= from; k-- {
				tail += prob(k)
			}
			require.InEpsilon(t, want, tail, 1e-12)
		}
	}
	for _, r := range ref.Gaussian {
		d := gaussian(t, math.Sqrt(r.Sigma2))
		check(r, expOf(d.LogProb), int64(40*d.Sigma()))
	}
	for _, r := range ref.Laplace {
		check(r, expOf(laplace(t, r.T).LogProb), int64(60*r.T))
	}
}
