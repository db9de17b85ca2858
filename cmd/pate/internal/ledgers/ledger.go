// Package ledgers is the command `pate ledger`: shows, verifies and signs ledgers.
package ledgers

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
)

func New(g *shell.Globals) *cobra.Command {
	return shell.Parent("ledger", "ledger", newLedgerShow(g), newLedgerVerify(g), newStatement(g), newLedgerSign(g))
}

// takesLedger declares that the argument of a command is a ledger, which decides delta and seed.
func takesLedger(cmd *cobra.Command) {
	cmd.Args = shell.Wants(cobra.ExactArgs(1), nil)
	shell.CompleteArgs(cmd, shell.Files("jsonl"))
	shell.Without(cmd, "seed", "delta")
}

// report is a ledger that was verified.
type report struct {
	path string
	ledger.Summary
	claim   float64  // epsilon at delta of everything released
	checked []string // what the file was compared with
}

func newReport(g *shell.Globals, path string, s ledger.Summary, checked []string) (report, error) {
	claim, err := s.Claim(s.Config.Delta)
	if err == nil {
		g.WarnBudget(claim)
	}
	return report{path, s, claim, checked}, err
}

// object returns the JSON of a ledger. What is spent is, in mode filter, what the filter let through, which is no
// bound; left is the epsilon of the largest Gaussian release that still fits; the accountant proved the claim.
// Recomputed are a seal of a version that ended elsewhere, and the interval in which this one finds the epsilon: the
// claim is the larger of the seal and the upper end.
func (r report) object(schema string, further ...any) shell.Object {
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

// releasable returns whether the committed files may leave.
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
	return fmt.Sprintf("privacy of one %s, %v, budget epsilon %g at delta %g, mode %v\n", statement.Plain(c.Unit),
		c.Relation, c.Epsilon,
		c.Delta, c.Mode)
}

func (r report) footing() string {
	var b strings.Builder
	c := r.Config
	fmt.Fprintf(&b, "%d reserved, %d committed", r.Entries, r.Commits)
	switch {
	case r.Exhausted:
		b.WriteString("; nothing is left: a reservation was cut off before it said its cost\n")
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
		if r.Claimed.By == accountant.ByPLD { // not the usual one
			b.WriteString(", as privacy loss distributions prove")
		}
		b.WriteString("\n")
	}
	if len(r.checked) > 0 {
		fmt.Fprintf(&b, "it holds the head that was %s\n", strings.Join(r.checked, ", and the one "))
	} else if r.Commits > 0 {
		b.WriteString("no head of it is known here: whether lines were cut off at its end is not known\n")
	}
	return b.String()
}

// readSmall reads a small file.
func readSmall(path string, most int) ([]byte, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("it is longer than %d bytes", most)
	}
	return text, err
}
