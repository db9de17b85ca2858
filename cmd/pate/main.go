// Command pate labels public data with the knowledge in private data,
// privately, beside DP-SGD and under one accountant. See `pate --help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command line and returns its exit code.
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
