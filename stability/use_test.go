package stability

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

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
	ask := func(split Split) func(*ledger.Reservation, rng.Key) error {
		return func(r *ledger.Reservation, key rng.Key) error {
			s, err := Start[int](stab, r, key)
			if err != nil {
				return err
			}
			_, err = SubsampleAggregate(t.Context(), s, 0, []int{1, 2, 3}, split, count)
			return err
		}
	}
	subsampled := func(split Split) func(*ledger.Reservation, rng.Key) error {
		return func(r *ledger.Reservation, key rng.Key) error {
			_, err := SubsampleMedian(t.Context(), median, r, key, []int{1, 2, 3}, split, part)
			return err
		}
	}
	for name, c := range map[string]struct {
		event   accountant.Event
		replace bool // holds for ReplaceOne alone
		release func(*ledger.Reservation, rng.Key) error
	}{
		"mean": {mean.Event(), true, func(r *ledger.Reservation, key rng.Key) error {
			_, err := mean.Release(r, key, []float64{1})
			return err
		}},
		"smooth median": {median.Event(), true, func(r *ledger.Reservation, key rng.Key) error {
			_, err := median.Release(r, key, []float64{1})
			return err
		}},
		"propose": {ptr.Event(), true, func(r *ledger.Reservation, key rng.Key) error {
			_, err := Propose(ptr, r, key, []float64{1}, Median(0, 1))
			return err
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
