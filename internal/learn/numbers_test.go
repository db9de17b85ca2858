package learn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/svt"
)

func pick(t require.TestingT, numbers []Number, name string) []float64 {
	for _, n := range numbers {
		if n.Name == name {
			return n.Values
		}
	}
	require.Fail(t, "no number of that name", name)
	return nil
}

func pickOne(t require.TestingT, numbers []Number, name string) float64 {
	values := pick(t, numbers, name)
	require.Len(t, values, 1, name)
	return values[0]
}

func scalarOf(t require.TestingT, trace Trace, step, number string) float64 {
	return pickOne(t, numbersOf(t, trace, step), number)
}

func numbersOf(t require.TestingT, trace Trace, step string) []Number {
	for _, s := range trace.Steps {
		if s.Name == step {
			return s.Numbers
		}
	}
	require.Fail(t, "no step of that name", step)
	return nil
}

func TestMistakesClaimTooLittle(t *testing.T) {
	for name, mistakes := range map[string][]int{
		"mean": {0, 3}, "noisy-argmax": {0, 1}, "confident": {0}, "interactive": {0}, "composition": {0, 1},
		"moments": {0}, "stability": {0, 1}, "subsample-aggregate": {0, 1}, "stable-svt": {0, 2, 3}, "dpsgd": {0, 1},
	} {
		all := runOf(t, name, nil, 0).Mistakes
		for _, i := range mistakes {
			n := all[i].Numbers
			require.Less(t, n[len(n)-2].Values[0], n[len(n)-1].Values[0], "%s: %s", name, all[i].If)
		}
	}
}

func TestMeanAddsUp(t *testing.T) {
	sum := 0.0
	const seeds = 100
	for seed := range uint64(seeds) {
		trace := runOf(t, "mean", map[string]string{"values": "1,2,30,-40", "moment": "4", "epsilon": "2"}, seed)
		require.InDelta(t, 4*math.Sqrt(4), scalarOf(t, trace, "Choose the clip without looking", "c"), 1e-12)
		require.Equal(t, []float64{1, 2, 8, -8}, pick(t, numbersOf(t, trace, "Clip every record"), "clipped"))
		noise := scalarOf(t, trace, "Add noise", "noise")
		require.InDelta(t, 3+noise, 4*scalarOf(t, trace, "Divide", "answer"), 1e-9)
		sum += math.Abs(noise)
	}
	// The mean of |noise| is the scale 2 x 8/2, and so is its standard deviation; five of
	// them, false alarm below 1e-6.
	require.InDelta(t, 8, sum/seeds, 5*8/math.Sqrt(seeds))
	require.InDelta(t, 2, runOf(t, "mean", nil, 0).Mistakes[0].Numbers[1].Values[0], 1e-9)
}

// TestStableNoise holds the noise that was found by asking to its law, and the verdict
// to the noise: 100 seeds, five standard deviations.
func TestStableNoise(t *testing.T) {
	zero := 0
	const seeds = 100
	for seed := range uint64(seeds) {
		trace := runOf(t, "stability", nil, seed)
		test := numbersOf(t, trace, "Test")
		passed := pickOne(t, test, "sum") > pickOne(t, test, "threshold T")
		require.Equal(t, passed, trace.Released.Words[:8] == "Class 0,", trace.Released.Words)
		require.Equal(t, 16.0, pickOne(t, test, "distance"))
		if pickOne(t, test, "noise") == 0 {
			zero++
		}
	}
	p := math.Tanh(0.5)
	require.InDelta(t, p, float64(zero)/seeds, 5*math.Sqrt(p*(1-p)/seeds))
}

