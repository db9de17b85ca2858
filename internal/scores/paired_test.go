package scores

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConstantAndBalanced(t *testing.T) {
	require.True(t, Constant([]int{2, 2, 2}))
	require.False(t, Constant([]int{2, 2, 1}))
	require.InDelta(t, 0.6, Balanced([]float64{0.4, 0.8, 0}, []int{3, 1, 0}), 1e-15, "classes without rows do not count")
	require.Zero(t, Balanced(nil, nil))
}

func binomialTail(wins, n int) float64 {
	p := 0.0
	for k := wins; k <= n; k++ {
		lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
		p += math.Exp(lg(n) - lg(k) - lg(n-k) - float64(n)*math.Ln2)
	}
	return p
}

// TestPairedIsMcNemarsExactTest: of one run the interval leaves out 0 if and only if twice the tail of a fair
// coin over the discordant rows is below 5 %.
func TestPairedIsMcNemarsExactTest(t *testing.T) {
	told := 0
	for wins := range 25 {
		for losses := range 25 {
			labels, a, b := make([]int, 60), make([]int, 60), make([]int, 60) // class 0 alone, 1 is wrong
			for i := range wins {
				b[i] = 1
			}
			for i := range losses {
				a[59-i] = 1
			}
			accuracy, _ := Paired([][]int{a}, [][]int{b}, labels, 2)
			require.InDelta(t, float64(wins-losses)/60, accuracy.Mean, 1e-12)
			require.LessOrEqual(t, accuracy.Low, accuracy.Mean)
			require.GreaterOrEqual(t, accuracy.High, accuracy.Mean)
			p := 2 * binomialTail(max(wins, losses), wins+losses)
			require.Equal(t, p < 0.05, accuracy.Differs(), "%d to %d, p %g", wins, losses, p)
			if accuracy.Differs() {
				told++
			}
		}
	}
	require.Positive(t, told)
}

func TestPairedTellsAConstantFromAModel(t *testing.T) {
	labels, model, constant := make([]int, 1000), make([]int, 1000), make([]int, 1000)
	for i := range labels {
		if i >= 700 {
			labels[i], model[i] = 1, i%2
		} else if i < 150 {
			model[i] = 1
		}
	}
	accuracy, balanced := Paired([][]int{model}, [][]int{constant}, labels, 2)
	require.Zero(t, accuracy.Mean)
	require.False(t, accuracy.Differs())
	require.InDelta(t, (550./700+0.5)/2-0.5, balanced.Mean, 1e-12)
	require.True(t, balanced.Differs())
	accuracy, balanced = Paired([][]int{model}, [][]int{model}, labels, 2)
	require.Equal(t, Interval{}, accuracy)
	require.False(t, balanced.Differs())
}

// TestPairedOverRuns: runs that differ alike have the interval of one run, as they share the rows, and runs
// that scatter have a wider one.
func TestPairedOverRuns(t *testing.T) {
	labels := make([]int, 400)
	wrong := func(from, to int) []int {
		out := make([]int, 400)
		for i := from; i < to; i++ {
			out[i] = 1
		}
		return out
	}
	good, bad := wrong(0, 10), wrong(10, 50)
	one, _ := Paired([][]int{good}, [][]int{bad}, labels, 2)
	three, _ := Paired([][]int{good, good, good}, [][]int{bad, bad, bad}, labels, 2)
	require.InDelta(t, one.Low, three.Low, 1e-12)
	require.InDelta(t, one.High, three.High, 1e-12)
	// The differences are 0.1, 0 and 0.05: their deviation is 0.05, and Student's t is 4.302653.
	spread, _ := Paired([][]int{good, good, good}, [][]int{wrong(10, 60), wrong(10, 20), wrong(10, 40)}, labels, 2)
	require.False(t, spread.Differs())
	require.Greater(t, spread.High-spread.Mean, 4.302653*0.05/math.Sqrt(3)-1e-9)
}

// TestPairedFalseAlarms: of 2,000 pairs of equally good methods at most 5 % are told apart, and nearly 5 %.
func TestPairedFalseAlarms(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	alarms, balancedAlarms := 0, 0
	const pairs, n = 2000, 600
	for range pairs {
		labels, a, b := make([]int, n), make([]int, n), make([]int, n)
		for i := range labels {
			labels[i] = rnd.IntN(3) % 2 // classes 0 and 1, two to one
			hard := rnd.Float64()
			for _, p := range [][]int{a, b} {
				if p[i] = labels[i]; rnd.Float64() < hard {
					p[i] = 1 - labels[i]
				}
			}
		}
		accuracy, balanced := Paired([][]int{a}, [][]int{b}, labels, 2)
		if accuracy.Differs() {
			alarms++
		}
		if balanced.Differs() {
			balancedAlarms++
		}
	}
	for _, count := range []int{alarms, balancedAlarms} {
		require.InDelta(t, 0.045, float64(count)/pairs, 0.017)
	}
}
