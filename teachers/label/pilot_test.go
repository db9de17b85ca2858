package label

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers/votes"
)

const pilotTeachers = 80

// agreeingRows are votes of which each is right with this probability; odd, if not nil, are those of the first
// teacher.
func agreeingRows(right float64, odd func(query int) int) string {
	rnd := rand.New(rand.NewPCG(5, 5))
	var b strings.Builder
	for q := range 30 {
		for t := range pilotTeachers {
			vote := q % testClasses
			if rnd.Float64() >= right {
				vote = rnd.IntN(testClasses)
			}
			if t == 0 && odd != nil {
				vote = odd(q)
			}
			b.WriteString(strings.Repeat(",", min(t, 1)) + fmt.Sprint(vote))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// piloting is a run with a pilot in a folder of its own.
func piloting(t *testing.T, rows string) Config {
	c := standard(t)
	c.Votes, c.Account.Epsilon = beside(t, c, "votes.csv", rows, votes.Options{}), 8
	c.Plan = &Planning{Public: plan.Public{Teachers: pilotTeachers, Classes: testClasses}, Goal: plan.Goal{MinAccuracy: 0.9, MinLabels: 9},
		Pilot: func(Pilot, bool) error { return nil }}
	return c
}

// trueMean is what a pilot adds noise to.
func trueMean(t require.TestingT, c Config) int64 {
	var all meanLargest
	for ballot, err := range c.Votes.Histograms(context.Background()) {
		require.NoError(t, err)
		all.add(ballot.Histogram.Reveal())
	}
	return all.mean()
}

// What is released has the law of discrete Gaussian noise around the mean. A wrong alarm has the chance
// testkit.FalseAlarm.
func TestPilotHasItsLaw(t *testing.T) {
	const draws, sigma = 6000, 3.5
	c := piloting(t, agreeingRows(0.8, nil))
	j, noise, mean := &job{Config: c}, testkit.Must(rng.NewDiscreteGaussian(sigma)), trueMean(t, c)
	book := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 0.1, Mode: ledger.Filter}))
	const reach = 40
	observed, law := make([]float64, 2*reach+1), make([]float64, 2*reach+1)
	for i := range law {
		law[i] = draws * math.Exp(noise.LogProb(int64(i-reach)))
	}
	for i := range draws {
		p := Pilot{Sigma: sigma}
		require.NoError(t, p.draw(t.Context(), j, testkit.Must(book.Reserve(pilotEvent(sigma))), rng.SeedKey(uint64(i))))
		observed[p.Released-mean+reach]++
	}
	require.Greater(t, testkit.ChiSquare(observed, law), testkit.FalseAlarm)
	slices.Reverse(law)
	law = append(law[1:], 0) // one vote beside
	require.Less(t, testkit.ChiSquare(observed, law), testkit.FalseAlarm)

	p := Pilot{Sigma: sigma}
	require.ErrorIs(t, p.draw(t.Context(), j, testledger.Reserve(t, accountant.AddRemove, pilotEvent(2*sigma)), rng.SeedKey(1)), ledger.ErrNotReserved)
}

// worlds calls each with the true numbers of two neighbouring vote sets: all sets of up to so many teachers,
// of which one teacher comes, goes, or votes otherwise.
func neighbouringVotes(teachers, queries, classes int, number func([][]int) int64, each func(a, b int64)) {
	rows := [][]int{nil} // all votes of one teacher; -1 abstains
	for range queries {
		var longer [][]int
		for _, row := range rows {
			for vote := -1; vote < classes; vote++ {
				longer = append(longer, append(slices.Clone(row), vote))
			}
		}
		rows = longer
	}
	of := func(set [][]int) int64 {
		counts := make([][]int, queries)
		for q := range counts {
			counts[q] = make([]int, classes)
			for _, row := range set {
				if row[q] >= 0 {
					counts[q][row[q]]++
				}
			}
		}
		return number(counts)
	}
	var extend func(set [][]int)
	extend = func(set [][]int) {
		if len(set) == teachers {
			return
		}
		without := of(set)
		var with []int64
		for _, row := range rows {
			with = append(with, of(append(slices.Clone(set), row)))
		}
		for i, a := range with {
			each(a, without)
			for _, b := range with[:i] {
				each(a, b)
			}
		}
		for _, row := range rows {
			extend(append(slices.Clone(set), row))
		}
	}
	extend(nil)
}

