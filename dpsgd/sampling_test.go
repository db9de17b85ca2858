package dpsgd

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// stepsOf returns, for every record, the steps it is in, of a run of this many steps.
func stepsOf(b *batcher, key rng.Key, steps int) [][]int {
	in := make([][]int, b.records)
	for step := range steps {
		b.draw(2, key, step)
		for _, r := range b.rows {
			in[r] = append(in[r], step)
		}
	}
	return in
}

// TestRecordsOfTwoPartsAreIndependent checks, in every scheme, that records with the same place in two
// parts, which have streams of random numbers of their own, go together like any two records: all pairs
// of what they draw come equally often. The false-alarm rate is 1e-6 each.
func TestRecordsOfTwoPartsAreIndependent(t *testing.T) {
	for _, x := range []struct {
		name     string
		sampling Sampling
		q        float64
		steps    int
	}{
		{"poisson", Sampling{}, 0.5, 3},
		{"allocation", allocate(5, 2), 0, 5},
		{"balls in bins", bins(7), 0, 7},
		{"turns", cycle(7), 1.0 / 7, 7}, // taken for certain
		{"coins of a turn", cycle(1), 0.5, 3},
	} {
		in := stepsOf(newBatcher(x.sampling, x.q, 0, 2*drawLength, 3), rng.SeedKey(5), x.steps)
		places := map[string]int{}
		for _, steps := range in {
			if _, ok := places[fmt.Sprint(steps)]; !ok {
				places[fmt.Sprint(steps)] = len(places)
			}
		}
		pairs := make([]float64, len(places)*len(places))
		for record := range drawLength {
			pairs[places[fmt.Sprint(in[record])]*len(places)+places[fmt.Sprint(in[record+drawLength])]]++
		}
		require.Greater(t, len(pairs), 40, x.name)
		t.Run(x.name, func(t *testing.T) { fits(t, pairs) })
	}
}

func TestAllocationTakesKStepsOfEveryEpoch(t *testing.T) {
	const records, epochs, steps, per = drawLength + 2000, 4, 5, 2 // two parts
	b := newBatcher(allocate(steps, per), 0, 0, records, 3)
	subsets := map[[per]int]int{}
	for i := range steps {
		for j := range i {
			subsets[[per]int{j, i}] = len(subsets)
		}
	}
	n := len(subsets)
	one, pairs, rows := make([]float64, n), make([]float64, n*n), make([]float64, n*n)
	last := 0
	for r, in := range stepsOf(b, rng.SeedKey(1), epochs*steps) {
		require.Len(t, in, epochs*per)
		before := 0
		for e := range epochs {
			at, ok := subsets[[per]int{in[e*per] - e*steps, in[e*per+1] - e*steps}]
			require.True(t, ok, "record %d, epoch %d: %v", r, e, in)
			one[at]++
			if e > 0 {
				pairs[before*n+at]++
			} else if r%2 == 1 { // so that pairs do not overlap
				rows[last*n+at]++
			}
			if e == 0 {
				last = at
			}
			before = at
		}
	}
	fits(t, one)
	fits(t, pairs)
	fits(t, rows)
	blocks := make([]float64, b.blocks*2)
	for step := range 4 * steps {
		b.draw(1, rng.SeedKey(2), step)
		for k := range b.blocks {
			require.True(t, slices.IsSorted(b.block(k)))
			blocks[step%2*b.blocks+k] += float64(len(b.block(k)))
		}
	}
	fits(t, blocks)
}

func TestBallsStayInTheirBins(t *testing.T) {
	const records, epochs, steps = drawLength + 2000, 3, 7
	b := newBatcher(bins(steps), 0, 0, records, 4)
	counts, neighbours := make([]float64, steps), make([]float64, steps*steps)
	last := 0
	for r, in := range stepsOf(b, rng.SeedKey(3), epochs*steps) {
		require.Equal(t, []int{in[0], in[0] + steps, in[0] + 2*steps}, in)
		counts[in[0]]++
		if r%2 == 1 {
			neighbours[last*steps+in[0]]++
		}
		last = in[0]
	}
	fits(t, counts)
	fits(t, neighbours)
	b.draw(1, rng.SeedKey(3), 0)
	first := slices.Clone(b.block(0))
	b.draw(1, rng.SeedKey(3), steps)
	require.NotEqual(t, first, b.block(0))
}

