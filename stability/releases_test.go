package stability

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

func TestSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.IntRange(1, 200).Draw(t, "records")
		blocks := rapid.IntRange(1, records).Draw(t, "blocks")
		repetitions := rapid.IntRange(1, 4).Draw(t, "repetitions")
		key := rng.SeedKey(rapid.Uint64().Draw(t, "seed"))
		s := testkit.Must(Repeated(records, blocks, repetitions, key))
		require.Equal(t, blocks*repetitions, s.Models())
		require.Equal(t, repetitions, s.Overlap())
		for r := range repetitions {
			seen := make([]int, records)
			for _, part := range s.models[r*blocks : (r+1)*blocks] {
				require.InDelta(t, float64(records)/float64(blocks), len(part), 1)
				require.True(t, slices.IsSorted(part))
				for _, record := range part {
					seen[record]++
				}
			}
			require.Equal(t, slices.Repeat([]int{1}, records), seen)
		}
	})
	first := testkit.Must(Repeated(100, 5, 2, rng.SeedKey(1)))
	require.NotEqual(t, first.models[:5], first.models[5:], "repetitions are independent")
	for _, c := range [][3]int{{0, 1, 1}, {5, 6, 1}, {5, 0, 1}, {5, 1, 0}} {
		require.Error(t, testkit.Err(Repeated(c[0], c[1], c[2], rng.SeedKey(1))))
	}
	require.Error(t, testkit.Err(Disjoint(5, 2, rng.Key{})))
	require.Error(t, testkit.Err(ByUnit([]string{"a"}, 0, rng.SeedKey(1))))
}

func TestByUnitIgnoresOthers(t *testing.T) {
	var units []string
	for i := range 300 {
		units = append(units, strconv.Itoa(i%100))
	}
	s := testkit.Must(ByUnit(units, 7, rng.SeedKey(4)))
	place := func(s Split, units []string) map[string]int {
		out := map[string]int{}
		for j, part := range s.models {
			for _, record := range part {
				if at, ok := out[units[record]]; ok {
					require.Equal(t, at, j, "records of a unit stay together")
				}
				out[units[record]] = j
			}
		}
		return out
	}
	all := place(s, units)
	require.Len(t, all, 100)
	less := testkit.Must(ByUnit(units[1:], 7, rng.SeedKey(4)))
	require.Equal(t, all, place(less, units[1:]))
	for _, part := range s.models {
		require.NotEmpty(t, part)
	}
	// The broken variant splits by position, and one record less moves the others.
	byPosition := func(units []string) map[string]int {
		return place(testkit.Must(Disjoint(len(units), 7, rng.SeedKey(4))), units)
	}
	full, moved := byPosition(units[:100]), 0
	for unit, j := range byPosition(units[1:100]) {
		if full[unit] != j {
			moved++
		}
	}
	require.Greater(t, moved, 50)
}

func TestSubsampleDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.IntRange(4, 40).Draw(t, "records")
		split, err := Repeated(records, rapid.IntRange(2, records).Draw(t, "blocks"), rapid.IntRange(1, 3).Draw(t, "repetitions"), rng.SeedKey(rapid.Uint64().Draw(t, "seed")))
		require.NoError(t, err)
		value := rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, -1})
		data := rapid.SliceOfN(value, records, records).Draw(t, "data")
		other := slices.Clone(data)
		other[rapid.IntRange(0, records-1).Draw(t, "which")] = value.Draw(t, "to")
		f := func(_ context.Context, part []int) (int, bool) { // a fickle function of its part
			sum := 0
			for _, x := range part {
				sum += x
			}
			return sum % 3, sum >= 0
		}
		tested := func(data []int) (int, int) {
			answers, ok := testkit.Must2(evaluate(context.Background(), data, split, f))
			winner, lead := mode(answers, ok)
			require.GreaterOrEqual(t, float64(max(0, (lead-1)/2)/split.overlap), float64(lead)/float64(2*split.overlap)-1, "no less than in the literature")
			return winner, max(0, (lead-1)/2) / split.overlap
		}
		a, d := tested(data)
		b, e := tested(other)
		require.LessOrEqual(t, max(d-e, e-d), 1)
		if a != b {
			require.Zero(t, d)
			require.Zero(t, e)
		}
	})
}