// excess returns the most by which a hockey-stick divergence of two neighbours exceeds the delta of a pilot.
func excess(t *testing.T, sigma float64, number func([][]int) int64) float64 {
	noise := testkit.Must(rng.NewDiscreteGaussian(sigma))
	account := testkit.Must(accountant.NewPLD(accountant.PLDConfig{Relation: accountant.AddRemove}))
	require.NoError(t, account.Compose(pilotEvent(sigma), 1))
	moves := map[int64]bool{}
	for _, size := range [][2]int{{3, 2}, {2, 3}} {
		neighbouringVotes(size[0], size[1], 2, number, func(a, b int64) { moves[a-b] = true })
	}
	worst := -1.0
	for by := range moves {
		var p, q []float64
		for v := -60; v <= 60; v++ {
			p, q = append(p, math.Exp(noise.LogProb(int64(v)))), append(q, math.Exp(noise.LogProb(int64(v)-by)))
		}
		for _, epsilon := range []float64{0, 0.1, 0.3, 0.7, 1, 2} {
			claim := testkit.Must(account.Delta(t.Context(), epsilon)).Upper
			worst = max(worst, testkit.EitherHockeyStick(p, q, epsilon)-claim)
		}
	}
	require.True(t, moves[1] || moves[2] || moves[3], "the worlds show something")
	return worst
}

// In a small world no two neighbours differ by more than what is charged. Broken pilots do: one that releases
// the sum, of which a teacher moves a vote for each query, and one that rounds up what it rounds down elsewhere.
func TestPilotInASmallWorld(t *testing.T) {
	mean := func(counts [][]int) int64 {
		var all meanLargest
		for _, c := range counts {
			all.add(c)
		}
		return all.mean()
	}
	require.LessOrEqual(t, excess(t, 2, mean), 1e-9)
	require.Greater(t, excess(t, 2, func(counts [][]int) int64 { return int64(len(counts)) * mean(counts) }), 1e-3)
	require.Greater(t, excess(t, 2, func(counts [][]int) (largest int64) {
		for _, c := range counts {
			largest += int64(slices.Max(c))
		}
		return largest
	}), 1e-3)
	// A plan that follows from the true number tells neighbours apart for certain.
	require.Greater(t, testkit.EitherHockeyStick([]float64{1, 0}, []float64{0, 1}, 5), 0.9)
}

// The plan is a function of the released number: on two neighbouring sets of votes, equal numbers have equal
// plans, and other numbers others.
func TestThePlanFollowsFromTheReleasedNumber(t *testing.T) {
	plans := map[int64]aggregate.Setting{}
	mean := map[int64]bool{}
	for _, odd := range []func(int) int{nil, func(q int) int { return (q + 1) % testClasses }} {
		for seed := range uint64(5) {
			c := piloting(t, agreeingRows(0.93, odd))
			c.Seed = &seed
			r := release1(t, c)
			mean[trueMean(t, c)] = true
			if before, is := plans[r.Pilot.Released]; is {
				require.Equal(t, before, r.Setting)
			}
			plans[r.Pilot.Released] = r.Setting
		}
	}
	require.Less(t, len(plans), 10, "some numbers are equal")
	require.Greater(t, len(plans), 2)
}

// After a crash at any step the run ends with the first number, the first labels and one charge for each.
func TestPilotCrashesAtEveryStep(t *testing.T) {
	rows := agreeingRows(0.95, nil)
	all := stages(t, piloting(t, rows))
	require.Len(t, all, 16, "the steps of two releases")
	for stop := range all {
		if !*long && stop%3 != 0 {
			continue
		}
		t.Run(fmt.Sprint(stop, " ", all[stop]), func(t *testing.T) {
			c := piloting(t, rows)
			var drawn *int64
			look := func() { // the number that the key of the pilot gives
				found := keys(t, c)
				if drawn != nil || len(found) != 1 {
					return
				}
				if key, ok := testkit.Must2(keyfile.Read(found[0])); ok {
					hash := c.Votes.Hash()
					p := Pilot{Sigma: summary(t, c.Ledger).Schedule.Events[0].(accountant.DiscreteGaussian).Sigma}
					noise := testkit.Must(rng.NewDiscreteGaussian(p.Sigma))
					number := trueMean(t, c) + noise.Sample(key.Derive(pilotName).DeriveBytes("votes", hash[:]).Stream())
					drawn = &number
				}
			}
			at, labels := 0, ""
			_, err := Run(crash.With(t.Context(), func(step string) error {
				if at == 2 { // reserved
					look()
				}
				if at++; at-1 == stop {
					return errCrash
				}
				return nil
			}), c)
			require.ErrorIs(t, err, errCrash)
			if text, err := os.ReadFile(c.Out); err == nil {
				labels = string(text)
			}
			if stop == 2 {
				look()
			}
			r := release1(t, c)
			if stop >= 2 {
				require.NotNil(t, drawn)
				require.Equal(t, *drawn, r.Pilot.Released)
			}
			if labels != "" {
				require.Equal(t, labels, read(t, c.Out))
			}
			s := summary(t, c.Ledger)
			require.EqualValues(t, 2, s.Entries)
			require.EqualValues(t, 2, s.Commits)
			require.Empty(t, keys(t, c))
			require.Empty(t, testkit.Must(filepath.Glob(filepath.Join(filepath.Dir(c.Out), ".*"))))
			again := release1(t, c)
			require.True(t, again.Complete)
			require.Equal(t, r.Pilot, again.Pilot)
		})
	}
}

