package accountant

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

var allocationWorldCount = flag.Int("allocation-worlds", 200, "random small worlds that TestAllocationSmallWorlds enumerates")

// A world is a run in which a record takes part in a random set of steps, and an analyst who chooses, by
// the answers before, how far the record moves the next one. Answers are told as one of a few cells.
type world struct {
	event    Event
	steps    int
	sigma    float64
	patterns [][]bool
	weights  []float64
	// matrix, if any, has the weights by which a step moves this and later answers.
	matrix [][]float64
}

// subsets calls f for every set of k of n.
func subsets(n, k int, f func(in []bool)) {
	for bits := range 1 << n {
		in, size := make([]bool, n), 0
		for i := range in {
			if in[i] = bits>>i&1 == 1; in[i] {
				size++
			}
		}
		if size == k {
			f(in)
		}
	}
}

func (w *world) may(weight float64, in []bool) {
	w.patterns, w.weights = append(w.patterns, in), append(w.weights, weight)
}

// allocationWorlds are runs small enough to enumerate.
func allocationWorlds() []*world {
	var all []*world
	for _, sigma := range []float64{0.8} {
		for steps := 1; steps <= 4; steps++ {
			for k := 1; k <= steps; k++ {
				w := &world{event: RandomAllocation{int64(k), int64(steps), Gaussian{sigma}}, steps: steps, sigma: sigma}
				subsets(steps, k, func(in []bool) { w.may(1/choose(steps, k), in) })
				all = append(all, w)
			}
		}
		for _, c := range [][2]int{{2, 2}, {3, 1}, {1, 3}, {2, 1}} {
			w := &world{event: BallsInBins{int64(c[0]), int64(c[1]), Gaussian{sigma}}, steps: c[0] * c[1], sigma: sigma}
			for bin := range c[0] {
				in := make([]bool, w.steps)
				for i := bin; i < w.steps; i += c[0] {
					in[i] = true
				}
				w.may(1/float64(c[0]), in)
			}
			all = append(all, w)
		}
		for _, c := range [][2]int{{2, 4}, {2, 3}, {1, 2}, {3, 4}} { // the record is in the first part, which is the largest
			const q = 0.3
			w := &world{event: BandedMatrix{int64(c[0]), int64(c[1]), q, sigma}, steps: c[1], sigma: sigma, matrix: make([][]float64, c[1])}
			mine := (c[1] + c[0] - 1) / c[0]
			for k := 0; k <= mine; k++ {
				subsets(mine, k, func(drawn []bool) {
					in := make([]bool, w.steps)
					for i, x := range drawn {
						in[i*c[0]] = x
					}
					w.may(math.Pow(q, float64(k))*math.Pow(1-q, float64(mine-k)), in)
				})
			}
			all = append(all, w)
		}
	}
	return all
}

// laws enumerates the transcripts of a random analyst, with the record and without.
func (w *world) laws(rnd *rand.Rand) (with, without []float64) {
	cuts := make([]float64, 1+rnd.IntN(2))
	for i := range cuts {
		cuts[i] = w.sigma*rnd.NormFloat64() + rnd.Float64()
	}
	if len(cuts) == 2 && cuts[0] > cuts[1] {
		cuts[0], cuts[1] = cuts[1], cuts[0]
	}
	if e, ok := w.event.(BandedMatrix); ok { // columns of norm one at most, of so many bands
		for j := range w.matrix {
			w.matrix[j] = make([]float64, w.steps) // column j
			norm := 0.0
			for i := j; i < min(w.steps, j+int(e.Bands)); i++ {
				w.matrix[j][i] = rnd.NormFloat64()
				norm += w.matrix[j][i] * w.matrix[j][i]
			}
			for i := range w.matrix[j] {
				w.matrix[j][i] /= math.Sqrt(norm)
			}
		}
	}
	shy := rnd.IntN(3) == 0 // not always as far as allowed
	var walk func(step int, shifts []float64, p []float64, q float64)
	walk = func(step int, shifts []float64, p []float64, q float64) {
		if step == w.steps {
			sum := 0.0
			for i, x := range p {
				sum += w.weights[i] * x
			}
			with, without = append(with, sum), append(without, q)
			return
		}
		shift := 1.0
		if rnd.IntN(4) == 0 {
			shift = -1
		}
		if shy {
			shift = 2*rnd.Float64() - 1
		}
		shifts = append(shifts[:step:step], shift)
		move := func(in []bool) float64 {
			if w.matrix == nil {
				if in[step] {
					return shift
				}
				return 0
			}
			m := 0.0
			for j := 0; j <= step; j++ {
				if in[j] {
					m += w.matrix[j][step] * shifts[j]
				}
			}
			return m
		}
		for cell := 0; cell <= len(cuts); cell++ {
			chance := func(mean float64) float64 {
				lo, hi := 0.0, 1.0
				if cell > 0 {
					lo = normalCDF((cuts[cell-1] - mean) / w.sigma)
				}
				if cell < len(cuts) {
					hi = normalCDF((cuts[cell] - mean) / w.sigma)
				}
				return math.Max(0, hi-lo)
			}
			next := make([]float64, len(p))
			for i := range p {
				next[i] = p[i] * chance(move(w.patterns[i]))
			}
			walk(step+1, shifts, next, q*chance(0))
		}
	}
	start := make([]float64, len(w.weights))
	for i := range start {
		start[i] = 1
	}
	walk(0, nil, start, 1)
	return with, without
}

