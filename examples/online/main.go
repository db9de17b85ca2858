// Command online compares mechanisms for private next tokens, on recorded answers of 64 teachers. Every
// teacher is the same language model. Its prompt contains the start of a private document (see teachers.py).
//
//	go run ./examples/online
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
)

const (
	delta    = 1e-5
	teachers = 64
	steps    = 1 << 10 // of the grid of log-probabilities
)

type method struct {
	name    string
	make    func(noise float64, n int) (tokens.Mechanism, error)
	appears bool // a document can only appear; otherwise it can change
}

var methods = []method{
	{"votes", func(noise float64, n int) (tokens.Mechanism, error) {
		return tokens.NewGNMax(aggregate.GNMaxConfig{Sigma: noise, Queries: n})
	}, false},
	{"votes, if confident", func(noise float64, n int) (tokens.Mechanism, error) {
		return tokens.NewConfident(aggregate.ConfidentGNMaxConfig{Threshold: 32, Sigma1: 2 * noise, Sigma2: noise, Queries: n, Answers: n / 2})
	}, false},
	{"votes, screened", func(noise float64, n int) (tokens.Mechanism, error) {
		voting, err := tokens.NewGNMax(aggregate.GNMaxConfig{Sigma: noise, Queries: n / 4})
		if err != nil {
			return nil, err
		}
		return tokens.NewScreen(tokens.ScreenConfig{B1: 2 * noise, B2: 3 * noise, Threshold: 8, Failures: 2, Epochs: int64(n / 8)}, voting)
	}, false},
	{"votes, limited domain", func(noise float64, n int) (tokens.Mechanism, error) {
		cfg := tokens.LimitedConfig{Scale: noise, Domain: 4, Queries: int64(n)}
		cfg.Margin = cfg.MarginFor(delta / 10 / float64(n))
		return tokens.NewLimited(cfg)
	}, false},
	{"log-probabilities", clipped(1, false), false},
	{"log-probabilities, colder", clipped(.25, false), false},
}

func clipped(temperature float64, appears bool) func(float64, int) (tokens.Mechanism, error) {
	return func(noise float64, n int) (tokens.Mechanism, error) {
		return tokens.NewClipped(tokens.ClippedConfig{Clip: 1 / noise, Steps: steps, Teachers: teachers, Temperature: temperature,
			Queries: int64(n), Appears: appears})
	}
}

func (m method) within(ctx context.Context, epsilon float64, n int) (made tokens.Mechanism, noise float64, err error) {
	relation := accountant.ReplaceOne
	if m.appears {
		relation = accountant.AddRemove
	}
	if noise, _, err = accountant.CalibrateNoise(ctx, accountant.AutoConfig{Relation: relation}.NewAccount,
		accountant.Target{Epsilon: epsilon, Delta: delta}, func(noise float64) (accountant.Event, error) {
			made, err := m.make(min(noise, 1<<12), n) // package tokens takes no more
			if err != nil {
				return nil, err
			}
			return made.Event(), nil
		}); err != nil {
		return nil, 0, err
	}
	made, err = m.make(noise, n)
	return made, noise, err
}

func (t trace) inputs(m tokens.Mechanism) (all []tokens.Input) {
	for _, s := range t.steps {
		in := tokens.Input{Counts: t.count(s.greedy), Public: s.best(), List: s.list}
		if c, ok := m.(*tokens.Clipped); ok {
			in.Base, in.Scores = c.Base(s.public), make([]int64, len(s.list))
			for _, row := range s.teachers {
				c.Add(in.Scores, row, s.public)
			}
		}
		all = append(all, in)
	}
	return all
}

func (t trace) replay(m tokens.Mechanism, key rng.Key, n, runs int) (right float64, err error) {
	all := t.inputs(m)
	for run := range runs {
		session, state := m.Start(key.Derive("run", uint64(run))), tokens.State{}
		for query := range n {
			step := (run*n + query) % len(all)
			a, err := session.Answer(state, uint64(query), all[step])
			if err != nil && !errors.Is(err, tokens.ErrExhausted) {
				return 0, err
			}
			state.Count(a)
			if err != nil || a.Token == tokens.None {
				a.Token = all[step].Public
			}
			if a.Token == t.steps[step].most() {
				right += 1 / float64(n*runs)
			}
		}
	}
	return right, nil
}

func (t trace) table(ctx context.Context, out io.Writer, key rng.Key, n, runs int, epsilons ...float64) error {
	fmt.Fprintf(out, "%d tokens at epsilon  ", n)
	for _, epsilon := range epsilons {
		fmt.Fprintf(out, "%10g", epsilon)
	}
	fmt.Fprintln(out)
	for _, m := range methods {
		fmt.Fprintf(out, "%-27s", m.name)
		for _, epsilon := range epsilons {
			made, _, err := m.within(ctx, epsilon, n)
			if err != nil {
				return err
			}
			right, err := t.replay(made, key, n, runs)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%10.1f", 100*right)
		}
		fmt.Fprintln(out)
	}
	return nil
}

func show(ctx context.Context, out io.Writer, key rng.Key) error {
	t, err := readTrace()
	if err != nil {
		return err
	}
	public, sampled := 0.0, 0.0
	for _, s := range t.steps {
		if s.best() == s.most() {
			public++
		}
		sampled += s.mean()[max(0, slices.Index(s.list, s.most()))]
	}
	n := float64(len(t.steps)) / 100
	fmt.Fprintf(out, "%d steps; share of tokens that most teachers name, in per cent\n", len(t.steps))
	fmt.Fprintf(out, "the public model alone %.1f; drawn from the teachers' mean, without noise, %.1f\n", public/n, sampled/n)
	if err := t.table(ctx, out, key, 48, 104, 1, 2, 4, 8); err != nil { // 48 tokens are one text
		return err
	}
	if err := t.table(ctx, out, key, 1000, 5, 1, 2, 4, 8, 16, 32, 64); err != nil {
		return err
	}
	if err := t.distances(ctx, out, 48, 1, 2, 4, 8); err != nil {
		return err
	}
	entropy, err := t.diversity(ctx, key, 12, 400)
	fmt.Fprintln(out, "entropy of released tokens")
	for k := range entropy {
		fmt.Fprintf(out, "%-27s%10.2f\n", kinds[k], entropy[k])
	}
	return err
}

func main() {
	key, err := rng.NewKey()
	if err == nil {
		err = show(context.Background(), os.Stdout, key)
	}
	if err != nil {
		log.Fatal(err)
	}
}