// A refusal after the pilot spends the pilot alone, once. What is left can be used.
func TestPilotThatRefuses(t *testing.T) {
	c := piloting(t, agreeingRows(0, nil))
	for range 2 {
		testkit.ErrorAs[*plan.NoPlanError](t, testkit.Err(Run(t.Context(), c)))
		s := summary(t, c.Ledger)
		require.EqualValues(t, 1, s.Entries)
		require.EqualValues(t, 1, s.Commits)
		whole := testkit.Must(ledger.New(s.Config)).Left().Rho
		require.InDelta(t, mostPart, 1-s.Left.Rho/whole, 0.001)
		require.NoFileExists(t, c.Out)
		require.Empty(t, keys(t, c))
	}
	c.Plan.Pilot, c.Plan.Public.Accuracy = nil, 0.95
	require.Nil(t, release1(t, c).Pilot)
	require.EqualValues(t, 2, summary(t, c.Ledger).Entries)
}

// A pilot is charged only if its labels could be, and only on a ledger that allows a later charge.
func TestPilotIsRefusedBeforeItsCharge(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"mode filter":     func(c *Config) { c.Account.Mode = ledger.Reserved },
		"too little":      func(c *Config) { c.Account.Epsilon = 0.3 },
		"exists already":  func(c *Config) { testkit.Write(t, c.Out, "mine") },
		"must be below":   func(c *Config) { c.Account.Delta = 0.1 },
		"not by a caller": func(c *Config) { c.Plan.Pilot = func(Pilot, bool) error { return fmt.Errorf("not by a caller") } },
	} {
		t.Run(name, func(t *testing.T) {
			c := piloting(t, agreeingRows(0.95, nil))
			change(&c)
			require.ErrorContains(t, testkit.Err(Run(t.Context(), c)), name)
			require.NoFileExists(t, c.Ledger)
			require.Empty(t, testkit.Must(filepath.Glob(c.Ledger+"*pilot*")))
		})
	}
}

// A released number is never drawn again: another, or none, is refused. Votes of other teachers have a pilot
// of their own.
func TestPilotIsNeverDrawnAgain(t *testing.T) {
	c := piloting(t, agreeingRows(0, nil))
	require.Error(t, testkit.Err(Run(t.Context(), c)))
	path := c.Ledger + ".pilot-1.json"
	var is pilotFile
	text := read(t, path)
	require.NoError(t, json.Unmarshal([]byte(text), &is))
	require.True(t, is.Releasable)
	require.Equal(t, "mean largest count of the votes on queries 0:30 of pool", Describe(summaryRun(t, c)))

	testkit.Write(t, path, strings.Replace(text, fmt.Sprint(is.Released), fmt.Sprint(is.Released+20), 1))
	require.ErrorContains(t, testkit.Err(Run(t.Context(), c)), "is not the file that was released")
	require.NoError(t, os.Remove(path))
	var missing *fault.Error
	require.ErrorAs(t, testkit.Err(Run(t.Context(), c)), &missing)
	require.Contains(t, missing.What, "is missing")
	require.EqualValues(t, 1, summary(t, c.Ledger).Entries)

	testkit.Write(t, path, text)
	c.Votes = beside(t, c, "other.csv", agreeingRows(0.95, nil), votes.Options{})
	require.Positive(t, release1(t, c).Answered)
	require.EqualValues(t, 3, summary(t, c.Ledger).Entries)
	require.FileExists(t, c.Ledger+".pilot-2.json")
}

func summaryRun(t *testing.T, c Config) (name string) {
	require.NoError(t, testkit.Err(ledger.Verify(strings.NewReader(read(t, c.Ledger)), ledger.VerifyOptions{Entry: func(e ledger.Entry) error {
		name = e.Run
		return nil
	}})))
	return name
}
