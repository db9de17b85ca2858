package stability

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// Noise selects the noise of an [MStab].
type Noise int

const (
	// Laplace adds discrete Laplace noise of scale 1/Epsilon to the distance. The answer is released if and
	// only if distance + noise > threshold.
	Laplace Noise = iota + 1
	// Gaussian adds discrete Gaussian noise to the distance. This noise is better for many queries.
	Gaussian
	// OneShot is the (Epsilon, Delta)-DP test of a distance with the largest release probability.
	OneShot
)

// MStabConfig holds the parameters of an [MStab]. No parameter has a default. For Gaussian noise, Epsilon
// must be 0. For other noise, Sigma must be 0.
type MStabConfig struct {
	Noise     Noise
	Epsilon   float64 // Laplace, OneShot: of one query; [2^-20, 2^9]
	Sigma     float64 // Gaussian: standard deviation of the noise of one query, in records; [2^-10, 2^20]
	Delta     float64 // probability that one query releases an unstable answer; [1e-15, 1/4]
	Questions int     // cap on queries; the whole cap is charged; >= 1
}

// If two neighbours have the same answer, the test is a noise mechanism on a distance of sensitivity 1. If
// their answers differ, both distances are 0, and the test refuses with probability at least 1 - Delta. So a
// query costs Epsilon (or the cost of Gaussian noise) and a failure probability, P[noise > threshold]. The
// threshold is the least integer for which this probability is at most Delta. Lecture notes print the
// threshold log(1/delta)/epsilon for continuous Laplace noise, which wastes half of delta (see
// [ContinuousLaplace]).

// MStab releases an answer if the answer's distance to instability passes a noisy test (Dwork, Lei 2009;
// Smith, Thakurta 2013). A query costs Epsilon, plus a failure probability of at most Delta. With Gaussian
// noise, the cost of the noise replaces Epsilon. A refusal costs as much as an answer.
type MStab struct {
	cfg       MStabConfig
	threshold int64
	failure   float64 // probability of a release at distance 0
	laplace   *rng.DiscreteLaplace
	gaussian  *rng.DiscreteGaussian
	oneShot   oneShot
}

func NewMStab(cfg MStabConfig) (*MStab, error) {
	m := &MStab{cfg: cfg}
	switch {
	case !within(cfg.Delta, 1e-15, 0.25):
		return nil, fmt.Errorf("stability: Delta must be in [1e-15, 1/4], not %g", cfg.Delta)
	case cfg.Questions < 1 || int64(cfg.Questions) > 1<<53:
		return nil, fmt.Errorf("stability: Questions must be in [1, 2^53], not %d: it is what will be charged for", cfg.Questions)
	case cfg.Noise < Laplace || cfg.Noise > OneShot:
		return nil, fmt.Errorf("stability: %d is not a Noise", cfg.Noise)
	case cfg.Noise != Gaussian && cfg.Sigma != 0:
		return nil, fmt.Errorf("stability: Sigma is for Gaussian noise, and must be 0, not %g", cfg.Sigma)
	case cfg.Noise != Gaussian && !within(cfg.Epsilon, 0x1p-20, 0x1p9):
		return nil, fmt.Errorf("stability: Epsilon must be in [2^-20, 2^9], not %g", cfg.Epsilon)
	case cfg.Noise == Gaussian && cfg.Epsilon != 0:
		return nil, fmt.Errorf("stability: Epsilon is not for Gaussian noise, and must be 0, not %g", cfg.Epsilon)
	case cfg.Noise == Gaussian && !within(cfg.Sigma, 0x1p-10, 0x1p20):
		return nil, fmt.Errorf("stability: Sigma must be in [2^-10, 2^20] records, not %g", cfg.Sigma)
	case cfg.Noise == Laplace:
		return m, m.useLaplace()
	case cfg.Noise == Gaussian:
		return m, m.useGaussian()
	}
	var err error
	m.oneShot, err = newOneShot(cfg.Epsilon, cfg.Delta)
	m.failure = cfg.Delta
	return m, err
}

