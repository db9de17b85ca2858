package controls

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/rng"
)

const (
	halfEpsilon = 0.5
	gapEpsilon  = 1
	gapDelta    = 0.01
)

// brokenVotes returns mistakes around single votes. Noisy argmax with Laplace noise of scale 1/epsilon,
// sold as epsilon-private, was printed in lecture notes: a moved vote changes two counts. The lead minus
// one has sensitivity 2 as a distance to instability, and is not 0 where the winner is about to change.
func brokenVotes() []Target {
	one, two := []int{8, 2}, []int{9, 1}
	return []Target{
		runs("lnmax-half-noise", fmt.Sprintf("%v and %v", one, two), 100_000, stated(halfEpsilon, 0), halfNoiseOf(one), halfNoiseOf(two)).
			mistaken("noise of scale 1/epsilon, as if a moved vote changed one count"),
		runs("m-stab-gap", "votes with leads 3 and 1", 100_000, stated(gapEpsilon, gapDelta), gapRelease(2), gapRelease(0)).
			mistaken("the lead minus 1 is taken for the distance to instability"),
		floatingPoint(),
	}
}

func halfNoiseOf(counts []int) side[aggregate.Answer] {
	return asked(func(n int) (aggregate.Mechanism, error) {
		return aggregate.NewLNMax(aggregate.LNMaxConfig{Scale: 1 / halfEpsilon, Queries: n})
	}, counts)
}

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
// (Mironov 2012). The sums that can occur have gaps, and the gaps around one true value are not the gaps
// around another. The auditor asks of a released number which of the two values can have led to it.
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
	return runs("laplace-floating-point", "the numbers 0 and 1", 20_000, stated(1, 0), release(one), release(two)).
		mistaken("Laplace noise in floating point, by inversion of a 53-bit uniform number")
}
