package trees

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// boosting is one fit of a booster.
type boosting struct {
	out    *booster
	l      Booster
	x      teachers.Matrix
	class  []int32   // of every row, an index of classes present
	logits []float32 // rows x logits
	grow   *gradientGrower
}

func newBoosting(out *booster, l Booster, x teachers.Matrix, data *binned, class []int32) *boosting {
	count := make([]float64, len(out.present))
	for _, c := range class {
		count[c]++
	}
	if len(count) == 2 {
		out.prior = []float32{float32(math.Log(count[1] / count[0]))}
	} else {
		for _, n := range count {
			out.prior = append(out.prior, float32(math.Log(n/float64(len(class)))))
		}
	}
	b := &boosting{out: out, l: l, x: x, class: class, grow: newGradientGrower(&out.ensemble, data, l)}
	for range class {
		b.logits = append(b.logits, out.prior...)
	}
	return b
}

func (b *boosting) run(ctx context.Context, rnd *rand.Rand) error {
	n, k := len(b.class), len(b.out.prior)
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	drawn := max(1, int(math.Round(b.l.Rows*float64(n))))
	p := make([]float32, max(2, k))
	gradients := make([]gradient, n*k)
	rows := make([]int32, drawn)
	for range b.l.Rounds {
		for i := range n {
			b.gradients(gradients[i*k:(i+1)*k], p, i)
		}
		for i := range drawn { // a random part of the order, which stays for the next round
			j := i + rnd.IntN(n-i)
			order[i], order[j] = order[j], order[i]
		}
		for logit := range k {
			copy(rows, order)
			slices.Sort(rows) // rows in memory order are quicker to add up
			root := int32(len(b.out.nodes))
			if err := b.grow.tree(ctx, rows, gradients[logit:], k, rnd); err != nil {
				return err
			}
			b.out.roots = append(b.out.roots, root)
			for i := range n {
				b.logits[i*k+logit] += walk(b.out.nodes, root, dense.Row(b.x, i)).at
			}
		}
	}
	return nil
}

// gradient of the loss of one row in one logit, and its curvature.
type gradient struct{ slope, curve float64 }

// gradients fills in those of row i; p is scratch.
func (b *boosting) gradients(dst []gradient, p []float32, i int) {
	k := len(dst)
	if k == 1 {
		p[0], p[1] = 0, b.logits[i]
		probabilities(p)
		q := float64(p[1])
		dst[0] = gradient{q - float64(b.class[i]), max(q*(1-q), minCurve)}
		return
	}
	copy(p, b.logits[i*k:(i+1)*k])
	probabilities(p)
	// The logits of k classes have k-1 degrees of freedom, and a step in each
	// alone would overshoot by that factor (Friedman 2001).
	overlap := float64(k) / float64(k-1)
	for c := range dst {
		q := float64(p[c])
		dst[c] = gradient{q, max(overlap*q*(1-q), minCurve)}
	}
	dst[b.class[i]].slope--
}

// minCurve keeps steps finite where a probability has rounded to 0 or 1.
const minCurve = 1e-12
