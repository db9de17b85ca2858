package controls

import (
	"context"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/rng"
)

type patient struct {
	name  string
	silo  int
	place float32
	class int
}

var (
	apart  = []patient{{"a", 0, 0, 0}, {"b", 0, 1.2, 1}, {"c", 0, 3, 0}, {"d", 1, 0.4, 1}, {"e", 1, 2.2, 0}, {"f", 1, 3, 1}}
	shared = append(apart[:3:3], patient{"a", 1, 0, 0}, patient{"b", 1, 1.2, 1}, patient{"c", 1, 3, 0})
)

const siloVotes = 2 // of each patient, at the nearest of four places

func cast(patients []patient, votes int, own bool) []int64 {
	questions, sum := dense.New(4, 1), make([]int64, 8)
	copy(questions.Data, []float32{0, 1, 2, 3})
	for silo := range 2 {
		rows := placed(slices.DeleteFunc(slices.Clone(patients), func(p patient) bool { return p.silo != silo }))
		low, high := slices.Min(rows.X.Data), slices.Max(rows.X.Data)
		for i, x := range rows.X.Data {
			if own {
				rows.X.Data[i] = 3 * (x - low) / (high - low)
			}
		}
		for i, v := range must(neighbours.Cast(context.Background(), rows, questions, votes)) {
			sum[i] += v
		}
	}
	return sum
}

func without(patients []patient, name string) []patient {
	return slices.DeleteFunc(slices.Clone(patients), func(p patient) bool { return p.name == name })
}

func withoutEach(patients []patient, votes int, own bool) laws {
	return func(yield func(p, q []float64) bool) {
		for _, p := range patients {
			if !yield(noisy(cast(patients, votes, own), cast(without(patients, p.name), votes, own))) {
				return
			}
		}
	}
}

// noisy returns log probabilities of a sufficient statistic of the counts, with noise of standard deviation
// 1. The result p is for the counts `one`, and q for `two`.
func noisy(one, two []int64) (p, q []float64) {
	// Both are distributions of the sum of noise times difference. The likelihood ratio depends on this sum
	// alone, so no evidence is lost.

	const reach = 12
	noise, law, square := must(rng.NewDiscreteGaussian(1)), []float64{1}, 0
	for i := range one {
		d := int(max(one[i]-two[i], two[i]-one[i])) // the noise is symmetric
		if d == 0 {
			continue
		}
		wider := make([]float64, len(law)+2*reach*d)
		for x := range 2*reach + 1 {
			for j, v := range law {
				wider[j+x*d] += v * math.Exp(noise.LogProb(int64(x-reach)))
			}
		}
		law, square = wider, square+d*d
	}
	for i, v := range law {
		law[i] = math.Log(v)
	}
	never := slices.Repeat([]float64{math.Inf(-1)}, square)
	return slices.Concat(never, law), slices.Concat(law, never)
}

func siloClaim(silosPerUnit int) (*neighbours.NearestQuestions, claimer) {
	m := must(neighbours.NewNearestQuestions(neighbours.NearestQuestionsConfig{Votes: siloVotes, Sigma: 1, Questions: 4, Silos: silosPerUnit}))
	return m, profile(m.Event(), accountant.AddRemove)
}

func siloTargets() []Target {
	m, claim := siloClaim(1)
	_, claimOfTwo := siloClaim(2)
	with, less := cast(apart, siloVotes, false), cast(without(apart, "b"), siloVotes, false)
	release := func(votes []int64) side[int64] {
		return each(accountant.AddRemove, m.Event(), func(r *ledger.Reservation, key rng.Key) (sum int64, err error) {
			counts, err := m.Release(r, key, 2, votes)
			for i, v := range counts.Votes {
				sum += v * (with[i] - less[i])
			}
			return sum, err
		})
	}
	return []Target{
		byLaw("silos", "each patient of two silos there or not", claim, withoutEach(apart, siloVotes, false)),
		runs("silos", "a patient of two silos there or not", 20_000, claim, release(with), release(less)),
		byLaw("silos-shared", "each patient of both silos there or not", claimOfTwo, withoutEach(shared, siloVotes, false)),
	}
}

func brokenSilos() []Target {
	_, claim := siloClaim(1)
	return []Target{
		byLaw("silos-vote-more", "each patient of two silos there or not", claim, withoutEach(apart, siloVotes+1, false)).
			mistaken("patients vote at one question more than is charged"),
		byLaw("silos-unit-twice", "each patient of both silos there or not", claim, withoutEach(shared, siloVotes, false)).
			mistaken("patients of two silos vote in both and are charged for one"),
		byLaw("silos-own-features", "each patient of two silos there or not", claim, withoutEach(apart, siloVotes, true)).
			mistaken("silos scale features by their own rows, so a patient moves votes of others"),
	}
}
