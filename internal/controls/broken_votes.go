package controls

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/rng"
)

func brokenVotes() []Target {
	return []Target{halfNoise(), gapMinusOne(), floatingPoint()}
}

// halfNoise returns noisy argmax with Laplace noise of scale 1/epsilon sold as epsilon-private, as printed
// in lecture notes: a moved vote changes two counts.
func halfNoise() Target {
	one, two := []int{8, 2}, []int{9, 1}
	t := runs("lnmax-half-noise", fmt.Sprintf("%v and %v", one, two), 100_000, stated(halfEpsilon, 0), halfNoiseOf(one), halfNoiseOf(two))
	t.Mistake = "noise of scale 1/epsilon, as if a moved vote changed one count"
	return t
}

const halfEpsilon = 0.5

func halfNoiseOf(counts []int) side[aggregate.Answer] {
	return asked(func(n int) (aggregate.Mechanism, error) {
		return aggregate.NewLNMax(aggregate.LNMaxConfig{Scale: 1 / halfEpsilon, Queries: n})
	}, counts)
}

// gapMinusOne takes the lead minus one for the distance to instability: it has sensitivity 2, and is not 0
// where the winner is about to change.
func gapMinusOne() Target {
	t := runs("m-stab-gap", "votes with leads 3 and 1", 100_000, stated(gapEpsilon, gapDelta), gapRelease(2), gapRelease(0)) // leads 3 and 1, less 1
	t.Mistake = "the lead minus 1 is taken for the distance to instability"
	return t
}

const gapEpsilon, gapDelta = 1, 0.01

// gapRelease reports whether an answer at this distance is released, by the printed test.
func gapRelease(distance float64) side[bool] {
	return func(key rng.Key, _ int) (audit.Run[bool], error) {
		rnd := rand.New(key.Stream())
		return func(uint64) (bool, error) {
			return distance+laplaceNoise(rnd, 1/gapEpsilon) > math.Log(1/gapDelta)/gapEpsilon, nil
		}, nil
	}
}

// floatingPoint returns textbook Laplace noise: b log u for a uniform u of 53 bits, added in doubles
// (Mironov 2012). The sums that can occur have gaps, and the gaps around one true value are not those
// around another. What the auditor asks of a released number is which of the two can have led to it.
func floatingPoint() Target {
	noise := func(u float64, sign float64) float64 { return sign * math.Log(u) }
	reachable := func(from, x float64) bool {
		z := x - from
		sign := -1.0
		if z < 0 {
			sign = 1
		}
		u := math.Floor(math.Exp(-math.Abs(z)) * 0x1p53)
		for d := -16.0; d <= 16; d++ {
			if v := (u + d) * 0x1p-53; v > 0 && v < 1 && from+noise(v, sign) == x {
				return true
			}
		}
		return false
	}
	const one, two = 0.0, 1.0
	release := func(value float64) side[string] {
		return func(key rng.Key, _ int) (audit.Run[string], error) {
			rnd := rand.New(key.Stream())
			return func(uint64) (string, error) {
				u, sign := float64(max(rnd.Uint64()>>11, 1))*0x1p-53, 1.0
				if rnd.Uint64()&1 == 0 {
					sign = -1
				}
				x := value + noise(u, sign)
				return fmt.Sprint(reachable(one, x), reachable(two, x)), nil
			}, nil
		}
	}
	t := runs("laplace-floating-point", "the numbers 0 and 1", 20_000, stated(1, 0), release(one), release(two))
	t.Mistake = "Laplace noise in floating point, by inversion of a 53-bit uniform number"
	return t
}
