// Command pate labels public data with the votes of private teachers (PATE), or trains a model on private
// data (DP-SGD). See `pate --help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/account"
	"github.com/pate-go/pate/cmd/pate/internal/analyze"
	"github.com/pate-go/pate/cmd/pate/internal/audit"
	"github.com/pate-go/pate/cmd/pate/internal/calibrate"
	"github.com/pate-go/pate/cmd/pate/internal/check"
	"github.com/pate-go/pate/cmd/pate/internal/compare"
	"github.com/pate-go/pate/cmd/pate/internal/counts"
	"github.com/pate-go/pate/cmd/pate/internal/dpsgd"
	"github.com/pate-go/pate/cmd/pate/internal/explain"
	"github.com/pate-go/pate/cmd/pate/internal/label"
	"github.com/pate-go/pate/cmd/pate/internal/law"
	"github.com/pate-go/pate/cmd/pate/internal/learn"
	"github.com/pate-go/pate/cmd/pate/internal/ledgers"
	"github.com/pate-go/pate/cmd/pate/internal/man"
	"github.com/pate-go/pate/cmd/pate/internal/nearest"
	"github.com/pate-go/pate/cmd/pate/internal/plan"
	"github.com/pate-go/pate/cmd/pate/internal/predict"
	"github.com/pate-go/pate/cmd/pate/internal/publish"
	"github.com/pate-go/pate/cmd/pate/internal/serve"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/cmd/pate/internal/sql"
	"github.com/pate-go/pate/cmd/pate/internal/student"
	"github.com/pate-go/pate/cmd/pate/internal/train"
	"github.com/pate-go/pate/internal/buildinfo"
	"github.com/pate-go/pate/internal/table"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	g := &shell.Globals{Stdout: stdout, Stderr: stderr}
	root := newRootCommand(g)
	root.SetArgs(args)
	in := shell.NewInput(ctx, stdin)
	root.SetIn(in)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return shell.ExitDone
	}
	if in.Cut() {
		err = ctx.Err()
	}
	if !g.Started && !errors.As(err, new(*shell.CommandError)) {
		err = shell.UsageError("", shell.ArgumentError(cmd, err))
	}
	code, text := shell.Explain(cmd.CommandPath(), err)
	fmt.Fprint(stderr, text)
	return code
}

func init() { cobra.EnableCommandSorting = false } // help lists commands in the order of use

func newRootCommand(g *shell.Globals) *cobra.Command {
	root := &cobra.Command{
		Use:           "pate",
		Short:         "Label public data or train models with differential privacy, by PATE or DP-SGD",
		Args:          shell.SuggestCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Name() == cobra.ShellCompRequestCmd {
				shell.CompleteAll(cmd.Root())
			}
			g.Seeded = cmd.Flags().Changed("seed")
			if err := shell.CheckValues(cmd); err != nil {
				return err
			}
			if !(g.Delta > 0 && g.Delta < 1) {
				return shell.UsageError("privacy", fmt.Errorf("--delta %v: must lie strictly between 0 and 1", g.Delta))
			}
			g.Started = true
			g.WarnOfBudgets(cmd)
			return nil
		},
	}
	shell.UseOwnHelpCommand(root)
	root.SetFlagErrorFunc(shell.SuggestFlag)
	root.Version = buildinfo.Read().String()
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Release", []*cobra.Command{publish.New(g), label.New(g), serve.New(g), train.New(g), student.New(g), dpsgd.New(g), predict.New(g)}},
		{"Decide", []*cobra.Command{compare.New(g), plan.New(g)}},
		{"Account", []*cobra.Command{account.New(g), calibrate.New(g), ledgers.New(g), ledgers.NewVerify(g), audit.New(g)}},
		{"Votes", []*cobra.Command{shell.Parent("votes", "votes", check.New(g), counts.New(g), nearest.New(g),
			train.NewMerge(g), sql.New(g), analyze.New(g))}},
		{"Teach", []*cobra.Command{learn.New(g, explain.New(g), law.New(g))}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, c := range group.commands {
			c.GroupID = group.title
			root.AddCommand(c)
		}
	}
	root.AddCommand(newVersionCommand(g), man.New(g))
	shell.Describe(root)
	g.AddTo(root)
	return root
}

func newVersionCommand(g *shell.Globals) *cobra.Command {
	return shell.Command("version", "seed delta", cobra.NoArgs, func(*cobra.Command, []string) error {
		info := buildinfo.Read()
		if g.ParsedFormat() == table.JSON {
			return shell.WriteJSON(g.Stdout, struct {
				Schema string `json:"schema"`
				buildinfo.Info
			}{"pate.version/1", info})
		}
		_, err := fmt.Fprintf(g.Stdout, "pate %s\n%s %s\n", info, info.Go, info.Platform)
		return err
	})
}
