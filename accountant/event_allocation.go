package accountant

import (
	"errors"
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
)

// RandomAllocation runs Event, Gaussian noise, Steps times on batches such that every record is in K of the
// batches, a uniformly random subset of the steps, drawn for every record by itself and afresh in each run
// of the event, such as each epoch. The answer of a step may depend on those before.
//
// The outputs of the steps a record is in are shifted by a vector of one sensitivity at most, chosen by the
// outputs before. Such a vector of noisy answers is a function, with randomness of its own, of one noisy
// number of shift 0 or 1 for every step; so the mean of N(1_S, sigma^2 I) over all K-subsets S and N(0,
// sigma^2 I) dominate, and a mechanism attains them. For K = 1 that is accounted (Chua et al. 2024, balls
// and bins; Feldman, Shenfeld 2025; Dong et al. 2025). A random subset of size K is one random step of each
// of K random blocks of the steps, and the divergence is convex, so K > 1 costs at most the K blocks with
// one step each: an upper bound.
type RandomAllocation struct {
	K     int64 `json:"k" in:"1"`     // steps that a record is in, in [1, Steps]
	Steps int64 `json:"steps" in:"1"` // >= 1
	Event Event `json:"event"`
}

// BallsInBins puts every record in one of Bins batches, uniformly at random and by itself, once and for
// all, and runs Event, Gaussian noise, on every batch in each of Epochs epochs. All epochs of a record have
// the same batch: that is another mechanism than a [RandomAllocation] in each.
//
// The noisy numbers of a batch may be summed over the epochs without a loss, so one step of Bins with a
// noise multiplier smaller by the root of Epochs dominates, and a mechanism attains it.
type BallsInBins struct {
	Bins   int64 `json:"bins" in:"1"`   // >= 1
	Epochs int64 `json:"epochs" in:"1"` // >= 1
	Event  Event `json:"event"`
}

// BandedMatrix is DP-SGD with noise C^-1 z, correlated over the steps by a lower triangular matrix C with
// at most Bands bands (Choquette-Choo et al. 2023). Every record belongs, once and for all, to one of Bands
// parts, whatever the other records do; step i draws its batch from part i mod Bands only, and every record
// of that part with the given probability, by a coin of its own. For a batch of expected size B out of n
// records in parts of equal size the probability is Bands B/n.
//
// A record can be drawn in ceil(Steps/Bands) steps. These are Bands apart, so their columns of C have no
// row in common, and each block of rows is one Gaussian step on a Poisson sample.
type BandedMatrix struct {
	Bands       int64   `json:"bands" in:"1"`                 // in [1, Steps]
	Steps       int64   `json:"steps" in:"1" atleast:"Bands"` // >= 1
	Probability float64 `json:"probability" in:"[0, 1]"`      // in [0, 1], of a record of the part whose turn it is
	// NoiseMultiplier is the standard deviation of z over the clipping norm times the largest Euclidean
	// norm of a column of C, > 0.
	NoiseMultiplier float64 `json:"noise_multiplier" in:">0"`
}

const (
	allocationNeedsAddRemove = "random allocation is accounted under add_remove only: no pair is known to be the worst where a record is replaced"
	allocationNeedsGaussian  = "random allocation is accounted for Gaussian noise, any number of releases from one batch"
)

func (RandomAllocation) row() row {
	return row{"random_allocation", "in random steps", "{k} of {steps}", bounded}
}

func (e RandomAllocation) check() error {
	return atLeast("random_allocation", "steps", e.Steps, e.K)
}

func (e RandomAllocation) flatten(t *terms, count int64) {
	noise, exact := t.gaussian(e, e.Event)
	if noise.NoiseMultiplier == 0 {
		return
	}
	runs := t.times(count, e.K) // blocks
	if e.K == e.Steps {
		t.flatten(e.Event, runs)
		return
	}
	t.add(boundUnless(exact, RandomAllocation{e.K, e.Steps, noise}), count)
}

