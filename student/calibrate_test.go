package student

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
)

// TestCandidatesBecomeAsSureAsTheyAreRight: whatever a candidate claims for the
// class it answers, after tempering it claims about the rate at which it is right.
func TestCandidatesBecomeAsSureAsTheyAreRight(t *testing.T) {
	for name, c := range map[string]struct {
		claim float32
		right int // of 100
	}{
		"certain, right 60 times":      {1, 60},
		"doubting, right 90 times":     {.6, 90},
		"as sure as right":             {.8, 80},
		"certain, no better than coin": {1, 50},
	} {
		t.Run(name, func(t *testing.T) {
			scores, labels := dense.New(100, 2), make([]int, 100)
			for i := range labels {
				answer := i % 2
				labels[i] = answer
				if i >= c.right {
					labels[i] = 1 - answer
				}
				scores.Data[2*i+answer], scores.Data[2*i+1-answer] = c.claim, 1-c.claim
			}
			temper(scores, bestPower(scores, labels))
			for i := range labels {
				require.InDelta(t, float64(c.right)/100, scores.Data[2*i+i%2], .08)
				require.InDelta(t, 1, scores.Data[2*i]+scores.Data[2*i+1], 1e-5)
			}
		})
	}
}
