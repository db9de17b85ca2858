package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/number"
)

type advice struct {
	Epsilon float64 // the target
	Row     experiments.Row
	Alone   bool     // no other private method was run
	Ties    []string // equally good methods, within chance
	Risk    risk
}

// risk bounds the success of an attacker who has one run's results and all records except one.
type risk struct {
	Right float64 // probability of a right guess whether that record was used, from odds of 1 to 1
	Found float64 // share of participants found by a test that wrongly accuses a share falseAlarms of non-participants
}

const falseAlarms = 0.01

func advise(r *experiments.Result) []advice {
	var out []advice
	var run []contest // consecutive targets with common leaders
	var common []string
	flush := func() {
		if len(run) == 0 {
			return
		}
		method := common[0]
		for _, m := range common[1:] {
			if total(run, m) > total(run, method) {
				method = m
			}
		}
		for _, c := range run {
			row := c.rows[method]
			a := advice{Epsilon: c.epsilon, Row: row, Alone: len(c.rows) == 1, Risk: riskOf(row, r.Delta)}
			a.Ties = slices.DeleteFunc(slices.Clone(c.leaders), func(m string) bool { return m == method })
			out = append(out, a)
		}
		run = nil
	}
	for _, e := range targets(r) {
		c := contestAt(r, e)
		if len(c.rows) == 0 {
			continue
		}
		both := slices.DeleteFunc(slices.Clone(common), func(m string) bool { return !slices.Contains(c.leaders, m) })
		if len(both) == 0 {
			flush()
			both = c.leaders
		}
		run, common = append(run, c), both
	}
	flush()
	return out
}

type contest struct {
	epsilon float64
	rows    map[string]experiments.Row
	leaders []string
}

func contestAt(r *experiments.Result, epsilon float64) contest {
	c := contest{epsilon: epsilon, rows: map[string]experiments.Row{}, leaders: leadersAt(r, epsilon)}
	for _, row := range r.Rows {
		if row.Epsilon != nil && target(r, row) == epsilon {
			c.rows[row.Method] = row
			if len(c.leaders) == 0 { // a single method: there is no Difference
				c.leaders = []string{row.Method}
			}
		}
	}
	return c
}

func total(run []contest, method string) float64 {
	sum := 0.0
	for _, c := range run {
		sum += c.rows[method].Accuracy
	}
	return sum
}

func target(r *experiments.Result, row experiments.Row) float64 {
	if row.TargetEpsilon == 0 && row.Epsilon != nil && len(r.EpsilonTargets) == 0 {
		return r.EpsilonTarget
	}
	return row.TargetEpsilon
}

// riskOf bounds the risk by the trade-off curve of the row's events. Without a curve, epsilon and delta bound
// the risk.
func riskOf(row experiments.Row, delta float64) risk {
	var of accountant.Schedule
	if row.Account != nil {
		of = *row.Account
	}
	a := statement.AttackerOf(*row.Epsilon, delta, accountant.AutoConfig{Relation: of.Relation}, of.Events...)
	at := slices.IndexFunc(a.Rates, func(r statement.Rate) bool { return r.FPR == falseAlarms })
	return risk{Right: a.Right, Found: a.Rates[at].TPR}
}

func use(all []advice) string {
	type group struct {
		method string
		at     []string
		ties   int
		alone  bool
	}
	var groups []group
	for _, a := range all {
		if n := len(groups); n == 0 || groups[n-1].method != a.Row.Method {
			groups = append(groups, group{method: a.Row.Method})
		}
		g := &groups[len(groups)-1]
		g.at, g.alone = append(g.at, number.Exact(a.Epsilon)), a.Alone
		if len(a.Ties) > 0 {
			g.ties++
		}
	}
	var parts []string
	for _, g := range groups {
		at := g.at[0]
		if n := len(g.at); n > 1 {
			at += " to " + g.at[n-1]
		}
		part := fmt.Sprintf("%s at ε %s", g.method, at)
		switch {
		case g.alone:
			part += " (no other private method was run)"
		case g.ties == 0:
			part += " (best beyond chance)"
		case g.ties == len(g.at):
			part += " (as good as any, within chance)"
		default:
			part += fmt.Sprintf(" (best beyond chance at %d of these %d, within chance of the best elsewhere)",
				len(g.at)-g.ties, len(g.at))
		}
		parts = append(parts, part)
	}
	return "Use " + strings.Join(parts, "; ") + "."
}

func protects(r *experiments.Result, all []advice) string {
	first, last := all[0], all[len(all)-1]
	guess := func(a advice) string { return fmt.Sprintf("%s of 100 times", share(a.Risk.Right)) }
	said := guess(first)
	if len(all) > 1 {
		said += fmt.Sprintf(" at ε %s and %s at ε %s", number.Exact(first.Epsilon), guess(last), number.Exact(last.Epsilon))
	}
	return fmt.Sprintf("Whoever knows everything else, and sees what it releases, is right about whether one %s "+
		"took part at most %s; a coin is right 50 times.", r.Unit, said)
}

func share(x float64) string { return number.DecimalsUp(math.Min(100, 100*x), 1) }
