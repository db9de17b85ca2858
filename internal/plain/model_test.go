package plain

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/testkit"
)

// models are one of each part for two features and three classes, and what they score a row of 1 and 2, by
// hand.
func models() map[string]struct {
	model Model
	want  []float64
} {
	const e = math.E
	near := math.Exp(-0.5 * 2)
	linear := Linear{Classes: []int{0, 2}, Weights: [][]float64{{1, 0}, {0, 1}}, Bias: []float64{0, 0}}
	return map[string]struct {
		model Model
		want  []float64
	}{
		"constant": {Model{Constant: &Constant{Class: 1}}, []float64{0, 1, 0}},
		"linear":   {Model{Linear: &linear}, []float64{1 / (1 + e), 0, e / (1 + e)}},
		// The row is one away from the landmark in either feature.
		"kernel": {Model{Kernel: &Kernel{Classes: []int{1, 2}, Gamma: 0.5, Landmarks: [][]float64{{0, 1}}, Coefficients: [][]float64{{2, -1}}, Intercept: []float64{1, 0}}},
			[]float64{0, 1 + 2*near, -near}},
		// (1-0)·2 and (2-0)·2, cut at 3, are 2 and 3; their sum is the one coordinate.
		"kernel on directions": {Model{Kernel: &Kernel{Classes: []int{0}, Centre: []float64{0, 0}, Scale: 2, Limit: 3, Directions: [][]float64{{1}, {1}}, Gamma: 1,
			Landmarks: [][]float64{{4}}, Coefficients: [][]float64{{1}}, Intercept: []float64{0}}}, []float64{math.Exp(-1), 0, 0}},
		// The first tree goes left, as 1 is at most 1; the second is a leaf.
		"forest": {Model{Trees: &Trees{Classes: []int{0, 1, 2}, Roots: []int{0, 3}, Column: []int{0, -1, -1, -1}, Threshold: []float64{1, 0, 0, 0}, Right: []int{2, 0, 1, 2},
			Ends: []int{2, 3, 4}, LeafClass: []int{0, 1, 2, 2}, Share: []float64{0.25, 0.75, 1, 1}}}, []float64{0.125, 0.375, 0.5}},
		"boosted trees of two classes": {Model{Trees: &Trees{Classes: []int{0, 1}, Roots: []int{0}, Column: []int{1, -1, -1}, Threshold: []float64{1.5, -3, 0.25}, Right: []int{2, 0, 0},
			Prior: []float64{0.75}}}, []float64{1 / (1 + e), e / (1 + e), 0}},
		// Shares of (0, 1, 0) with doubt 1 are 1/4, 1/2, 1/4; of its squares 1/6, 4/6, 1/6.
		"mean": {Model{Mean: &Mean{Doubt: 1, Members: []Member{{Power: 1, Weight: 0.5, Model: Model{Constant: &Constant{Class: 1}}},
			{Power: 2, Weight: 0.5, Model: Model{Constant: &Constant{Class: 1}}}}}}, []float64{5. / 24, 14. / 24, 5. / 24}},
	}
}

func rows(values ...float32) blas32.General {
	return blas32.General{Rows: len(values) / 2, Cols: 2, Stride: 2, Data: values}
}

func TestScoresByHand(t *testing.T) {
	for name, c := range models() {
		require.NoError(t, c.model.Check(2, 3), name)
		x := rows()
		for range blockRows + 1 { // more than are scored at a time
			x.Rows++
			x.Data = append(x.Data, 1, 2)
		}
		got, err := c.model.Scores(t.Context(), x, 3)
		require.NoError(t, err, name)
		for i := range x.Rows {
			require.InDeltaSlice(t, c.want, got[3*i:3*i+3], 1e-14, "%s, row %d", name, i)
		}
	}
}

func TestAWalkComparesAsFloat32(t *testing.T) {
	tree := Trees{Column: []int{0, -1, -1}, Threshold: []float64{0.1, 0, 0}, Right: []int{2, 0, 0}}
	require.Equal(t, 2, tree.walk(0, []float32{0.1}), "0.1 as float32 is above 0.1")
	require.Equal(t, 1, tree.walk(0, []float32{math.Nextafter32(0.1, 0)}))
}

// TestWhatCheckAcceptsDoesNotPanic: numbers of every model are replaced by others and lists cut, one at a
// time and in twos. What Check accepts gives scores for all rows.
func TestWhatCheckAcceptsDoesNotPanic(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 1))
	odd := []any{-2., -1., 0., 1., 2., 3., 4., 7., 0.5, 1e308, -1e308, 1e-320}
	var change func(v any) any
	change = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			keys := slices.Sorted(maps.Keys(v))
			key := keys[rnd.IntN(len(keys))]
			v[key] = change(v[key])
			return v
		case []any:
			switch n := len(v); {
			case n > 0 && rnd.IntN(6) == 0:
				return v[:n-1]
			case rnd.IntN(8) == 0:
				return append(v, odd[rnd.IntN(len(odd))])
			case n > 0:
				i := rnd.IntN(n)
				v[i] = change(v[i])
			}
			return v
		case float64:
			return odd[rnd.IntN(len(odd))]
		}
		return v
	}
	x := rows(1, 2, -3e38, 3e38, 0, 0, float32(math.Inf(1)), float32(math.NaN()))
	accepted, refused := map[string]int{}, map[string]int{}
	for name, c := range models() {
		text := testkit.Must(json.Marshal(c.model))
		for range 400 {
			var tree any
			require.NoError(t, json.Unmarshal(text, &tree))
			for range 1 + rnd.IntN(2) {
				tree = change(tree)
			}
			changed := testkit.Must(json.Marshal(tree))
			var m Model
			if json.Unmarshal(changed, &m) != nil || m.Check(2, 3) != nil {
				refused[name]++
				continue
			}
			accepted[name]++
			require.NotPanics(t, func() {
				require.Len(t, testkit.Must(m.Scores(t.Context(), x, 3)), 12)
			}, "%s", changed)
		}
		require.Positive(t, refused[name], name)
		require.Positive(t, accepted[name], name)
	}
	t.Logf("accepted %v, refused %v", accepted, refused)
}

func TestCheckRefuses(t *testing.T) {
	constant := Model{Constant: &Constant{Class: 1}}
	deep := constant
	for range maxDepth + 1 {
		deep = Model{Mean: &Mean{Doubt: 0.5, Members: []Member{{Power: 1, Weight: 1, Model: deep}}}}
	}
	both := models()["linear"].model
	both.Constant = constant.Constant
	for name, m := range map[string]Model{"nothing": {}, "two parts": both, "too deep": deep, "another class": {Constant: &Constant{Class: 3}}} {
		require.Error(t, m.Check(2, 3), name)
	}
	require.Error(t, constant.Check(0, 3))
	require.Error(t, constant.Check(2, 1))
}
