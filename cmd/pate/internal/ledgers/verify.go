package ledgers

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/filekind"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/run"
)

type verifyFlags struct {
	labels, models, statements []string
	head, signature, publicKey string
}

// NewVerify returns the command that verifies a ledger and its files.
func NewVerify(g *shell.Globals) *cobra.Command {
	var f verifyFlags
	cmd := ofLedger("verify FOLDER|LEDGER", "", shell.Wants(cobra.ExactArgs(1), nil), func(cmd *cobra.Command, args []string) error {
		given := cmd.Flags().Changed("signature") // even if it is ""
		if given != cmd.Flags().Changed("public-key") {
			return shell.Usagef("ledger",
				"give --signature and --public-key together: a signature is checked with the public key of its signer")
		}
		return f.run(g, args[0], given)
	})
	shell.Declare(cmd.Flags(), "verify", shell.To{"labels": &f.labels, "model": &f.models, "statement": &f.statements,
		"head": &f.head, "signature": &f.signature, "public-key": &f.publicKey})
	return cmd
}

const (
	isRight   = "ok"
	isWrong   = "WRONG"
	absent    = "absent"
	unchecked = "not checked"
)

type check struct {
	Check  string `json:"check"` // such as "labels"
	Result string `json:"result"`
	Path   string `json:"path,omitempty"`
	Entry  int64  `json:"entry,omitempty"` // first entry that released the file
	Run    string `json:"run,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Lines  int64  `json:"lines,omitempty"` // for a statement or a signature, number of ledger lines when it was made
	Says   string `json:"says,omitempty"`

	entries int64 // number of entries that released the file
	card    *published.Card
}

type checks struct {
	list   []*check
	byHash map[[sha256.Size]byte][]*check
	runs   map[int64]string
	folder string // folder of all paths, or ""
}

func (f *verifyFlags) run(g *shell.Globals, path string, given bool) error {
	var kept ledger.Head
	var err error
	if f.head != "" {
		if kept, err = run.ParseHead(f.head); err != nil {
			return shell.Usagef("ledger", "--head %s: must have the form LINES:HASH, which `pate verify` prints", f.head)
		}
	}
	c := &checks{byHash: map[[sha256.Size]byte][]*check{}, runs: map[int64]string{}}
	for _, group := range []struct {
		kind  string
		paths []string
	}{{"labels", f.labels}, {"model", f.models}, {"statement", f.statements}} {
		for _, path := range group.paths {
			if err := c.add(group.kind, path); err != nil {
				return err
			}
		}
	}
	if path, err = c.find(path); err != nil {
		return err
	}
	var signed *signedBy
	if given {
		if signed, err = readSigned(f.signature, f.publicKey); err != nil {
			return err
		}
	}
	return c.verify(g, path, kept, signed)
}

func (c *checks) add(kind, path string) error {
	sum, err := shell.HashFile(path)
	if err != nil {
		return shell.InputError(fmt.Errorf("--%s %s: %w", kind, path, err),
			"the file is compared with the entries of the ledger", "check its name", "ledger")
	}
	if kind == "statement" && filekind.Of(path) == filekind.Registry {
		kind = "registry"
	}
	one := &check{Check: kind, Path: path, SHA256: hex.EncodeToString(sum[:])}
	c.list = append(c.list, one)
	if kind != "labels" && kind != "model" {
		return nil
	}
	c.byHash[sum] = append(c.byHash[sum], one)
	if kind == "labels" {
		return nil
	}
	if m, err := published.Open(path); err == nil {
		if from, err := hex.DecodeString(m.Labels.SHA256); err == nil && len(from) == sha256.Size {
			one.card = &m.Card
			c.byHash[[sha256.Size]byte(from)] = append(c.byHash[[sha256.Size]byte(from)], one)
		}
	}
	return nil
}

func (c *checks) entry(e ledger.Entry) error {
	if e.Run != "" {
		c.runs[e.Number] = e.Run
	}
	return nil
}

func (c *checks) commit(entry int64, hash [sha256.Size]byte) {
	for _, one := range c.byHash[hash] {
		if one.card != nil && hex.EncodeToString(hash[:]) == one.SHA256 {
			one.card = nil // the model itself was released
		}
		if one.entries++; one.entries == 1 {
			one.Entry, one.Run = entry, c.runs[entry]
		}
	}
}

func (c *checks) verify(g *shell.Globals, path string, head ledger.Head, signed *signedBy) error {
	f, known, err := shell.OpenLedgerFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	known.Given = head
	opt := ledger.VerifyOptions{Heads: known.Of, Entry: c.entry, Outcome: c.commit}
	if signed != nil {
		opt.Signature, opt.PublicKey = &signed.signature, signed.key
	}
	sum, err := ledger.Verify(f, opt)
	if signed != nil {
		err = signed.refusal(err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r, err := newReport(g, path, sum, shell.HeadNames(known))
	if err == nil {
		err = c.finish(r, signed)
	}
	if err == nil {
		err = r.write(g, c)
	}
	if err != nil {
		return err
	}
	return c.failure()
}

func (c *checks) finish(r report, signed *signedBy) error {
	whole := []*check{{Check: "chain", Result: isRight, Path: r.path, Says: fmt.Sprintf("%d lines", r.Head.Lines)},
		{Check: "claim", Result: isRight, Says: "every epsilon recomputed"},
		{Check: "head", Result: map[bool]string{true: isRight, false: absent}[len(r.checked) > 0], Says: r.heads()}}
	facts := aboutBeside(r.path)
	for _, one := range c.list {
		if one.Check == "copy" && facts == nil { // the facts may be beside a copy of the ledger
			facts = aboutBeside(one.Path)
		}
	}
	for _, one := range c.list {
		switch one.Check {
		case "labels", "model":
			c.released(r, one)
		case "statement", "registry":
			if err := one.readStatement(r.path, facts); err != nil {
				return err
			}
		}
	}
	if signed != nil {
		c.list = slices.DeleteFunc(c.list, func(one *check) bool { return one.Check == "signature" })
		c.list = append(c.list, &check{Check: "signature", Result: isRight, Path: signed.path, Lines: signed.signature.Lines,
			Says: signed.words(r.Head.Lines)})
	}
	for _, kind := range []string{"copy", "labels", "model", "report", "statement", "registry", "signature", "keys"} {
		n := len(whole)
		for _, one := range c.list {
			if one.Check == kind {
				whole = append(whole, one)
			}
		}
		if len(whole) == n && kind != "copy" && kind != "report" {
			whole = append(whole, &check{Check: kind, Result: absent})
		}
	}
	c.list = whole
	return nil
}

func (c *checks) released(r report, one *check) {
	entry := fmt.Sprintf("entry %d", one.Entry)
	if one.entries > 1 {
		entry = fmt.Sprintf("entry %d and %d more entries", one.Entry, one.entries-1)
	}
	if one.Run != "" {
		entry += " (" + runName(one.Run) + ")"
	}
	switch {
	case one.entries > 0 && one.card == nil:
		one.Result, one.Says = isRight, entry+" released this file, byte for byte"
	case one.entries > 0 && r.agrees(one.card):
		one.Result, one.Says = isRight, "it names the labels of "+entry+" as its own; the training is not checked"
	case one.entries > 0:
		one.Result, one.Says = isWrong, "unit, delta or epsilon in the model differ from the ledger"
	default:
		one.Result = isWrong
		one.Says = "no entry of this ledger records the release of the file, so the file was changed or belongs to another ledger"
	}
}

func (r report) agrees(card *published.Card) bool {
	p, c := card.Labels, r.Config
	return p.Unit == c.Unit && p.Relation == c.Relation.String() && p.Delta == c.Delta && p.Epsilon <= r.claim*(1+1e-9) &&
		(!p.Releasable || c.Releasable())
}

func (one *check) readStatement(ledgerPath string, facts *statement.About) error {
	page, err := durable.OpenRegular(one.Path)
	if err != nil {
		return shell.InputError(fmt.Errorf("--statement %s: %w", one.Path, err), "the file is compared with the ledger",
			"check its name", "ledger")
	}
	defer page.Close()
	found, err := statement.Check(page, func() (io.ReadCloser, error) { return durable.OpenRegular(ledgerPath) })
	one.Result = isWrong
	switch {
	case errors.Is(err, statement.ErrPage):
		one.Says = strings.TrimPrefix(err.Error(), statement.ErrPage.Error()+": ")
		return nil
	case err != nil:
		return err
	case facts != nil && found.About != nil && *facts != *found.About:
		one.Says = "its facts about the data differ from " + aboutName + " beside the ledger"
		return nil
	}
	one.Result, one.Lines = isRight, found.Lines
	one.Says = fmt.Sprintf("written again from this ledger, it is the same (line %d)", found.Lines)
	switch {
	case found.Ledgers > 1:
		one.Says = fmt.Sprintf("unchanged, and agrees with this ledger at line %d; verify all %d ledgers of the statement",
			found.Lines, found.Ledgers)
	case !found.Rewritten:
		one.Says = fmt.Sprintf("digest, head (line %d) and epsilon are right; pate %s wrote it, and this version uses other words",
			found.Lines, statement.Plain(found.Program.String()))
	}
	return nil
}

func (r report) write(g *shell.Globals, c *checks) error {
	head := ""
	if r.Head.Lines > 0 {
		head = fmt.Sprintf("head %d:%s\n", r.Head.Lines, r.Head.Hash)
	}
	if g.ParsedFormat() != table.Text {
		return g.Print(r.object("pate.verify/1", "whole", true, "checks", c.list), func(table.Format) table.Table { return c.table() })
	}
	fmt.Fprintf(g.Stdout, "%s: %s%s\n", table.Printable(cmp.Or(strings.TrimSuffix(c.folder, "/"), r.path)), r.heading(), r.footing())
	for _, one := range c.list {
		text := one.Says
		if one.Path != "" {
			text = strings.TrimSuffix(table.Printable(strings.TrimPrefix(one.Path, c.folder))+": "+text, ": ")
		}
		name := fmt.Sprintf("%-10s %-11s ", one.Check, one.Result)
		for i, line := range shell.Folded(text, shell.Columns-len(name)) {
			if i > 0 {
				name = strings.Repeat(" ", len(name))
			}
			fmt.Fprintln(g.Stdout, name+line)
			name = strings.Repeat(" ", len(name))
		}
		if text == "" {
			fmt.Fprintln(g.Stdout, strings.TrimRight(name, " "))
		}
	}
	if c := r.Claimed.Again; c != nil {
		fmt.Fprintln(g.Stdout, statement.OfSeal(r.Summary))
	}
	_, err := fmt.Fprint(g.Stdout, head)
	return err
}

func (c *checks) table() table.Table {
	t := shell.TableOf("<check", "<result", "<file", "entry", "<sha256", "<says")
	for _, one := range c.list {
		entry := ""
		if one.Entry > 0 {
			entry = strconv.FormatInt(one.Entry, 10)
		}
		t.Rows = append(t.Rows, []string{one.Check, one.Result, one.Path, entry, one.SHA256, one.Says})
	}
	return t
}

func (c *checks) failure() error {
	i := slices.IndexFunc(c.list, func(one *check) bool { return one.Result == isWrong })
	if i < 0 {
		return nil
	}
	one := c.list[i]
	return &shell.CommandError{Code: shell.ExitCheckFailed, What: fmt.Errorf("%s does not belong to this ledger", cmp.Or(one.Path, one.Check)),
		Why: "the ledger is intact; " + one.Says, Fix: "give the unchanged file, or give the ledger to which the file belongs", Topic: "ledger"}
}
