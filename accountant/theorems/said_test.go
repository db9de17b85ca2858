package theorems

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	. "github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// failing is the law of a mechanism that is exactly (epsilon, delta) private, on four outcomes, for each of
// two neighbours.
func failing(epsilon, delta float64) (p, q []float64) {
	r, s := 1/(1+math.Exp(-epsilon)), 1/(1+math.Exp(epsilon)) // which make 1
	return []float64{delta, (1 - delta) * r, (1 - delta) * s, 0}, []float64{0, (1 - delta) * s, (1 - delta) * r, delta}
}

func TestPairEpsilonIsThatOfTheWorst(t *testing.T) {
	for _, epsilon := range []float64{1e-3, 0.5, 2, 8, 40} {
		for _, delta := range []float64{0, 1e-9, 1e-3, 0.2} {
			p, q := failing(epsilon, delta)
			for _, at := range []float64{1e-9, 1e-5, 1e-3, 0.1, 0.3, 0.9} {
				says := PairEpsilon(epsilon, delta, at)
				if at < delta {
					require.True(t, math.IsInf(says, 1))
					continue
				}
				require.LessOrEqual(t, says, epsilon*(1+1e-15)+1e-15)
				require.LessOrEqual(t, testkit.HockeyStick(p, q, says), at*(1+1e-12)+1e-15, "%v %v %v", epsilon, delta, at)
				if says > 1e-6 { // exact: a little less breaks it, but where one double is all that is lost
					require.Greater(t, testkit.HockeyStick(p, q, says-1e-6*(1+says)), at*(1-1e-12), "%v %v %v", epsilon, delta, at)
				}
			}
		}
	}
	require.Equal(t, 2.0, PairEpsilon(2, 1e-5, 1e-5))
	for _, bad := range [][3]float64{{math.NaN(), 0, 0.1}, {1, math.NaN(), 0.1}, {1, 0, math.NaN()}, {-1, 0, 0.1}, {1, 0, 1}} {
		require.True(t, math.IsInf(PairEpsilon(bad[0], bad[1], bad[2]), 1), "%v", bad)
	}
}

func concentrated(t *testing.T, rho float64) *Concentrated {
	z := testkit.Must(NewZCDP(AddRemove, Improved))
	require.NoError(t, z.Compose(ZCDP{Rho: rho}, 1))
	return z
}

func TestTPROfConcentration(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 0))
	for _, rho := range []float64{1e-4, 0.01, 0.1, 0.5, 2, 10} {
		z := concentrated(t, rho)
		for _, fpr := range []float64{0, 1e-6, 0.001, 0.01, 0.1, 0.5, 0.9, 1} {
			tpr := testkit.Must(z.TPR(fpr))
			require.GreaterOrEqual(t, tpr, fpr)
			if fpr > 0 && fpr < 1 {
				gauss := distuv.UnitNormal.CDF(distuv.UnitNormal.Quantile(fpr) + math.Sqrt(2*rho))
				require.GreaterOrEqual(t, tpr, gauss*(1-1e-12), "%v %v", rho, fpr)
			}
			byPair := 1.0
			for delta := 1e-12; delta < 1; delta *= 1.5 {
				b := testkit.Must(z.Epsilon(context.Background(), delta))
				byPair = min(byPair, delta+math.Exp(b.Upper)*fpr, 1-math.Exp(-b.Upper)*(1-delta-fpr))
			}
			require.LessOrEqual(t, tpr, byPair*(1+1e-3), "%v %v", rho, fpr)
		}
		for range 100 {
			p, q := law(rnd), law(rnd)
			for !within1(p, q, rho) { // nearer until the pair is within rho
				for i := range p {
					p[i] = 0.7*p[i] + 0.3*q[i]
				}
			}
			order := []int{0, 1, 2}
			slices.SortFunc(order, func(i, j int) int {
				if p[i]*q[j] > p[j]*q[i] {
					return -1
				}
				return 1
			})
			require.LessOrEqual(t, p[order[0]], testkit.Must(z.TPR(q[order[0]]))*(1+1e-9), "%v: %v %v", rho, p, q)
		}
	}
	for _, bad := range []float64{-1, 1.1, math.NaN()} {
		_, err := concentrated(t, 1).TPR(bad)
		require.Error(t, err)
	}
}

func law(rnd *rand.Rand) []float64 {
	p, sum := make([]float64, 3), 0.0
	for i := range p {
		p[i] = rnd.ExpFloat64()
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func within1(p, q []float64, rho float64) bool {
	for a := 1.0005; a < 4000; a = 1 + (a-1)*1.1 {
		for _, x := range [2][2][]float64{{p, q}, {q, p}} {
			if testkit.Renyi(x[0], x[1], a) > a*rho {
				return false
			}
		}
	}
	return true
}
