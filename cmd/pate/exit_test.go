package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	protocol "github.com/pate-go/pate/run"
)

func TestAnInterruptedCommandSaysSoAndCanBeRepeated(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	preparedFolder(t)
	for _, line := range []string{"compare --data blobs.csv --label kind --delta 1e-4 --out run", "audit"} {
		code, said := command(ctx, strings.Fields(line))
		require.Equal(t, shell.ExitInterrupted, code)
		require.Contains(t, said, "interrupted")
		require.Contains(t, said, "run the same command again")
	}
}

func TestErrorsOfARunHaveCodesOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{fmt.Errorf("x: %w", context.Canceled), shell.ExitInterrupted},
		{fmt.Errorf("x: %w", &ledger.BudgetError{Epsilon: 3, Budget: 2}), shell.ExitOverBudget},
		{fmt.Errorf("x: %w", protocol.ErrOtherRun), shell.ExitInvalidInput},
		{fmt.Errorf("x: %w", ledger.ErrOtherConfig), shell.ExitInvalidInput},
		{fmt.Errorf("x: %w", ledger.ErrCorrupt), shell.ExitCheckFailed},
		{fmt.Errorf("x: %w", ledger.ErrSealed), shell.ExitInvalidInput},
		{fmt.Errorf("x: %w", ledger.ErrBroken), shell.ExitFailure},
		{errors.New("x"), shell.ExitFailure},
	} {
		code, text := shell.Explain("pate", c.err)
		require.Equal(t, c.code, code)
		require.True(t, strings.HasPrefix(text, "pate: "), text)
	}
}

// A command that waits for its standard input ends when it is interrupted, and leaves nothing.
func TestWaitingForInputIsInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"account", "-"},
		{"votes", "check", "-", "--classes", "3"},
		{"label", "-", "--classes", "3", "--epsilon", "2", "--ledger", "run.jsonl", "--out", "labels.csv", "--yes"},
		{"votes", "check", "hash-ids", "-", "--salt", "salt.key", "--new-salt", "--silo", "a", "--unit", "id", "--out", "a.json"},
	} {
		silent, _ := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		var out, errs bytes.Buffer
		require.Equal(t, shell.ExitInterrupted, run(ctx, args, silent, &out, &errs), "%q: %s", args, &errs)
		require.Empty(t, out.String(), "%q", args)
		require.True(t, strings.HasPrefix(errs.String(), "pate: interrupted\n") || strings.Contains(errs.String(), "\npate: interrupted\n"), "%q: %s", args, &errs)
	}
	require.NoFileExists(t, "run.jsonl")
	require.NoFileExists(t, "labels.csv")
	require.NoFileExists(t, "a.json")
}
