package ledgers

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/teachers/label"
)

func newLedgerShow(g *shell.Globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:  "show LEDGER",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return showLedger(g, args[0]) },
	}
	takesLedger(cmd)
	return cmd
}

func showLedger(g *shell.Globals, path string) error {
	f, known, err := shell.OpenLedgerFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var entries []ledgerEntry
	sum, err := ledger.Verify(f, ledger.VerifyOptions{Heads: known.Of, Entry: func(e ledger.Entry) error {
		entries = append(entries, ledgerEntry{Entry: e.Number, Line: e.Line, Run: e.Run, Parts: statement.Parts(e.Event),
			Epsilon: e.Epsilon, Left: e.Left.Epsilon})
		return nil
	}})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i := range entries {
		entries[i].Committed = sum.Committed(entries[i].Entry)
	}
	report, err := newLedgerReport(schemaLedgerShow, path, sum)
	if err != nil {
		return err
	}
	report.Checked = shell.HeadNames(known)
	g.WarnBudget(float64(report.Claim))
	format := g.ParsedFormat()
	if format == table.JSON {
		report.Shown = entries
		return shell.WriteJSON(g.Stdout, report)
	}
	if format == table.Text {
		fmt.Fprint(g.Stdout, ledgerHeading(report))
	}
	if err := entryTable(report, entries, format).Write(g.Stdout, format); err != nil {
		return err
	}
	if format == table.Text {
		fmt.Fprint(g.Stdout, ledgerFooting(report))
	}
	return nil
}

// entryTable has a row for each part of each entry. Formats for programs have a column for whether it may
// leave.
func entryTable(r ledgerReport, entries []ledgerEntry, format table.Format) table.Table {
	if format == table.Text {
		return entryLines(entries)
	}
	exact, alone := format == table.CSV, format != table.Text
	t := table.Table{
		Header: []string{"entry", "mechanism", "parameters", "times", "epsilon", "left", "out"},
		Left:   []bool{false, true, true, false, false, false, true},
	}
	named := false
	for _, e := range entries {
		named = named || e.Run != ""
	}
	if named {
		t.Header, t.Left = append(t.Header, "run"), append(t.Left, true)
	}
	if alone {
		t.Header, t.Left = append(t.Header, "releasable"), append(t.Left, true)
	}
	for _, e := range entries {
		committed := shell.YesNo(e.Committed)
		entry, epsilon, left, run := strconv.FormatInt(e.Entry, 10), shell.FormatUp(e.Epsilon, exact), shell.FormatDown(e.Left), runName(e.Run)
		if exact {
			left, run = strconv.FormatFloat(e.Left, 'g', -1, 64), e.Run
		}
		for i, p := range e.Parts {
			if i > 0 && !exact { // for people, an entry says once what holds of all its parts
				entry, epsilon, left, committed, run = "", "", "", "", ""
			}
			row := []string{entry, p.Mechanism, p.Parameters, strconv.FormatInt(p.Count, 10), epsilon, left, committed}
			if named {
				row = append(row, run)
			}
			if alone {
				row = append(row, r.releasable())
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// entryLines returns the table for a terminal of 80 columns: parameters and runs stand below the mechanism,
// the rest of the budget below the table, since epsilons do not add up.
func entryLines(entries []ledgerEntry) table.Table {
	t := table.Table{Header: []string{"entry", "mechanism", "times", "epsilon so far", "out"}, Left: []bool{false, true, false, false, true}}
	for _, e := range entries {
		committed := shell.YesNo(e.Committed)
		entry, epsilon := strconv.FormatInt(e.Entry, 10), shell.FormatUp(e.Epsilon, false)
		for _, p := range e.Parts {
			t.Rows = append(t.Rows, []string{entry, p.Mechanism, strconv.FormatInt(p.Count, 10), epsilon, committed})
			entry, epsilon, committed = "", "", "" // an entry says once what holds of all its parts
			for _, line := range shell.Folded(p.Parameters, mechanismColumns-2) {
				t.Rows = append(t.Rows, []string{"", "  " + line, "", "", ""})
			}
		}
		if e.Run != "" {
			t.Rows = append(t.Rows, []string{"", "  run " + runName(e.Run), "", "", ""})
		}
	}
	return t
}

// runName describes a run, shortened for a column in the middle, since runs of one program begin alike.
func runName(run string) string {
	name := statement.Plain(cmp.Or(label.Describe(run), run))
	const most = mechanismColumns - len("  run ")
	if r := []rune(name); len(r) > most {
		return string(r[:most/2]) + "…" + string(r[len(r)-most/2+1:])
	}
	return name
}

func ledgerHeading(r ledgerReport) string {
	return fmt.Sprintf("privacy of one %s, %v, budget epsilon %g at delta %g, mode %v\n\n", statement.Plain(r.Unit), r.Relation, r.Budget,
		r.Delta, r.Mode)
}

// releasable returns whether the committed files may leave.
func (r ledgerReport) releasable() string {
	switch {
	case r.Releasable == nil:
		return "unknown"
	case *r.Releasable:
		return "yes"
	}
	return shell.NotReleasable(r.Waived)
}

func ledgerFooting(r ledgerReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d reserved, %d committed", r.Entries, r.Committed)
	switch {
	case r.Exhausted:
		b.WriteString("; nothing is left: a reservation was cut off before it said its cost\n")
	case r.Sealed:
		b.WriteString("; sealed: everything was reserved before the first use\n")
	default:
		fmt.Fprintf(&b, "; spent %s of %g\na release of epsilon %s still fits\n", shell.FormatUp(r.Spent, false), r.Budget, shell.FormatDown(r.Left))
		if r.Left > (r.Budget-r.Spent)*1.001 && r.Spent > 0 {
			b.WriteString("(epsilons do not add up: two releases cost less together than their sum)\n")
		}
	}
	if r.Torn != "" {
		fmt.Fprintf(&b, "the last line is cut off: %s\n", r.Torn)
	}
	if r.withheld != "" {
		fmt.Fprintf(&b, "NOT releasable: %s; otherwise it would be covered by epsilon %s at delta %g\n", r.withheld,
			shell.FormatUp(float64(r.Claim), false), r.Delta)
	} else {
		fmt.Fprintf(&b, "what was released is covered by epsilon %s at delta %g%s\n", shell.FormatUp(float64(r.Claim), false), r.Delta, r.provedBy())
	}
	if len(r.Checked) > 0 {
		fmt.Fprintf(&b, "it holds the head that was %s\n", strings.Join(r.Checked, ", and the one "))
	} else if r.Committed > 0 {
		b.WriteString("no head of it is known here: whether lines were cut off at its end is not known\n")
	}
	return b.String()
}

// provedBy names the accountant of the claim, where it is not the usual one.
func (r ledgerReport) provedBy() string {
	if r.Accountant != accountant.ByPLD {
		return ""
	}
	return ", as privacy loss distributions prove"
}
