package controls

import (
	"context"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/quota"
	"github.com/pate-go/pate/rng"
)

const quotaVotes = 2 // of each patient, at the first questions that are near

var arrivals = func() (all []quota.Question) {
	for i, place := range []float32{1, 0, 2, 1, 3} {
		all = append(all, quota.Question{ID: uint64(i), Row: []float32{place}, Radius: 1.5})
	}
	return all
}()

func placed(patients []patient) neighbours.Rows {
	rows := neighbours.Rows{X: dense.New(len(patients), 1), Classes: 2}
	for i, p := range patients {
		rows.X.Data[i] = p.place
		rows.Y, rows.Units = append(rows.Y, p.class), append(rows.Units, p.name)
	}
	return rows
}

func quotaCast(patients []patient, votes int, questions []quota.Question) []int64 {
	return must(quota.Cast(context.Background(), placed(patients), quota.Config{Votes: votes, Classes: 2}, questions))
}

func byQuota(name string, cast func(patients []patient) []int64) Target {
	_, claim := quotaClaim()
	return byLaw(name, "each patient there or not, five questions", claim, func(yield func(p, q []float64) bool) {
		for _, p := range apart {
			if !yield(noisy(cast(apart), cast(without(apart, p.name)))) {
				return
			}
		}
	})
}

func quotaClaim() (*quota.Mechanism, claimer) {
	m := must(quota.New(quota.Config{Votes: quotaVotes, Sigma: 1, Classes: 2}))
	return m, profile(m.Event(), accountant.AddRemove)
}

func quotaTargets() []Target {
	m, claim := quotaClaim()
	shipped := func(patients []patient) []int64 { return quotaCast(patients, quotaVotes, arrivals) }
	with, less := shipped(apart), shipped(without(apart, "b"))
	answers := func(patients []patient) side[int64] {
		rows := placed(patients)
		return each(accountant.AddRemove, m.Event(), func(r *ledger.Reservation, key rng.Key) (sum int64, err error) {
			s, err := m.Start(r, key, rows)
			if err != nil {
				return 0, err
			}
			for i, q := range arrivals { // a batch for each question
				a, err := s.Ask(context.Background(), []quota.Question{q})
				if err != nil {
					return 0, err
				}
				for class, n := range a[0].Counts {
					sum += n * (with[2*i+class] - less[2*i+class])
				}
			}
			return sum, nil
		})
	}
	return []Target{
		byQuota("quota", shipped),
		runs("quota", "a patient there or not, five questions", 20_000, claim, answers(apart), answers(without(apart, "b"))),
	}
}

func brokenQuota() []Target {
	return []Target{
		byQuota("quota-vote-more", func(patients []patient) []int64 { return quotaCast(patients, quotaVotes+1, arrivals) }).
			mistaken("patients vote at one question more than is charged"),
		byQuota("quota-count-later", func(patients []patient) []int64 {
			before := quotaCast(patients, quotaVotes, arrivals[:1])
			return append(before, quotaCast(patients, quotaVotes, arrivals[1:])...)
		}).mistaken("votes are counted after the answer, and a crash between the two loses a count"),
		byQuota("quota-answers-only", func(patients []patient) (all []int64) {
			for i := range arrivals {
				all = append(all, quotaCast(patients, quotaVotes, arrivals[i:i+1])...)
			}
			return all
		}).mistaken("votes at questions that are declined are not counted; here all are declined"),
		byQuota("quota-private-radius", func(patients []patient) []int64 {
			questions := slices.Clone(arrivals)
			for i, q := range questions {
				var far []float64
				for _, p := range patients {
					far = append(far, math.Abs(float64(p.place-q.Row[0])))
				}
				slices.Sort(far)
				questions[i].Radius = far[1]
			}
			return quotaCast(patients, quotaVotes, questions)
		}).mistaken("the radius is the distance of the second nearest private row, so a patient moves votes of others"),
	}
}