func TestSubsampleCounts(t *testing.T) {
	trace := runOf(t, "subsample-aggregate", map[string]string{"repetitions": "2", "blocks": "40"}, 3)
	votes := pick(t, numbersOf(t, trace, "Count the votes of the blocks"), "votes")
	require.Equal(t, 80.0, votes[0]+votes[1]+votes[2])
	lead := votes[0] - max(votes[1], votes[2])
	require.Equal(t, math.Floor(math.Floor((lead-1)/2)/2), scalarOf(t, trace, "Measure the distance to instability", "distance"))
	records := pick(t, numbersOf(t, trace, "Look at the data and the question"), "records")
	require.Equal(t, 1800.0, records[0]+records[1]+records[2])
	blocks := numbersOf(t, trace, "Ask every block")
	for i := range 8 {
		require.Equal(t, 45.0, blocks[0].Values[i]+blocks[1].Values[i]+blocks[2].Values[i])
	}
}

func TestPublishedNumbers(t *testing.T) {
	composed := runOf(t, "composition", nil, 1)
	require.InDelta(t, 4.306791372516507, pickOne(t, composed.Cost.Numbers, "epsilon, optimal"), 1e-9)
	require.InDelta(t, 5.2981096617668815, pickOne(t, composed.Cost.Numbers, "epsilon, advanced"), 1e-9)
	require.InDelta(t, 238.158, pickOne(t, composed.Mistakes[0].Numbers, "epsilon claimed, as printed"), 1e-3)
	require.InDelta(t, 343.716, pickOne(t, composed.Mistakes[0].Numbers, "epsilon spent"), 1e-3)
	require.InDelta(t, 58.77, pickOne(t, composed.Mistakes[1].Numbers, "epsilon claimed, without drift"), 1e-2)
	require.InDelta(t, 168.596, pickOne(t, composed.Mistakes[1].Numbers, "epsilon spent"), 1e-3)

	counted := runOf(t, "moments", nil, 1)
	require.InDelta(t, 1.2586, pickOne(t, counted.Cost.Numbers, "epsilon, moments accountant"), 1e-4)
	require.InDelta(t, 1.0355, pickOne(t, counted.Cost.Numbers, "epsilon, Rényi accountant"), 2e-4)
	amplified := counted.Mistakes[len(counted.Mistakes)-1].Numbers
	require.InDelta(t, 0.0170, pickOne(t, amplified, "epsilon spent"), 1e-4)
	require.InDelta(t, 0.0470, pickOne(t, amplified, "as printed"), 1e-4)
	table := numbersOf(t, counted, "Add up the steps, and choose lambda")
	for i, lambda := range pick(t, table, "lambda") {
		require.InDelta(t, (pick(t, table, "steps x alpha")[i]+math.Log(1e5))/lambda, pick(t, table, "epsilon")[i], 1e-9)
	}

	require.InDelta(t, 0.968, pickOne(t, runOf(t, "noisy-argmax", nil, 1).Mistakes[1].Numbers, "loss found"), 1e-3)
	narrow := pickOne(t, runOf(t, "stable-svt", nil, 1).Mistakes[2].Numbers, "loss found")
	require.Greater(t, narrow, 1.2, "refuted")
	require.LessOrEqual(t, narrow, 1.5+1e-9, "and not more than can be")

	textbook := runOf(t, "mean", nil, 1).Mistakes[3].Numbers
	require.InDelta(t, 2.265e-5, pickOne(t, textbook, "delta spent"), 1e-8)

	sparse := runOf(t, "sparse-vector", nil, 1)
	require.InDelta(t, 4.613045304182599, pickOne(t, sparse.Mistakes[1].Numbers, "loss found"), 1e-8)
	require.InDelta(t, 3.5458500575068035, pickOne(t, sparse.Mistakes[2].Numbers, "loss found, eight questions"), 1e-8)
	require.InDelta(t, 2.9687210668360593, pickOne(t, sparse.Mistakes[3].Numbers, "loss found, four questions"), 1e-8)
}