func TestTurnsAreTakenInOrder(t *testing.T) {
	const records, bands, rounds, q = drawLength + 2000, 4, 6, 0.1
	b := newBatcher(cycle(bands), q, 0, records, 3)
	turns, pairs, coins, joined := make([]float64, bands), make([]float64, bands*bands), make([]float64, 1<<rounds), 0
	before := -1
	for _, in := range stepsOf(b, rng.SeedKey(1), bands*rounds) {
		at, mask := -1, 0
		for _, step := range in {
			require.True(t, at < 0 || at == step%bands, "%v", in)
			at = step % bands
			mask |= 1 << (step / bands)
		}
		coins[mask]++
		joined += len(in)
		if at >= 0 {
			turns[at]++
			if before >= 0 {
				pairs[before*bands+at]++
				at = -1
			}
		}
		before = at
	}
	fits(t, turns)
	fits(t, pairs)
	law := make([]float64, len(coins))
	set := 0
	for weight := range batches(rounds, bands*q) {
		law[set] = records * weight
		set++
	}
	require.Greater(t, testkit.ChiSquare(coins, law), 1e-6)
	require.InDelta(t, q*records*bands*rounds, float64(joined), 6*math.Sqrt(records*bands*rounds*q))
}

// company returns how far, in standard deviations, the sizes of first batches and the number of
// neighbours in one batch are from those of independent records.
func company(draw func(key rng.Key) [][]int, records, steps, epochs int) (sizes, together float64) {
	spread, met := 0.0, 0.0
	p := 1 / float64(steps)
	variance := float64(records) * p * (1 - p)
	for e := range epochs {
		in, size := draw(rng.SeedKey(uint64(e))), 0.0
		for r := range in {
			if in[r][0] == 0 {
				size++
			}
			if r > 0 && in[r][0] == in[r-1][0] {
				met++
			}
		}
		spread += (size - float64(records)*p) * (size - float64(records)*p) / variance
	}
	n := float64(epochs)
	pairs := n * float64(records-1)
	kurtosis := 2 + (1-6*p*(1-p))/variance // of a squared binomial deviation, over its mean
	return (spread/n - 1) * math.Sqrt(n/kurtosis), (met/pairs - p) / math.Sqrt(p*(1-p)/pairs)
}

// Sizes of batches vary as those of independent records. The control, which is not offered, cuts a shuffle
// into batches of equal size. False-alarm rate 1e-5 for each of four numbers.
func TestBatchSizesAreRandom(t *testing.T) {
	const records, steps, epochs, limit = 20, 5, 4000, 4.5
	for _, s := range []Sampling{allocate(steps, 1), bins(steps)} {
		b := newBatcher(s, 0, 0, records, 1)
		sizes, together := company(func(key rng.Key) [][]int { return stepsOf(b, key, steps) }, records, steps, epochs)
		require.Less(t, math.Abs(sizes), limit, s.Scheme)
		require.Less(t, math.Abs(together), limit, s.Scheme)
	}
	sizes, together := company(func(key rng.Key) [][]int {
		order, in := make([]int, records), make([][]int, records)
		key.Stream().Perm(order)
		for i, r := range order {
			in[r] = []int{i * steps / records}
		}
		return in
	}, records, steps, epochs)
	require.Less(t, sizes, -5*limit)
	require.Less(t, together, -2*limit)
}

// TestARecordsStepsAreItsOwn checks that a record which is removed moves no other one: not its steps
// and not its blocks. Records are told apart by their places, so it is the last.
func TestARecordsStepsAreItsOwn(t *testing.T) {
	const records, steps = drawLength + 3, 6
	for _, s := range []Sampling{allocate(steps, 2), allocate(steps, steps), bins(steps)} {
		for _, gone := range []int{1, 4} { // four empty a part
			whole, part := newBatcher(s, 0, 0, records, 3), newBatcher(s, 0, 0, records-gone, 3)
			for step := range 3 * steps {
				whole.draw(1, rng.SeedKey(7), step)
				part.draw(3, rng.SeedKey(7), step)
				for k := range 3 {
					rest := slices.DeleteFunc(slices.Clone(whole.block(k)), func(r int) bool { return r >= records-gone })
					require.True(t, slices.Equal(rest, part.block(k)))
				}
			}
		}
	}
}

func TestBatchesAreDrawnInAnyOrder(t *testing.T) {
	for scheme, distinct := range map[Sampling]int{allocate(4, 1): 12, bins(4): 4, cycle(4): 4} {
		through, seen := newBatcher(scheme, 0.25, 3, 100, 2), map[string]bool{}
		for step := 3; step < 15; step++ {
			through.draw(1, rng.SeedKey(1), step)
			again := newBatcher(scheme, 0.25, 3, 100, 2)
			again.draw(1, rng.SeedKey(1), step)
			require.Equal(t, through.rows, again.rows)
			seen[fmt.Sprint(slices.Sorted(slices.Values(again.rows)))] = true
			again.draw(1, rng.SeedKey(2), step)
			require.NotEqual(t, through.rows, again.rows, "another key")
		}
		require.Len(t, seen, distinct)
	}
}

