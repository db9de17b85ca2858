package plan

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/pate-go/pate/internal/rng"
)

// A judge is the exact probability that a mechanism answers one query with a given
// class. Package aggregate has the whole laws, in logarithms that hold where
// probabilities underflow; an expectation over thousands of queries needs one class
// of each, to an absolute 1e-12 and a hundred times faster. Tests hold the two
// together. A judge is safe for concurrent use.
type judge func(counts []int64, label int) float64

// lattice is the law of integer noise on [-reach, reach], which misses less than
// 1e-13 of it.
type lattice struct {
	reach  int64
	stride int64 // of sums over its mass
	mass   []float64
	below  []float64 // P[Z <= m]
}

func newLattice(logProb func(int64) float64, reach, stride int64) lattice {
	l := lattice{reach: reach, stride: stride, mass: make([]float64, 2*reach+1), below: make([]float64, 2*reach+1)}
	sum := 0.0
	for m := -reach; m <= reach; m++ {
		p := math.Exp(logProb(m))
		sum += p
		l.mass[m+reach], l.below[m+reach] = p, math.Min(1, sum)
	}
	return l
}

// atMost is P[Z <= m].
func (l lattice) atMost(m int64) float64 {
	switch {
	case m < -l.reach:
		return 0
	case m >= l.reach:
		return 1
	}
	return l.below[m+l.reach]
}

// argmax is P[label wins] for counts plus noise, ties to the lowest index:
//
//	sum_x p(x-n_label) prod_{j < label} P[Z <= x-1-n_j] prod_{j > label} P[Z <= x-n_j]
//
// over the x at which all factors are more than nothing. With a stride above 1 it is
// the trapezoid rule for the same sum.
func (l lattice) argmax(counts []int64, label int) float64 {
	own := counts[label]
	from := max(own, slices.Max(counts)) - l.reach
	sum := 0.0
	for x := from; x <= own+l.reach; x += l.stride {
		product := l.mass[x-own+l.reach]
		for j, n := range counts {
			switch {
			case j < label:
				product *= l.atMost(x - 1 - n)
			case j > label:
				product *= l.atMost(x - n)
			}
		}
		sum += product
	}
	return math.Min(1, sum*float64(l.stride))
}

// gaussianJudge is GNMax. The summand is as smooth as a Gaussian of standard
// deviation sigma/sqrt(K) at least; for steps of at most a quarter of that the
// trapezoid rule errs by less than exp(-2 pi^2 4^2).
func gaussianJudge(sigma float64, classes int) (judge, error) {
	noise, err := rng.NewDiscreteGaussian(sigma)
	if err != nil {
		return nil, err
	}
	stride := max(1, int64(sigma/4/math.Sqrt(float64(max(classes, 4)))))
	return newLattice(noise.LogProb, int64(math.Ceil(9*sigma))+1, stride).argmax, nil
}

// laplaceJudge is LNMax. Its law has kinks at the counts, so the exact sum has
// stride 1; a rough one, for comparing numbers of queries, is good to 1e-2.
func laplaceJudge(scale float64, rough bool) (judge, error) {
	noise, err := rng.NewDiscreteLaplace(scale)
	if err != nil {
		return nil, err
	}
	stride := int64(1)
	if rough {
		stride = max(1, int64(scale/8))
	}
	return newLattice(noise.LogProb, int64(math.Ceil(32*scale))+1, stride).argmax, nil
}

// exponentialJudge is P[label] proportional to exp(n_label/scale).
func exponentialJudge(scale float64) judge {
	return func(counts []int64, label int) float64 {
		sum := 0.0
		for _, n := range counts {
			sum += math.Exp(float64(n-counts[label]) / scale)
		}
		return 1 / sum
	}
}

// permuteAndFlipJudge is p_l integral_0^1 prod_{j != l} (1 - u p_j) du with
// p_j = exp((n_j-max)/scale), a polynomial that Gauss-Legendre integrates exactly.
func permuteAndFlipJudge(scale float64, classes int) judge {
	nodes, weights := make([]float64, (classes+1)/2), make([]float64, (classes+1)/2)
	quad.Legendre{}.FixedLocations(nodes, weights, 0, 1)
	return func(counts []int64, label int) float64 {
		high := slices.Max(counts)
		accept := make([]float64, len(counts))
		for j, n := range counts {
			accept[j] = math.Exp(float64(n-high) / scale)
		}
		sum := 0.0
		for q, u := range nodes {
			product := weights[q]
			for j, p := range accept {
				if j != label {
					product *= 1 - u*p
				}
			}
			sum += product
		}
		return accept[label] * sum
	}
}

// thresholdPass is P[count + Z >= threshold] for every count up to largest.
func thresholdPass(sigma float64, threshold, largest int64) ([]float64, error) {
	noise, err := rng.NewDiscreteGaussian(sigma)
	if err != nil {
		return nil, err
	}
	l := newLattice(noise.LogProb, int64(math.Ceil(9*sigma))+1, 1)
	pass := make([]float64, largest+1)
	for n := range pass {
		pass[n] = l.atMost(int64(n) - threshold) // P[Z >= threshold-n], by symmetry
	}
	return pass, nil
}

// correct is the probability of each query's label, on all cores.
func (c cases) correct(ctx context.Context, j judge) ([]float64, error) {
	out := make([]float64, len(c.counts))
	workers := min(runtime.GOMAXPROCS(0), len(out))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(out) && ctx.Err() == nil; i += workers {
				out[i] = j(c.counts[i], c.labels[i])
			}
		})
	}
	wg.Wait()
	return out, ctx.Err()
}
