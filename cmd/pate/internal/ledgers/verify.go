package ledgers

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/run"
)

func newLedgerVerify(g *shell.Globals) *cobra.Command {
	var head, signature, publicKey string
	var files fileFlags
	cmd := &cobra.Command{
		Use:  "verify LEDGER",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kept, err := parseHead(head)
			if err != nil {
				return shell.UsageError("ledger", err)
			}
			given := cmd.Flags().Changed("signature") // also as ""
			if given != cmd.Flags().Changed("public-key") {
				return shell.UsageError("ledger", errors.New("--signature and --public-key go together: a signature is checked with the key "+
					"of a signer you know"))
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
	cmd.Flags().StringArrayVar(&files.statements, "statement", nil, "page of pate ledger statement; may be given more than once")
	cmd.Flags().StringVar(&head, "head", "", "LINES:HASH that the ledger once had")
	cmd.Flags().StringVar(&signature, "signature", "", "file that pate ledger sign wrote")
	cmd.Flags().StringVar(&publicKey, "public-key", "", "PEM file of the signer's public key")
	takesLedger(cmd)
	shell.Complete(cmd, map[string]shell.Values{
		"labels": shell.Files("csv", "jsonl", "npy", "parquet", "json"), "model": shell.Files("model"), "statement": shell.Files("html",
			"md", "json"), "head": shell.Anything(),
		"signature": shell.Files("sig"), "public-key": shell.Files("pem", "pub"),
	})
	return cmd
}

func parseHead(text string) (ledger.Head, error) {
	if text == "" {
		return ledger.Head{}, nil
	}
	head, err := run.ParseHead(text)
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
	if err := reportVerified(g, path, sum, shell.HeadNames(known), signed, files); err != nil {
		return err
	}
	return files.failure()
}

// reportVerified prints a verified ledger.
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
		fmt.Fprintf(g.Stdout, "%s is whole: %d lines, every epsilon recomputed\n", table.Printable(path), report.Lines)
		fmt.Fprint(g.Stdout, ledgerHeading(report)[:len(ledgerHeading(report))-1])
		fmt.Fprint(g.Stdout, strings.TrimPrefix(ledgerFooting(report), "\n"))
		if report.Recomputed != nil {
			fmt.Fprint(g.Stdout, report.Recomputed.words)
		}
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
			report.Mode.String(), shell.FormatUp(report.Budget, exact), shell.FormatUp(report.Spent,
				exact), shell.FormatUp(float64(report.Claim), exact),
			strconv.FormatFloat(report.Delta, 'g', -1, 64), fmt.Sprintf("%d:%s", report.Head.Lines, report.Head.Hash), report.releasable()}},
	}.Write(g.Stdout, format)
}