func TestWordsAreScaledWithoutBias(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 7, 1 << 32, 1<<63 + 1} {
		_, ok := scaled(0, n)
		require.Equal(t, -n%n == 0, ok, "2^64 mod %d words are refused, 0 the first of them", n)
		v, ok := scaled(math.MaxUint64, n)
		require.True(t, ok)
		require.Equal(t, n-1, v)
	}
	const most = 3<<62 - 1 // more than a quarter of the words is refused
	w, plain, refused := newWords(rng.SeedKey(2)), rng.SeedKey(2).Stream(), 0
	for i := range uint64(50) {
		n := uint64(most)
		if i%5 == 0 {
			n = 1 << 40
		}
		v, ok := scaled(plain.Uint64(), n)
		if !ok {
			refused++
			v = rng.SeedKey(2).Derive("again", i+1).Stream().Uint64N(n)
		}
		require.Equal(t, v, w.below(n))
	}
	require.Greater(t, refused, 3)
}

// twoSteps is the exact law of two steps, each record in one of them, in every one of so many epochs:
// the outputs of a step may be summed over the epochs.
func twoSteps(t *testing.T, data Data, clip float64, g grid, epochs int) []float64 {
	var weights []float64
	var means [][2]float64
	for weight, second := range batches(data.Records(), 0.5) {
		first := slices.DeleteFunc(upTo(data.Records()), func(r int) bool { return slices.Contains(second, r) })
		var m [2]float64
		for a, batch := range [][]int{first, second} {
			m[a] = float64(sumOf(t, newToy(), data, FlatClip(clip), g.perUnit, batch)[0]) / g.sigma * math.Sqrt(float64(epochs))
		}
		weights, means = append(weights, weight), append(means, m)
	}
	return inTwo(weights, means)
}

// TestSmallWorldsOfEpochs enumerates all batches of two steps. Neighbours, integers and rounding
// included, are never farther apart than the event's pair, which is never farther than the accountant's
// claim; and they come close. The control is a shuffle cut into batches of equal size, charged as an
// allocation: its claim is refuted.
func TestSmallWorldsOfEpochs(t *testing.T) {
	const clip, tolerance = 0.3, 5e-4 // the last of the table
	epsilons := []float64{0.1, 0.5, 1.5}
	for _, multiplier := range sampled(0.8, 2) {
		for epochs := 1; epochs <= 2; epochs++ {
			g := gridOf(t, multiplier, clip, 1, 3, 0)
			cfg := Config{Steps: 2 * epochs, NoiseMultiplier: multiplier, ClipNorm: clip, LearningRate: 1, Sampling: bins(2)}
			if epochs == 1 {
				cfg.Sampling = allocate(2, 1)
			}
			require.NoError(t, cfg.Validate())
			s := math.Sqrt(float64(epochs)) / multiplier
			with, bare := inTwo([]float64{0.5, 0.5}, [][2]float64{{s, 0}, {0, s}}), inTwo([]float64{1}, [][2]float64{{}})
			closest := 0.0
			for _, values := range [][]float32{{9}, {9, -9}, {0.3, 0.1, -0.3}} {
				whole := twoSteps(t, column(values...), clip, g, epochs)
				for r := range values {
					part := twoSteps(t, column(slices.Delete(slices.Clone(values), r, r+1)...), clip, g, epochs)
					for _, order := range []int{2, 3, 6} {
						closest = max(closest, renyi(whole, part, order)/renyi(with, bare, order))
					}
					for _, e := range epsilons {
						require.LessOrEqual(t, testkit.EitherHockeyStick(whole, part, e), testkit.HockeyStick(with, bare, e)+tolerance)
					}
				}
			}
			require.LessOrEqual(t, closest, 1+1e-9)
			require.Greater(t, closest, 0.99)
			shuffle := inTwo([]float64{0.5, 0.5}, [][2]float64{{s, -s}, {-s, s}})
			without := inTwo([]float64{0.5, 0.5}, [][2]float64{{0, -s}, {-s, 0}})
			worst := 0.0
			for _, e := range epsilons {
				claim, pair := claimed(t, cfg, e), testkit.EitherHockeyStick(with, bare, e)
				require.InDelta(t, pair, claim, 1e-3)
				require.LessOrEqual(t, pair, claim+tolerance)
				worst = max(worst, testkit.EitherHockeyStick(shuffle, without, e)-claim)
			}
			require.Greater(t, worst, 0.01, "a shuffle goes unnoticed")
		}
	}
}

