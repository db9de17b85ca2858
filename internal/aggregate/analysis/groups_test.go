package analysis

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/testkit"
)

// spreadTallies are histograms of ten teachers more and more apart, so that tables made for
// one are too short for the next.
func spreadTallies(n int) [][]int {
	out := make([][]int, n)
	for i := range out {
		out[i] = []int{20 + i%60, 30 - i/60%20, i % 7, 5}
	}
	return out
}

// onCores runs with so many processors.
func onCores(n int, run func()) {
	before := runtime.GOMAXPROCS(n)
	defer runtime.GOMAXPROCS(before)
	run()
}

func TestReportsDoNotDependOnTheNumberOfCores(t *testing.T) {
	rows := spreadTallies(blockGroups + 17)
	for name, c := range map[string]struct {
		m       Mechanism
		integer bool
	}{
		"gnmax": {gnmax(12), false}, "gnmax, integer": {gnmax(12), true},
		"confident": {confident(40, 15, 12), false}, "lnmax": {lnmax(9), false},
	} {
		t.Run(name, func(t *testing.T) {
			var want *Report
			for _, cores := range []int{1, 5} {
				onCores(cores, func() {
					got := testkit.Must(Analyze(context.Background(), c.m, histograms(rows), Options{Delta: 1e-5, Orders: []float64{1.5, 2, 2.5, 20}, IntegerNoise: c.integer}))
					if want == nil {
						want = got
					}
					require.Equal(t, want, got, "%d cores", cores)
				})
			}
		})
	}
}

func TestInOrder(t *testing.T) {
	groups := make([]group, 2*blockGroups+1)
	for i := range groups {
		groups[i].queries = i
	}
	failing := func(at ...int) func() (func(int, group) (int, error), error) {
		return func() (func(int, group) (int, error), error) {
			return func(i int, g group) (int, error) {
				require.Equal(t, i, g.queries)
				for _, a := range at {
					if i == a {
						return 0, errors.New(string(rune('a' + i%26)))
					}
				}
				return 2 * i, nil
			}, nil
		}
	}
	for _, cores := range []int{1, 3} {
		onCores(cores, func() {
			var seen []int
			require.NoError(t, inOrder(context.Background(), groups, failing(), func(i, of int) {
				require.Equal(t, 2*i, of)
				seen = append(seen, i)
			}))
			require.Len(t, seen, len(groups))
			require.IsIncreasing(t, seen)
			// The first of two failures, in order, and nothing of its block.
			taken := 0
			err := inOrder(context.Background(), groups, failing(blockGroups+5, blockGroups+3), func(int, int) { taken++ })
			require.EqualError(t, err, string(rune('a'+(blockGroups+3)%26)))
			require.Equal(t, blockGroups, taken)
			ctx, cancel := context.WithCancel(context.Background())
			err = inOrder(ctx, groups, failing(), func(i, _ int) {
				if i == 0 {
					cancel()
				}
			})
			require.ErrorIs(t, err, context.Canceled)
			none := func() (func(int, group) (int, error), error) { return nil, aggregate.ErrExhausted }
			require.ErrorIs(t, inOrder(context.Background(), groups, none, func(int, int) {}), aggregate.ErrExhausted)
		})
	}
}
