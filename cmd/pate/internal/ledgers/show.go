package ledgers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/teachers/label"
)

// mechanismColumns is the width of the column for mechanisms.
const mechanismColumns = 40

// ledgerEntry is one reservation.
type ledgerEntry struct {
	Entry     int64             `json:"entry"`
	Line      int64             `json:"line"`
	Run       string            `json:"run,omitempty"`
	Parts     []accountant.Part `json:"parts"`
	Epsilon   float64           `json:"epsilon"` // of everything up to here
	Left      float64           `json:"left"`    // after it
	Committed bool              `json:"committed"`
}

func newLedgerShow(g *shell.Globals) *cobra.Command {
	cmd := &cobra.Command{Use: "show LEDGER", RunE: func(_ *cobra.Command, args []string) error { return showLedger(g, args[0]) }}
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
	r, err := newReport(g, path, sum, shell.HeadNames(known))
	if err != nil {
		return err
	}
	if g.ParsedFormat() == table.Text {
		_, err := fmt.Fprintf(g.Stdout, "%s\n", r.heading())
		if err == nil {
			err = entryLines(entries).Write(g.Stdout, table.Text)
		}
		if err == nil {
			_, err = fmt.Fprintf(g.Stdout, "\n%s", r.footing())
		}
		return err
	}
	return g.Print(r.object("pate.ledger-show/1", "entries?", entries),
		func(f table.Format) table.Table { return entryTable(r, entries, f) })
}

// entryTable has a row for each part of each entry, and a column for whether it may leave.
func entryTable(r report, entries []ledgerEntry, format table.Format) table.Table {
	exact := format == table.CSV
	columns := []string{"entry", "<mechanism", "<parameters", "times", "epsilon", "left", "<out"}
	named := slices.ContainsFunc(entries, func(e ledgerEntry) bool { return e.Run != "" })
	if named {
		columns = append(columns, "<run")
	}
	t := shell.TableOf(append(columns, "<releasable")...)
	for _, e := range entries {
		committed := shell.YesNo(e.Committed)
		entry, epsilon, left, run := strconv.FormatInt(e.Entry, 10), shell.FormatUp(e.Epsilon, exact), shell.FormatDown(e.Left), runName(e.Run)
		if exact {
			left, run = number.Exact(e.Left), e.Run
		}
		for i, p := range e.Parts {
			if i > 0 && !exact { // for people, an entry says once what holds of all its parts
				entry, epsilon, left, committed, run = "", "", "", "", ""
			}
			row := []string{entry, p.Mechanism, p.Parameters, strconv.FormatInt(p.Count, 10), epsilon, left, committed}
			if named {
				row = append(row, run)
			}
			t.Rows = append(t.Rows, append(row, r.releasable()))
		}
	}
	return t
}

// entryLines returns the table for a terminal of 80 columns: parameters and runs stand below the mechanism,
// the rest of the budget below the table, since epsilons do not add up.
func entryLines(entries []ledgerEntry) table.Table {
	t := shell.TableOf("entry", "<mechanism", "times", "epsilon so far", "<out")
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
