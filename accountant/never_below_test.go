package accountant_test

import (
	"context"
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/pate-go/pate/accountant"
	"github.com/stretchr/testify/require"
)

var compositions = flag.Int("compositions", 12, "random compositions that TestNoAccountantIsBelowALowerEnd asks every accountant about")

// randomRuns returns events with counts whose composition costs about target, a
// sum of epsilon^2/2.
func randomRuns(rnd *rand.Rand) (events []Event, counts []int64) {
	log := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + rnd.Float64()*math.Log(hi/lo)) }
	target := log(1e-6, 30)
	for range 1 + rnd.IntN(3) {
		noise, q, s := log(0.3, 1e9), log(1e-6, 0.9), int64(log(1, 300))
		if rnd.IntN(3) == 0 { // moderate
			noise = log(0.3, 300)
		}
		eps := 1 / noise
		var e Event
		cost := eps * eps / 2
		switch rnd.IntN(17) {
		case 0:
			e = Gaussian{noise}
		case 1:
			e = Laplace{noise}
		case 2, 3:
			e, cost = DiscreteLaplace{noise * float64(s), s}, eps*eps/2
		case 4:
			e = PureDP{eps}
		case 5:
			e = RandomizedResponse{eps}
		case 6:
			e, cost = KaryResponse{eps, 2 + s}, eps*eps/float64(2+s)
		case 7:
			e, cost = ExponentialMechanism{eps}, eps*eps/8
		case 8:
			e, cost = LNMax{Scale: noise, Discrete: rnd.IntN(2) == 0}, eps*eps
		case 9:
			e, cost = GNMax{Sigma: noise, Discrete: noise < 2000 && rnd.IntN(2) == 0}, eps*eps
		case 10:
			e = Threshold{Sigma: noise, Discrete: noise < 2000 && rnd.IntN(2) == 0}
		case 11:
			noise = math.Min(noise, 1e6)
			e, cost = PoissonSampled{q, Gaussian{noise}}, math.Min(1/noise/noise/2, q*q*math.Expm1(math.Min(1/noise/noise, 50))/2)
		case 12:
			e, cost = PoissonSampled{q, PureDP{eps}}, q*q*eps*eps/2
		case 13:
			e, cost = DiscreteGaussian{math.Min(noise, 2000), 1}, 1/math.Min(noise, 2000)/math.Min(noise, 2000)/2
		case 14:
			e, cost = PoissonSampled{q, Laplace{noise}}, q*q*eps*eps/2
		case 15:
			e, cost = PoissonSampled{q, DiscreteLaplace{noise * float64(s), s}}, q*q*eps*eps/2
		case 16:
			e, cost = PoissonSampled{q, DiscreteGaussian{math.Min(noise, 2000), 1}}, q*q/math.Min(noise, 2000)/math.Min(noise, 2000)/2
		}
		if rnd.IntN(6) == 0 {
			e = WithFailure{e, log(1e-30, 1e-16)}
		}
		events = append(events, e)
		counts = append(counts, int64(math.Max(1, math.Min(9e15, target/cost))))
	}
	return events, counts
}

// No accountant answers less than the largest lower end that any of them certifies, for
// noise to 1e9 and counts to 9e15.
func TestNoAccountantIsBelowALowerEnd(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(11, seed()))
	answered, informative := 0, 0
	all := Cases(compositions, 50)
	for i := range all {
		events, counts := randomRuns(rnd)
		relation := AddRemove
		for _, e := range events {
			if w, ok := e.(WithFailure); ok {
				e = w.Event
			}
			if _, ok := e.(KaryResponse); ok {
				relation = ReplaceOne
			}
		}
		delta := math.Exp(math.Log(1e-12) + rnd.Float64()*math.Log(1e10))
		upper := make(map[string]Bound)
		lower := 0.0
		for name, account := range everyAccountant(t, relation, i%4 == 0) {
			refused := false
			for j := range events {
				err := account.Compose(events[j], counts[j])
				if errors.Is(err, ErrUnsupportedEvent) {
					refused = true
					break
				}
				require.NoError(t, err, "%s: %#v x %d", name, events[j], counts[j])
			}
			if refused {
				continue
			}
			b, err := account.Epsilon(context.Background(), delta)
			require.NoError(t, err, "%s: %#v x %d", name, events, counts)
			upper[name], lower = b, math.Max(lower, b.Lower)
		}
		if len(upper) > 1 {
			answered++
		}
		if lower > 0 && lower > upper["rdp"].Upper/2 {
			informative++
		}
		for name, b := range upper {
			require.GreaterOrEqual(t, b.Upper, lower, "%s below a lower end: %#v x %v at delta %v", name, events, counts, delta)
		}
	}
	t.Logf("%d of %d compositions had two answers or more, %d a lower end above half of the answer", answered, all, informative)
	require.Greater(t, informative, all/4)
}

func seed() uint64 { return flag.Lookup("seed").Value.(flag.Getter).Get().(uint64) }

// everyAccountant starts one account of each kind that bounds; the composition
// theorems are slow.
func everyAccountant(t *testing.T, rel Relation, slow bool) map[string]Accountant {
	accounts := make(map[string]Accountant)
	start := func(name string, a Accountant, err error) {
		require.NoError(t, err)
		accounts[name] = a
	}
	rdp, err := NewRDP(RDPConfig{Relation: rel})
	start("rdp", rdp, err)
	pld, err := NewPLD(PLDConfig{Relation: rel, Gap: 0.05, MaxMemory: 2 << 20})
	start("pld", pld, err)
	zcdp, err := NewZCDP(rel, Improved)
	start("zcdp", zcdp, err)
	moments, err := NewMoments(rel)
	start("moments", moments, err)
	if slow {
		basic, err := NewBasic(rel)
		start("basic", basic, err)
		advanced, err := NewAdvanced(rel)
		start("advanced", advanced, err)
		optimal, err := NewOptimal(rel)
		start("optimal", optimal, err)
	}
	return accounts
}
