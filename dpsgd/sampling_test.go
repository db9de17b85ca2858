package dpsgd

import (
	"context"
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

func allocate(t, k int) Sampling {
	return Sampling{Scheme: Allocation, EpochSteps: t, PerEpoch: k}
}

func bins(t int) Sampling { return Sampling{Scheme: BallsInBins, EpochSteps: t} }

// fits checks by chi-square that cells are equally probable; false-alarm rate 1e-6.
func fits(t *testing.T, observed []float64) {
	t.Helper()
	require.Greater(t, testkit.ChiSquare(observed, uniform(observed)), 1e-6)
}

func uniform(observed []float64) []float64 {
	sum := 0.0
	for _, o := range observed {
		sum += o
	}
	return slices.Repeat([]float64{sum / float64(len(observed))}, len(observed))
}

// TestRecordsOfTwoPartsAreIndependent checks, in every scheme, that records with the same place in
// two parts, which have streams of random numbers of their own, go together like any two records:
// all pairs of what they draw come equally often. The false-alarm rate is 1e-6 each.
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
		mask := func(record int) (m int) {
			for _, step := range in[record] {
				m |= 1 << step
			}
			return m
		}
		places := map[int]int{}
		for record := range in {
			if _, ok := places[mask(record)]; !ok {
				places[mask(record)] = len(places)
			}
		}
		pairs := make([]float64, len(places)*len(places))
		for record := range drawLength {
			pairs[places[mask(record)]*len(places)+places[mask(record+drawLength)]]++
		}
		require.Greater(t, len(pairs), 40, x.name)
		t.Run(x.name, func(t *testing.T) { fits(t, pairs) })
	}
}

// TestAllocationTakesKStepsOfEveryEpoch checks that every record is in exactly PerEpoch
// different steps of each epoch, that all subsets come equally often, and that epochs,
// neighbouring records and blocks go together like independent draws.
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

