package label

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/internal/npy"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// voteSet is a random ensemble of which nothing is declared.
type voteSet struct {
	classes, teachers     int
	accuracy, correlation float64 // correlation -1: unanimous queries beside split ones
	epsilon               float64
	votes                 []int8 // queries x teachers
	seed                  uint64
}

const setQueries = 1500

func (s voteSet) String() string {
	return fmt.Sprintf("%d: k %d T %d accuracy %.2f correlation %.2f epsilon %g", s.seed, s.classes, s.teachers, s.accuracy, s.correlation, s.epsilon)
}

func randomVotes(seed uint64) voteSet {
	rnd := rand.New(rand.NewPCG(seed, 33))
	s := voteSet{classes: 2 + rnd.IntN(19), teachers: 20 + rnd.IntN(481), accuracy: 0.3 + 0.65*rnd.Float64(), seed: seed,
		correlation: []float64{0, 0, 0.1, 0.3, 0.5, 0.8, -1}[rnd.IntN(7)], epsilon: []float64{1, 2, 4, 8}[rnd.IntN(4)]}
	s.votes = s.draw(rnd)
	return s
}

// draw returns votes of the set.
func (s voteSet) draw(rnd *rand.Rand) (all []int8) {
	right := func() float64 { return s.accuracy }
	switch c := s.correlation; {
	case c > 0:
		right = distuv.Beta{Alpha: s.accuracy * (1 - c) / c, Beta: (1 - s.accuracy) * (1 - c) / c, Src: rnd}.Rand
	case c < 0:
		split := 0.5 + 0.2*rnd.Float64()
		right = func() float64 {
			if rnd.Float64() < max(0, (s.accuracy-split)/(1-split)) {
				return 1
			}
			return split
		}
	}
	for range setQueries {
		label, x := rnd.IntN(s.classes), right()
		confused := (label + 1 + rnd.IntN(s.classes-1)) % s.classes
		for range s.teachers {
			vote := label
			if rnd.Float64() >= x {
				if vote = confused; s.correlation >= 0 && rnd.Float64() < 0.4 {
					vote = rnd.IntN(s.classes)
				}
			}
			all = append(all, int8(vote))
		}
	}
	return all
}

// label releases labels of the set, of declared accuracy if that is not 0.
func (s voteSet) label(t *testing.T, declared float64) (Result, Config, error) {
	var text bytes.Buffer
	require.NoError(t, npy.WriteHeader(&text, npy.Header{Type: "|i1", Shape: []int{setQueries, s.teachers}}))
	for _, v := range s.votes {
		text.WriteByte(byte(v))
	}
	dir := t.TempDir()
	path := testkit.Write(t, filepath.Join(dir, "votes.npy"), text.String())
	c := Config{Ledger: filepath.Join(dir, "run.jsonl"), Out: filepath.Join(dir, "labels.csv"), Pool: "pool", Seed: &s.seed,
		Votes:   testkit.Must(votes.Open(context.Background(), []string{path}, votes.Options{Classes: s.classes})),
		Account: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: s.epsilon, Delta: 1e-5, Mode: ledger.Filter},
		Plan: &Planning{Public: plan.Public{Teachers: s.teachers, Classes: s.classes},
			Goal: plan.Goal{MinAccuracy: 0.9, MinLabels: plan.LeastPerClass * float64(s.classes)}}}
	if c.Plan.Public.Accuracy = declared; declared == 0 {
		c.Plan.Pilot = func(Pilot, bool) error { return nil }
	}
	r, err := Run(t.Context(), c)
	return r, c, err
}

// right returns the exact share of answers that are the plurality, or one of the tied ones, under a setting.
func (s voteSet) right(t *testing.T, setting aggregate.Setting) float64 {
	var examples []plan.Example
	for q := range setting.Queries {
		counts := make([]int, s.classes)
		for _, v := range s.votes[q*s.teachers : (q+1)*s.teachers] {
			counts[v]++
		}
		examples = append(examples, plan.Example{Votes: testkit.Must(aggregate.NewHistogram(counts)),
			Label: slices.Index(counts, slices.Max(counts))})
	}
	return testkit.Must(plan.Evaluate(t.Context(), examples, setting, accountant.ByRDP, 1e-5)).Accuracy()
}

// Of 200 random ensembles of which nothing is declared, each is refused, or at least 85 % of what is released
// is expected to be the plurality. A refusal spends at most 6 % of the budget.
func TestPilotOfRandomVotes(t *testing.T) {
	sets, step := 200, 50
	if *long {
		step = 1
	}
	released := 0
	for seed := 0; seed < sets; seed += step {
		s := randomVotes(uint64(seed))
		r, c, err := s.label(t, 0)
		if err != nil {
			var none *plan.NoPlanError
			require.True(t, errors.As(err, &none), "%v: %v", s, err)
			spent := 0.0
			if _, err := os.Stat(c.Ledger); err == nil {
				now := summary(t, c.Ledger)
				require.EqualValues(t, 1, now.Entries, "the pilot")
				spent = 1 - now.Left.Rho/testkit.Must(ledger.New(now.Config)).Left().Rho
			}
			require.LessOrEqual(t, spent, 0.06, s)
			t.Logf("%v: refused, spent %.3f", s, spent)
			continue
		}
		released++
		right := s.right(t, r.Setting)
		t.Logf("%v: share %.3f at least %.3f, %s, %d labels, right %.3f", s, r.Pilot.Share, r.Pilot.LeastShare, r.Setting.Mechanism, r.Answered, right)
		if right < 0.85 {
			t.Errorf("%v: %.3f of the labels are the plurality", s, right)
		}
	}
	t.Logf("%d of %d released", released, (sets+step-1)/step)
}

// Many good teachers lose at most 6 % of their labels to a pilot, compared with a plan on such a ledger for the
// declared accuracy. With -long the test also logs the labels of fewer teachers, who lose more.
func TestPilotOfGoodTeachers(t *testing.T) {
	for _, epsilon := range []float64{2, 8} {
		for _, teachers := range []int{100, 250, 500} {
			for _, accuracy := range []float64{0.9, 0.95} {
				many := teachers == 500
				if !*long && !(many && accuracy == 0.95) {
					continue
				}
				s := randomVotes(1)
				s.teachers, s.classes, s.accuracy, s.correlation, s.epsilon = teachers, 10, accuracy, 0.4, epsilon
				s.votes = s.draw(rand.New(rand.NewPCG(1, 34)))
				declared, _, err := s.label(t, accuracy)
				require.NoError(t, err)
				r, _, err := s.label(t, 0)
				if err != nil {
					require.False(t, many, s)
					t.Logf("%v: declared %d, refused after a pilot", s, declared.Answered)
					continue
				}
				t.Logf("%v: declared %d, pilot %.3f at least %.3f: %d (%.3f), right %.3f", s, declared.Answered, r.Pilot.Share, r.Pilot.LeastShare,
					r.Answered, float64(r.Answered)/float64(declared.Answered), s.right(t, r.Setting))
				require.True(t, !many || float64(r.Answered) >= 0.94*float64(declared.Answered), s)
			}
		}
	}
}