// Analysts who adapt, on every scheme: the exact divergence is never above the claim. The controls, whose
// claims leave something out, are found.
func TestAllocationSmallWorlds(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(16, 3))
	epsilons := []float64{0, 0.3, 1.5, 4}
	orders := []float64{1.5, 2, 3.7, 20}
	claims := func(e Event) (byPLD, byRDP, divergence []float64) {
		p, r := newPLD(t, PLDConfig{Gap: 0.02}), newRDP(t, RDPConfig{})
		require.NoError(t, p.Compose(e, 1))
		require.NoError(t, r.Compose(e, 1))
		for _, eps := range epsilons {
			b := deltaAt(t, r, eps)
			byRDP = append(byRDP, b.Upper)
			if b.Upper < 1e-6 { // a world hardly gets there
				byPLD = append(byPLD, b.Upper)
				continue
			}
			d := deltaAt(t, p, eps)
			require.LessOrEqual(t, d.Lower, d.Upper)
			byPLD = append(byPLD, d.Upper)
		}
		divergence, _, err := r.RDP(orders)
		require.NoError(t, err)
		return byPLD, byRDP, divergence
	}
	all := allocationWorlds()
	broken := map[string]bool{}
	for i, w := range all {
		if skipped(i, 2) {
			continue
		}
		byPLD, byRDP, divergence := claims(w.event)
		var control string // a claim that must not hold
		var low []float64
		switch e := w.event.(type) {
		case RandomAllocation:
			if e.K < e.Steps {
				control, low = "three times as many steps", nil
				low, _, _ = claims(RandomAllocation{e.K, 3 * e.Steps, e.Event})
			}
		case BallsInBins:
			if e.Epochs > 1 && e.Bins > 1 {
				control = "one epoch"
				low, _, _ = claims(BallsInBins{e.Bins, 1, e.Event})
			}
		case BandedMatrix:
			control = "the probability of all records"
			if e.Bands > 1 {
				low, _, _ = claims(BandedMatrix{e.Bands, e.Steps, e.Probability / float64(e.Bands), e.NoiseMultiplier})
			}
		}
		for range Cases(allocationWorldCount, 2000)/len(all) + 1 {
			p, q := w.laws(rnd)
			for j, eps := range epsilons {
				truth := testkit.EitherHockeyStick(p, q, eps)
				require.GreaterOrEqual(t, byPLD[j], truth-1e-14, "world %d %+v at %v", i, w.event, eps)
				require.GreaterOrEqual(t, byRDP[j], truth-1e-14, "world %d %+v at %v", i, w.event, eps)
				if low != nil && truth > low[j]*1.001+1e-12 {
					broken[fmt.Sprintf("%T: %s", w.event, control)] = true
				}
			}
			for j, a := range orders {
				require.LessOrEqual(t, math.Max(testkit.Renyi(p, q, a), testkit.Renyi(q, p, a)), divergence[j]*(1+1e-9)+1e-12, "world %d %+v, order %v", i, w.event, a)
			}
		}
	}
	require.Len(t, broken, 3, "%v", broken)
}
