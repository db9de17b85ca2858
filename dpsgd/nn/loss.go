package nn

import (
	"fmt"
	"math"
)

// Loss is the loss function of one example.
type Loss int

const (
	// CrossEntropy is the logarithm of the sum of exp(output), minus the output of the label. Outputs are
	// logits.
	CrossEntropy Loss = iota + 1
	// SquaredError is half the squared distance between outputs and targets. The default target is the
	// one-hot code of the label.
	SquaredError
)

func (l Loss) String() string {
	switch l {
	case CrossEntropy:
		return "cross-entropy"
	case SquaredError:
		return "squared-error"
	}
	return fmt.Sprintf("loss %d", int(l))
}

// crossEntropy returns the loss, and sets delta to its gradient with respect to the logits. The loss is NaN
// if a logit is NaN or +Inf.
func crossEntropy[T Float](delta, logits []T, label int) float64 {
	top := math.Inf(-1)
	for _, v := range logits {
		if v := float64(v); v > top { // NaN reappears in the sum
			top = v
		}
	}
	// kept holds the exponentials of the first classes. The exponentials of further classes are computed
	// twice.
	var kept [64]float64
	total := 0.0
	for k, v := range logits {
		e := math.Exp(float64(v) - top)
		if k < len(kept) {
			kept[k] = e
		}
		total += e
	}
	inverse := 1 / total
	probability := func(k int) float64 {
		if k < len(kept) {
			return kept[k] * inverse
		}
		return math.Exp(float64(logits[k])-top) * inverse
	}
	for k := range logits {
		delta[k] = T(probability(k))
	}
	delta[label] = T(probability(label) - 1)
	return top + math.Log(total) - float64(logits[label])
}

func squaredError[T Float](delta, outputs, target []T, label int) (loss float64) {
	copy(delta, outputs)
	if target == nil {
		delta[label]--
	}
	for k, t := range target {
		delta[k] -= t
	}
	for _, d := range delta {
		loss += float64(d) * float64(d)
	}
	return loss / 2
}

func lossAt[T Float](l Loss, delta, outputs []T, batch examples[T], i int) float64 {
	switch {
	case l == CrossEntropy:
		return crossEntropy(delta, outputs, batch.Y[i])
	case len(batch.Targets) == 0:
		return squaredError(delta, outputs, nil, batch.Y[i])
	}
	return squaredError(delta, outputs, batch.Targets[i*batch.TargetStride:][:len(outputs)], 0)
}
