package nearby

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

// planners are both methods.
var planners = map[string]func(t *testing.T, task Task) Plan{
	"nearest": func(t *testing.T, task Task) Plan { return testkit.Must(Nearest(t.Context(), task)) },
	"sampled": func(t *testing.T, task Task) Plan { return testkit.Must(Sampled(t.Context(), task)) },
}

// A plan costs what its target allows and hardly less, with what is charged before it.
// Negative control: without that the total would be above the target.
func TestPlansUseTheBudget(t *testing.T) {
	counts := accountant.DiscreteGaussian{Sigma: 6, Sensitivity: 1}
	cost := func(delta float64, events ...accountant.Event) float64 {
		return testkit.Must(accountant.Epsilon(t.Context(), accountant.ByAuto, accountant.AddRemove, delta, events...)).Upper
	}
	for name, plan := range planners {
		for _, task := range []Task{
			{Units: 14_000, Classes: 26, Askable: 4000, Target: accountant.Target{Epsilon: 2, Delta: 1e-6}},
			{Units: 60_000, Classes: 10, Askable: 9000, Images: true, Target: accountant.Target{Epsilon: 2, Delta: 1e-6}},
		} {
			alone := plan(t, task)
			require.LessOrEqual(t, alone.Questions, task.Askable)
			require.True(t, task.Images && name == "nearest" || alone.Questions <= MostQuestions)
			is := cost(task.Target.Delta, testkit.Must(alone.Event()))
			require.LessOrEqual(t, is, task.Target.Epsilon, name)
			require.Greater(t, is, 0.995*task.Target.Epsilon, name)
			require.Greater(t, cost(task.Target.Delta, counts, testkit.Must(alone.Event())), task.Target.Epsilon)
			task.Before = counts
			is = cost(task.Target.Delta, counts, testkit.Must(plan(t, task).Event()))
			require.LessOrEqual(t, is, task.Target.Epsilon, name)
			require.Greater(t, is, 0.995*task.Target.Epsilon, name)
		}
	}
}

// Too small budgets make plans that are futile, by noise or by far votes.
func TestFutilePlans(t *testing.T) {
	for name, plan := range planners {
		for epsilon, futile := range map[float64]bool{0.1: true, 8: false} {
			p := plan(t, Task{Units: 600, Classes: 4, Askable: 1000, Target: accountant.Target{Epsilon: epsilon, Delta: 1e-5}})
			require.Equal(t, futile, p.Futile(), "%s at %v: %+v", name, epsilon, p)
		}
	}
}

// The labels of a plan are released for its own event alone, and their file has the noisy votes only where
// these are released.
func TestReleaseOfAPlan(t *testing.T) {
	private, asked := neighbours.Rows{X: dense.New(40, 1), Classes: 2}, dense.New(4, 1)
	for i := range 40 {
		private.X.Data[i] = float32(i % 2 * 10)
		private.Y, private.Units = append(private.Y, i%2), append(private.Units, fmt.Sprint(i))
	}
	copy(asked.Data, []float32{0, 10, 1, 9})
	for _, p := range []Plan{{Questions: 4, Near: 2, Sigma: 0.5}, {Questions: 4, Near: 5, Sampled: 0.5, Sigma: 0.5}} {
		event := testkit.Must(p.Event())
		l := testkit.Must(p.Release(t.Context(), testledger.Reserve(t, accountant.AddRemove, event), rng.SeedKey(1), private, asked))
		require.Equal(t, []int{0, 1, 0, 1}, l.Of)
		file := l.Table("label", []string{"q0", "q1", "q2", "q3"}, strconv.Itoa, []string{"no", "yes"})
		require.Equal(t, []string{"q1", "1"}, file.Rows[1][:2])
		require.Equal(t, p.Sampled == 0, len(file.Header) == 4 && file.Header[3] == "votes yes")
		other := p
		other.Sigma = 5
		wrong := testledger.Reserve(t, accountant.AddRemove, testkit.Must(other.Event()))
		require.ErrorIs(t, testkit.Err(p.Release(t.Context(), wrong, rng.SeedKey(1), private, asked)), ledger.ErrNotReserved)
	}
}

// Labels with few noisy votes are removed, but the nearestFewest labels per class with the most votes stay.
func TestAbstain(t *testing.T) {
	for clear, kept := range map[int]int{30: 30, 25: 25, 12: 20, 0: 20} { // of 40 questions and two classes
		l := Labels{Counts: neighbours.Counts{Classes: 2}}
		for q := range int64(40) {
			votes := q % 4 // below the limit, except where it is raised
			if int(q) >= 40-clear {
				votes = 9
			}
			l.Counts.Votes = append(l.Counts.Votes, -1, votes*100+q)
		}
		l.Of = l.Counts.Labels()
		l.abstain(500)
		labelled := 0
		for q, class := range l.Of {
			if class != aggregate.Abstain {
				labelled++
			}
			require.False(t, class == aggregate.Abstain && q >= 40-clear, "a clear label is kept")
		}
		require.Equal(t, kept, labelled, clear)
		rows := l.Table("label", make([]string, 40), strconv.Itoa, []string{"a", "b"}).Rows
		if kept < 40 {
			require.Contains(t, rows, []string{"", "", "-1", rows[0][3]})
		}
	}
}
