package stability

import (
	"fmt"
	"math"
)

// oneShot is the optimal release from a distance alone: a table of exact probabilities
// pi(d) in units of 2^-64. Consider the largest solution of
//
//	pi(0) = delta,  pi(d+1) = min(e^eps pi(d) + delta, 1 - e^-eps (1 - pi(d) - delta), 1)
//
// It takes both inequalities of (eps, delta)-privacy between d and d+1 as equalities, as in optimal partition
// selection (Desfontaines et al. 2022). The table rounds every step down, to an integer that both
// inequalities allow after the integer before it, and so satisfies them exactly.
type oneShot struct {
	release []uint64 // pi(d); it is 1 beyond the end
}

// maxTable bounds the number of distances whose release is uncertain.
const maxTable = 1 << 22

func newOneShot(epsilon, delta float64) (oneShot, error) {
	if epsilon*maxTable < 2*math.Log(1/delta)+2 {
		return oneShot{}, fmt.Errorf("stability: Epsilon %g is too small for Delta %g with OneShot noise", epsilon, delta)
	}
	const down, up = 1 - 0x1p-48, 1 + 0x1p-48 // beyond the rounding of the operations below
	grow, shrink := math.Exp(epsilon), math.Exp(-epsilon)
	step := uint64(delta * 0x1p64 * down)
	var o oneShot
	for p := step; ; {
		o.release = append(o.release, p)
		fail := -p // 2^64 - p; p is at least step, which is not 0
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

// releases reports whether the uniform word u is below pi(distance).
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
