// Package ledgers is the command `pate ledger`, which shows, verifies and signs ledgers.
package ledgers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/online"
	"github.com/pate-go/pate/internal/silos"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/teachers/label"
)

func New(g *shell.Globals) *cobra.Command {
	return shell.Parent("ledger", "ledger", newLedgerShow(g), newStatement(g), newLedgerSign(g))
}

// ofLedger omits the flags --delta and --seed, because the ledger has a delta and no noise is drawn.
func ofLedger(use, without string, args cobra.PositionalArgs, run func(*cobra.Command, []string) error) *cobra.Command {
	cmd := shell.Command(use, "seed delta "+without, args, run)
	shell.CompleteArgs(cmd, shell.Files("jsonl"))
	return cmd
}

type report struct {
	path string
	ledger.Summary
	claim   float64  // epsilon of all releases, at delta
	checked []string // known heads that the ledger was compared with
}

func newReport(g *shell.Globals, path string, s ledger.Summary, checked []string) (report, error) {
	claim, err := s.Claim(s.Config.Delta)
	if err == nil {
		g.WarnBudget(claim)
	}
	return report{path, s, claim, checked}, err
}

func (r report) object(schema string, further ...any) shell.Object {
	// In mode "filter", the field spent is compared with the budget, but is not a privacy guarantee. The
	// field left is the epsilon of the largest Gaussian release that the rest of the budget permits. The
	// field recomputed exists only if this version of pate and the version that sealed the ledger compute
	// different epsilons. It has both values, and the field claim is the larger upper bound.
	c := r.Config
	var again, releasable any
	if b := r.Claimed.Again; b != nil {
		again = shell.Object{"sealed", r.Claimed.Sealed, "lower", b.Lower, "upper", b.Upper}
	}
	if leaves := c.Releasable(); leaves || c.Withheld() != "" {
		releasable = &leaves
	}
	return append(shell.Object{"schema", schema, "ledger", r.path, "unit", c.Unit, "relation", c.Relation, "mode", c.Mode,
		"budget", c.Epsilon, "delta", c.Delta, "spent", r.Epsilon, "left", r.Left.Epsilon, "claim", shell.Number(r.claim),
		"accountant", r.Claimed.By, "recomputed?", again, "lines", r.Head.Lines, "entries_total", r.Entries,
		"committed_total", r.Commits, "sealed", r.Sealed, "exhausted", r.Exhausted, "torn?", r.Torn, "data?", c.Data, "noise?", c.Noise,
		"releasable?", releasable, "waived?", c.Waived, "library", r.Library, "id?", r.ID, "head", r.Head,
		"warning?", statement.Warning(r.claim), "head_checked", r.checked}, further...)
}

func (r report) releasable() string {
	switch {
	case r.Config.Releasable():
		return "yes"
	case r.Config.Withheld() == "":
		return "unknown"
	}
	return shell.NotReleasable(r.Config.Waived)
}

func (r report) heading() string {
	c := r.Config
	return fmt.Sprintf("privacy of one %s, %v, mode %v\nbudget epsilon %g at delta %g\n", statement.Plain(c.Unit),
		c.Relation, c.Mode, c.Epsilon, c.Delta)
}

func (r report) footing() string {
	var b strings.Builder
	c := r.Config
	fmt.Fprintf(&b, "%d reserved, %d committed", r.Entries, r.Commits)
	switch {
	case r.Exhausted:
		b.WriteString("; nothing is left: a reservation was cut off before its cost was written\n")
	case r.Sealed:
		b.WriteString("; sealed: everything was reserved before the first use\n")
	default:
		left := r.Left.Epsilon
		fmt.Fprintf(&b, "; spent %s of %g\na release of epsilon %s still fits\n", shell.FormatUp(r.Epsilon, false),
			c.Epsilon, shell.FormatDown(left))
		if left > (c.Epsilon-r.Epsilon)*1.001 && r.Epsilon > 0 {
			b.WriteString("(epsilons do not add up: two releases cost less together than their sum)\n")
		}
	}
	if r.Torn != "" {
		fmt.Fprintf(&b, "the last line is cut off: %s\n", r.Torn)
	}
	claim := shell.FormatUp(r.claim, false)
	if why := c.Withheld(); why != "" {
		fmt.Fprintf(&b, "NOT releasable: %s; otherwise it would be covered by epsilon %s at delta %g\n", why, claim, c.Delta)
	} else {
		fmt.Fprintf(&b, "what was released is covered by epsilon %s at delta %g", claim, c.Delta)
		if r.Claimed.By == accountant.ByPLD { // unusual
			b.WriteString("\nby privacy loss distributions")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r report) heads() string {
	if len(r.checked) > 0 {
		return "the ledger contains the head that was " + strings.Join(r.checked, ", and the head that was ")
	}
	return "no head of this ledger is kept here, so missing lines at its end cannot be detected"
}

func readSmall(path string, most int) ([]byte, error) {
	text, err := shell.ReadStart(path, int64(most)+1)
	if err == nil && len(text) > most {
		err = fmt.Errorf("it is longer than %d bytes", most)
	}
	return text, err
}

const mechanismColumns = 40

type ledgerEntry struct {
	Entry     int64             `json:"entry"`
	Line      int64             `json:"line"`
	Run       string            `json:"run,omitempty"`
	Parts     []accountant.Part `json:"parts"`
	Epsilon   float64           `json:"epsilon"` // total epsilon up to this entry
	Left      float64           `json:"left"`    // remaining epsilon after this entry
	Committed bool              `json:"committed"`
}

func newLedgerShow(g *shell.Globals) *cobra.Command {
	return ofLedger("show LEDGER", "", shell.Wants(cobra.ExactArgs(1), nil),
		func(_ *cobra.Command, args []string) error { return showLedger(g, args[0]) })
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
			_, err = fmt.Fprintf(g.Stdout, "\n%s%s\n", r.footing(), r.heads())
		}
		return err
	}
	return g.Print(r.object("pate.ledger-show/1", "entries?", entries),
		func(f table.Format) table.Table { return entryTable(r, entries, f) })
}

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
		entry, epsilon, left, run := strconv.FormatInt(e.Entry, 10), shell.FormatUp(e.Epsilon, exact),
			shell.FormatDown(e.Left), runName(e.Run)
		if exact {
			left, run = number.Exact(e.Left), e.Run
		}
		for i, p := range e.Parts {
			if i > 0 && !exact { // for people, print the common cells of an entry only once
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

func entryLines(entries []ledgerEntry) table.Table {
	t := shell.TableOf("entry", "<mechanism", "times", "epsilon so far", "<out")
	for _, e := range entries {
		committed := shell.YesNo(e.Committed)
		entry, epsilon := strconv.FormatInt(e.Entry, 10), shell.FormatUp(e.Epsilon, false)
		for _, p := range e.Parts {
			t.Rows = append(t.Rows, []string{entry, p.Mechanism, strconv.FormatInt(p.Count, 10), epsilon, committed})
			entry, epsilon, committed = "", "", "" // print once per entry
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

func runName(run string) string {
	name := cmp.Or(label.Describe(run), silos.Describe(run), online.Describe(run), run)
	var of struct{ Kind, Key string }
	if json.Unmarshal([]byte(name), &of) == nil && of.Kind != "" {
		name = strings.TrimSpace(of.Kind + " " + of.Key)
	}
	name = statement.Plain(name)
	const most = mechanismColumns - len("  run ")
	if r := []rune(name); len(r) > most {
		return string(r[:most/2]) + "…" + string(r[len(r)-most/2+1:])
	}
	return name
}
