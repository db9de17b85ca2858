package accountant

import (
	"errors"
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// A record shifts the outputs of its K steps, each by a vector. The vector may depend on earlier outputs, and
// its norm is at most one sensitivity. The noisy vector is post-processing of one noisy number with shift 0
// or 1. So a pair (P, Q) dominates the event. P is the mean of N(1_S, sigma^2 I) over all sets S of K steps,
// and Q is N(0, sigma^2 I). Some mechanism attains this pair. The accountants use the pair for K = 1 (Chua et
// al. 2024, balls and bins; Feldman, Shenfeld 2025; Dong et al. 2025). A random set of K steps is one random
// step in each of K random blocks of the steps. So, by convexity, K > 1 costs at most as much as K such
// blocks.

// RandomAllocation runs Event (Gaussian noise) on Steps batches. Every record is in K of the batches. The K
// batches are chosen uniformly at random. The choice is independent for every record and every run of
// RandomAllocation (an epoch, for example). The computation of a step may depend on earlier outputs.
type RandomAllocation struct {
	K     int64 `json:"k" in:"1"`     // number of steps that use a given record, in [1, Steps]
	Steps int64 `json:"steps" in:"1"` // >= 1
	Event Event `json:"event"`
}

// The sum of a batch's noisy outputs over the epochs is a sufficient statistic. So the event costs as much as
// a RandomAllocation with K = 1, Steps = Bins and the noise multiplier divided by sqrt(Epochs).

// BallsInBins assigns every record to one of Bins batches, uniformly at random and independently. The batch
// stays the same in all epochs, unlike a [RandomAllocation] in each epoch. Each epoch runs Event (Gaussian
// noise) on every batch.
type BallsInBins struct {
	Bins   int64 `json:"bins" in:"1"`   // >= 1
	Epochs int64 `json:"epochs" in:"1"` // >= 1
	Event  Event `json:"event"`
}

// A record can be drawn in ceil(Steps/Bands) steps. These steps are at least Bands apart, so no row of C is
// nonzero in two of their columns. So each of these steps is a Gaussian step on a Poisson sample.

// BandedMatrix is DP-SGD with the correlated noise C^-1 z, where z is independent Gaussian noise. The lower
// triangular matrix C has at most Bands bands (Choquette-Choo et al. 2023). Every record belongs permanently
// to one of Bands partitions, independently of other records. Step i uses only partition i mod Bands. Step i
// includes each record of this partition independently, with the same Probability. If all partitions have the
// same size, Probability is Bands * B/n. Here B is the expected batch size, and n is the number of records.
type BandedMatrix struct {
	Bands       int64   `json:"bands" in:"1"`                 // in [1, Steps]
	Steps       int64   `json:"steps" in:"1" atleast:"Bands"` // >= 1
	Probability float64 `json:"probability" in:"[0, 1]"`      // in [0, 1], for a record of the current partition
	// NoiseMultiplier, > 0, is (standard deviation of z) / (clipping norm * largest column norm of C).
	// [BandedMatrix] defines z and C.
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
	runs := t.times(count, e.K)
	if e.K == e.Steps {
		t.flatten(e.Event, runs)
		return
	}
	t.add(boundUnless(exact, RandomAllocation{e.K, e.Steps, noise}), count)
}

// gaussian returns Gaussian noise that dominates the event inner. If inner costs nothing or is refused,
// the noise multiplier is 0.
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

func (e RandomAllocation) blocks(f func(steps, count int64)) {
	longer := e.Steps % e.K
	f(e.Steps/e.K, e.K-longer)
	if longer > 0 {
		f(e.Steps/e.K+1, longer)
	}
}

func (e RandomAllocation) sigma() float64 {
	noise, _ := e.Event.(Gaussian)
	return noise.NoiseMultiplier
}

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

func (e RandomAllocation) attained(s *pld.Sum, n int64) (dominating bool) {
	// The lower bound is the pair of the sum of all noisy outputs, which is post-processing of the outputs.
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

// maxAllocationOrder is the largest order at which allocationMoments is used. At larger orders, or noise
// multipliers below 1/4, the bound is the cost of one Gaussian step. By convexity, a RandomAllocation with K
// = 1 costs no more than this step.
const maxAllocationOrder = 256

// allocationMoments holds log E_Q R^a in forward and log E_Q R^(1-a) in reverse, at integer orders a. Q is
// the output distribution without a record. P is the distribution with this record in one random step. R is
// the likelihood ratio P/Q. Both logs are convex in a.
type allocationMoments struct {
	steps, sigma float64
	forward      []float64 // at orders 0, 1, ..
	reverse      []float64 // NaN where not yet computed
	laplace      []node    // see transform
}

func allocationCurve(steps int64, sigma float64) curve {
	plain := gaussianCurve(1 / sigma)
	if steps == 1 {
		return plain
	}
	var m *allocationMoments // computed at the first use
	return func(a float64) float64 {
		if a > maxAllocationOrder || sigma < 0.25 {
			return plain(a)
		}
		if m == nil {
			m = newAllocationMoments(float64(steps), sigma)
		}
		return math.Min(plain(a), atLeastTiny(chord(a, m.log)/(a-1)))
	}
}

func newAllocationMoments(steps, sigma float64) *allocationMoments {
	// With c(j) = E S^j / j! the moments of a sum of independent S and T are sum_j c_S(j) c_T(a-j). The ratio
	// of one step has E r^j = e^{j(j-1)/(2 sigma^2)}.
	m := &allocationMoments{steps: math.Min(steps, pld.MaxAllocated), sigma: sigma}
	block := make([]float64, maxAllocationOrder+1)
	factorial := make([]float64, len(block))
	for j := range block {
		x := float64(j)
		factorial[j], _ = math.Lgamma(x + 1)
		block[j] = x*(x-1)/(2*sigma*sigma) - factorial[j]
	}
	var sum []float64
	levels := 0.0
	for n := uint64(m.steps); ; n >>= 1 {
		if n&1 == 1 && sum == nil {
			sum = block
		} else if n&1 == 1 {
			sum = convolveLogs(sum, block)
		}
		if n == 1 {
			break
		}
		block = convolveLogs(block, block)
		levels += 2
	}
	m.forward, m.reverse = make([]float64, len(sum)), make([]float64, len(sum))
	for j := range sum {
		x := float64(j)
		size := factorial[j] + x*(x-1)/(2*sigma*sigma) + x*math.Log(m.steps)
		m.forward[j] = sum[j] + factorial[j] - x*math.Log(m.steps) + 0x1p-51*(levels+2)*(64+size)
		m.reverse[j] = math.NaN()
	}
	return m
}

func convolveLogs(a, b []float64) []float64 {
	out, terms := make([]float64, len(a)), make([]float64, len(a))
	for k := range out {
		for j := 0; j <= k; j++ {
			terms[j] = a[j] + b[k-j]
		}
		out[k] = mathx.LogSumExp(terms[:k+1])
	}
	return out
}

func (m *allocationMoments) log(a int) float64 {
	if a <= 1 {
		return 0
	}
	if math.IsNaN(m.reverse[a]) {
		m.reverse[a] = m.inverse(float64(a - 1))
	}
	return math.Max(m.forward[a], m.reverse[a])
}

// inverse returns an upper bound of log E_Q R^-b, for Q and R as in allocationMoments.
func (m *allocationMoments) inverse(b float64) float64 {
	// It uses E R^-b = 1/Gamma(b) int e^{bu} f(e^u) du with f(theta) = E e^{-theta R} = (E e^{-(theta/t)
	// r})^t. In u the integrand is no narrower than 1/sqrt(b). So the trapezoid rule is exact to rounding.
	if b > 25*m.steps*m.sigma { // bound without random allocation; the mass may be left of the nodes
		return b * (b + 1) / (2 * m.sigma * m.sigma)
	}
	m.transform()
	logs := make([]float64, len(m.laplace))
	for i, n := range m.laplace {
		logs[i] = b*n.z + n.l
	}
	gamma, _ := math.Lgamma(b)
	// Left of the nodes f is at most 1. Right of the nodes f falls and is at most its last value.
	first, last := m.laplace[0], m.laplace[len(m.laplace)-1]
	rest := mathx.LogAddExp(b*first.z-math.Log(b), b*last.z+last.l+math.Ln2)
	log := mathx.LogAddExp(mathx.LogSumExp(logs)+math.Log(laplaceStep), rest) - gamma
	return math.Max(0, log) + 1e-12*(1+math.Abs(gamma)) // the last term covers the error of the quadrature
}

const laplaceStep = 0.04

func (m *allocationMoments) transform() {
	// At a node, ratios far below 1/theta are replaced by 0, and ratios far above 1/theta are omitted.
	if m.laplace != nil {
		return
	}
	step := math.Min(0.2, m.sigma/4)
	var logs, weights, before []float64 // before[i] is the weight of the ratios below index i
	sum := 0.0
	for z := -38.0; z <= 10; z += step {
		logs = append(logs, z/m.sigma-0.5/(m.sigma*m.sigma))
		weights, before = append(weights, math.Exp(mathx.LogNormalPDF(z))*step), append(before, sum)
		sum += weights[len(weights)-1]
	}
	first := len(logs) // index of the first ratio large enough to contribute
	for u := -40.0; ; u += laplaceStep {
		logTheta := u - math.Log(m.steps)
		for first > 0 && logs[first-1]+logTheta > -40 {
			first--
		}
		less, left := 0.0, sum // 1 - E e^{-theta r}, and E e^{-theta r}
		if first < len(logs) {
			left = before[first]
		}
		for i := first; i < len(logs); i++ {
			x := math.Exp(logs[i] + logTheta)
			if x > 745 { // all later terms are 0
				less += sum - before[i]
				break
			}
			one := math.Expm1(-x)
			less -= weights[i] * one
			left += weights[i] * (1 + one)
			if x > 1 {
				left += weights[i] * (math.Exp(-x) - (1 + one))
			}
		}
		l := m.steps * math.Log1p(-less)
		if less > 0.5 {
			l = m.steps * math.Log(left)
		}
		m.laplace = append(m.laplace, node{z: u, l: l})
		if u > 0 && (maxAllocationOrder*u+l < -800 || left == 0) {
			return
		}
	}
}
