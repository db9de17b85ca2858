package audit

import (
	"fmt"
	"strconv"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/controls"
	"github.com/pate-go/pate/internal/table"
)

const schemaAudit = "pate.audit/1"

// auditReport is the JSON of `pate audit`.
type auditReport struct {
	Schema string        `json:"schema"`
	Alpha  float64       `json:"alpha"` // of all results together
	Seed   *uint64       `json:"seed,omitempty"`
	Passed bool          `json:"passed"` // no claim is refuted
	Rows   []auditResult `json:"results"`
}

type auditResult struct {
	auditTarget
	Epsilon  float64      `json:"epsilon"` // claimed
	Delta    float64      `json:"delta"`
	Lower    shell.Number `json:"epsilon_lower"` // null: no epsilon is true
	Alpha    float64      `json:"alpha"`         // 0: exact
	Runs     int          `json:"runs"`          // on each input, or guesses
	Evidence string       `json:"evidence"`
	Refuted  bool         `json:"refuted"`
	Seconds  float64      `json:"seconds"`
}

type auditTarget struct {
	Target  string `json:"target"`
	Method  string `json:"method"`
	On      string `json:"on"`
	Mistake string `json:"mistake,omitempty"` // made on purpose
}

func targetOf(t controls.Target) auditTarget {
	return auditTarget{t.Name, string(t.Method), t.On, t.Mistake}
}

func writeAudit(g *shell.Globals, alpha float64, results []controls.Result) error {
	if g.ParsedFormat() == table.JSON {
		report := auditReport{Schema: schemaAudit, Alpha: alpha, Passed: true}
		if g.Seeded {
			report.Seed = &g.Seed
		}
		for _, r := range results {
			f := r.Finding
			report.Passed = report.Passed && !f.Refuted()
			report.Rows = append(report.Rows, auditResult{
				auditTarget: targetOf(r.Target), Epsilon: f.Claim.Epsilon, Delta: f.Claim.Delta, Lower: shell.Number(f.Epsilon),
				Alpha: f.Alpha, Runs: f.Runs, Evidence: f.Evidence, Refuted: f.Refuted(), Seconds: r.Seconds,
			})
		}
		return shell.WriteJSON(g.Stdout, report)
	}
	exact := g.ParsedFormat() == table.CSV
	number := func(x float64, format byte, digits int) string {
		if exact {
			format, digits = 'g', -1
		}
		return strconv.FormatFloat(x, format, digits, 64)
	}
	t := table.Table{
		Header: []string{"target", "method", "runs", "claim", "delta", "at least", "verdict"},
		Left:   []bool{true, true, false, false, false, false, true},
	}
	wide := g.ParsedFormat() != table.Text
	if wide {
		t.Header = append(t.Header, "on", "evidence", "mistake")
		t.Left = append(t.Left, true, true, true)
	}
	for _, r := range results {
		f, verdict, runs := r.Finding, "not refuted", ""
		if f.Refuted() {
			verdict = "REFUTED"
		}
		if f.Runs > 0 {
			runs = strconv.Itoa(f.Runs)
		}
		cells := []string{r.Target.Name, string(r.Target.Method), runs, number(f.Claim.Epsilon, 'f', 4),
			number(f.Claim.Delta, 'g', 3), number(f.Epsilon, 'f', 4), verdict}
		if wide {
			cells = append(cells, r.Target.On, f.Evidence, r.Target.Mistake)
		}
		t.Rows = append(t.Rows, cells)
	}
	if err := t.Write(g.Stdout, g.ParsedFormat()); err != nil {
		return err
	}
	if !wide {
		writeMistakes(g, results)
	}
	return nil
}

// writeMistakes prints the mistake of each control once.
func writeMistakes(g *shell.Globals, results []controls.Result) {
	last := ""
	for _, r := range results {
		if r.Target.Mistake == "" || r.Target.Name == last {
			continue
		}
		if last == "" {
			fmt.Fprintln(g.Stdout)
		}
		last = r.Target.Name
		fmt.Fprintf(g.Stdout, "%s: %s\n", r.Target.Name, r.Target.Mistake)
	}
}

// writeTargets lists targets without auditing them.
func writeTargets(g *shell.Globals, targets []controls.Target) error {
	list := struct {
		Schema  string        `json:"schema"`
		Targets []auditTarget `json:"targets"`
	}{Schema: "pate.audit-list/1"}
	for _, t := range targets {
		list.Targets = append(list.Targets, targetOf(t))
	}
	return g.Print(list, func(f table.Format) table.Table {
		t := table.Table{Header: []string{"target", "method", "on", "mistake"}, Left: []bool{true, true, true, true}}
		if f == table.Text {
			t.Header = []string{"target", "method", "on, or the mistake made"}
		}
		for _, target := range targets {
			cells := []string{target.Name, string(target.Method), target.On, target.Mistake}
			if f == table.Text && target.Mistake != "" {
				cells[2] = target.Mistake
			}
			t.Rows = append(t.Rows, cells[:len(t.Header)])
		}
		return t
	})
}
