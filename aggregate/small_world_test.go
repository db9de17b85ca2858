package aggregate

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
)

// orders at which divergences are compared, from 1.1 to 64.
func orders() []float64 {
	var out []float64
	for a := 1.1; a < 64; a *= 1.06 {
		out = append(out, a)
	}
	return append(out, 2, 3, 4, 8, 16, 32, 64)
}

// renyi is D_a(p || q), every answer, declining included, an outcome.
func renyi(a float64, p, q Law) float64 {
	sum := newLogSums(1)
	add := func(lp, lq float64) {
		if !math.IsInf(lp, -1) {
			sum[0].add(a*lp + (1-a)*lq)
		}
	}
	for i := range p.LogLabels {
		add(p.LogLabels[i], q.LogLabels[i])
	}
	add(p.LogDeclined, q.LogDeclined)
	return sum[0].log() / (a - 1)
}

// histograms lists every way the given number of teachers can vote, each for a
// class or abstaining; without abstentions if all must vote.
func histograms(teachers, classes int, allVote bool) [][]int {
	if classes == 0 {
		if allVote && teachers > 0 {
			return nil
		}
		return [][]int{{}}
	}
	var out [][]int
	for n := 0; n <= teachers; n++ {
		for _, rest := range histograms(teachers-n, classes-1, allVote) {
			out = append(out, append([]int{n}, rest...))
		}
	}
	return out
}

// moves lists every histogram one vote away: one teacher votes otherwise, or, if
// abstentions are allowed, stops or starts voting.
func moves(counts []int, teachers int, allVote bool) [][]int {
	var out [][]int
	votes := 0
	for _, n := range counts {
		votes += n
	}
	change := func(class, by int, on []int) []int {
		c := append([]int(nil), on...)
		c[class] += by
		return c
	}
	for a := range counts {
		if counts[a] > 0 {
			for b := range counts {
				if b != a {
					out = append(out, change(b, 1, change(a, -1, counts)))
				}
			}
			if !allVote {
				out = append(out, change(a, -1, counts))
			}
		}
		if !allVote && votes < teachers {
			out = append(out, change(a, 1, counts))
		}
	}
	return out
}

// worst is the largest exact divergence at each order between the laws of any
// two neighbours, in both directions: every neighbour is listed both ways round.
func worst(t *testing.T, teachers, classes int, allVote bool, orders []float64, law func(Histogram) (Law, error)) []float64 {
	laws := map[string]Law{}
	worlds := histograms(teachers, classes, allVote)
	for _, c := range worlds {
		l, err := law(histogram(t, c...))
		require.NoError(t, err)
		laws[fmt.Sprint(c)] = l
	}
	out := make([]float64, len(orders))
	for _, c := range worlds {
		p := laws[fmt.Sprint(c)]
		for _, other := range moves(c, teachers, allVote) {
			q, ok := laws[fmt.Sprint(other)]
			require.True(t, ok, "a neighbour outside the world")
			for i, a := range orders {
				out[i] = max(out[i], renyi(a, p, q))
			}
		}
	}
	return out
}

// charged is what an account is charged for an event, at each order.
func charged(t *testing.T, e accountant.Event, orders []float64) []float64 {
	account, err := accountant.NewRDP(accountant.Config{Relation: accountant.ReplaceOne})
	require.NoError(t, err)
	require.NoError(t, account.Compose(e, 1))
	curve, failure, err := account.RDP(orders)
	require.NoError(t, err)
	require.Zero(t, failure)
	return curve
}

// exceeds reports at how many orders divergence is above claim, beyond rounding.
func exceeds(divergence, claim []float64) int {
	n := 0
	for i, d := range divergence {
		if d > claim[i]*(1+1e-9)+1e-12 {
			n++
		}
	}
	return n
}

var smallWorlds = []struct{ teachers, classes int }{{1, 2}, {2, 3}, {6, 2}, {6, 3}}