// useLaplace sets the least threshold T >= 0 with P[noise > T] <= Delta.
func (m *MStab) useLaplace() (err error) {
	m.laplace, err = rng.NewDiscreteLaplace(atLeastInverse(m.cfg.Epsilon))
	if err != nil {
		return fmt.Errorf("stability: Epsilon: %w", err)
	}
	scale := m.laplace.Scale()
	t := math.Floor(-scale*(math.Log(m.cfg.Delta)+math.Log1p(math.Exp(-1/scale)))) - 3
	m.threshold = int64(max(0, t))
	for math.Exp(laplaceTail(scale, m.threshold+1)) > m.cfg.Delta {
		m.threshold++
	}
	m.failure = math.Exp(laplaceTail(scale, m.threshold+1)) * (1 + 0x1p-40)
	return nil
}

// useGaussian sets the least threshold T >= 0 with P[noise > T] <= Delta.
func (m *MStab) useGaussian() (err error) {
	// It adds up the tail of the noise, from the far end inwards, until the next probability would raise the
	// sum above Delta.
	m.gaussian, err = rng.NewDiscreteGaussian(m.cfg.Sigma)
	if err != nil {
		return fmt.Errorf("stability: Sigma: %w", err)
	}
	k := int64(m.cfg.Sigma*math.Sqrt(2*(60-math.Log(m.cfg.Delta)))) + 2
	for sum := 0.0; ; k-- {
		p := math.Exp(m.gaussian.LogProb(k))
		if sum+p > m.cfg.Delta || k == 0 {
			m.threshold, m.failure = k, sum*(1+0x1p-40)
			return nil
		}
		sum += p
	}
}

func atLeastInverse(epsilon float64) float64 {
	b := 1 / epsilon
	if math.FMA(epsilon, b, -1) < 0 {
		return math.Nextafter(b, math.Inf(1))
	}
	return b
}

// Event returns the worst-case event of a session in which all queries are asked.
func (m *MStab) Event() accountant.Event {
	var test accountant.Event = accountant.PureDP{Epsilon: m.cfg.Epsilon}
	if m.cfg.Noise == Gaussian {
		test = accountant.DiscreteGaussian{Sigma: m.gaussian.Sigma(), Sensitivity: 1}
	}
	return accountant.Repeated{Event: accountant.WithFailure{Event: test, Delta: m.failure}, Count: int64(m.cfg.Questions)}
}

// Threshold returns the value that an answer's distance plus noise must exceed for a release. For [OneShot],
// the result is 0.
func (m *MStab) Threshold() int64 { return m.threshold }

// Law returns the exact log probabilities of a release and of a refusal at the given distance.
func (m *MStab) Law(distance int64) (released, failed float64) {
	distance = clampDistance(distance)
	switch m.cfg.Noise {
	case Laplace:
		released = laplaceTail(m.laplace.Scale(), m.threshold-distance+1)
		return released, laplaceTail(m.laplace.Scale(), distance-m.threshold)
	case Gaussian:
		return gaussianTail(m.gaussian, m.threshold-distance+1), gaussianTail(m.gaussian, distance-m.threshold)
	}
	return m.oneShot.law(distance)
}

// DistanceFor returns the least distance with at least the given probability of a release.
func (m *MStab) DistanceFor(probability float64) (int64, error) {
	if !(probability >= 0 && probability <= 1-1e-12) {
		return 0, fmt.Errorf("stability: a probability of release must be in [0, 1 - 1e-12], not %g", probability)
	}
	enough := func(d int64) bool { _, failed := m.Law(d); return failed <= math.Log1p(-probability) }
	return mathx.Least(enough), nil
}

func (m *MStab) derive(key rng.Key) rng.Key {
	return key.Derive("mstab", uint64(m.cfg.Noise), math.Float64bits(m.cfg.Epsilon), math.Float64bits(m.cfg.Sigma), math.Float64bits(m.cfg.Delta))
}

func (m *MStab) draw(s *rng.Stream) (passes func(distance int64) bool) {
	var noise int64
	switch m.cfg.Noise {
	case Laplace:
		noise = m.laplace.Sample(s)
	case Gaussian:
		noise = m.gaussian.Sample(s)
	default:
		u := s.Uint64()
		return func(d int64) bool { return m.oneShot.releases(u, d) }
	}
	return func(d int64) bool { return clampDistance(d)+noise > m.threshold }
}

func clampDistance(d int64) int64 { return min(max(d, -1<<60), 1<<60) }

