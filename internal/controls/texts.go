package controls

import (
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/texts"
	"github.com/pate-go/pate/rng"
)

func brokenTexts() []Target {
	private := []string{"fever and cough", "cough and fever", "fever and rash", "a rash"}
	return []Target{byLaw("texts-private-idf", "four texts, the last one there or not", oneVote,
		onePair(wordsAndVote(private, 1), wordsAndVote(private[:3], 0))).
		mistaken("words and their weights come from private texts and are not charged")}
}

var oneVote = profile(accountant.DiscreteGaussian{Sigma: 1, Sensitivity: 1}, accountant.AddRemove)

func wordsAndVote(fitted []string, count int64) []float64 {
	const reach = 12
	noise, rest := must(rng.NewDiscreteGaussian(1)), 1.0
	var law []float64
	for v := int64(-reach); v <= reach; v++ {
		law = append(law, noise.LogProb(v-count))
		rest -= math.Exp(law[len(law)-1])
	}
	law = append(law, math.Log(math.Max(rest, math.SmallestNonzeroFloat64)))
	never := slices.Repeat([]float64{math.Inf(-1)}, len(law))
	if must(texts.Fit(fitted)).Words() == 3 {
		return append(law, never...)
	}
	return append(never, law...)
}
