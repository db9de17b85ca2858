package controls

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
)

func tokenInput(votes ...int64) tokens.Input {
	in := tokens.Input{Counts: tokens.Counts{Size: 1000, Votes: votes}, Public: 1, Scores: votes}
	for i := range votes {
		in.Counts.Tokens = append(in.Counts.Tokens, i+1)
	}
	in.List = in.Counts.Tokens
	return in
}

func tokenTargets() (all []Target) {
	gnmax := must(tokens.NewGNMax(aggregate.GNMaxConfig{Sigma: 2, Queries: 1}))
	confident := aggregate.ConfidentGNMaxConfig{Threshold: 8, Sigma1: 3, Sigma2: 2, Queries: 1, Answers: 1}
	screen := tokens.ScreenConfig{B1: 2, B2: 4, Threshold: 2, Failures: 1, Epochs: 1}
	limited := tokens.LimitedConfig{Scale: 2, Domain: 2, Margin: 12, Queries: 1}
	clipped := tokens.ClippedConfig{Clip: 1, Steps: 2, Teachers: 8, Temperature: 0.5, Queries: 1}
	for _, c := range []struct {
		name     string
		m        tokens.Mechanism
		one, two tokens.Input
	}{
		{"tokens-gnmax", gnmax, tokenInput(9, 4), tokenInput(8, 5)},
		{"tokens-confident", must(tokens.NewConfident(confident)), tokenInput(9, 1), tokenInput(8, 2)},
		{"tokens-screen", must(tokens.NewScreen(screen, gnmax)), tokenInput(8, 2), tokenInput(7, 3)},
		{"tokens-limited", must(tokens.NewLimited(limited)), tokenInput(16, 2, 1), tokenInput(15, 3, 1)},
		{"tokens-clipped", must(tokens.NewClipped(clipped)), tokenInput(2, -2), tokenInput(-2, 2)},
	} {
		on, claim := fmt.Sprintf("%v and %v", c.one.Scores, c.two.Scores), profile(c.m.Event(), accountant.AddRemove)
		all = append(all, runs(c.name, on, 50_000, claim, answersTo(c.m, c.one), answersTo(c.m, c.two)))
	}
	return all
}

func answersTo(m tokens.Mechanism, in tokens.Input) side[tokens.Answer] {
	return func(key rng.Key, _ int) audit.Run[tokens.Answer] {
		session := m.Start(key)
		return func(i uint64) (tokens.Answer, error) { return session.Answer(tokens.State{}, i, in) }
	}
}

func brokenTokens() []Target {
	argmax := func(sigma float64) claimer { // charged once
		return profile(must(tokens.NewGNMax(aggregate.GNMaxConfig{Sigma: sigma, Queries: 1})).Event(), accountant.AddRemove)
	}
	// known returns whether the answer is the argmax of votes plus the noise that the public seed gives.
	known := func(votes []int64) side[bool] {
		return drawnBySeed(func(noise [2]int64) bool { return noise[0]+votes[0] >= noise[1]+votes[1] == (noise[0]+5 >= noise[1]+5) })
	}
	// counted returns the law of answers until the first one of a kind, which has log-probability stop.
	counted := func(stop, on float64) (law []float64) {
		for n := range 60 {
			law = append(law, float64(n)*on+stop)
		}
		return append(law, 60*on)
	}
	test := must(rng.NewDiscreteGaussian(3))
	passes := func(largest int64) []float64 { // a threshold of 8 votes
		below := rng.NewMasses(test.LogProb, 40).AtMost(7 - largest)
		return counted(math.Log1p(-below), math.Log(below))
	}
	limited := tokens.LimitedConfig{Scale: 1, Domain: 1, Margin: 3, Queries: 1}
	answered := func(first, second float64) []float64 {
		declined := 1 / (1 + math.Exp(first-second-float64(limited.Margin)))
		return counted(math.Log1p(-declined), math.Log(declined))
	}
	either := func(scores ...float64) []float64 { // the exponential mechanism, scale 1
		sum := 0.0
		for _, s := range scores {
			sum += math.Exp(s)
		}
		law := make([]float64, len(scores))
		for i, s := range scores {
			law[i] = s - math.Log(sum)
		}
		return law
	}
	never := math.Inf(-1)
	return []Target{
		runs("tokens-noise-on-seen", "[3 1 0] and [3 0 1]", 20_000, argmax(2), onlyListed([]int64{3, 1, 0}), onlyListed([]int64{3, 0, 1})).
			mistaken("noise for tokens with votes alone, so no other token is ever answered"),
		runs("tokens-shared-noise", "[5 5] and [4 6]", 20_000, argmax(2), known([]int64{5, 5}), known([]int64{4, 6})).
			mistaken("noise from the public seed by which the teachers choose tokens"),
		byLaw("tokens-charged-when-answered", "largest counts 2 and 1, until the first answer", argmax(20), onePair(passes(2), passes(1))).
			mistaken("threshold tests are charged only if the teachers answer"),
		byLaw("tokens-decline-free", "[6 4] and [5 5], until the first answer", pure(must(tokens.NewLimited(limited)).Event()),
			onePair(answered(6, 4), answered(5, 5))).mistaken("a limited domain that declines is not charged"),
		byLaw("tokens-private-list", "scores [1 1 0] and [1 0 1]", pure(accountant.ExponentialMechanism{Epsilon: 2}),
			onePair(append(either(1, 1), never), append([]float64{either(1, 1)[0], never}, either(1, 1)[1]))).
			mistaken("the list has the tokens that are likeliest for the teachers"),
	}
}

func onlyListed(votes []int64) side[int] {
	return drawnBySeed(func(noise [2]int64) int {
		first, other := 0, 1
		if votes[1] == 0 {
			other = 2
		}
		if votes[first]+noise[0] >= votes[other]+noise[1] {
			return first
		}
		return other
	})
}

func drawnBySeed[O comparable](of func(noise [2]int64) O) side[O] {
	return func(key rng.Key, _ int) audit.Run[O] {
		noise, stream := must(rng.NewDiscreteGaussian(2)), key.Stream()
		return func(uint64) (O, error) { return of([2]int64{noise.Sample(stream), noise.Sample(stream)}), nil }
	}
}
