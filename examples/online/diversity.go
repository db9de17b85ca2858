package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
)

func (t trace) distances(ctx context.Context, out io.Writer, n int, epsilons ...float64) error {
	public := 0.0
	for _, s := range t.steps {
		public += apart(softmax(s.public), s.mean()) / float64(len(t.steps))
	}
	fmt.Fprintf(out, "distance from the teachers' mean law, %d tokens; public model %.3f\n", n, public)
	for _, m := range []method{{"a document changes", clipped(1, false), false}, {"a document appears", clipped(1, true), true}} {
		fmt.Fprintf(out, "%-27s", m.name)
		for _, epsilon := range epsilons {
			made, noise, err := m.within(ctx, epsilon, n)
			if err != nil {
				return err
			}
			sum := 0.0
			for i, in := range t.inputs(made) {
				scores := make([]float64, len(in.List))
				for j := range scores {
					scores[j] = float64(in.Base[j]+in.Scores[j]) / (noise * steps * teachers)
				}
				sum += apart(softmax(scores), t.steps[i].mean())
			}
			fmt.Fprintf(out, "%10.3f", sum/float64(len(t.steps)))
		}
		fmt.Fprintln(out)
	}
	return nil
}

func softmax(scores []float64) []float64 {
	law, high := make([]float64, len(scores)), slices.Max(scores)
	for i, s := range scores {
		law[i] = math.Exp(s - high)
	}
	return scaled(law)
}

func scaled(law []float64) []float64 {
	sum := 0.0
	for _, p := range law {
		sum += p
	}
	for i := range law {
		law[i] /= sum
	}
	return law
}

func apart(p, q []float64) (distance float64) {
	for i := range p {
		distance += math.Abs(p[i]-q[i]) / 2
	}
	return distance
}

var kinds = []string{"the teachers' mean law", "coordinated", "coordinated, epsilon 8", "independent", "independent, epsilon 8"}

// diversity returns the mean entropy of a step's tokens, in nats, for each way of drawing in `kinds`. It
// draws `draws` tokens at each of `at` steps.
func (t trace) diversity(ctx context.Context, key rng.Key, at, draws int) ([]float64, error) {
	noisy, _, err := methods[0].within(ctx, 8, 48)
	if err != nil {
		return nil, err
	}
	free, err := methods[0].make(1e-3, 48)
	if err != nil {
		return nil, err
	}
	sessions := []tokens.Session{nil, free.Start(key), noisy.Start(key), free.Start(key), noisy.Start(key)}
	entropy := make([]float64, len(kinds))
	random := rand.New(rand.NewPCG(37, 0)) // of the teachers and public
	for i := range at {
		s := t.steps[i*len(t.steps)/at]
		seen := make([]map[int]float64, len(kinds))
		for k := range seen {
			seen[k] = map[int]float64{}
		}
		for draw := range draws {
			query := uint64(i*draws + draw)
			seen[0][s.list[pick(random, s.mean())]]++
			var together, alone []int // votes that the teachers draw with shared and with separate randomness
			for _, row := range s.teachers {
				together = append(together, tokens.Coordinated(37, query, s.list, row))
				alone = append(alone, s.list[pick(random, softmax(row))])
			}
			for k := 1; k < len(kinds); k++ {
				votes := together
				if k > 2 {
					votes = alone
				}
				a, err := sessions[k].Answer(tokens.State{}, query, tokens.Input{Counts: t.count(votes)})
				if err != nil {
					return nil, err
				}
				seen[k][a.Token]++
			}
		}
		for k, number := range seen {
			for _, n := range number {
				p := n / float64(draws)
				entropy[k] -= p * math.Log(p) / float64(at)
			}
		}
	}
	return entropy, nil
}

func pick(random *rand.Rand, law []float64) int {
	u := random.Float64()
	for i, p := range law {
		if u -= p; u < 0 {
			return i
		}
	}
	return len(law) - 1
}
