package analysis

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/testkit"
)

func gnmax(sigma float64) Mechanism { return Mechanism{Noise: sigma} }
func lnmax(scale float64) Mechanism { return Mechanism{Laplace: true, Noise: scale} }
func confident(threshold, sigma1, sigma2 float64) Mechanism {
	return Mechanism{Tested: true, Threshold: threshold, Sigma1: sigma1, Noise: sigma2}
}

// number is a float that may be written as "-Inf", "+Inf" or null.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"-Inf"`:
		*n = number(math.Inf(-1))
	case `"+Inf"`:
		*n = number(math.Inf(1))
	case "null":
		*n = number(math.NaN())
	default:
		return json.Unmarshal(text, (*float64)(n))
	}
	return nil
}

// golden reads a sample of a reference file.
func golden[T any](t *testing.T, name string) T {
	var out T
	testkit.ReadJSON(t, filepath.Join("testdata", filepath.FromSlash(name)), &out)
	return out
}

func relative(t *testing.T, want, got, tolerance float64, msg string, args ...any) {
	t.Helper()
	if want == got || math.Abs(want-got) <= tolerance*math.Abs(want) {
		return
	}
	require.Failf(t, "not equal", "want %v, got %v (relative %.2g): "+msg, append([]any{want, got, math.Abs(want-got) / math.Abs(want)}, args...)...)
}

// TestStoppingAtADataDependentCostSeparatesNeighbours: answering the same query
// while its summed cost fits a budget takes a different number of answers on two
// histograms one moved vote apart, so the length of the transcript tells them apart.
func TestStoppingAtADataDependentCostSeparatesNeighbours(t *testing.T) {
	file := golden[struct {
		Stopping struct {
			Histogram, Neighbour []int
			Sigma, Alpha, Budget float64
			Cost                 []float64 `json:"cost_per_answer"`
			Answers              []int     `json:"answers_before_stop"`
		} `json:"data_dependent_stopping"`
	}](t, "mechanisms/filters.json")
	c := file.Stopping
	require.NotEmpty(t, c.Histogram)
	for i, counts := range [][]int{c.Histogram, c.Neighbour} {
		e := &instance{noise: gaussianNoise{c.Sigma}}
		cost := continuous(t, e, counts, []float64{c.Alpha}).both()[0]
		relative(t, c.Cost[i], cost, 1e-9, "%v", counts)
		require.Equal(t, c.Answers[i], int(math.Floor(c.Budget/cost)))
	}
	require.NotEqual(t, c.Answers[0], c.Answers[1])
	require.Less(t, c.Budget/float64(c.Answers[0]), c.Alpha/(c.Sigma*c.Sigma), "the worst case, which does not depend on the votes, stops both at once")
}

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
		"gnmax, integer": {gnmax(4), true}, "confident": {confident(40, 15, 4), false}, "lnmax": {lnmax(9), false},
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