func TestSubsampleAggregate(t *testing.T) {
	m := newMStab(t, MStabConfig{Noise: Laplace, Epsilon: 1, Delta: 1e-6, Questions: 3})
	session := testkit.Must(Start[string](m, reserve(t, m.Event()), rng.SeedKey(1)))
	data := testkit.Series(3000, func(i int) float64 { return 1 + 0.1*math.Sin(float64(i)) })
	split := testkit.Must(Disjoint(len(data), 60, rng.SeedKey(1).Derive("split")))
	sign := func(_ context.Context, part []float64) (string, bool) {
		sum := floats.Sum(part)
		part[0] = math.NaN() // its own copy
		if sum > 0 {
			return "positive", true
		}
		return "negative", len(part) > 0
	}
	ctx := context.Background()
	a := testkit.Must(SubsampleAggregate(ctx, session, 1, data, split, sign))
	require.Equal(t, Answer[string]{"positive", true}, a)
	require.Equal(t, 1.0, data[0])

	coin := func(_ context.Context, part []float64) (string, bool) {
		return strconv.FormatBool(math.Mod(part[0]*1e6, 2) < 1), true
	}
	a = testkit.Must(SubsampleAggregate(ctx, session, 2, data, split, coin))
	require.False(t, a.Released)
	a = testkit.Must(SubsampleAggregate(ctx, session, 3, data, split, func(context.Context, []float64) (string, bool) { return "x", false }))
	require.Equal(t, Answer[string]{}, a, "all abstain")

	require.ErrorIs(t, testkit.Err(SubsampleAggregate(ctx, session, 4, data, split, sign)), ErrExhausted)
	require.ErrorContains(t, testkit.Err(SubsampleAggregate(ctx, session, 4, data[1:], split, sign)), "split")
	require.ErrorContains(t, testkit.Err(SubsampleAggregate(ctx, session, 4, data[1:], Split{}, sign)), "split")
	done, cancel := context.WithCancelCause(ctx)
	cancel(errors.New("enough"))
	require.ErrorIs(t, testkit.Err(SubsampleAggregate(done, session, 4, data, split, sign)), context.Canceled)
}

func TestSubsampleMedian(t *testing.T) {
	m := testkit.Must(NewSmoothMedian(SmoothMedianConfig{Low: 0, High: 100, Epsilon: 1, Delta: 1e-6}))
	data := testkit.Series(5050, func(i int) float64 { return 40 + float64(i%11) })
	data[7] = 1e300 // spoils one part
	mean := func(_ context.Context, part []float64) (float64, bool) {
		return floats.Sum(part) / float64(len(part)), part[0] != 41
	}
	split := testkit.Must(Disjoint(len(data), 201, rng.SeedKey(1)))
	ctx := context.Background()
	got := testkit.Must(SubsampleMedian(ctx, m, reserve(t, m.Event()), rng.SeedKey(2), data, split, mean))
	require.InDelta(t, 45, got, 10)

	untouched := func(context.Context, []float64) (float64, bool) { panic("touched without a charge") }
	_, err := SubsampleMedian(ctx, m, reserve(t, accountant.PureDP{Epsilon: 1}), rng.SeedKey(2), data, split, untouched)
	require.ErrorIs(t, err, ledger.ErrNotReserved)
	for _, c := range [][2]int{{200, 1}, {67, 3}} {
		split := testkit.Must(Repeated(len(data), c[0], c[1], rng.SeedKey(1)))
		_, err := SubsampleMedian(ctx, m, reserve(t, m.Event()), rng.SeedKey(2), data, split, untouched)
		require.ErrorContains(t, err, "odd number of disjoint")
	}
}

func TestOverlapMustBeCharged(t *testing.T) {
	m := newMStab(t, MStabConfig{Noise: Laplace, Epsilon: 1, Delta: 0.01})
	const models, overlap = 20, 3
	at := func(votes int, divisor int64) []float64 { // for class 0, among models
		winner, lead := 0, 2*votes-models
		if lead < 0 {
			winner, lead = 1, -lead
		}
		released, failed := m.Law(int64(max(0, (lead-1)/2)) / divisor)
		p := []float64{0, 0, math.Exp(failed)}
		p[winner] = math.Exp(released)
		return p
	}
	worst := func(divisor int64) (delta float64) {
		for v := range models + 1 {
			for moved := 1; moved <= overlap && v+moved <= models; moved++ {
				delta = max(delta, testkit.EitherHockeyStick(at(v, divisor), at(v+moved, divisor), 1))
			}
		}
		return delta
	}
	require.LessOrEqual(t, worst(overlap), m.failure)
	require.Greater(t, worst(1), 2*m.failure)
}

// TestAnswersWithTwoZerosAreRefused covers a defect: one record used to choose the sign of
// the zero that was released.
func TestAnswersWithTwoZerosAreRefused(t *testing.T) {
	type place struct{ X, Y float64 }
	type named struct {
		Name string
		N    [2]int
	}
	require.False(t, faithful(reflect.TypeFor[float64]()))
	require.False(t, faithful(reflect.TypeFor[place]()))
	require.False(t, faithful(reflect.TypeFor[[3]complex128]()))
	require.False(t, faithful(reflect.TypeFor[any]()))
	for _, good := range []reflect.Type{reflect.TypeFor[int](), reflect.TypeFor[string](), reflect.TypeFor[bool](), reflect.TypeFor[named]()} {
		require.True(t, faithful(good), good)
	}
	split := testkit.Must(Disjoint(100, 10, rng.SeedKey(1)))
	session := &Session[float64]{relation: accountant.ReplaceOne}
	_, err := SubsampleAggregate(context.Background(), session, 1, make([]float64, 100), split,
		func(context.Context, []float64) (float64, bool) { return 0, true })
	require.ErrorContains(t, err, "may be equal and yet differ")
}

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
