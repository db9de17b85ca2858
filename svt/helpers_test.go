package svt

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
)

// falseAlarm is the probability that a correct mechanism fails one of the chi-square tests.
// Seeds are fixed, so a test fails always or never.
const falseAlarm = 1e-9

func readReference(t *testing.T, name string, v any) {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, v))
}

func reserve(t require.TestingT, e accountant.Event) *ledger.Reservation {
	l, err := ledger.Open("", ledger.Config{Unit: "record", Relation: accountant.ReplaceOne, Epsilon: 1e9, Delta: 1 - 1e-9})
	require.NoError(t, err)
	r, err := l.Reserve(e)
	require.NoError(t, err)
	return r
}

// hockeyStick returns sum (p - e^eps q)_+.
func hockeyStick(p, q []float64, eps float64) float64 {
	sum := 0.0
	for i := range p {
		sum += math.Max(0, p[i]-math.Exp(eps)*q[i])
	}
	return sum
}

// either returns the larger hockey-stick divergence of the two orders.
func either(p, q []float64, eps float64) float64 {
	return max(hockeyStick(p, q, eps), hockeyStick(q, p, eps))
}

// deltaOf returns what an account claims for one event.
func deltaOf(t require.TestingT, e accountant.Event, eps float64) float64 {
	account, err := accountant.NewRDP(accountant.Config{Relation: accountant.ReplaceOne})
	require.NoError(t, err)
	require.NoError(t, account.Compose(e, 1))
	b, err := account.Delta(eps)
	require.NoError(t, err)
	return b.Upper
}

// chiSquare returns the p-value of Pearson's test. Cells with fewer than 20 expected are
// merged.
func chiSquare(observed, expected []float64) float64 {
	chi2, rest, restExpected, cells := 0.0, 0.0, 0.0, 0
	add := func(o, e float64) {
		chi2 += (o - e) * (o - e) / e
		cells++
	}
	for i, e := range expected {
		if e >= 20 {
			add(observed[i], e)
		} else {
			rest, restExpected = rest+observed[i], restExpected+e
		}
	}
	if restExpected >= 5 {
		add(rest, restExpected)
	} else if rest > restExpected+45 { // Poisson(5): probability below 1e-22
		return 0
	}
	if cells < 2 {
		return 1
	}
	return distuv.ChiSquared{K: float64(cells - 1)}.Survival(chi2)
}