// TestBallsStayInTheirBins checks that a record is in the same one batch of every epoch, that
// bins are equally probable, and that records meet each other in blocks afresh.
func TestBallsStayInTheirBins(t *testing.T) {
	const records, epochs, steps = drawLength + 2000, 3, 7
	b := newBatcher(bins(steps), 0, 0, records, 4)
	counts, neighbours := make([]float64, steps), make([]float64, steps*steps)
	last := 0
	for r, in := range stepsOf(b, rng.SeedKey(3), epochs*steps) {
		require.Len(t, in, epochs)
		for e := range epochs {
			require.Equal(t, in[0]+e*steps, in[e])
		}
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

// shuffled draws what is not offered: a permutation cut into batches of equal size.
func shuffled(records, steps int, key rng.Key) [][]int {
	order, in := make([]int, records), make([][]int, records)
	key.Stream().Perm(order)
	for i, r := range order {
		in[r] = []int{i * steps / records}
	}
	return in
}

// company returns how far, in standard deviations, the sizes of first batches and the number
// of neighbours in one batch are from those of independent records.
func company(draw func(epoch int) [][]int, records, steps, epochs int) (sizes, together float64) {
	spread, met := 0.0, 0.0
	p := 1 / float64(steps)
	variance := float64(records) * p * (1 - p)
	for e := range epochs {
		in, size := draw(e), 0.0
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

// TestBatchSizesAreRandom checks that sizes of batches vary as those of records that know
// nothing of each other. The control, shuffled batches of equal size, is caught. False-alarm
// rate 1e-5 for each of four numbers.
func TestBatchSizesAreRandom(t *testing.T) {
	const records, steps, epochs, limit = 20, 5, 4000, 4.5
	for _, s := range []Sampling{allocate(steps, 1), bins(steps)} {
		b := newBatcher(s, 0, 0, records, 1)
		sizes, together := company(func(e int) [][]int { return stepsOf(b, rng.SeedKey(uint64(e)), steps) }, records, steps, epochs)
		require.Less(t, math.Abs(sizes), limit, s.Scheme)
		require.Less(t, math.Abs(together), limit, s.Scheme)
	}
	sizes, together := company(func(e int) [][]int { return shuffled(records, steps, rng.SeedKey(uint64(e))) }, records, steps, epochs)
	require.Less(t, sizes, -5*limit)
	require.Less(t, together, -2*limit)
}

// TestARecordsStepsAreItsOwn checks that a record which is removed moves no other one: not
// its steps and not its blocks. Records are told apart by their places, so it is the last.
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

// TestEpochsAreDrawnInAnyOrder checks that a batch is a function of the key and the step: a
// run that goes on in the middle of an epoch, or with another phase before, meets its batches.
func TestEpochsAreDrawnInAnyOrder(t *testing.T) {
	for _, s := range []Sampling{allocate(4, 1), bins(4)} {
		through := newBatcher(s, 0, 3, 100, 2)
		distinct := map[string]bool{}
		for step := 3; step < 15; step++ {
			through.draw(1, rng.SeedKey(1), step)
			again := newBatcher(s, 0, 3, 100, 2)
			again.draw(1, rng.SeedKey(1), step)
			require.Equal(t, through.rows, again.rows)
			distinct[fmt.Sprint(slices.Sorted(slices.Values(again.rows)))] = true
			again.draw(1, rng.SeedKey(2), step)
			require.NotEqual(t, through.rows, again.rows, "another key")
		}
		require.Len(t, distinct, map[Scheme]int{Allocation: 12, BallsInBins: 4}[s.Scheme])
	}
}

// TestWordsAreScaledWithoutBias checks which words are refused, that a draw takes one word
// whatever came before it, and that a refused word is drawn again elsewhere.
func TestWordsAreScaledWithoutBias(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 7, 1 << 32, 1<<63 + 1} {
		_, ok := scaled(0, n)
		require.Equal(t, -n%n == 0, ok, "2^64 mod %d words are refused, 0 the first of them", n)
		v, ok := scaled(math.MaxUint64, n)
		require.True(t, ok)
		require.Equal(t, n-1, v)
	}
	w, want := newWords(rng.SeedKey(1)), rng.SeedKey(1).Stream()
	for _, n := range []uint64{5, 1 << 40, 5, 11} {
		require.Equal(t, firstOf(scaled(want.Uint64(), n)), w.below(n))
	}
	large, plain := newWords(rng.SeedKey(2)), rng.SeedKey(2).Stream()
	drawn := 0
	for i := range uint64(50) { // more than a quarter of the words is refused
		v, ok := scaled(plain.Uint64(), 3<<62-1)
		if !ok {
			drawn++
			v = rng.SeedKey(2).Derive("again", i+1).Stream().Uint64N(3<<62 - 1)
		}
		require.Equal(t, v, large.below(3<<62-1))
	}
	require.Greater(t, drawn, 3)
}

func firstOf(v uint64, _ bool) uint64 { return v }

// inTwo tabulates a law of two outputs over sigma.
func inTwo(weights []float64, means [][2]float64) []float64 {
	const mesh, reach = 6, 12
	n := 2*reach*mesh + 1
	d := make([]float64, n*n)
	for i, w := range weights {
		var p [2][]float64
		for a := range p {
			p[a] = make([]float64, n)
			for k := range n {
				u := float64(k)/mesh - reach - means[i][a]
				p[a][k] = math.Exp(-u*u/2) / (mesh * math.Sqrt(2*math.Pi))
			}
		}
		for x, px := range p[0] {
			for y, py := range p[1] {
				d[x*n+y] += w * px * py
			}
		}
	}
	return d
}

// twoSteps is the exact law of two steps, each record in one of them, in every one of so
// many epochs: the outputs of a step may be summed over the epochs.
func twoSteps(t *testing.T, data Data, clip float64, g grid, epochs int) []float64 {
	var weights []float64
	var means [][2]float64
	for set := range 1 << data.Records() {
		var batches [2][]int
		for r := range data.Records() {
			batches[set>>r&1] = append(batches[set>>r&1], r)
		}
		var m [2]float64
		for a, batch := range batches {
			sum := sumOf(t, toy{make([]float32, 1)}, data, FlatClip(clip), g.perUnit, [][]int{batch})[0]
			m[a] = float64(sum) / g.sigma * math.Sqrt(float64(epochs))
		}
		weights, means = append(weights, math.Pow(0.5, float64(data.Records()))), append(means, m)
	}
	return inTwo(weights, means)
}

// TestSmallWorldsOfEpochs enumerates all batches of two steps. Neighbours, integers and
// rounding included, are never farther apart than the event's pair, which is never farther
// than the accountant's claim; and they come close. The control is a shuffle cut into batches
// of equal size, charged as an allocation: its claim is refuted.
func TestSmallWorldsOfEpochs(t *testing.T) {
	const clip = 0.3
	for _, multiplier := range []float64{0.8, 2} {
		for epochs := 1; epochs <= 2; epochs++ {
			g, err := newGrid(multiplier, clip, 1, 3, 0)
			require.NoError(t, err)
			cfg := Config{Steps: 2 * epochs, NoiseMultiplier: multiplier, ClipNorm: clip, LearningRate: 1, Sampling: bins(2)}
			if epochs == 1 {
				cfg.Sampling = allocate(2, 1)
			}
			require.NoError(t, cfg.Validate())
			s := math.Sqrt(float64(epochs)) / multiplier
			with, bare := inTwo([]float64{0.5, 0.5}, [][2]float64{{s, 0}, {0, s}}), inTwo([]float64{1}, [][2]float64{{}})
			claim := func(e float64) float64 {
				account, err := accountant.NewPLD(accountant.PLDConfig{Relation: accountant.AddRemove})
				require.NoError(t, err)
				require.NoError(t, account.Compose(cfg.Event(), 1))
				b, err := account.Delta(context.Background(), e)
				require.NoError(t, err)
				return b.Upper
			}
			const error = 5e-4 // of the table
			closest := 0.0
			for _, values := range [][]float32{{9}, {9, -9}, {0.3, 0.1, -0.3}} {
				whole := twoSteps(t, column(values...), clip, g, epochs)
				for r := range values {
					part := twoSteps(t, column(slices.Delete(slices.Clone(values), r, r+1)...), clip, g, epochs)
					for _, order := range []int{2, 3, 6} {
						most := math.Max(renyi(with, bare, order), renyi(bare, with, order))
						ratio := math.Max(renyi(whole, part, order), renyi(part, whole, order)) / most
						require.LessOrEqual(t, ratio, 1+1e-9)
						closest = math.Max(closest, ratio)
					}
					for _, e := range []float64{0.1, 0.5, 1.5} {
						require.LessOrEqual(t, testkit.HockeyStick(whole, part, e), testkit.HockeyStick(with, bare, e)+error)
						require.LessOrEqual(t, testkit.HockeyStick(part, whole, e), testkit.HockeyStick(with, bare, e)+error)
					}
				}
			}
			require.Greater(t, closest, 0.99)
			shuffle := inTwo([]float64{0.5, 0.5}, [][2]float64{{s, -s}, {-s, s}})
			without := inTwo([]float64{0.5, 0.5}, [][2]float64{{0, -s}, {-s, 0}})
			worst := 0.0
			for _, e := range []float64{0.1, 0.5, 1.5} {
				pair := testkit.EitherHockeyStick(with, bare, e)
				require.InDelta(t, pair, claim(e), 1e-3)
				require.LessOrEqual(t, pair, claim(e)+error)
				worst = math.Max(worst, testkit.EitherHockeyStick(shuffle, without, e)-claim(e))
			}
			require.Greater(t, worst, 0.01, "a shuffle goes unnoticed")
		}
	}
}

func TestEventsOfSampling(t *testing.T) {
	noise := accountant.Gaussian{NoiseMultiplier: 1.5}
	cfg := Config{Steps: 12, NoiseMultiplier: 1.5, ClipNorm: 1, LearningRate: 1}
	of := func(s Sampling) Config { c := cfg; c.Sampling = s; return c }
	allocated := func(k, n int64) accountant.Event {
		return accountant.Repeated{Event: accountant.RandomAllocation{K: k, Steps: 4, Event: noise}, Count: n}
	}
	require.Equal(t, allocated(1, 3), of(allocate(4, 0)).Event())
	require.Equal(t, allocated(2, 3), of(allocate(4, 2)).Event())
	require.Equal(t, allocated(2, 0), of(allocate(4, 2)).EventAfter(0))
	require.Equal(t, allocated(2, 2), of(allocate(4, 2)).EventAfter(5), "an epoch that has begun")
	require.Equal(t, accountant.BallsInBins{Bins: 4, Epochs: 3, Event: noise}, of(bins(4)).Event())
	require.Equal(t, accountant.BallsInBins{Bins: 4, Epochs: 1, Event: noise}, of(bins(4)).EventAfter(1))
	require.Equal(t, 0.5, of(allocate(4, 2)).Probability())
	require.NoError(t, of(allocate(4, 4)).Validate())
	nothing, err := accountant.Epsilon(t.Context(), accountant.ByRDP, accountant.AddRemove, 1e-5, of(bins(4)).EventAfter(0))
	require.NoError(t, err)
	require.Zero(t, nothing.Upper)

	phases := Config{ClipNorm: 1, LearningRate: 1, Sampling: allocate(4, 1), Phases: []Phase{{Steps: 8, NoiseMultiplier: 2}, {Steps: 4, NoiseMultiplier: 1.5}}}
	require.NoError(t, phases.Validate())
	require.Equal(t, accountant.Composed{Events: []accountant.Event{
		accountant.Repeated{Event: accountant.RandomAllocation{K: 1, Steps: 4, Event: accountant.Gaussian{NoiseMultiplier: 2}}, Count: 2}, allocated(1, 1),
	}}, phases.Event())

	require.ErrorContains(t, of(bins(5)).Validate(), "Config.Steps is 12, not a whole number of epochs of 5 steps: 10 or 15")
	phases.Phases[0].Steps = 6
	require.ErrorContains(t, phases.Validate(), "Config.Phases[0].Steps is 6")
	phases.Phases[0].Steps, phases.Sampling = 8, bins(4)
	require.ErrorContains(t, phases.Validate(), "one phase")
	for want, c := range map[string]Config{
		`"coin" is unknown`:   of(Sampling{Scheme: "coin"}),
		"EpochSteps is 0":     of(Sampling{Scheme: Allocation}),
		"EpochSteps is -1":    of(allocate(-1, 0)),
		"PerEpoch is 5":       of(allocate(4, 5)),
		"PerEpoch is -1":      of(allocate(4, -1)),
		`PerEpoch is for "al`: of(Sampling{Scheme: BallsInBins, EpochSteps: 4, PerEpoch: 2}),
		"are for":             of(Sampling{EpochSteps: 4}),
		"SamplingProbability": func() Config { c := of(bins(4)); c.SamplingProbability = 0.25; return c }(),
		"Laplace":             func() Config { c := of(bins(4)); c.Laplace = true; return c }(),
		"Distances":           func() Config { c := of(bins(4)); c.Distances.Observe = func(StepDistances) {}; return c }(),
	} {
		require.ErrorContains(t, c.Validate(), want)
	}
	require.NotPanics(t, func() { of(Sampling{Scheme: Allocation}).Event() })
	named := usual
	named.Sampling.Scheme = Poisson
	require.Equal(t, usual.identity(), named.identity())
	require.NotEqual(t, of(allocate(4, 1)).identity(), of(bins(4)).identity())
}

// TestTrainingByEpochs trains on units of one and two rows. The run is charged its event, a
// reservation of Poisson sampling is refused, and a record takes part as often as it should.
func TestTrainingByEpochs(t *testing.T) {
	d := clouds(600, 5)
	units := d
	for r := 2; r <= d.X.Rows; r += 2 {
		units.Ends = append(units.Ends, r)
	}
	for _, s := range []Sampling{allocate(6, 1), allocate(6, 2), bins(6)} {
		cfg := usual
		cfg.SamplingProbability, cfg.Sampling = 0, s
		require.Zero(t, cfg.Steps%s.EpochSteps)
		for _, data := range []Data{d, units} {
			model, got := trained(t, data, cfg, rng.SeedKey(5))
			require.Equal(t, cfg.Event(), got.Event)
			require.Equal(t, int64(data.Records()*cfg.Steps/s.EpochSteps*s.epochs().per), got.Diagnostics.Sampled, "exact, unlike Poisson's")
			require.Greater(t, accuracy(t, model, d), 0.9)
		}
		poisson := usual
		poisson.SamplingProbability = cfg.Probability()
		model, err := NewSoftmax(d.X.Cols, 3)
		require.NoError(t, err)
		_, err = Train(t.Context(), model, d, cfg, reserve(t, poisson), rng.SeedKey(5))
		require.ErrorContains(t, err, "not reserved")
	}
}
