//go:build peers

package main

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/buildinfo"
)

type question struct {
	setting
	Method  accountant.Method
	Epsilon float64
	Seconds float64
}

type interval struct {
	Lower *float64 `json:"lower"`
	Upper *float64 `json:"upper"`
}

const step = 1e-6

func account() error {
	type told struct {
		timing
		*interval
	}
	var first *interval
	calls := 0
	return serve(func(q question) (told, error) {
		t, err := repeat(q.Seconds, func() (float64, error) {
			asked := q
			asked.Sigma *= 1 + step*float64(calls)
			asked.Epsilon *= 1 + step*float64(calls)
			calls++
			i, err := asked.answer()
			if first == nil {
				first = &i
			}
			return 1, err
		})
		return told{t, first}, err
	})
}

func (q question) answer() (interval, error) {
	if q.Epsilon > 0 {
		return q.noise()
	}
	return q.interval()
}

func (q question) interval() (interval, error) {
	book, err := accountant.NewAuto(accountant.AutoConfig{Relation: accountant.AddRemove, Method: q.Method})
	if err != nil {
		return interval{}, err
	}
	if err := book.Compose(q.event(), 1); err != nil {
		return interval{}, err
	}
	claim, err := book.Claim(context.Background(), q.Delta)
	if err != nil {
		return interval{}, err
	}
	if claim.By != accountant.ByPLD {
		return interval{Upper: &claim.Upper}, nil
	}
	return interval{&claim.Lower, &claim.Upper}, nil
}

func (q question) noise() (interval, error) {
	books := accountant.AutoConfig{Relation: accountant.AddRemove, Method: q.Method}.NewAccount
	target := accountant.Target{Epsilon: q.Epsilon, Delta: q.Delta}
	noise, _, err := accountant.CalibrateNoise(context.Background(), books, target, func(noise float64) (accountant.Event, error) {
		s := q.setting
		s.Sigma = noise
		return s.event(), nil
	})
	return interval{Upper: &noise}, err
}

type setting struct {
	Q     float64 `json:"q"`
	K     int64   `json:"k"`
	Sigma float64 `json:"sigma"`
	T     int64   `json:"t"`
	Delta float64 `json:"delta"`
}

func settings() []setting {
	return []setting{
		{0.01, 0, 1, 1000, 1e-5}, {0.01, 0, 4, 10_000, 1e-5}, {0.001, 0, 1, 4000, 1e-8}, {1e-4, 0, 0.7, 20_000, 1e-9},
		{0.01, 0, 4, 1, 1e-6}, {0.05, 0, 0.6, 300, 1e-5}, {0.01, 0, 50, 100_000, 1e-6}, {0.2, 0, 1, 2000, 1e-5},
		{1e-5, 0, 1, 1_000_000, 1e-6}, {0.01, 0, 0.5, 1000, 1e-5}, {0.1, 0, 2, 100, 1e-5}, {0.5, 0, 10, 1000, 1e-6},
		{0.004, 0, 1.1, 14_062, 1e-5}, {0.0043, 0, 1, 14_000, 1e-5}, {0.02, 0, 8, 50_000, 1e-10}, {0.001, 0, 0.4, 100, 1e-5},
		{0.1, 0, 20, 1000, 1e-12}, {0.3, 0, 5, 10, 1e-3}, {0.01, 0, 1, 10, 1e-15}, {0.9, 0, 3, 200, 1e-5},
		{0.01, 0, 2, 100, 1e-2}, {0.003, 0, 0.8, 5000, 1e-7},
		{1, 0, 1, 1, 1e-5}, {1, 0, 20, 100, 1e-6}, {1, 0, 50, 10_000, 1e-9}, {1, 0, 0.3, 1, 1e-5},
		{0, 1, 1, 100, 1e-5}, {0, 1, 1, 1000, 1e-5}, {0, 10, 2, 1000, 1e-6}, {0, 1, 1, 10_000, 1e-5},
	}
}

func (s setting) event() accountant.Event {
	noise := accountant.Gaussian{NoiseMultiplier: s.Sigma}
	if s.K > 0 {
		return accountant.RandomAllocation{K: s.K, Steps: s.T, Event: noise}
	}
	return accountant.Repeated{Event: accountant.PoissonSampled{Probability: s.Q, Event: noise}, Count: s.T}
}

type answer struct {
	Name    string   `json:"name"`
	Lower   *float64 `json:"lower"`
	Upper   *float64 `json:"upper"`
	Seconds float64  `json:"seconds"`
	Error   string   `json:"error,omitempty"`
}

const runs = 3

func ask(name string, m accountant.Method, s setting) answer {
	a := answer{Name: name, Seconds: math.Inf(1)}
	for range runs {
		from := time.Now()
		i, err := question{setting: s, Method: m}.interval()
		if err != nil {
			return answer{Name: name, Error: err.Error()}
		}
		a.Seconds = math.Min(a.Seconds, time.Since(from).Seconds())
		a.Lower, a.Upper = i.Lower, i.Upper
	}
	return a
}

func printSettings() error {
	type row struct {
		setting
		Answers []answer `json:"answers"`
	}
	var rows []row
	for _, s := range settings() {
		rows = append(rows, row{s, []answer{ask("pate pld", accountant.ByPLD, s), ask("pate rdp", accountant.ByRDP, s)}})
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	return out.Encode(map[string]any{"version": buildinfo.Read().String(), "go": runtime.Version(), "rows": rows})
}
