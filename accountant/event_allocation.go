package accountant

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
)

// RandomAllocation runs Event, Gaussian noise, Steps times on batches such that every record is in
// K of the batches, those of a uniformly random subset of the steps, drawn for every record by
// itself and afresh in each run of the event, such as each epoch. The answer of a step may depend
// on those before.
//
// The outputs of the steps a record is in are shifted by a vector of one sensitivity at most, chosen
// by the outputs before. Such a vector of noisy answers is a function, with randomness of its own,
// of one noisy number of shift 0 or 1 for every step; so the mean of N(1_S, sigma^2 I) over all
// K-subsets S and N(0, sigma^2 I) dominate, and a mechanism attains them. For K = 1 that is accounted (Chua et
// al. 2024, balls and bins; Feldman, Shenfeld 2025; Dong et al. 2025). A random subset of size K is
// one random step of each of K random blocks of the steps, and the divergence is convex, so K > 1
// costs at most the K blocks with one step each: an upper bound.
type RandomAllocation struct {
	K     int64 `json:"k"`     // steps that a record is in, in [1, Steps]
	Steps int64 `json:"steps"` // >= 1
	Event Event `json:"event"`
}

// BallsInBins puts every record in one of Bins batches, uniformly at random and by itself, once and
// for all, and runs Event, Gaussian noise, on every batch in each of Epochs epochs. All epochs of a
// record have the same batch: that is another mechanism than a [RandomAllocation] in each.
//
// The noisy numbers of a batch may be summed over the epochs without a loss, so one step of Bins with a
// noise multiplier smaller by the root of Epochs dominates, and a mechanism attains it.
type BallsInBins struct {
	Bins   int64 `json:"bins"`   // >= 1
	Epochs int64 `json:"epochs"` // >= 1
	Event  Event `json:"event"`
}

// BandedMatrix is DP-SGD with noise C^-1 z, correlated over the steps by a lower triangular matrix
// C with at most Bands bands (Choquette-Choo et al. 2023). Every record belongs, once and for all,
// to one of Bands parts, whatever the other records do; step i draws its batch from part i mod Bands
// only, and every record of that part with the given probability, by a coin of its own. For a
// batch of expected size B out of n records in parts of equal size the probability is Bands B/n.
//
// A record can be drawn in ceil(Steps/Bands) steps. These are Bands apart, so their columns of C
// have no row in common, and each block of rows is one Gaussian step on a Poisson sample.
type BandedMatrix struct {
	Bands       int64   `json:"bands"`       // in [1, Steps]
	Steps       int64   `json:"steps"`       // >= 1
	Probability float64 `json:"probability"` // in [0, 1], of a record of the part whose turn it is
	// NoiseMultiplier is the standard deviation of z over the clipping norm times the largest
	// Euclidean norm of a column of C, > 0.
	NoiseMultiplier float64 `json:"noise_multiplier"`
}

// Validate implements Event.
func (e RandomAllocation) Validate() error { return validTree(e, 0) }

// Validate implements Event.
func (e BallsInBins) Validate() error { return validTree(e, 0) }

// Validate implements Event.
func (e BandedMatrix) Validate() error { return validTree(e, 0) }

const (
	allocationNeedsAddRemove = "random allocation is accounted under add_remove only: no pair is known to be the worst where a record is replaced"
	allocationNeedsGaussian  = "random allocation is accounted for Gaussian noise, any number of releases from one batch"
)

type randomAllocationRow struct {
	unsupported
	RandomAllocation
}

func (e RandomAllocation) row() row { return randomAllocationRow{unsupported{e}, e} }

func (randomAllocationRow) name() string        { return "random_allocation" }
func (r randomAllocationRow) children() []Event { return []Event{r.Event} }

func (r randomAllocationRow) words(printer) (mechanism, parameters string) {
	return "in random steps", fmt.Sprintf("%d of %d", r.K, r.Steps)
}

func (r randomAllocationRow) check() error {
	if err := errors.Join(atLeast("random_allocation", "k", r.K, 1), atLeast("random_allocation", "steps", r.Steps, 1)); err != nil {
		return err
	}
	return atLeast("random_allocation", "steps", r.Steps, r.K)
}

func (r randomAllocationRow) flatten(t *terms, count int64, rel Relation) error {
	if rel == ReplaceOne {
		return &UnsupportedEventError{r.event, allocationNeedsAddRemove}
	}
	noise, exact, err := gaussianOf(r.event, r.Event)
	if err != nil || noise.NoiseMultiplier == 0 {
		return err
	}
	runs, err := mul(count, r.K) // blocks
	if err != nil {
		return err
	}
	if r.K == r.Steps {
		return t.flatten(r.Event, runs, rel)
	}
	leaf := Event(RandomAllocation{r.K, r.Steps, noise})
	if !exact {
		leaf = dominated{by: leaf}
	}
	return t.curves.add(leaf, count)
}