func TestSmallWorldsGNMax(t *testing.T) {
	orders := orders()
	for _, sigma := range []float64{0.3, 1, 2.5, 10} {
		m := gnmax(t, sigma)
		claim := charged(t, m.Event(), orders)
		for i, a := range orders {
			require.InEpsilon(t, a/(sigma*sigma), claim[i], 1e-9)
		}
		for _, w := range smallWorlds {
			for name, law := range map[string]func(Histogram) (Law, error){
				"shipped":      m.Law,
				"uniform ties": func(h Histogram) (Law, error) { return m.LawWithTies(h, UniformTies) },
			} {
				t.Run(fmt.Sprint(sigma, w, name), func(t *testing.T) {
					require.Zero(t, exceeds(worst(t, w.teachers, w.classes, false, orders, law), claim))
				})
			}
		}
	}
}

// A moved vote changes two counts. Charged as if it changed one, GNMax must be
// found out, or the test above could not fail.
func TestSmallWorldsGNMaxControl(t *testing.T) {
	orders := orders()
	for _, sigma := range []float64{1, 2.5} {
		m := gnmax(t, sigma)
		half := charged(t, accountant.Threshold{Sigma: sigma}, orders)
		require.Positive(t, exceeds(worst(t, 6, 3, false, orders, m.Law), half))
		require.Positive(t, exceeds(worst(t, 2, 2, false, orders, m.Law), half))
	}
}

func TestSmallWorldsConfident(t *testing.T) {
	orders := orders()
	for _, c := range []struct{ threshold, sigma1, sigma2 float64 }{{3, 1, 1}, {4.5, 3, 1}, {2, 0.7, 4}, {5, 2, 2}, {12, 1, 1}} {
		m := confident(t, c.threshold, c.sigma1, c.sigma2)
		claim := charged(t, m.Event(), orders)
		for i, a := range orders {
			require.InEpsilon(t, a/(2*c.sigma1*c.sigma1)+a/(c.sigma2*c.sigma2), claim[i], 1e-9)
		}
		for _, w := range smallWorlds {
			t.Run(fmt.Sprint(c, w), func(t *testing.T) {
				require.Zero(t, exceeds(worst(t, w.teachers, w.classes, false, orders, m.Law), claim))
			})
		}
	}
	t.Run("control: the test of the largest count is not free", func(t *testing.T) {
		m := confident(t, 5, 1, 5)
		require.Positive(t, exceeds(worst(t, 6, 3, false, orders, m.Law), charged(t, accountant.GNMax{Sigma: 5}, orders)))
	})
	t.Run("control: the answer is not free", func(t *testing.T) {
		m := confident(t, 1, 5, 1)
		require.Positive(t, exceeds(worst(t, 6, 3, false, orders, m.Law), charged(t, accountant.Threshold{Sigma: 5}, orders)))
	})
}

func TestWorstCaseReference(t *testing.T) {
	var ref struct {
		Entries []struct {
			Mechanism string             `json:"mechanism"`
			Sigma     float64            `json:"sigma"`
			Classes   int                `json:"classes"`
			Votes     int                `json:"votes"`
			Relation  string             `json:"relation"`
			Renyi     map[string]float64 `json:"renyi"`
		} `json:"entries"`
	}
	readReference(t, "noisy_argmax_worst_case.json", &ref)
	checked := 0
	for _, e := range ref.Entries {
		if e.Mechanism != "gnmax" {
			continue
		}
		require.Equal(t, "replace_one_vote", e.Relation)
		checked++
		var orders, want []float64
		for order, divergence := range e.Renyi {
			a, err := strconv.ParseFloat(order, 64)
			require.NoError(t, err)
			orders, want = append(orders, a), append(want, divergence)
		}
		require.NotEmpty(t, orders)
		got := worst(t, e.Votes, e.Classes, true, orders, gnmax(t, e.Sigma).ContinuousLaw)
		for i := range orders {
			require.InEpsilon(t, want[i], got[i], 1e-9, "%+v order %v", e, orders[i])
		}
	}
	require.Positive(t, checked)
}
