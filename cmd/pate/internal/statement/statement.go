package statement

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/table"
)

func New(g *shell.Globals) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "statement LEDGER",
		Short: "The one-page privacy statement of a run",
		Long: `The one-page privacy statement of a run, from its ledger alone: what is protected,
how strongly, what that means, by which mechanisms, what was charged and what was
not, what has to be trusted, how to verify it. The ledger is verified first, and
compared with the head that is kept beside it; see pate ledger verify.

On the terminal it is Markdown, or JSON with --format json. With --out the ending of
the file decides: .md, .html or .json.`,
		Example: `  pate statement run.jsonl
  pate statement run.jsonl --out statement.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			write, err := statementWriter(g, out)
			if err != nil {
				return shell.UsageError("ledger", err)
			}
			file := shell.Target{Flag: "--out", Path: out, Topic: "ledger"}
			if out != "" {
				if err := file.Replaceable(args[0]); err != nil {
					return err
				}
			}
			f, known, err := shell.OpenLedgerFile(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			s, err := statement.NewKept(filepath.Base(args[0]), f, known.Kept(ledger.Head{}))
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			compared := len(shell.Checked(known, ledger.Head{})) > 0
			s.Compared = &compared
			if out == "" {
				return write(s, g.Stdout)
			}
			if err := durable.WriteFile(out, 0o644, func(w io.Writer) error { return write(s, w) }); err != nil {
				return err
			}
			g.Logf("pate: wrote %s", out)
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write to this .md, .html or .json file")
	return cmd
}

// statementWriter is how a statement is to be written.
func statementWriter(g *shell.Globals, out string) (func(*statement.Statement, io.Writer) error, error) {
	if out != "" {
		switch strings.ToLower(filepath.Ext(out)) {
		case ".md":
			return (*statement.Statement).WriteMarkdown, nil
		case ".html":
			return (*statement.Statement).WriteHTML, nil
		case ".json":
			return (*statement.Statement).WriteJSON, nil
		}
		return nil, fmt.Errorf("--out %s: must end in .md, .html or .json", out)
	}
	switch g.ParsedFormat() {
	case table.Text, table.Markdown:
		return (*statement.Statement).WriteMarkdown, nil
	case table.JSON:
		return (*statement.Statement).WriteJSON, nil
	}
	return nil, errors.New("--format: a statement is table (Markdown), md or json; --out takes .html too")
}