// gaussianOf returns the Gaussian noise that costs what an event inside another costs, and whether
// that is the event itself; none if it costs nothing.
func gaussianOf(outer, inner Event) (noise Gaussian, exact bool, err error) {
	var seen terms
	if err := seen.flatten(inner, 1, AddRemove); err != nil {
		return Gaussian{}, false, err
	}
	if holdsGroup(inner) {
		return Gaussian{}, false, &UnsupportedEventError{outer, groupInSample}
	}
	if len(seen.failures.Keys) > 0 {
		return Gaussian{}, false, &UnsupportedEventError{outer, allocationNeedsGaussian}
	}
	if len(seen.curves.Keys) == 0 {
		return Gaussian{}, true, nil
	}
	noise, exact, ok := oneGaussian(&seen.curves)
	if !ok {
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

// curve, pair and attained are those of the leaves that flatten makes.
func (r randomAllocationRow) curve() curve {
	if r.sigma() == 0 {
		return infiniteCurve
	}
	var curves []curve
	var counts []float64
	r.blocks(func(steps, count int64) {
		curves, counts = append(curves, allocationCurve(steps, r.sigma())), append(counts, float64(count))
	})
	return func(a float64) float64 {
		sum := 0.0
		for i, c := range curves {
			sum += counts[i] * c(a)
		}
		return sum
	}
}

func (r randomAllocationRow) pairs(s *pld.Sum, n int64) error {
	if r.sigma() == 0 {
		return &UnsupportedEventError{r.event, allocationNeedsGaussian}
	}
	var first error
	r.blocks(func(steps, count int64) {
		count, err := mul(n, count)
		if err == nil {
			s.Add(pld.Allocation(steps, r.sigma()), count)
		}
		first = errors.Join(first, err)
	})
	return first
}

// attained is the pair itself for one step of many. For more a sum over the steps is less than the
// outputs show, but attained.
func (r randomAllocationRow) attained(s *pld.Sum, n int64) (dominating bool) {
	if r.K == 1 && r.sigma() >= pld.LeastAllocated {
		return true
	}
	if r.sigma() > 0 {
		s.Add(pld.Several(r.Steps, r.K, r.sigma()), n)
	}
	return false
}

type ballsInBinsRow struct {
	unsupported
	BallsInBins
}

func (e BallsInBins) row() row { return ballsInBinsRow{unsupported{e}, e} }

func (ballsInBinsRow) name() string        { return "balls_in_bins" }
func (r ballsInBinsRow) children() []Event { return []Event{r.Event} }

func (r ballsInBinsRow) words(printer) (mechanism, parameters string) {
	return "in one of fixed batches", fmt.Sprintf("%d, %d epochs", r.Bins, r.Epochs)
}

func (r ballsInBinsRow) check() error {
	return errors.Join(atLeast("balls_in_bins", "bins", r.Bins, 1), atLeast("balls_in_bins", "epochs", r.Epochs, 1))
}

func (r ballsInBinsRow) flatten(t *terms, count int64, rel Relation) error {
	if rel == ReplaceOne {
		return &UnsupportedEventError{r.event, allocationNeedsAddRemove}
	}
	noise, exact, err := gaussianOf(r.event, r.Event)
	if err != nil || noise.NoiseMultiplier == 0 {
		return err
	}
	if r.Bins == 1 {
		all, err := mul(count, r.Epochs)
		if err != nil {
			return err
		}
		return t.flatten(r.Event, all, rel)
	}
	if r.Epochs > 1 {
		noise.NoiseMultiplier *= (1 - 4e-16) / math.Sqrt(float64(r.Epochs))
	}
	leaf := Event(RandomAllocation{1, r.Bins, Gaussian{math.Max(math.SmallestNonzeroFloat64, noise.NoiseMultiplier)}})
	if !exact {
		leaf = dominated{by: leaf}
	}
	return t.curves.add(leaf, count)
}

type bandedMatrixRow struct {
	unsupported
	BandedMatrix
}

func (e BandedMatrix) row() row { return bandedMatrixRow{unsupported{e}, e} }

func (bandedMatrixRow) name() string { return "banded_matrix" }

func (r bandedMatrixRow) words(p printer) (mechanism, parameters string) {
	return "noisy sums with noise correlated over steps", fmt.Sprintf("%d bands, %d steps, q %s of a part, Gaussian, %s × sensitivity × column norm",
		r.Bands, r.Steps, p.number(r.Probability), p.number(r.NoiseMultiplier))
}

func (r bandedMatrixRow) check() error {
	return errors.Join(atLeast("banded_matrix", "bands", r.Bands, 1), atLeast("banded_matrix", "steps", r.Steps, max(r.Bands, 1)),
		isProbability("banded_matrix", r.Probability), positive("banded_matrix", "noise_multiplier", r.NoiseMultiplier))
}

func (r bandedMatrixRow) flatten(t *terms, count int64, rel Relation) error {
	runs, err := mul(count, 1+(r.Steps-1)/r.Bands)
	if err != nil {
		return err
	}
	if rel == ReplaceOne {
		return &UnsupportedEventError{r.event, poissonNeedsAddRemove}
	}
	return t.sampled(PoissonSampled{r.Probability, Gaussian{r.NoiseMultiplier}}, runs, rel)
}
