package stability

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// TestSplits checks that every record is in as many models as it should be, and nowhere twice.
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

// TestByUnitIgnoresOthers checks that where a unit's records go does not depend on the other units.
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

// TestSubsampleDistance checks that one record changes the tested distance by at most 1,
// and that it is 0 where winners differ, whatever the function answers.
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
			answers, ok, err := evaluate(context.Background(), data, split, f)
			require.NoError(t, err)
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
	data := make([]float64, 3000)
	for i := range data {
		data[i] = 1 + 0.1*math.Sin(float64(i))
	}
	split := testkit.Must(Disjoint(len(data), 60, rng.SeedKey(1).Derive("split")))
	sign := func(_ context.Context, part []float64) (string, bool) {
		sum := 0.0
		for _, x := range part {
			sum += x
		}
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
	data := make([]float64, 5050)
	for i := range data {
		data[i] = 40 + float64(i%11)
	}
	data[7] = 1e300 // spoils one part
	mean := func(_ context.Context, part []float64) (float64, bool) {
		sum := 0.0
		for _, x := range part {
			sum += x
		}
		return sum / float64(len(part)), part[0] != 41
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

// TestOverlapMustBeCharged checks that it is noticed if one change of a vote is charged for
// a record that is in r models.
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
