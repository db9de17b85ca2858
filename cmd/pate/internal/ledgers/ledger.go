// Package ledgers is the command `pate ledger`: shows, verifies and signs ledgers.
package ledgers

import (
	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

const (
	schemaLedgerShow   = "pate.ledger-show/1"
	schemaLedgerVerify = "pate.ledger-verify/1"
)

// New returns the command.
func New(g *shell.Globals) *cobra.Command {
	return shell.Parent("ledger", "ledger", newLedgerShow(g), newLedgerVerify(g), newStatement(g), newLedgerSign(g))
}

// ledgerReport is the JSON of a ledger.
type ledgerReport struct {
	Schema     string              `json:"schema"`
	Ledger     string              `json:"ledger"`
	Unit       string              `json:"unit"`
	Relation   accountant.Relation `json:"relation"`
	Mode       ledger.Mode         `json:"mode"`
	Budget     float64             `json:"budget"`
	Delta      float64             `json:"delta"`
	Spent      float64             `json:"spent"`                // in mode filter what the filter let through, which is no bound
	Left       float64             `json:"left"`                 // epsilon of the largest Gaussian release that still fits
	Claim      shell.Number        `json:"claim"`                // epsilon at delta of everything released
	Accountant accountant.Method   `json:"accountant"`           // who proved the claim: rdp or pld
	Recomputed *recomputed         `json:"recomputed,omitempty"` // where a version that ended elsewhere sealed it
	Lines      int64               `json:"lines"`
	Entries    int64               `json:"entries_total"`
	Committed  int64               `json:"committed_total"`
	Sealed     bool                `json:"sealed"`
	Exhausted  bool                `json:"exhausted"`
	Torn       string              `json:"torn,omitempty"`
	Data       string              `json:"data,omitempty"`
	Noise      string              `json:"noise,omitempty"`
	Releasable *bool               `json:"releasable,omitempty"` // whether what was committed may leave, if that is known
	Waived     []string            `json:"waived,omitempty"`     // refusals that were overridden
	Library    string              `json:"library"`
	ID         string              `json:"id,omitempty"`
	Head       ledger.Head         `json:"head"`
	Warning    string              `json:"warning,omitempty"` // of a claim that protects next to nothing
	Checked    []string            `json:"head_checked"`      // What the file was compared with
	Signature  *signatureReport    `json:"signature,omitempty"`
	Whole      *bool               `json:"whole,omitempty"` // with Files
	Files      []*fileReport       `json:"files,omitempty"`
	Shown      []ledgerEntry       `json:"entries,omitempty"`
	withheld   string              // why nothing may leave
}

// recomputed is a seal, and the interval in which this version finds the epsilon. The claim is the
// larger of the seal and the upper end.
type recomputed struct {
	Sealed float64 `json:"sealed"`
	Lower  float64 `json:"lower"`
	Upper  float64 `json:"upper"`
	words  string
}

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

func newLedgerReport(schema, path string, s ledger.Summary) (ledgerReport, error) {
	claim, err := s.Claim(s.Config.Delta)
	var again *recomputed
	if b := s.Claimed.Again; b != nil {
		again = &recomputed{s.Claimed.Sealed, b.Lower, b.Upper, statement.OfSeal(s) + "\n"}
	}
	report := ledgerReport{
		Schema: schema, Ledger: path, Unit: s.Config.Unit, Relation: s.Config.Relation, Mode: s.Config.Mode,
		Budget: s.Config.Epsilon, Delta: s.Config.Delta, Spent: s.Epsilon, Left: s.Left.Epsilon, Claim: shell.Number(claim),
		Accountant: s.Claimed.By, Recomputed: again,
		Lines: s.Head.Lines, Entries: s.Entries, Committed: s.Commits, Sealed: s.Sealed, Exhausted: s.Exhausted, Torn: s.Torn,
		Data: s.Config.Data, Noise: string(s.Config.Noise), Library: s.Library, ID: s.ID, Head: s.Head, Checked: []string{},
		Warning: statement.Warning(claim),
		Waived:  s.Config.Waived, withheld: s.Config.Withheld(),
	}
	if releasable := s.Config.Releasable(); releasable || report.withheld != "" {
		report.Releasable = &releasable
	}
	return report, err
}

// takesLedger declares that the argument of a command is a ledger, which decides delta and seed.
func takesLedger(cmd *cobra.Command) {
	cmd.Args = shell.Wants(cobra.ExactArgs(1), nil)
	shell.CompleteArgs(cmd, shell.Files("jsonl"))
	shell.Without(cmd, "seed", "delta")
}

// mechanismColumns is the width of the column for mechanisms.
const mechanismColumns = 40
