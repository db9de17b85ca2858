package stability

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/pate-go/pate/accountant"
)

// Median returns the median of an odd number of values, each clamped to [low, high], for [Propose]. The
// number of values is public: neighbours differ in one value (accountant.ReplaceOne).
//
// Sort the values, with x_i = low before the first and x_i = high after the last, and let m
// be the index of the median. The largest local sensitivity within k changes is
//
//	A(k) = max over 0 <= t <= k+1 of x_(m+t) - x_(m+t-k-1)
//
// (Nissim, Raskhodnikova, Smith 2007). The distance to data at which it exceeds a bound is
// the least k with A(k) > bound.
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
				return maxCount, nil // no data exceed it
			}
			return int64(sort.Search(len(data), func(k int) bool { return s.sensitivityWithin(k) > bound })), nil
		},
	}
}

// sample holds sorted values between two ends.
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
		clamped[i] = low // also if it is no number
		if x > low {
			clamped[i] = min(x, high)
		}
	}
	slices.Sort(clamped)
	return sample{clamped, low, high, len(data) / 2}, nil
}

// at returns x_i.
func (s sample) at(i int) float64 {
	switch {
	case i < 0:
		return s.low
	case i >= len(s.values):
		return s.high
	}
	return s.values[i]
}

// sensitivityWithin returns A(k).
func (s sample) sensitivityWithin(k int) (most float64) {
	for t := range k + 2 {
		most = max(most, s.at(s.median+t)-s.at(s.median+t-k-1))
	}
	return most
}

// smoothSensitivity returns the least function above the local sensitivity that changes by
// a factor of at most e^beta between neighbours,
//
//	S = max over k of e^(-beta k) A(k) = max over i <= m <= j of (x_j - x_i) e^(-beta (j-i-1)).
//
// The best j for an i does not fall as i rises, so the search halves. The reason: the
// larger x_i is, the more (x_j - x_i) e^(-beta j) gains on its value at a smaller j.
func (s sample) smoothSensitivity(beta float64) (most float64) {
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