// laplaceTail returns log P[Z >= m] for discrete Laplace noise Z.
func laplaceTail(scale float64, m int64) float64 {
	log1pr := math.Log1p(math.Exp(-1 / scale))
	if m >= 1 {
		return -float64(m)/scale - log1pr // r^m/(1+r) for r = e^(-1/scale)
	}
	return math.Log1p(-math.Exp(-float64(1-m)/scale - log1pr))
}

func gaussianTail(d *rng.DiscreteGaussian, m int64) float64 {
	if m <= 0 {
		return math.Log1p(-math.Exp(gaussianTail(d, 1-m)))
	}
	first, sum := d.LogProb(m), 0.0
	for k := m; ; k++ {
		term := math.Exp(d.LogProb(k) - first)
		if sum += term; term < 1e-18 {
			return first + math.Log(sum)
		}
	}
}

// oneShot is the test with the largest probabilities pi(d) of a release at distance d, the largest solution
// of
//
//	pi(0) = delta,  pi(d+1) = min(e^eps pi(d) + delta, 1 - e^-eps (1 - pi(d) - delta), 1)
//
// Each pi(d+1) is the largest value that both inequalities of (eps, delta)-privacy allow, as in optimal
// partition selection (Desfontaines et al. 2022). The probabilities are rounded down so that both
// inequalities stay valid.

// oneShot is the (eps, delta)-private test with the largest release probability pi(d) at every distance d.
type oneShot struct {
	release []uint64 // pi(d) in units of 2^-64; pi is 1 beyond the end
}

const maxTable = 1 << 22

func newOneShot(epsilon, delta float64) (oneShot, error) {
	if epsilon*maxTable < 2*math.Log(1/delta)+2 {
		return oneShot{}, fmt.Errorf("stability: Epsilon %g is too small for Delta %g with OneShot noise", epsilon, delta)
	}
	const down, up = 1 - 0x1p-48, 1 + 0x1p-48 // exceed the rounding errors below
	grow, shrink := math.Exp(epsilon), math.Exp(-epsilon)
	step := uint64(delta * 0x1p64 * down)
	var o oneShot
	for p := step; ; {
		o.release = append(o.release, p)
		fail := -p // 2^64 - p
		var least uint64
		if limit := (float64(p)*grow*down + float64(step)) * down; limit < 0x1p64 {
			least = -uint64(limit)
		}
		if fail > step {
			least = max(least, uint64(math.Ceil(float64(fail-step)*shrink*up)))
		}
		if least == 0 {
			return o, nil
		}
		p = -least
	}
}

func (o oneShot) releases(u uint64, distance int64) bool {
	d := max(0, distance)
	return d >= int64(len(o.release)) || u < o.release[d]
}

func (o oneShot) law(distance int64) (released, failed float64) {
	d := max(0, distance)
	if d >= int64(len(o.release)) {
		return 0, math.Inf(-1)
	}
	p := o.release[d]
	return math.Log(float64(p)) - 64*math.Ln2, math.Log(float64(-p)) - 64*math.Ln2
}

// ContinuousLaplace is the test of the literature, with continuous Laplace noise of scale 1/Epsilon.
// ContinuousLaplace serves only to compare distributions and costs. At distance 0, an answer is released with
// probability e^(-Epsilon Threshold)/2. So the published threshold log(1/delta)/epsilon gives (epsilon,
// delta/2)-privacy. The threshold log(1/(2 delta))/epsilon gives (epsilon, delta)-privacy.
type ContinuousLaplace struct {
	Epsilon   float64 // > 0
	Threshold float64 // >= 0
}

// Event returns the event of one query.
func (m ContinuousLaplace) Event() accountant.Event {
	return accountant.MStab{Epsilon: m.Epsilon, Threshold: m.Threshold}
}

// Law returns the log probabilities of a release and of a refusal at the given distance.
func (m ContinuousLaplace) Law(distance float64) (released, failed float64) {
	return logLaplaceTail(m.Epsilon * (m.Threshold - distance)), logLaplaceTail(m.Epsilon * (distance - m.Threshold))
}

func logLaplaceTail(x float64) float64 {
	if x >= 0 {
		return -x - math.Ln2
	}
	return math.Log1p(-math.Exp(x) / 2)
}
