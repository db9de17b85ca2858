package ledgers

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/run"
)

func newLedgerVerify(g *shell.Globals) *cobra.Command {
	var head, signature, publicKey string
	var files fileFlags
	cmd := &cobra.Command{
		Use: "verify LEDGER",
		RunE: func(cmd *cobra.Command, args []string) error {
			var kept ledger.Head
			var err error
			if head != "" {
				if kept, err = run.ParseHead(head); err != nil {
					return shell.Usagef("ledger", "--head %s: must be LINES:HASH as `pate ledger verify` prints it", head)
				}
			}
			given := cmd.Flags().Changed("signature") // also as ""
			if given != cmd.Flags().Changed("public-key") {
				return shell.Usagef("ledger",
					"--signature and --public-key go together: a signature is checked with the key of a signer you know")
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
	shell.Declare(cmd.Flags(), "verify", shell.To{"labels": &files.labels, "model": &files.models, "statement": &files.statements,
		"head": &head, "signature": &signature, "public-key": &publicKey})
	takesLedger(cmd)
	return cmd
}

// verifyLedger verifies a ledger, that it is signed, unless signed is nil, and what files
// are to it.
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

// write prints a verified ledger.
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
		further = []any{"signature", shell.Object{"valid", true, "lines", signed.signature.Lines}} // when it was signed
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
