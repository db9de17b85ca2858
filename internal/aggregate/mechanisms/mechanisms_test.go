package mechanisms_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/testkit"
)

// settings returns settings of a mechanism for n queries: a little noise and more of it.
func settings(d aggregate.Description, n int) []aggregate.Setting {
	var out []aggregate.Setting
	for _, noise := range []float64{0.8, 2, 7} {
		for _, instead := range alternatives(d) {
			s := aggregate.Setting{Mechanism: d.Name, Queries: n, Teachers: 6, Predict: predict}
			for _, p := range d.Parameters {
				switch {
				case p.Kind == "threshold" && d.Distances: // few unstable answers are released
					s = s.With(p.Name, math.Ceil(5*noise))
				case p.Kind == "threshold":
					s = s.With(p.Name, 3)
				case p.Kind == "noise" && p.Name != instead:
					s = s.With(p.Name, noise)
					noise *= 1.3
				}
			}
			out = append(out, d.Complete(s))
		}
	}
	return out
}

// alternatives lists the noises that are left out in turn, because another stands for them.
func alternatives(d aggregate.Description) []string {
	var out []string
	for _, p := range d.Noise() {
		if p.Instead != "" {
			out = append(out, p.Name)
		}
	}
	if out == nil {
		return []string{""}
	}
	return out
}

func predict(uint64) ([]float64, error) { return []float64{0.6, 0.3, 0.1}, nil }

// TestDescriptionsAreComplete asks of every mechanism what commands, plans, ledgers and audits rely on.
func TestDescriptionsAreComplete(t *testing.T) {
	word := regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	seen := map[string]bool{}
	for _, d := range mechanisms.All() {
		t.Run(d.Name, func(t *testing.T) {
			require.Regexp(t, word, d.Name)
			require.False(t, seen[d.Name], "two mechanisms of one name")
			seen[d.Name] = true
			require.NotEmpty(t, d.Short)
			require.NotEmpty(t, d.Cost)
			require.NotNil(t, d.New)
			require.NotEmpty(t, d.Noise(), "a mechanism without noise")
			require.Equal(t, !d.Predicts && !d.Distances, d.Chances != nil, "what a plan needs")
			require.Equal(t, mechanisms.AlwaysAnswers(d), d.Ahead != nil, "what a regime needs")
			names := map[string]bool{}
			for _, p := range d.Parameters {
				require.Regexp(t, word, p.Name)
				require.False(t, names[p.Name], p.Name)
				names[p.Name] = true
				require.NotEmpty(t, p.Doc, p.Name)
				require.Contains(t, []string{"noise", "threshold", "cap", "share"}, p.Kind, p.Name)
				require.Less(t, p.Min, p.Max, p.Name)
				require.True(t, p.Default == nil || p.DefaultDoc != "", "%s: say what the default is", p.Name)
				require.False(t, p.Default != nil && p.Chosen(), "%s: chosen, or a default", p.Name)
			}
			if d.Fit == nil { // otherwise package controls has audits of its own
				require.Equal(t, d.Name, d.Audit.Mechanism, "what does an audit put to the test?")
				require.Len(t, d.Neighbours[0], len(d.Neighbours[1]))
				moved := 0
				for i, n := range d.Neighbours[0] {
					moved += max(n-d.Neighbours[1][i], d.Neighbours[1][i]-n)
				}
				require.Equal(t, 2, moved, "neighbours between which one vote moves")
			}
			require.Equal(t, d.Parameters[0].Name, testkit.Must(mechanisms.Find(d.Name)).Parameters[0].Name)
		})
	}
	require.ErrorContains(t, testkit.Err(mechanisms.Find("magic")), "gnmax, confident")
	require.Equal(t, []string{"interactive"}, mechanisms.Names(func(d aggregate.Description) bool { return d.Predicts }))
}

// TestSettings: what is given is checked, and what is left out is chosen.
func TestSettings(t *testing.T) {
	for _, d := range mechanisms.All() {
		for _, s := range settings(d, 4) {
			require.NoError(t, d.Check(s), "%+v", s)
			require.True(t, d.Settled(s))
			require.True(t, d.WithNoise(s, 99).Equal(s), "all noise was given")
			for _, p := range d.Parameters {
				require.Error(t, d.CheckValues(s.With(p.Name, math.NaN())), p.Name)
				require.Error(t, d.CheckValues(s.With(p.Name, math.Inf(1))), p.Name)
				require.Error(t, d.CheckValues(s.With(p.Name, math.Nextafter(p.Min, math.Inf(-1)))), p.Name)
			}
			require.ErrorContains(t, d.CheckValues(s.With("magic", 1)), "has no magic")
			if d.Fit == nil {
				open := aggregate.Setting{Mechanism: d.Name, Queries: 4, Teachers: 6, Predict: predict}
				for name, v := range s.Values {
					if p, _ := d.Parameter(name); p.Kind != "noise" {
						open = open.With(name, v)
					}
				}
				require.NoError(t, d.Check(open))
				require.False(t, d.Settled(open))
				require.True(t, d.Settled(d.WithNoise(open, 3)))
			}
		}
	}
}

