package ledgers

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/ledger/release"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
)

const (
	schemaLedgerShow   = "pate.ledger-show/1"
	schemaLedgerVerify = "pate.ledger-verify/1"
)

func New(g *shell.Globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "What was spent, and whether the file still says so",
		Long: `What was spent, and whether the file still says so.

A ledger is a file of JSON lines. Every charge is written before anything is
released under it, and every outcome before it leaves. Each line holds the hash
of the one before.`,
		Example: `  pate ledger show run.jsonl
  pate ledger verify run.jsonl --format json`,
		Args: shell.SuggestCommand,
		RunE: func(*cobra.Command, []string) error {
			return shell.UsageError("ledger", errors.New("ledger what? show, verify, sign or adopt"))
		},
	}
	cmd.AddCommand(newLedgerShow(g), newLedgerVerify(g), newLedgerSign(g), newLedgerAdopt(g))
	return cmd
}

// ledgerReport is what both commands say of a whole ledger.
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
	Recomputed *recomputed         `json:"recomputed,omitempty"` // of a seal by a version that ended elsewhere
	Lines      int64               `json:"lines"`
	Entries    int64               `json:"entries_total"`
	Committed  int64               `json:"committed_total"`
	Sealed     bool                `json:"sealed"`
	Exhausted  bool                `json:"exhausted"`
	Torn       string              `json:"torn,omitempty"`
	Data       string              `json:"data,omitempty"`
	Noise      string              `json:"noise,omitempty"`
	Library    string              `json:"library"`
	ID         string              `json:"id,omitempty"`
	Adopted    int64               `json:"adopted,omitempty"` // line at which the head began to be kept
	Head       ledger.Head         `json:"head"`
	Warning    string              `json:"warning,omitempty"` // of a claim that protects next to nothing
	Checked    []string            `json:"head_checked"`      // What the file was compared with
	Signature  *signatureReport    `json:"signature,omitempty"`
	Whole      *bool               `json:"whole,omitempty"` // with Files
	Files      []*fileReport       `json:"files,omitempty"`
	Shown      []ledgerEntry       `json:"entries,omitempty"`
}

// recomputed is the interval in which this version finds the epsilon of a sealed claim.
type recomputed struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// words says whose claim it is, where this version would make another.
func (r *recomputed) words(report ledgerReport) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("the claim is as sealed, in a ledger of version %s; this version finds an epsilon between %s and %s\n",
		report.Library, shell.FormatDown(r.Lower), shell.FormatUp(r.Upper, false))
}

// ledgerEntry is one reservation.
type ledgerEntry struct {
	Entry     int64            `json:"entry"`
	Line      int64            `json:"line"`
	Run       string           `json:"run,omitempty"`
	Parts     []statement.Part `json:"parts"`
	Epsilon   float64          `json:"epsilon"` // of everything up to here
	Left      float64          `json:"left"`    // after it
	Committed bool             `json:"committed"`
}

func newLedgerReport(schema, path string, s ledger.Summary) (ledgerReport, error) {
	claim, err := s.Claim(s.Config.Delta)
	var again *recomputed
	if b := s.Claimed.Again; b != nil {
		again = &recomputed{b.Lower, b.Upper}
	}
	return ledgerReport{
		Schema: schema, Ledger: path, Unit: s.Config.Unit, Relation: s.Config.Relation, Mode: s.Config.Mode,
		Budget: s.Config.Epsilon, Delta: s.Config.Delta, Spent: s.Epsilon, Left: s.Left.Epsilon, Claim: shell.Number(claim), Accountant: s.Claimed.By, Recomputed: again,
		Lines: s.Head.Lines, Entries: s.Entries, Committed: s.Commits, Sealed: s.Sealed, Exhausted: s.Exhausted, Torn: s.Torn,
		Data: s.Config.Data, Noise: string(s.Config.Noise), Library: s.Library, ID: s.ID, Adopted: s.Adopted, Head: s.Head, Checked: []string{}, Warning: statement.Warning(claim),
	}, err
}

