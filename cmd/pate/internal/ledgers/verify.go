package ledgers

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/run"
)

func newLedgerVerify(g *shell.Globals) *cobra.Command {
	var head, signature, publicKey string
	var files fileFlags
	cmd := ofLedger("verify LEDGER", "", shell.Wants(cobra.ExactArgs(1), nil), func(cmd *cobra.Command, args []string) error {
		var kept ledger.Head
		var err error
		if head != "" {
			if kept, err = run.ParseHead(head); err != nil {
				return shell.Usagef("ledger", "--head %s: must have the form LINES:HASH, which `pate ledger verify` prints", head)
			}
		}
		given := cmd.Flags().Changed("signature") // even if it is ""
		if given != cmd.Flags().Changed("public-key") {
			return shell.Usagef("ledger",
				"give --signature and --public-key together: a signature is checked with the public key of its signer")
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
	})
	shell.Declare(cmd.Flags(), "verify", shell.To{"labels": &files.labels, "model": &files.models, "statement": &files.statements,
		"head": &head, "signature": &signature, "public-key": &publicKey})
	return cmd
}

// verifyLedger verifies a ledger and the released files. If the argument signed is not nil, it also verifies
// the ledger's signature.
func verifyLedger(g *shell.Globals, path string, head ledger.Head, signed *signedBy, files *released) error {
	f, known, err := shell.OpenLedgerFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	known.Given = head
	opt := ledger.VerifyOptions{Heads: known.Of, Entry: files.entry, Outcome: files.commit}
	if signed != nil {
		opt.Signature, opt.PublicKey = &signed.signature, signed.key
	}
	sum, err := ledger.Verify(f, opt)
	if signed != nil {
		err = signed.refusal(err)
	}
	if err == nil {
		err = files.finish(path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r, err := newReport(g, path, sum, shell.HeadNames(known))
	if err != nil {
		return err
	}
	if err := r.write(g, signed, files); err != nil {
		return err
	}
	return files.failure()
}

func (r report) write(g *shell.Globals, signed *signedBy, files *released) error {
	if g.ParsedFormat() == table.Text {
		fmt.Fprintf(g.Stdout, "%s is whole: %d lines, every epsilon recomputed\n%s", table.Printable(r.path), r.Head.Lines, r.heading())
		if signed != nil {
			r.checked = append(r.checked, "signed")
		}
		fmt.Fprint(g.Stdout, r.footing())
		if r.Claimed.Again != nil {
			fmt.Fprintln(g.Stdout, statement.OfSeal(r.Summary))
		}
		if r.Head.Lines > 0 {
			fmt.Fprintf(g.Stdout, "head %d:%s\n", r.Head.Lines, r.Head.Hash)
		}
		if signed != nil {
			fmt.Fprint(g.Stdout, signed.words(r.Head.Lines))
		}
		_, err := fmt.Fprint(g.Stdout, files.words())
		return err
	}
	schema, further := "pate.ledger-verify/1", []any(nil)
	if signed != nil {
		r.checked = append(r.checked, "signed")
		further = []any{"signature", shell.Object{"valid", true, "lines", signed.signature.Lines}} // number of lines when it was signed
	}
	if len(files.files) > 0 {
		schema, further = "pate.verify/1", append(further, "whole", true, "files", files.files)
	}
	return g.Print(r.object(schema, further...), func(format table.Format) table.Table {
		if len(files.files) > 0 {
			return files.table()
		}
		exact := format == table.CSV
		t := shell.TableOf("lines", "entries", "committed", "<mode", "budget", "spent", "claim", "delta", "<head", "<releasable")
		t.Rows = [][]string{{strconv.FormatInt(r.Head.Lines, 10), strconv.FormatInt(r.Entries, 10), strconv.FormatInt(r.Commits, 10),
			r.Config.Mode.String(), shell.FormatUp(r.Config.Epsilon, exact), shell.FormatUp(r.Epsilon, exact),
			shell.FormatUp(r.claim, exact),
			number.Exact(r.Config.Delta), fmt.Sprintf("%d:%s", r.Head.Lines, r.Head.Hash), r.releasable()}}
		return t
	})
}

type fileFlags struct {
	labels, models, statements []string
}

type fileReport struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"` // labels, model or statement
	Entry   int64  `json:"entry,omitempty"`
	Entries int64  `json:"entries,omitempty"` // number of entries that released the file, if several; Entry is the first
	Run     string `json:"run,omitempty"`
	SHA256  string `json:"sha256"`
	Matches bool   `json:"matches"`
	Says    string `json:"says"`            // one sentence
	Lines   int64  `json:"lines,omitempty"` // for a statement, number of ledger lines when it was written
}

type released struct {
	files  []*fileReport
	byHash map[[sha256.Size]byte][]*fileReport
	runs   map[int64]string
}

func (f fileFlags) read() (*released, error) {
	r := &released{byHash: map[[sha256.Size]byte][]*fileReport{}, runs: map[int64]string{}}
	for _, group := range []struct {
		kind  string
		paths []string
	}{{"labels", f.labels}, {"model", f.models}, {"statement", f.statements}} {
		for _, path := range group.paths {
			sum, err := shell.HashFile(path)
			if err != nil {
				return nil, shell.InputError(fmt.Errorf("--%s %s: %w", group.kind, path, err),
					"the file is compared with the entries of the ledger", "check its name", "ledger")
			}
			file := &fileReport{Path: path, Kind: group.kind, SHA256: hex.EncodeToString(sum[:])}
			r.files = append(r.files, file)
			if group.kind == "statement" {
				continue
			}
			r.byHash[sum] = append(r.byHash[sum], file)
		}
	}
	return r, nil
}

func (r *released) entry(e ledger.Entry) error {
	if e.Run != "" {
		r.runs[e.Number] = e.Run
	}
	return nil
}

func (r *released) commit(entry int64, hash [sha256.Size]byte) {
	for _, file := range r.byHash[hash] {
		if file.Entries++; file.Entries == 1 {
			file.Entry, file.Run, file.Matches = entry, r.runs[entry], true
		}
	}
}

func (r *released) finish(ledgerPath string) error {
	for _, file := range r.files {
		switch {
		case file.Kind == "statement":
			if err := file.readStatement(ledgerPath); err != nil {
				return err
			}
		case !file.Matches:
			file.Says = "no entry of this ledger records the release of the file, so the file was changed or belongs to another ledger"
		default:
			file.Says = fmt.Sprintf("entry %d released this file, byte for byte", file.Entry)
			if file.Entries > 1 {
				file.Says = fmt.Sprintf("entry %d and %d more entries released this file, byte for byte", file.Entry, file.Entries-1)
			}
		}
		if file.Entries == 1 {
			file.Entries = 0
		}
	}
	return nil
}

func (f *fileReport) readStatement(ledgerPath string) error {
	page, err := durable.OpenRegular(f.Path)
	if err != nil {
		return shell.InputError(fmt.Errorf("--statement %s: %w", f.Path, err), "the file is compared with the ledger",
			"check its name", "ledger")
	}
	defer page.Close()
	found, err := statement.Check(page, func() (io.ReadCloser, error) { return durable.OpenRegular(ledgerPath) })
	switch {
	case errors.Is(err, statement.ErrPage):
		f.Says = strings.TrimPrefix(err.Error(), statement.ErrPage.Error()+": ")
		return nil
	case err != nil:
		return err
	}
	f.Matches, f.Lines = true, found.Lines
	f.Says = fmt.Sprintf("the statement agrees with this ledger at line %d", found.Lines)
	switch {
	case found.Ledgers > 1:
		f.Says = fmt.Sprintf("the statement is unchanged and agrees with this ledger at line %[2]d; verify all %[1]d ledgers of the statement",
			found.Ledgers,
			found.Lines)
	case !found.Rewritten:
		f.Says = fmt.Sprintf("digest, head (line %d) and epsilon of the statement are right; pate %s wrote it, and this version uses other "+
			"words", found.Lines, statement.Plain(found.Program.String()))
	}
	return nil
}

func (r *released) words() string {
	var b strings.Builder
	for _, file := range r.files {
		result := "matches"
		if !file.Matches {
			result = "DOES NOT MATCH"
		}
		fmt.Fprintf(&b, "%s %s\n  %s: %s\n", file.Kind, table.Printable(file.Path), result, file.Says)
		if file.Run != "" {
			fmt.Fprintf(&b, "  run %s\n", runName(file.Run))
		}
	}
	return b.String()
}

func (r *released) table() table.Table {
	t := shell.TableOf("<file", "<kind", "entry", "<matches", "<sha256", "<says")
	for _, file := range r.files {
		entry := ""
		if file.Entry > 0 {
			entry = strconv.FormatInt(file.Entry, 10)
		}
		t.Rows = append(t.Rows, []string{file.Path, file.Kind, entry, strconv.FormatBool(file.Matches), file.SHA256, file.Says})
	}
	return t
}

func (r *released) failure() error {
	var bad []string
	why := ""
	for _, file := range r.files {
		if !file.Matches {
			bad, why = append(bad, file.Path), file.Says
		}
	}
	switch len(bad) {
	case 0:
		return nil
	case 1:
		bad[0] += " does not"
	default:
		bad[len(bad)-1] += " do not"
		why = "the ledger has no entry for these files"
	}
	return &shell.CommandError{Code: shell.ExitCheckFailed, What: fmt.Errorf("%s belong to this ledger", strings.Join(bad, ", ")),
		Why: "the ledger is intact; " + why,
		Fix: "give the unchanged file, or give the ledger to which the file belongs", Topic: "ledger"}
}
