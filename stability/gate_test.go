package stability

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// TestSmallWorldGate enumerates a mechanism that answers 1 with a probability that varies with the number
// of votes, slowly at the ends and fast between them. The gate lets it answer where the probability varies
// slowly. The test uses both meanings of slowly.
func TestSmallWorldGate(t *testing.T) {
	const cost = 0.25
	chance := []float64{0.20, 0.21, 0.22, 0.20, 0.19, 0.18, 0.18, 0.17, 0.001, 0.18, 0.2, 0.22, 0.5, 0.8, 0.82, 0.83, 0.84, 0.84, 0.84, 0.84, 0.84, 0.84}
	loss := func(p, q float64) float64 { return max(math.Log(p/q), math.Log((1-p)/(1-q))) }
	good := func(n int, bothWays bool) bool {
		for _, m := range []int{n - 1, n + 1} {
			if m < 0 || m >= len(chance) {
				continue
			}
			if loss(chance[n], chance[m]) > cost || bothWays && loss(chance[m], chance[n]) > cost {
				return false
			}
		}
		return true
	}
	require.True(t, good(8, false))
	require.False(t, good(8, true), "its neighbours answer 1 much more often")
	distance := func(n int, bothWays bool) int64 {
		d := int64(len(chance))
		for m := range chance {
			if !good(m, bothWays) {
				d = min(d, int64(max(n-m, m-n)))
			}
		}
		return d
	}
	g := testkit.Must(NewGate(GateConfig{Epsilon: 0.4, Delta: 0.05, Cost: accountant.PureDP{Epsilon: cost}}))
	share := func(distance func(n int) int64) (largest float64) {
		law := func(n int) []float64 {
			passed, shut := g.Law(distance(n))
			return []float64{math.Exp(passed) * chance[n], math.Exp(passed) * (1 - chance[n]), math.Exp(shut)}
		}
		for _, eps := range []float64{0, 0.1, 0.25, 0.4, 0.65} {
			claim := deltaOf(t, g.Event(), eps)
			for n := 1; n < len(chance); n++ {
				largest = max(largest, testkit.EitherHockeyStick(law(n-1), law(n), eps)/claim)
			}
		}
		return largest
	}
	one, both := share(func(n int) int64 { return distance(n, false) }), share(func(n int) int64 { return distance(n, true) })
	t.Logf("largest share of the claim: good in one direction %.4f, in both %.4f", one, both)
	require.LessOrEqual(t, max(one, both), 1+1e-9)

	require.Greater(t, share(func(int) int64 { return 100 }), 1.5, "no test")
	require.Greater(t, share(func(n int) int64 {
		if good(n, true) {
			return 100
		}
		return 0
	}), 1.5, "a test of goodness, which is no distance")
	require.Greater(t, share(func(n int) int64 { return 6 * distance(n, true) }), 1.5, "a distance in other units")
}

// What a Rényi bound calls good says nothing of privacy loss distributions.
func TestGateWantsARenyiLedgerUnlessItIsDominated(t *testing.T) {
	for _, dominated := range []bool{false, true} {
		g := testkit.Must(NewGate(GateConfig{Epsilon: 1, Delta: 1e-6, Cost: accountant.PureDP{Epsilon: 1}, Dominated: dominated}))
		l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 10, Delta: 1e-5, Accountant: accountant.ByAuto}))
		r := testkit.Must(l.Reserve(g.Event()))
		_, err := Pass(g, r, rng.SeedKey(1), func() (int64, error) { return 100, nil }, func(rng.Key) (int, error) { return 7, nil })
		if dominated {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, ledger.ErrUnfit)
		}
	}
}

func TestPass(t *testing.T) {
	g := testkit.Must(NewGate(GateConfig{Epsilon: 1, Delta: 1e-6, Cost: accountant.PureDP{Epsilon: 0.1}}))
	require.Equal(t, accountant.PureDP{Epsilon: 0.1}, g.Event().(accountant.Composed).Events[1])
	far := func() (int64, error) { return 100, nil }
	seven := func(rng.Key) (int, error) { return 7, nil }
	a := testkit.Must(Pass(g, reserve(t, g.Event()), rng.SeedKey(1), far, seven))
	require.Equal(t, Answer[int]{7, true}, a)
	a = testkit.Must(Pass(g, reserve(t, g.Event()), rng.SeedKey(1), func() (int64, error) { return 0, nil },
		func(rng.Key) (int, error) { panic("behind a shut gate") }))
	require.Equal(t, Answer[int]{}, a)

	untouched := func() (int64, error) { panic("touched without a charge") }
	require.Error(t, testkit.Err(Pass(g, reserve(t, accountant.PureDP{Epsilon: 1}), rng.SeedKey(1), untouched, seven)))
	require.Error(t, testkit.Err(Pass(g, reserve(t, g.Event()), rng.Key{}, untouched, seven)))
	sick := errors.New("sick")
	require.ErrorIs(t, testkit.Err(Pass(g, reserve(t, g.Event()), rng.SeedKey(1), func() (int64, error) { return 100, sick }, seven)), sick)
	require.ErrorIs(t, testkit.Err(Pass(g, reserve(t, g.Event()), rng.SeedKey(1), far, func(rng.Key) (int, error) { return 7, sick })), sick)

	for _, cfg := range []GateConfig{
		{Epsilon: 1, Delta: 0.1}, {Epsilon: 1, Delta: 0.1, Cost: accountant.PureDP{Epsilon: -1}},
		{Delta: 0.1, Cost: accountant.PureDP{}}, {Epsilon: 1, Cost: accountant.PureDP{}},
	} {
		require.Error(t, testkit.Err(NewGate(cfg)))
	}
}

