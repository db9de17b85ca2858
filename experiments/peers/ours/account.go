//go:build peers

package main

import (
	"context"

	"github.com/pate-go/pate/accountant"
)

// question asks for the epsilon of a setting, or with Epsilon above 0 for the noise that meets it; Sigma is
// not used then.
type question struct {
	setting
	Method  accountant.Method
	Epsilon float64
	Seconds float64
}

// interval is an answer: ends of epsilon, or the noise as the upper one. Ends that are not given are null.
type interval struct {
	Lower *float64 `json:"lower"`
	Upper *float64 `json:"upper"`
}

// step is by how much the noise, or the epsilon, of one call differs from that of the next. No two calls
// ask the same, so that what was kept from one does not answer another.
const step = 1e-6

// account answers questions. Work is the number of calls. The answer is that of the first call, the
// question itself.
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

// noise returns the noise multiplier that meets the epsilon.
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