// TestComparisons recomputes the comparisons of both sparse vectors, and holds them to
// the exact law: how often the first question is above. 100 seeds, five standard deviations.
func TestComparisons(t *testing.T) {
	const seeds = 100
	for _, law := range []svt.Law{
		{Threshold: 3, ThresholdNoise: svt.Noise{Kind: svt.DiscreteLaplace, Scale: 2}, QueryNoise: svt.Noise{Kind: svt.DiscreteLaplace, Scale: 5}, Stop: 1},
		{Threshold: -9, ThresholdNoise: svt.Noise{Kind: svt.Geometric, Scale: 2}, QueryNoise: svt.Noise{Kind: svt.Geometric, Scale: 5}, Stop: 1},
	} {
		value, above := int64(law.Threshold)-2, 0.0
		for seed := range uint64(seeds) {
			c := compare(rng.SeedKey(seed), law, []int64{value})
			require.Equal(t, c.Above[0], value+c.Nu[0] >= int64(law.Threshold)+c.Rho)
			if law.QueryNoise.Kind == svt.Geometric {
				require.GreaterOrEqual(t, min(c.Rho, c.Nu[0]), int64(0))
			}
			if c.Above[0] {
				above++
			}
		}
		first, _ := testkit.Must2(law.FirstAbove([]float64{float64(value)}))
		require.InDelta(t, first[0], above/seeds, 5*math.Sqrt(first[0]*(1-first[0])/seeds))
	}

	trace := runOf(t, "sparse-vector", map[string]string{"answers": "2"}, 5)
	noisy := scalarOf(t, trace, "Draw the noise of the threshold, once", "noisy threshold")
	rows := numbersOf(t, trace, "Compare, until the answers are used up")
	yes := 0.0
	for i, v := range pick(t, rows, "value") {
		sum := pick(t, rows, "sum")[i]
		require.Equal(t, v+pick(t, rows, "noise")[i], sum)
		require.Equal(t, sum >= noisy, pick(t, rows, "above")[i] == 1)
		yes += pick(t, rows, "above")[i]
	}
	require.LessOrEqual(t, yes, 2.0)
	likely := numbersOf(t, trace, "Ask how likely that was")
	require.LessOrEqual(t, math.Abs(pickOne(t, likely, "loss")), pickOne(t, likely, "epsilon"))
	for _, loss := range pick(t, numbersOf(t, trace, "See why those below are free"), "loss") {
		require.Less(t, loss, scalarOf(t, trace, "Divide epsilon", "epsilon1"))
	}

	trace = runOf(t, "stable-svt", nil, 5)
	bar := scalarOf(t, trace, "Draw the noise of the threshold, once", "w - rho")
	rows = numbersOf(t, trace, "Compare, until the refusals are used up")
	for i, left := range pick(t, rows, "left") {
		require.Equal(t, left > bar, pick(t, rows, "released")[i] == 1)
	}
}

// TestGradientSteps recomputes three steps of training from what the trace shows, to its
// four decimals, and holds noise and samples to their laws: 50 seeds of 18 normal
// variables and 24 coins, five standard deviations.
func TestGradientSteps(t *testing.T) {
	const seeds = 50
	squares, in := 0.0, 0
	for seed := range uint64(seeds) {
		trace := runOf(t, "dpsgd", nil, seed)
		require.Len(t, trace.Steps, 7)
		for i := 1; i < 7; i += 2 {
			records, move := trace.Steps[i].Numbers, trace.Steps[i+1].Numbers
			if len(records) > 0 {
				in += len(pick(t, records, "record"))
				for j, n := range pick(t, records, "norm") {
					require.InDelta(t, min(n, 2), pick(t, records, "norm clipped")[j], 1e-3)
					require.InDelta(t, min(1, 2/n), pick(t, records, "factor")[j], 1e-3)
				}
			}
			for j, before := range pick(t, move, "before") {
				noise := pick(t, move, "noise")[j]
				noisy := pick(t, move, "sum")[j] + noise
				require.InDelta(t, noisy, pick(t, move, "noisy sum")[j], 2e-4)
				require.InDelta(t, before-0.5*noisy/4, pick(t, move, "after")[j], 2e-4)
				squares += noise * noise
			}
		}
	}
	n := float64(seeds * 18)
	require.InDelta(t, 4, squares/n, 5*4*math.Sqrt(2/n), "variance (noise x clip)^2")
	n = seeds * 24
	require.InDelta(t, 0.5, float64(in)/n, 5*0.5/math.Sqrt(n))
}