// TestReleasesFitTheirLedger checks that every release is refused, with no data touched, under a relation
// it does not hold for, and under a seed where the ledger says that noise is secret.
func TestReleasesFitTheirLedger(t *testing.T) {
	median := testkit.Must(NewSmoothMedian(SmoothMedianConfig{Low: 0, High: 1, Epsilon: 1, Delta: 1e-6}))
	mean := testkit.Must(NewMean(MeanConfig{Records: 1, Dimension: 1, Clip: 1, Noise: Laplace, Epsilon: 1}))
	ptr := testkit.Must(NewPTR(PTRConfig{Bound: 0.1, Epsilon: 1, TestEpsilon: 1, Delta: 1e-6}))
	stab := newMStab(t, MStabConfig{Noise: Laplace, Epsilon: 1, Delta: 1e-6})
	disjoint := testkit.Must(Disjoint(3, 3, rng.SeedKey(1)))
	byUnit := testkit.Must(ByUnit([]string{"a", "b", "c"}, 3, rng.SeedKey(1)))

	var touched atomic.Bool // the parts are evaluated side by side
	part := func(context.Context, []int) (float64, bool) { touched.Store(true); return 0.5, true }
	count := func(context.Context, []int) (int, bool) { touched.Store(true); return 1, true }
	type releases = func(*ledger.Reservation, rng.Key) error
	ask := func(split Split) releases {
		return func(r *ledger.Reservation, key rng.Key) error {
			s, err := Start[int](stab, r, key)
			if err != nil {
				return err
			}
			return testkit.Err(SubsampleAggregate(t.Context(), s, 0, []int{1, 2, 3}, split, count))
		}
	}
	subsampled := func(split Split) releases {
		return func(r *ledger.Reservation, key rng.Key) error {
			return testkit.Err(SubsampleMedian(t.Context(), median, r, key, []int{1, 2, 3}, split, part))
		}
	}
	one := []float64{1}
	for name, c := range map[string]struct {
		event   accountant.Event
		replace bool // holds for ReplaceOne alone
		release releases
	}{
		"mean":          {mean.Event(), true, func(r *ledger.Reservation, key rng.Key) error { return testkit.Err(mean.Release(r, key, one)) }},
		"smooth median": {median.Event(), true, func(r *ledger.Reservation, key rng.Key) error { return testkit.Err(median.Release(r, key, one)) }},
		"propose": {ptr.Event(), true, func(r *ledger.Reservation, key rng.Key) error {
			return testkit.Err(Propose(ptr, r, key, one, Median(0, 1)))
		}},
		"aggregate":         {stab.Event(), true, ask(disjoint)},
		"aggregate by unit": {stab.Event(), false, ask(byUnit)},
		"median of parts":   {median.Event(), true, subsampled(disjoint)},
		"median by unit":    {median.Event(), false, subsampled(byUnit)},
	} {
		t.Run(name, func(t *testing.T) {
			secret := testkit.Must(rng.NewKey())
			on := func(relation accountant.Relation, key rng.Key) error {
				l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: relation, Epsilon: 1e9, Delta: 0.5, Noise: ledger.SecretNoise}))
				r := testkit.Must(l.Reserve(c.event))
				touched.Store(false)
				return c.release(r, key)
			}
			require.ErrorIs(t, on(accountant.ReplaceOne, rng.SeedKey(1)), ledger.ErrUnfit)
			require.False(t, touched.Load())
			require.NoError(t, on(accountant.ReplaceOne, secret))
			err := on(accountant.AddRemove, secret)
			if !c.replace {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ledger.ErrUnfit)
			require.False(t, touched.Load())
		})
	}
}

func TestChargesUnderOneKey(t *testing.T) {
	mean := testkit.Must(NewMean(MeanConfig{Records: 1, Dimension: 1, Clip: 1, Noise: Laplace, Epsilon: 1}))
	l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.ReplaceOne, Epsilon: 1e9, Delta: 0.5}))
	charges := testkit.Must(l.ReserveBatch([]accountant.Event{mean.Event(), mean.Event(), mean.Event()}))
	seen := map[float64]bool{}
	for _, r := range charges {
		released := testkit.Must(mean.Release(r, rng.SeedKey(1), []float64{0}))
		require.False(t, seen[released], "two charges met the same noise")
		seen[released] = true
	}
}
