package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/experiments"
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
		"help":             {[]string{"--help"}, exitDone},
		"no command":       {nil, exitDone},
		"topic":            {[]string{"help", "privacy"}, exitDone},
		"unknown command":  {[]string{"conjure"}, exitUsage},
		"unknown flag":     {[]string{"compare", "--magic"}, exitUsage},
		"unknown format":   {[]string{"compare", "--format", "yaml"}, exitUsage},
		"bad delta":        {[]string{"compare", "--delta", "2"}, exitUsage},
		"NaN delta":        {[]string{"compare", "--delta", "NaN"}, exitUsage},
		"bad split":        {[]string{"compare", "--split", "magic"}, exitUsage},
		"bad epsilon":      {[]string{"compare", "--data", tiny, "--header", "no", "--epsilon", "-1", "--delta", "1e-4", "--out", never}, exitUsage},
		"bad method":       {[]string{"compare", "--data", tiny, "--header", "no", "--methods", "magic", "--delta", "1e-4", "--out", never}, exitUsage},
		"epsilon inf":      {[]string{"compare", "--data", tiny, "--header", "no", "--epsilon", "inf", "--delta", "1e-4", "--out", never}, exitUsage},
		"hog of a table":   {[]string{"compare", "--data", tiny, "--header", "no", "--features", "hog", "--delta", "1e-4", "--out", never}, exitUsage},
		"ragged rows":      {[]string{"compare", "--data", ragged, "--header", "no"}, exitInvalidInput},
		"missing data":     {[]string{"compare", "--data", filepath.Join(dir, "nowhere")}, exitInvalidInput},
		"delta of 1/n":     {[]string{"compare", "--data", tiny, "--header", "no", "--delta", "0.01"}, exitInvalidInput},
		"header?":          {[]string{"compare", "--data", tiny, "--delta", "1e-4", "--out", never}, exitInvalidInput},
		"separator":        {[]string{"compare", "--data", tiny, "--header", "no", "--separator", "ab", "--out", never}, exitUsage},
		"classes":          {[]string{"compare", "--data", tiny, "--header", "no", "--classes", "1", "--out", never}, exitUsage},
		"two of classes":   {[]string{"compare", "--data", tiny, "--header", "no", "--classes", "3", "--class-names", "a,b", "--out", never}, exitUsage},
		"class twice":      {[]string{"compare", "--data", tiny, "--header", "no", "--class-names", "a,b,a", "--out", never}, exitUsage},
		"other label":      {[]string{"compare", "--data", tiny, "--header", "no", "--class-names", "a,c", "--delta", "1e-4", "--out", never}, exitInvalidInput},
		"kind":             {[]string{"compare", "--data", tiny, "--header", "no", "--kind", "table", "--out", never}, exitUsage},
		"kind of a table":  {[]string{"compare", "--data", tiny, "--header", "no", "--kind", "pictures", "--out", never}, exitInvalidInput},
		"classes of mnist": {[]string{"compare", "--data", "mnist", "--classes", "10"}, exitInvalidInput},
		"columns of mnist": {[]string{"compare", "--data", "mnist", "--label", "x"}, exitInvalidInput},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(context.Background(), c.args, strings.NewReader(""), &out, &errs)
			require.Equal(t, c.code, code, "stdout:\n%s\nstderr:\n%s", &out, &errs)
			if code != exitDone {
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
	require.Equal(t, exitInterrupted, code)
	require.Contains(t, errs.String(), "interrupted")
	require.Contains(t, errs.String(), "run the same command again")
}

func TestErrorsOfARunHaveCodesOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{fmt.Errorf("x: %w", context.Canceled), exitInterrupted},
		{fmt.Errorf("x: %w", &ledger.BudgetError{Epsilon: 3, Budget: 2}), exitOverBudget},
		{fmt.Errorf("x: %w", experiments.ErrOtherRun), exitInvalidInput},
		{fmt.Errorf("x: %w", teachers.ErrForeignCheckpoint), exitInvalidInput},
		{fmt.Errorf("x: %w", ledger.ErrOtherConfig), exitInvalidInput},
		{fmt.Errorf("x: %w", ledger.ErrCorrupt), exitCheckFailed},
		{fmt.Errorf("x: %w", ledger.ErrSealed), exitInvalidInput},
		{fmt.Errorf("x: %w", ledger.ErrBroken), exitFailure},
		{errors.New("x"), exitFailure},
	} {
		code, text := explain("pate", c.err)
		require.Equal(t, c.code, code)
		require.True(t, strings.HasPrefix(text, "pate: "), text)
	}
}

func TestHelpOpensWithExamplesAndSaysThemOnce(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"compare", "--help"}, {"account", "--help"}} {
		var out bytes.Buffer
		require.Equal(t, exitDone, run(context.Background(), args, strings.NewReader(""), &out, &out))
		require.True(t, strings.HasPrefix(out.String(), "Examples:\n"), out.String())
		require.Equal(t, 1, strings.Count(out.String(), "Examples:"))
	}
}
