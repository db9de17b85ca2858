package stability

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// Median returns the median of an odd number of values as a [Function]. It clamps each value to [low, high].
// The number of values is public, and neighbours differ in one value (accountant.ReplaceOne).
//
// Let x_i be the sorted values, preceded by copies of low and followed by copies of high. Let m be the index
// of the median. The largest local sensitivity after at most k changes is
//
//	A(k) = max over 0 <= t <= k+1 of x_(m+t) - x_(m+t-k-1)
//
// (Nissim, Raskhodnikova, Smith 2007). Distance returns the least k with A(k) > bound.
func Median(low, high float64) Function[[]float64] {
	return Function[[]float64]{
		Relation: accountant.ReplaceOne,
		Value: func(data []float64) (float64, error) {
			s, err := sorted(data, low, high)
			if err != nil {
				return 0, err
			}
			return s.at(s.median), nil
		},
		Distance: func(data []float64, bound float64) (int64, error) {
			s, err := sorted(data, low, high)
			if err != nil {
				return 0, err
			}
			if !(bound < high-low) {
				return maxCount, nil // no data set exceeds the bound
			}
			return int64(sort.Search(len(data), func(k int) bool { return s.sensitivityWithin(k) > bound })), nil
		},
	}
}

type sample struct {
	values    []float64
	low, high float64
	median    int
}

func sorted(data []float64, low, high float64) (sample, error) {
	if !(low < high) || math.IsInf(high-low, 1) {
		return sample{}, fmt.Errorf("stability: [%g, %g] is not an interval for a median", low, high)
	}
	if len(data)%2 == 0 {
		return sample{}, errors.New("stability: a median here needs an odd number of values")
	}
	clamped := make([]float64, len(data))
	for i, x := range data {
		clamped[i] = low // also for NaN
		if x > low {
			clamped[i] = min(x, high)
		}
	}
	slices.Sort(clamped)
	return sample{clamped, low, high, len(data) / 2}, nil
}

func (s sample) at(i int) float64 {
	switch {
	case i < 0:
		return s.low
	case i >= len(s.values):
		return s.high
	}
	return s.values[i]
}

func (s sample) sensitivityWithin(k int) (most float64) {
	for t := range k + 2 {
		most = max(most, s.at(s.median+t)-s.at(s.median+t-k-1))
	}
	return most
}

func (s sample) smoothSensitivity(beta float64) (most float64) {
	// The result S is the least bound on the local sensitivity such that the values of S on neighbours differ
	// by a factor of at most e^beta:
	//
	//	S = max over k of e^(-beta k) A(k) = max over i <= m <= j of (x_j - x_i) e^(-beta (j-i-1)).
	//
	// As i increases, the best j does not decrease: a larger x_i reduces (x_j - x_i) e^(-beta j) less at a
	// larger j. So the search can divide and conquer.
	var search func(iLow, iHigh, jLow, jHigh int)
	search = func(iLow, iHigh, jLow, jHigh int) {
		if iLow > iHigh {
			return
		}
		i := iLow + (iHigh-iLow)/2
		best, at := -1.0, jLow
		for j := jLow; j <= jHigh; j++ {
			if v := (s.at(j) - s.at(i)) * math.Exp(-beta*float64(j-i-1)); v > best {
				best, at = v, j
			}
		}
		most = max(most, best)
		search(iLow, i-1, jLow, at)
		search(i+1, iHigh, at, jHigh)
	}
	search(-1, s.median, s.median, len(s.values))
	return most
}

// SmoothMedianConfig holds the parameters of a [SmoothMedian]. No parameter has a default.
type SmoothMedianConfig struct {
	Low, High float64 // interval to which values are clamped
	Epsilon   float64 // [2^-10, 2^9]
	Delta     float64 // [1e-15, 1/4]
}

// Proof for integers. Let t and t' be the scales of two neighbours. As |F - F'| <= min(S, S'), the shift by F
// - F' costs at most Epsilon/2 at either scale. The change of scale costs at most another Epsilon/2:
//
//   - If t < t', the cost is at most log(tanh(1/2t)/tanh(1/2t')) <= log(t'/t) <= beta <= Epsilon/2.
//   - If t > t', the cost is |Z|(1/t' - 1/t) <= (|Z|/t)(e^beta - 1). This is at most Epsilon/2 unless |Z| >=
//     m, where m is the least integer above t log(2/Delta). With r = e^(-1/t), the probability of |Z| >= m is
//     2 r^m/(1+r) <= Delta.