func TestEventsOfSampling(t *testing.T) {
	noise := accountant.Gaussian{NoiseMultiplier: 1.5}
	of := func(s Sampling) Config {
		c := Config{Steps: 12, NoiseMultiplier: 1.5, ClipNorm: 1, LearningRate: 1, Sampling: s}
		if s.Scheme == Cyclic {
			c.SamplingProbability = 0.2
		}
		require.NoError(t, c.Validate())
		return c
	}
	allocated := func(k, n int64) accountant.Event {
		return accountant.Repeated{Event: accountant.RandomAllocation{K: k, Steps: 4, Event: noise}, Count: n}
	}
	require.Equal(t, allocated(1, 3), of(allocate(4, 0)).Event())
	require.Equal(t, allocated(4, 3), of(allocate(4, 4)).Event())
	require.Equal(t, allocated(2, 0), of(allocate(4, 2)).EventAfter(0))
	require.Equal(t, allocated(2, 2), of(allocate(4, 2)).EventAfter(5), "an epoch that has begun")
	require.Equal(t, accountant.BallsInBins{Bins: 4, Epochs: 3, Event: noise}, of(bins(4)).Event())
	require.Equal(t, accountant.BallsInBins{Bins: 4, Epochs: 1, Event: noise}, of(bins(4)).EventAfter(1))
	require.Equal(t, 0.5, of(allocate(4, 2)).Probability())
	nothing, err := accountant.Epsilon(t.Context(), accountant.ByRDP, accountant.AddRemove, 1e-5, of(bins(4)).EventAfter(0))
	require.NoError(t, err)
	require.Zero(t, nothing.Upper)

	event := accountant.BandedMatrix{Bands: 4, Steps: 12, Probability: 0.8, NoiseMultiplier: 1.5}
	require.Equal(t, event, of(cycle(4)).Event())
	require.Equal(t, 0.2, of(cycle(4)).Probability())
	event.Steps = 4
	require.Equal(t, event, of(cycle(4)).EventAfter(3), "a turn of all parts that has begun")
	require.Equal(t, accountant.Repeated{Event: event}, of(cycle(4)).EventAfter(0))
	third := Config{Steps: 49, SamplingProbability: 1. / 49, NoiseMultiplier: 1.5, ClipNorm: 1, LearningRate: 1, Sampling: cycle(49)}
	require.NoError(t, third.Validate())
	require.LessOrEqual(t, third.Event().(accountant.BandedMatrix).Probability, 1.0)

	phases := Config{ClipNorm: 1, LearningRate: 1, Sampling: allocate(4, 1), Phases: []Phase{{Steps: 8, NoiseMultiplier: 2}, {Steps: 4, NoiseMultiplier: 1.5}}}
	require.NoError(t, phases.Validate())
	require.Equal(t, accountant.Composed{Events: []accountant.Event{
		accountant.Repeated{Event: accountant.RandomAllocation{K: 1, Steps: 4, Event: accountant.Gaussian{NoiseMultiplier: 2}}, Count: 2}, allocated(1, 1),
	}}, phases.Event())
	require.NotPanics(t, func() { Config{Sampling: Sampling{Scheme: Allocation}}.Event() })
	named := usual
	named.Sampling.Scheme = Poisson
	require.Equal(t, usual.identity(), named.identity())
	require.NotEqual(t, of(allocate(4, 1)).identity(), of(bins(4)).identity())
}

func TestTrainingByEveryScheme(t *testing.T) {
	d := clouds(600, 5)
	units := d
	for r := 2; r <= d.X.Rows; r += 2 {
		units.Ends = append(units.Ends, r)
	}
	for _, s := range []Sampling{allocate(6, 1), allocate(6, 2), bins(6), cycle(5)} {
		cfg := usual
		if cfg.Sampling = s; s.Scheme != Cyclic {
			cfg.SamplingProbability = 0
		}
		for _, data := range []Data{d, units} {
			model, got := trained(t, data, cfg, 5)
			require.Equal(t, cfg.Event(), got.Event)
			expected, slack := cfg.Probability()*float64(data.Records()*cfg.Steps), 0.0
			if s.Scheme == Cyclic {
				slack = 6 * math.Sqrt(expected)
			}
			require.InDelta(t, expected, float64(got.Diagnostics.Sampled), slack+1e-9)
			require.Greater(t, accuracy(t, model, d), 0.9)
		}
		poisson := usual
		poisson.SamplingProbability = cfg.Probability()
		_, err := Train(t.Context(), newSoftmax(5, 3), d, cfg, reserve(t, poisson), rng.SeedKey(5))
		require.ErrorContains(t, err, "not reserved")
		cfg.NonPrivate, cfg.NoiseMultiplier = true, 0
		model, _ := trained(t, d, cfg, 5)
		require.Greater(t, accuracy(t, model, d), 0.9)
	}
}
