package accountant

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// An L1 shift spread over coordinates costs no more than one on a single coordinate (docs/accounting.md),
// for continuous and for integer noise; and two shifts that add up to more than the one cost more
// somewhere.
func TestShiftsOnSeveralCoordinates(t *testing.T) {
	t.Parallel()
	delta := func(events []Event, eps float64) Bound {
		p := newPLD(t, PLDConfig{Gap: 0.02}, events...)
		b := deltaAt(t, p, eps)
		return b
	}
	rnd := rand.New(rand.NewPCG(3, 5))
	for i := range 12 {
		if skipped(i, 4) {
			continue
		}
		scale := math.Exp(3*rnd.Float64() - 1)
		var spread, integer []Event
		total, whole := 0.0, int64(0)
		for range 2 + rnd.IntN(3) {
			shift, steps := rnd.Float64(), 1+rnd.Int64N(4)
			total, whole = total+shift, whole+steps
			spread = append(spread, Laplace{scale / shift})
			integer = append(integer, DiscreteLaplace{scale, steps})
		}
		for _, c := range []struct {
			parts []Event
			one   Event
			pure  float64
		}{
			{spread, Laplace{scale / total}, total / scale},
			{integer, DiscreteLaplace{scale, whole}, float64(whole) / scale},
		} {
			for _, share := range []float64{0, 0.2, 0.5, 0.9} {
				require.LessOrEqual(t, delta(c.parts, share*c.pure).Lower, delta([]Event{c.one}, share*c.pure).Upper*(1+1e-9)+1e-15)
			}
		}
		more := append(spread, Laplace{scale / total})
		require.Greater(t, delta(more, total/scale).Lower, delta([]Event{Laplace{scale / total}}, total/scale).Upper)
	}
}