// TestEventsCoverTheLaws is the event test of every mechanism: on all votes of up to six
// teachers for three classes, no first answer tells two neighbours apart by more than
// what is charged, at any of many orders, but for the failure that is charged too.
func TestEventsCoverTheLaws(t *testing.T) {
	orders := []float64{1.1, 1.3, 1.7, 2, 3, 4, 6, 8, 16, 32, 64}
	for _, d := range mechanisms.All() {
		for i, s := range settings(d, 1) {
			m := testkit.Must(d.New(s))
			account := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.ReplaceOne}))
			require.NoError(t, account.Compose(m.Event(), 1))
			curve, failure := testkit.Must2(account.RDP(orders))
			require.Equal(t, d.Fails, failure > 0, "%s: only mechanisms that may fail are charged for it", d.Name)
			nearest := 0.0
			neighbours(t, m, func(p, q aggregate.Law) {
				for k, order := range orders {
					divergence, lost := divergence(order, p, q)
					require.LessOrEqual(t, lost, failure*(1+1e-9), "%s, %+v: released what a neighbour never does", d.Name, s.Values)
					require.LessOrEqual(t, divergence, curve[k]*(1+1e-9)+1e-12, "%s, %+v, order %v", d.Name, s.Values, order)
					nearest = max(nearest, divergence/curve[k])
				}
			})
			if !d.Distances { // whose answers on few votes are all unstable
				require.Greater(t, nearest, 0.1, "%s: ten times more is charged than the law needs", d.Name)
			}
			t.Logf("%s %d: %.3f of the charge, failure %.2g", d.Name, i, nearest, failure)
		}
	}
}

// TestEveryMechanismIsRegistered: what package aggregate constructs with noise is in the register.
func TestEveryMechanismIsRegistered(t *testing.T) {
	registered := []string{"Histogram"} // the one constructor of something else
	for _, d := range mechanisms.All() {
		for _, s := range settings(d, 1) {
			registered = append(registered, strings.TrimPrefix(fmt.Sprintf("%T", testkit.Must(d.New(s))), "*aggregate."))
		}
	}
	constructor, found := regexp.MustCompile(`(?m)^func New(\w+)\(`), 0
	for _, file := range testkit.Must(filepath.Glob("../../../aggregate/*.go")) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range constructor.FindAllStringSubmatch(string(testkit.Must(os.ReadFile(file))), -1) {
			require.Contains(t, registered, m[1], "Descriptions does not list it")
			found++
		}
	}
	require.Greater(t, found, 5)
}

// neighbours calls compare with the laws of every two votes between which one moves, appears or disappears.
func neighbours(t *testing.T, m aggregate.Mechanism, compare func(p, q aggregate.Law)) {
	all := slices.DeleteFunc(testkit.Histograms(6, 3), func(counts []int) bool { return slices.Max(counts) == 0 })
	laws := make([]aggregate.Law, len(all))
	for i, counts := range all {
		laws[i] = testkit.Must(m.Law(testkit.Must(aggregate.NewHistogram(counts))))
		sum := math.Exp(laws[i].LogDeclined)
		for _, l := range laws[i].LogLabels {
			sum += math.Exp(l)
		}
		require.InDelta(t, 1, sum, 1e-9, "a law adds up to 1")
	}
	for i, edges := range testkit.Neighbours(all, true) {
		for _, j := range edges {
			compare(laws[i], laws[j])
		}
	}
}

// divergence returns the Rényi divergence of p from q where q is not 0, and the probability of p where it is.
func divergence(order float64, p, q aggregate.Law) (divergence, lost float64) {
	sum := 0.0
	ps, qs := append(slices.Clone(p.LogLabels), p.LogDeclined), append(slices.Clone(q.LogLabels), q.LogDeclined)
	for i, lp := range ps {
		switch {
		case math.IsInf(lp, -1):
		case math.IsInf(qs[i], -1):
			lost += math.Exp(lp)
		default:
			sum += math.Exp(order*lp + (1-order)*qs[i])
		}
	}
	return math.Log(sum) / (order - 1), lost
}