// SmoothMedian releases the noisy median of an odd, public number of values. The noise is calibrated to the
// smooth sensitivity of the median (Nissim, Raskhodnikova, Smith 2007). Neighbours differ in one value
// (accountant.ReplaceOne).
//
// Values are rounded to a grid with at least 2^24 units between Low and High. In grid units, let F be the
// median, and S its beta-smooth sensitivity, with
//
//	beta = log(1 + (Epsilon/2)/log(2/Delta)).
//
// The released value is F + Z. The noise Z is discrete Laplace of scale t = 2 S/Epsilon. The paper uses
// continuous noise and the slightly larger beta = Epsilon/(2 log(2/Delta)).
type SmoothMedian struct {
	cfg       SmoothMedianConfig
	grid      grid
	low, high float64 // in units
	beta      float64
}

const medianBits = 24

func NewSmoothMedian(cfg SmoothMedianConfig) (*SmoothMedian, error) {
	return newSmoothMedian(cfg, medianBits)
}

func newSmoothMedian(cfg SmoothMedianConfig, bits int) (*SmoothMedian, error) {
	switch {
	case !within(cfg.High-cfg.Low, 0x1p-500, 0x1p500) || math.Abs(cfg.Low) > 0x1p26*(cfg.High-cfg.Low):
		return nil, fmt.Errorf("stability: Low %g and High %g are not an interval for a median", cfg.Low, cfg.High)
	case !within(cfg.Epsilon, 0x1p-10, 0x1p9):
		return nil, fmt.Errorf("stability: Epsilon must be in [2^-10, 2^9], not %g", cfg.Epsilon)
	case !within(cfg.Delta, 1e-15, 0.25):
		return nil, fmt.Errorf("stability: Delta must be in [1e-15, 1/4], not %g", cfg.Delta)
	}
	m := &SmoothMedian{cfg: cfg, grid: gridFor(cfg.High-cfg.Low, bits)}
	m.low, m.high = float64(m.grid.round(cfg.Low)), float64(m.grid.round(cfg.High))
	m.beta = math.Log1p(cfg.Epsilon/2/math.Log(2/cfg.Delta)) - smoothSlack
	return m, nil
}

const smoothSlack = 1e-11

// Event returns the event of one release.
func (m *SmoothMedian) Event() accountant.Event {
	return accountant.WithFailure{Event: accountant.PureDP{Epsilon: m.cfg.Epsilon}, Delta: m.cfg.Delta}
}

// Release releases the median of the data. Release fails unless the reservation r is unused and charges
// exactly m.Event() under accountant.ReplaceOne.
func (m *SmoothMedian) Release(r *ledger.Reservation, key rng.Key, data []float64) (float64, error) {
	key, err := begin(m.Event(), ledger.Use{Relation: accountant.ReplaceOne}, r, key)
	if err != nil {
		return 0, err
	}
	return m.release(key, data)
}

func (m *SmoothMedian) release(key rng.Key, data []float64) (float64, error) {
	median, noise, err := m.law(data)
	if err != nil {
		return 0, err
	}
	params := []uint64{math.Float64bits(m.cfg.Low), math.Float64bits(m.cfg.High), math.Float64bits(m.cfg.Epsilon), math.Float64bits(m.cfg.Delta)}
	return m.grid.value(median + noise.Sample(key.Derive("smooth median", params...).Stream())), nil
}

func (m *SmoothMedian) law(data []float64) (median int64, noise *rng.DiscreteLaplace, err error) {
	units := make([]float64, len(data))
	for i, x := range data {
		units[i] = float64(m.grid.round(x))
	}
	s, err := sorted(units, m.low, m.high)
	if err != nil {
		return 0, nil, err
	}
	scale := 2 * s.smoothSensitivity(m.beta) / m.cfg.Epsilon * (1 + 1e-12)
	noise, err = rng.NewDiscreteLaplace(max(scale, 0x1p-10))
	return int64(s.at(s.median)), noise, err
}

// grid rounds answers to multiples of unit before noise is added. The unit is a power of two.
type grid struct{ unit float64 }

func gridFor(size float64, bits int) grid {
	_, exponent := math.Frexp(size) // size in [2^(exponent-1), 2^exponent)
	return grid{math.Ldexp(1, exponent-1-bits)}
}

func (g grid) round(x float64) int64 {
	if math.IsNaN(x) {
		return 0
	}
	return int64(math.RoundToEven(min(max(x/g.unit, -0x1p52), 0x1p52)))
}

func (g grid) value(units int64) float64 { return float64(units) * g.unit }

func within(x, low, high float64) bool { return x >= low && x <= high }
