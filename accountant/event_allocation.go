package accountant

import (
	"errors"
	"fmt"
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
	K     int64 `json:"k"`     // steps that a record is in, in [1, Steps]
	Steps int64 `json:"steps"` // >= 1
	Event Event `json:"event"`
}

// BallsInBins puts every record in one of Bins batches, uniformly at random and by itself, once and for
// all, and runs Event, Gaussian noise, on every batch in each of Epochs epochs. All epochs of a record have
// the same batch: that is another mechanism than a [RandomAllocation] in each.
//
// The noisy numbers of a batch may be summed over the epochs without a loss, so one step of Bins with a
// noise multiplier smaller by the root of Epochs dominates, and a mechanism attains it.
type BallsInBins struct {
	Bins   int64 `json:"bins"`   // >= 1
	Epochs int64 `json:"epochs"` // >= 1
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
	Bands       int64   `json:"bands"`       // in [1, Steps]
	Steps       int64   `json:"steps"`       // >= 1
	Probability float64 `json:"probability"` // in [0, 1], of a record of the part whose turn it is
	// NoiseMultiplier is the standard deviation of z over the clipping norm times the largest Euclidean
	// norm of a column of C, > 0.
	NoiseMultiplier float64 `json:"noise_multiplier"`
}

const (
	allocationNeedsAddRemove = "random allocation is accounted under add_remove only: no pair is known to be the worst where a record is replaced"
	allocationNeedsGaussian  = "random allocation is accounted for Gaussian noise, any number of releases from one batch"
)

func (RandomAllocation) name() string        { return "random_allocation" }
func (e RandomAllocation) children() []Event { return []Event{e.Event} }

func (e RandomAllocation) words(printer) (mechanism, parameters string) {
	return "in random steps", fmt.Sprintf("%d of %d", e.K, e.Steps)
}

func (e RandomAllocation) check() error {
	if err := errors.Join(atLeast("random_allocation", "k", e.K, 1), atLeast("random_allocation", "steps", e.Steps, 1)); err != nil {
		return err
	}
	return atLeast("random_allocation", "steps", e.Steps, e.K)
}

func (e RandomAllocation) flatten(t *terms, count int64, rel Relation) error {
	noise, exact, err := gaussianOf(e, e.Event, rel)
	if err != nil || noise.NoiseMultiplier == 0 {
		return err
	}
	runs, err := mul(count, e.K) // blocks
	if err != nil {
		return err
	}
	if e.K == e.Steps {
		return t.flatten(e.Event, runs, rel)
	}
	return t.curves.add(boundUnless(exact, RandomAllocation{e.K, e.Steps, noise}), count)
}

// gaussianOf returns the Gaussian noise that costs as much as an event inside another, and whether it is
// that event; a noise multiplier of 0 if it costs nothing.
func gaussianOf(outer, inner Event, rel Relation) (noise Gaussian, exact bool, err error) {
	if rel == ReplaceOne {
		return Gaussian{}, false, &UnsupportedEventError{outer, allocationNeedsAddRemove}
	}
	var seen terms
	if err := seen.flatten(inner, 1, rel); err != nil {
		return Gaussian{}, false, err
	}
	if holdsGroup(inner) {
		return Gaussian{}, false, &UnsupportedEventError{outer, groupInSample}
	}
	if len(seen.failures.Keys) == 0 && len(seen.curves.Keys) == 0 {
		return Gaussian{}, true, nil
	}
	noise, exact, ok := oneGaussian(&seen.curves)
	if !ok || len(seen.failures.Keys) > 0 {
		return Gaussian{}, false, &UnsupportedEventError{outer, allocationNeedsGaussian}
	}
	return noise, exact, nil
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

func (BallsInBins) name() string        { return "balls_in_bins" }
func (e BallsInBins) children() []Event { return []Event{e.Event} }

func (e BallsInBins) words(printer) (mechanism, parameters string) {
	return "in one of fixed batches", fmt.Sprintf("%d, %d epochs", e.Bins, e.Epochs)
}

func (e BallsInBins) check() error {
	return errors.Join(atLeast("balls_in_bins", "bins", e.Bins, 1), atLeast("balls_in_bins", "epochs", e.Epochs, 1))
}

func (e BallsInBins) flatten(t *terms, count int64, rel Relation) error {
	noise, exact, err := gaussianOf(e, e.Event, rel)
	if err != nil || noise.NoiseMultiplier == 0 {
		return err
	}
	if e.Bins == 1 {
		all, err := mul(count, e.Epochs)
		if err != nil {
			return err
		}
		return t.flatten(e.Event, all, rel)
	}
	if e.Epochs > 1 {
		noise.NoiseMultiplier *= (1 - 4e-16) / math.Sqrt(float64(e.Epochs))
	}
	noise.NoiseMultiplier = math.Max(math.SmallestNonzeroFloat64, noise.NoiseMultiplier)
	return t.curves.add(boundUnless(exact, RandomAllocation{1, e.Bins, noise}), count)
}

func (BandedMatrix) name() string { return "banded_matrix" }

func (e BandedMatrix) words(p printer) (mechanism, parameters string) {
	return "noisy sums with noise correlated over steps", fmt.Sprintf("%d bands, %d steps, q %s of a part, Gaussian, %s × sensitivity × column norm",
		e.Bands, e.Steps, p.number(e.Probability), p.number(e.NoiseMultiplier))
}

func (e BandedMatrix) check() error {
	return errors.Join(atLeast("banded_matrix", "bands", e.Bands, 1), atLeast("banded_matrix", "steps", e.Steps, max(e.Bands, 1)),
		isProbability("banded_matrix", e.Probability), positive("banded_matrix", "noise_multiplier", e.NoiseMultiplier))
}

func (e BandedMatrix) flatten(t *terms, count int64, rel Relation) error {
	runs, err := mul(count, 1+(e.Steps-1)/e.Bands)
	if err != nil {
		return err
	}
	if rel == ReplaceOne {
		return &UnsupportedEventError{e, poissonNeedsAddRemove}
	}
	return t.flatten(PoissonSampled{e.Probability, Gaussian{e.NoiseMultiplier}}, runs, rel)
}