// gaussian returns the Gaussian noise that costs as much as an event inside another, and whether it is that
// event; a noise multiplier of 0 if it costs nothing, or there is none.
func (t *terms) gaussian(outer, inner Event) (noise Gaussian, exact bool) {
	if t.rel == ReplaceOne {
		t.refuse(outer, allocationNeedsAddRemove)
	}
	seen := t.alone(inner, 1)
	if holdsGroup(inner) {
		t.refuse(outer, groupInSample)
	}
	if t.err != nil || len(seen.failures.Keys) == 0 && len(seen.curves.Keys) == 0 {
		return Gaussian{}, true
	}
	noise, exact, ok := oneGaussian(&seen.curves)
	if !ok || len(seen.failures.Keys) > 0 {
		t.refuse(outer, allocationNeedsGaussian)
		return Gaussian{}, false
	}
	return noise, exact
}

// blocks calls f for the sizes of the K blocks, which differ by one at most, and how many have them.
func (e RandomAllocation) blocks(f func(steps, count int64)) {
	longer := e.Steps % e.K
	f(e.Steps/e.K, e.K-longer)
	if longer > 0 {
		f(e.Steps/e.K+1, longer)
	}
}

// sigma returns the noise multiplier of a leaf, 0 if it is none.
func (e RandomAllocation) sigma() float64 {
	noise, _ := e.Event.(Gaussian)
	return noise.NoiseMultiplier
}

// curve, pair and attained are for the leaves that flatten makes.
func (e RandomAllocation) curve() curve {
	if e.sigma() == 0 {
		return infiniteCurve
	}
	var curves []curve
	var counts []float64
	e.blocks(func(steps, count int64) {
		curves, counts = append(curves, allocationCurve(steps, e.sigma())), append(counts, float64(count))
	})
	return func(a float64) float64 {
		sum := 0.0
		for i, c := range curves {
			sum += counts[i] * c(a)
		}
		return sum
	}
}

func (e RandomAllocation) pairs(s *pld.Sum, n int64) error {
	if e.sigma() == 0 {
		return &UnsupportedEventError{e, allocationNeedsGaussian}
	}
	var first error
	e.blocks(func(steps, count int64) {
		count, err := mul(n, count)
		if err == nil {
			s.Add(pld.Allocation(steps, e.sigma()), count)
		}
		first = errors.Join(first, err)
	})
	return first
}

// attained is the pair itself for one step of many. For more a sum over the steps is less than the outputs
// show, but attained.
func (e RandomAllocation) attained(s *pld.Sum, n int64) (dominating bool) {
	if e.K == 1 && e.sigma() >= pld.LeastAllocated {
		return true
	}
	if e.sigma() > 0 {
		s.Add(pld.Several(e.Steps, e.K, e.sigma()), n)
	}
	return false
}

func (BallsInBins) row() row {
	return row{"balls_in_bins", "in one of fixed batches", "{bins}, {epochs} epochs", bounded}
}

func (e BallsInBins) flatten(t *terms, count int64) {
	noise, exact := t.gaussian(e, e.Event)
	if noise.NoiseMultiplier == 0 {
		return
	}
	if e.Bins == 1 {
		t.flatten(e.Event, t.times(count, e.Epochs))
		return
	}
	if e.Epochs > 1 {
		noise.NoiseMultiplier *= (1 - 4e-16) / math.Sqrt(float64(e.Epochs))
	}
	noise.NoiseMultiplier = math.Max(math.SmallestNonzeroFloat64, noise.NoiseMultiplier)
	t.add(boundUnless(exact, RandomAllocation{1, e.Bins, noise}), count)
}

func (BandedMatrix) row() row {
	return row{"banded_matrix", "noisy sums with noise correlated over steps",
		"{bands} bands, {steps} steps, q {probability} of a part, Gaussian, {noise_multiplier} × sensitivity × column norm", bounded}
}

func (e BandedMatrix) flatten(t *terms, count int64) {
	runs := t.times(count, 1+(e.Steps-1)/e.Bands)
	if t.rel == ReplaceOne {
		t.refuse(e, poissonNeedsAddRemove)
	}
	t.flatten(PoissonSampled{e.Probability, Gaussian{e.NoiseMultiplier}}, runs)
}