func newLedgerShow(g *shell.Globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show LEDGER",
		Short: "Every reservation: what was charged, the cost so far, what is left",
		Long: `Every reservation: what was charged, the cost so far, what is left.

"epsilon" is that of everything up to the line, recomputed, by Rényi divergences where
those are within the budget; the last line says what holds of the whole. "left" is what
composition leaves: the epsilon that one Gaussian release may still have, which is
more than the difference of two epsilons. The file is verified first.`,
		Example: `  pate ledger show run.jsonl
  pate ledger show run.jsonl --format csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return showLedger(g, args[0]) },
	}
	takesLedger(cmd)
	return cmd
}

// takesLedger says that the argument of a command is a ledger, which says all by itself.
func takesLedger(cmd *cobra.Command) {
	cmd.Args = shell.Wants(cobra.ExactArgs(1), nil)
	shell.CompleteArgs(cmd, shell.Files("jsonl"))
	shell.Without(cmd, "seed", "delta")
}

func showLedger(g *shell.Globals, path string) error {
	f, known, err := shell.OpenLedgerFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var entries []ledgerEntry
	sum, err := ledger.VerifyKept(f, known.Kept(ledger.Head{}), func(e ledger.Entry) error {
		entries = append(entries, ledgerEntry{Entry: e.Number, Line: e.Line, Run: e.Run, Parts: statement.Parts(e.Event), Epsilon: e.Epsilon, Left: e.Left.Epsilon})
		return nil
	})
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
	report.Checked = shell.HeadNames(known, ledger.Head{})
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

// entryTable has a row for each part of each entry. Where it stands alone a column says
// whether anything may leave; for people that stands below.
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
		committed := "no"
		if e.Committed {
			committed = "yes"
		}
		entry, epsilon, left, run := strconv.FormatInt(e.Entry, 10), shell.FormatUp(e.Epsilon, exact), shell.FormatDown(e.Left), shorten(statement.Plain(e.Run))
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

// entryLines returns the table for a terminal: parameters and runs stand below the mechanism, so
// that 80 columns hold it. What is left stands below the table, since it does not add up
// with what was spent.
func entryLines(entries []ledgerEntry) table.Table {
	t := table.Table{Header: []string{"entry", "mechanism", "times", "epsilon so far", "out"}, Left: []bool{false, true, false, false, true}}
	for _, e := range entries {
		committed := "no"
		if e.Committed {
			committed = "yes"
		}
		entry, epsilon := strconv.FormatInt(e.Entry, 10), shell.FormatUp(e.Epsilon, false)
		for _, p := range e.Parts {
			t.Rows = append(t.Rows, []string{entry, p.Mechanism, strconv.FormatInt(p.Count, 10), epsilon, committed})
			entry, epsilon, committed = "", "", "" // an entry says once what holds of all its parts
			for _, line := range shell.Folded(p.Parameters, mechanismColumns-2) {
				t.Rows = append(t.Rows, []string{"", "  " + line, "", "", ""})
			}
		}
		if e.Run != "" {
			t.Rows = append(t.Rows, []string{"", "  run " + shorten(statement.Plain(e.Run)), "", "", ""})
		}
	}
	return t
}

// mechanismColumns is the width of the column for mechanisms.
const mechanismColumns = 40

// shorten cuts the name of a run for a column, in the middle: runs of one program
// begin alike.
func shorten(name string) string {
	const most = 24
	if r := []rune(name); len(r) > most {
		return string(r[:most/2]) + "…" + string(r[len(r)-most/2+1:])
	}
	return name
}

func ledgerHeading(r ledgerReport) string {
	return fmt.Sprintf("privacy of one %s, %v, budget epsilon %g at delta %g, mode %v\n\n", statement.Plain(r.Unit), r.Relation, r.Budget, r.Delta, r.Mode)
}

// releasable says whether what was committed may leave.
func (r ledgerReport) releasable() string {
	switch ledger.Noise(r.Noise) {
	case ledger.SecretNoise:
		return "yes"
	case ledger.SeededNoise:
		return "no: seeded"
	}
	return "unknown"
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
	if ledger.Noise(r.Noise) == ledger.SeededNoise {
		fmt.Fprintf(&b, "NOT releasable: the noise comes from a seed; with secret noise it would be covered by epsilon %s at delta %g\n", shell.FormatUp(float64(r.Claim), false), r.Delta)
	} else {
		fmt.Fprintf(&b, "what was released is covered by epsilon %s at delta %g%s\n", shell.FormatUp(float64(r.Claim), false), r.Delta, r.provedBy())
	}
	if len(r.Checked) > 0 {
		fmt.Fprintf(&b, "it holds the head that was %s\n", strings.Join(r.Checked, ", and the one "))
	} else if r.Committed > 0 {
		b.WriteString("no head of it is known here: whether lines were cut off at its end is not known\n")
	}
	if r.Adopted > 0 {
		fmt.Fprintf(&b, "line %d says that it was taken for the newest copy: before, no head was kept\n", r.Adopted)
	}
	return b.String()
}

// provedBy says which accountant the claim rests on, where it is not the usual one.
func (r ledgerReport) provedBy() string {
	if r.Accountant != accountant.ByPLD {
		return ""
	}
	return ", as loss distributions prove"
}

func newLedgerVerify(g *shell.Globals) *cobra.Command {
	var head, signature, publicKey string
	var files fileFlags
	cmd := &cobra.Command{
		Use:   "verify LEDGER",
		Short: "Check the chain of lines and recompute every epsilon",
		Long: `Check the chain of lines and recompute every epsilon, and say which entry files are.

A difference ends with exit code 5 and names the line. That finds accidents. The
chain has no key: who can write the file can rewrite it whole, hashes and all. And a
file whose last lines were cut off, or an older copy, is a whole, shorter ledger.

A head shows both. The file is compared with the one beside it, LEDGER.head, and with
the one in the user's state folder, if they are there; what was compared is said. Who
can write the file can write these too: keep the head that this command and the
statement print where they cannot, and give it with --head.

What a ledger commits for a release is the SHA-256 of the file that leaves, as
sha256sum prints it. --labels and --model say which entry a file is, byte for byte, or
that it is none; --statement says whether a page is unchanged and says what the ledger
says. If one does not match, the exit code is 5. Labels of earlier versions, which
were committed in another form, are recognised.

A signature shows who vouches for the ledger (pate ledger sign). With --signature and
--public-key the command says whether the holder of that key signed this ledger when
it had so many lines, and that it still holds them; if not, it ends with exit code 5.
Get the public key from the signer: one that came with the ledger proves nothing.`,
		Example: `  pate ledger verify run.jsonl
  pate ledger verify run.jsonl --labels labels.csv --statement page.html
  pate ledger verify run.jsonl --head "$(cat kept-elsewhere)"
  pate ledger verify run.jsonl --signature run.jsonl.sig --public-key public.pem`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, err := parseHead(head)
			if err != nil {
				return shell.UsageError("ledger", err)
			}
			given := cmd.Flags().Changed("signature") // also as ""
			if given != cmd.Flags().Changed("public-key") {
				return shell.UsageError("ledger", errors.New("--signature and --public-key go together: a signature is checked with the key of a signer you know"))
			}
			var signed *signedBy
			if given {
				if signed, err = readSigned(signature, publicKey); err != nil {
					return err
				}
			}
			found, err := files.read()
			if err != nil {
				return err
			}
			return verifyLedger(g, args[0], kept, signed, found)
		},
	}
	cmd.Flags().StringArrayVar(&files.labels, "labels", nil, "labels, or another file that was released; may be given more than once")
	cmd.Flags().StringArrayVar(&files.models, "model", nil, "model that was released; may be given more than once")
	cmd.Flags().StringArrayVar(&files.statements, "statement", nil, "page of pate statement; may be given more than once")
	cmd.Flags().StringVar(&head, "head", "", "LINES:HASH that the ledger once had")
	cmd.Flags().StringVar(&signature, "signature", "", "file that pate ledger sign wrote")
	cmd.Flags().StringVar(&publicKey, "public-key", "", "PEM file of the signer's public key")
	takesLedger(cmd)
	shell.Complete(cmd, map[string]shell.Values{
		"labels": shell.Files("csv", "jsonl", "npy", "parquet", "json"), "model": shell.Files("model"), "statement": shell.Files("html", "md", "json"), "head": shell.Anything(),
		"signature": shell.Files("sig"), "public-key": shell.Files("pem", "pub"),
	})
	return cmd
}

func parseHead(text string) (ledger.Head, error) {
	if text == "" {
		return ledger.Head{}, nil
	}
	head, err := release.ParseHead(text)
	if err != nil {
		return head, fmt.Errorf("--head %s: must be LINES:HASH as `pate ledger verify` prints it", text)
	}
	return head, nil
}

// verifyLedger verifies a ledger, that it is signed, unless signed is nil, and what files
// are to it.
func verifyLedger(g *shell.Globals, path string, head ledger.Head, signed *signedBy, files *released) error {
	f, known, err := shell.OpenLedgerFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	kept := known.Kept(head)
	kept.Outcome = files.commit
	var sum ledger.Summary
	if signed != nil {
		sum, err = signed.verify(f, kept, files.entry)
	} else {
		sum, err = ledger.VerifyKept(f, kept, files.entry)
	}
	if err == nil {
		err = files.finish(path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := reportVerified(g, path, sum, shell.HeadNames(known, head), signed, files); err != nil {
		return err
	}
	return files.failure()
}

// reportVerified prints what was found.
func reportVerified(g *shell.Globals, path string, sum ledger.Summary, checked []string, signed *signedBy, files *released) error {
	report, err := newLedgerReport(schemaLedgerVerify, path, sum)
	if err != nil {
		return err
	}
	report.Checked = checked
	g.WarnBudget(float64(report.Claim))
	if len(files.files) > 0 {
		whole := true
		report.Schema, report.Whole, report.Files = schemaVerifyFiles, &whole, files.files
	}
	if signed != nil {
		report.Checked = append(report.Checked, "signed")
		report.Signature = &signatureReport{Valid: true, Lines: signed.signature.Lines}
	}
	format := g.ParsedFormat()
	if format == table.JSON {
		return shell.WriteJSON(g.Stdout, report)
	}
	if format == table.Text {
		fmt.Fprintf(g.Stdout, "%s is whole: %d lines, every epsilon recomputed\n", path, report.Lines)
		fmt.Fprint(g.Stdout, ledgerHeading(report)[:len(ledgerHeading(report))-1])
		fmt.Fprint(g.Stdout, strings.TrimPrefix(ledgerFooting(report), "\n"))
		fmt.Fprint(g.Stdout, report.Recomputed.words(report))
		if report.Head.Lines > 0 {
			fmt.Fprintf(g.Stdout, "head %d:%s\n", report.Head.Lines, report.Head.Hash)
		}
		if signed != nil {
			fmt.Fprint(g.Stdout, signed.words(report.Lines))
		}
		fmt.Fprint(g.Stdout, files.words())
		return nil
	}
	if len(files.files) > 0 {
		return files.table().Write(g.Stdout, format)
	}
	exact := format == table.CSV
	return table.Table{
		Header: []string{"lines", "entries", "committed", "mode", "budget", "spent", "claim", "delta", "head", "releasable"},
		Left:   []bool{false, false, false, true, false, false, false, false, true, true},
		Rows: [][]string{{strconv.FormatInt(report.Lines, 10), strconv.FormatInt(report.Entries, 10), strconv.FormatInt(report.Committed, 10),
			report.Mode.String(), shell.FormatUp(report.Budget, exact), shell.FormatUp(report.Spent, exact), shell.FormatUp(float64(report.Claim), exact),
			strconv.FormatFloat(report.Delta, 'g', -1, 64), fmt.Sprintf("%d:%s", report.Head.Lines, report.Head.Hash), report.releasable()}},
	}.Write(g.Stdout, format)
}
