package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	protocol "github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers"
)

func TestExitCodesAreAContract(t *testing.T) {
	dir := t.TempDir()
	ragged := filepath.Join(dir, "ragged.csv")
	require.NoError(t, os.WriteFile(ragged, []byte("1,2,a\n1,b\n"), 0o600))
	tiny := filepath.Join(dir, "tiny.csv")
	var rows strings.Builder
	for i := range 400 {
		fmt.Fprintf(&rows, "%d,%d,%c\n", i, i%7, 'a'+i%2)
	}
	require.NoError(t, os.WriteFile(tiny, []byte(rows.String()), 0o600))
	never := filepath.Join(dir, "never")
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"help":             {[]string{"--help"}, shell.ExitDone},
		"no command":       {[]string{}, shell.ExitDone},
		"topic":            {[]string{"help", "privacy"}, shell.ExitDone},
		"unknown command":  {[]string{"conjure"}, shell.ExitUsage},
		"unknown flag":     {[]string{"compare", "--magic"}, shell.ExitUsage},
		"unknown format":   {[]string{"compare", "--format", "yaml"}, shell.ExitUsage},
		"bad delta":        {[]string{"compare", "--delta", "2"}, shell.ExitUsage},
		"NaN delta":        {[]string{"compare", "--delta", "NaN"}, shell.ExitUsage},
		"bad split":        {[]string{"compare", "--split", "magic"}, shell.ExitUsage},
		"bad epsilon":      {[]string{"compare", "--data", tiny, "--header", "no", "--label", "3", "--epsilon", "-1", "--delta", "1e-4", "--out", never}, shell.ExitUsage},
		"bad method":       {[]string{"compare", "--data", tiny, "--header", "no", "--label", "3", "--methods", "magic", "--delta", "1e-4", "--out", never}, shell.ExitUsage},
		"epsilon inf":      {[]string{"compare", "--data", tiny, "--header", "no", "--label", "3", "--epsilon", "inf", "--delta", "1e-4", "--out", never}, shell.ExitUsage},
		"hog of a table":   {[]string{"compare", "--data", tiny, "--header", "no", "--label", "3", "--features", "hog", "--delta", "1e-4", "--out", never}, shell.ExitUsage},
		"ragged rows":      {[]string{"compare", "--data", ragged, "--header", "no", "--label", "3"}, shell.ExitInvalidInput},
		"missing data":     {[]string{"compare", "--data", filepath.Join(dir, "nowhere")}, shell.ExitInvalidInput},
		"no label":         {[]string{"compare", "--data", tiny, "--header", "no", "--delta", "1e-4", "--out", never}, shell.ExitInvalidInput},
		"delta of 1/n":     {[]string{"compare", "--data", tiny, "--header", "no", "--label", "3", "--delta", "0.01"}, shell.ExitInvalidInput},
		"header?":          {[]string{"compare", "--data", tiny, "--delta", "1e-4", "--out", never}, shell.ExitInvalidInput},
		"separator":        {[]string{"compare", "--data", tiny, "--header", "no", "--label", "3", "--separator", "ab", "--out", never}, shell.ExitUsage},
		"classes":          {[]string{"compare", "--data", tiny, "--header", "no", "--label", "3", "--classes", "1", "--out", never}, shell.ExitUsage},
		"two of classes":   {[]string{"compare", "--data", tiny, "--header", "no", "--label", "3", "--classes", "3", "--class-names", "a,b", "--out", never}, shell.ExitUsage},
		"class twice":      {[]string{"compare", "--data", tiny, "--header", "no", "--label", "3", "--class-names", "a,b,a", "--out", never}, shell.ExitUsage},
		"other label":      {[]string{"compare", "--data", tiny, "--header", "no", "--label", "3", "--class-names", "a,c", "--delta", "1e-4", "--out", never}, shell.ExitInvalidInput},
		"kind":             {[]string{"compare", "--data", tiny, "--header", "no", "--label", "3", "--kind", "table", "--out", never}, shell.ExitUsage},
		"kind of a table":  {[]string{"compare", "--data", tiny, "--header", "no", "--label", "3", "--kind", "pictures", "--out", never}, shell.ExitInvalidInput},
		"classes of mnist": {[]string{"compare", "--data", "mnist", "--classes", "10"}, shell.ExitInvalidInput},
		"columns of mnist": {[]string{"compare", "--data", "mnist", "--label", "x"}, shell.ExitInvalidInput},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(context.Background(), c.args, strings.NewReader(""), &out, &errs)
			require.Equal(t, c.code, code, "stdout:\n%s\nstderr:\n%s", &out, &errs)
			if code != shell.ExitDone {
				require.Empty(t, out.String(), "an error writes nothing to stdout")
				require.NoDirExists(t, never, "a bad call writes nothing")
				require.LessOrEqual(t, strings.Count(errs.String(), "\n"), 4, "an error is four short lines:\n%s", &errs)
			}
		})
	}
}

func TestAnInterruptedCommandSaysSoAndCanBeRepeated(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	code := run(ctx, []string{"compare", "--quick", "--out", filepath.Join(t.TempDir(), "run")}, strings.NewReader(""), &out, &errs)
	require.Equal(t, shell.ExitInterrupted, code)
	require.Contains(t, errs.String(), "interrupted")
	require.Contains(t, errs.String(), "run the same command again")
}

func TestErrorsOfARunHaveCodesOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{fmt.Errorf("x: %w", context.Canceled), shell.ExitInterrupted},
		{fmt.Errorf("x: %w", &ledger.BudgetError{Epsilon: 3, Budget: 2}), shell.ExitOverBudget},
		{fmt.Errorf("x: %w", protocol.ErrOtherRun), shell.ExitInvalidInput},
		{fmt.Errorf("x: %w", teachers.ErrForeignCheckpoint), shell.ExitInvalidInput},
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

func TestHelpOpensWithExamplesAndSaysThemOnce(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"compare", "--help"}, {"account", "--help"}} {
		var out bytes.Buffer
		require.Equal(t, shell.ExitDone, run(context.Background(), args, strings.NewReader(""), &out, &out))
		require.True(t, strings.HasPrefix(out.String(), "Examples:\n"), out.String())
		require.Equal(t, 1, strings.Count(out.String(), "Examples:"))
	}
}

// A command that waits for its standard input ends when it is interrupted, and leaves nothing.
func TestWaitingForInputIsInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"account", "-"},
		{"check", "-", "--classes", "3"},
		{"label", "-", "--classes", "3", "--epsilon", "2", "--ledger", "run.jsonl", "--out", "labels.csv", "--yes"},
		{"check", "hash-ids", "-", "--salt", "salt.key", "--new-salt", "--silo", "a", "--unit", "id", "--out", "a.json"},
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
