package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/testkit"
)

func blobs(rows int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("length,width,colour,who,kind\n")
	for i := range rows {
		class := i % 3
		fmt.Fprintf(&text, "%.2f,%.2f,%s,p%d,%c\n", 4*float64(class)+rnd.NormFloat64(), rnd.NormFloat64()-3*float64(class%2),
			[]string{"red", "blue"}[rnd.IntN(2)], i/4, 'a'+class)
	}
	return []byte(text.String())
}

func typed(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, code, run(context.Background(), args, strings.NewReader(""), &out, &errs), "%s\nstdout:\n%s\nstderr:\n%s", args, &out, &errs)
	return out.String(), errs.String()
}

// TestDPSGDRefusesALargeDeltaWhileItReads: the last line of the private rows is malformed, so another refusal came before it.
// Units in a column are counted only at the end, and so are rows of which some are dropped.
func TestDPSGDRefusesALargeDeltaWhileItReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	private, public := filepath.Join(dir, "private.csv"), filepath.Join(dir, "public.csv")
	require.NoError(t, os.WriteFile(private, append(blobs(66_000), "1\n"...), 0o600))
	require.NoError(t, os.WriteFile(public, blobs(300), 0o600))
	for more, want := range map[string]string{
		"--delta 1e-2 --drop who":                     "delta 0.01 must be below 1/n, and n, the number of private records, is at least 1/delta\n",
		"--delta 1e-5 --drop who":                     "row 66002 ",
		"--delta 1e-2 --unit who":                     "row 66002 ",
		"--delta 1e-2 --drop who --other-labels drop": "row 66002 ",
		"--delta 1e-2 --drop who --size 70":           "row 66002 ", // the declared number counts
	} {
		_, stderr := typed(t, shell.ExitInvalidInput, append([]string{"dpsgd", private, "--public", public, "--label", "kind"}, strings.Fields(more)...)...)
		require.Contains(t, stderr, want, more)
	}
}

func TestDPSGDGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	goesOn(t, "epsilon-2-run-0")
	// Of the other schemes this one keeps noise on disk; package dpsgd interrupts all of them.
	goesOn(t, "noise-9-run-0", "--noise-multiplier", "9", "--batch", "157.5", "--sampling", "cyclic", "--bands", "4", "--steps", "100")
}

func goesOn(t *testing.T, name string, more ...string) {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "blobs.csv")
	require.NoError(t, os.WriteFile(data, blobs(900), 0o600))
	args := func(out string) []string {
		return append([]string{"dpsgd", "--data", data, "--label", "kind", "--delta", "1e-4", "--seed", "5", "--steps", "400", "--out", filepath.Join(dir, out), "--format", "json"}, more...)
	}
	whole, _ := typed(t, shell.ExitDone, args("whole")...)
	interrupted := 0
	for attempt := 0; ; attempt++ {
		ctx, cancel := context.WithCancel(context.Background())
		watched := cancelAfter{cancel: cancel, file: filepath.Join(dir, "cut", "private", name, "checkpoint")}
		go watched.watch(ctx)
		var out, errs bytes.Buffer
		code := run(ctx, args("cut"), strings.NewReader(""), &out, &errs)
		cancel()
		if code == shell.ExitInterrupted {
			require.Less(t, attempt, 100)
			interrupted++
			continue
		}
		require.Equal(t, shell.ExitDone, code, errs.String())
		require.Equal(t, timeless(whole), timeless(out.String()))
		break
	}
	t.Logf("cut off %d times", interrupted)
	require.Positive(t, interrupted, "the test means nothing if nothing was cut off")
	a := testkit.Must(os.ReadFile(filepath.Join(dir, "whole", "private", "results", "curve.csv")))
	b := testkit.Must(os.ReadFile(filepath.Join(dir, "cut", "private", "results", "curve.csv")))
	require.Equal(t, string(a), string(b))
}

// A checkpoint that is not this run's is refused, and without it the run starts again,
// on the same charge.
func TestDPSGDWithADamagedCheckpoint(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "blobs.csv")
	require.NoError(t, os.WriteFile(data, blobs(900), 0o600))
	args := []string{"dpsgd", "--data", data, "--label", "kind", "--delta", "1e-4", "--seed", "5", "--steps", "400", "--out", filepath.Join(dir, "run")}
	checkpoint := filepath.Join(dir, "run", "private", "epsilon-2-run-0", "checkpoint")
	ctx, cancel := context.WithCancel(context.Background())
	go cancelAfter{cancel: cancel, file: checkpoint}.watch(ctx)
	var out, errs bytes.Buffer
	require.Equal(t, shell.ExitInterrupted, run(ctx, args, strings.NewReader(""), &out, &errs), errs.String())
	text := testkit.Must(os.ReadFile(checkpoint))
	text[len(text)/2] ^= 1
	require.NoError(t, os.WriteFile(checkpoint, text, 0o600))
	_, said := typed(t, shell.ExitCheckFailed, args...)
	require.Contains(t, said, "remove the checkpoint")
	require.NoError(t, os.Remove(checkpoint))
	typed(t, shell.ExitDone, args...)
}

type cancelAfter struct {
	cancel context.CancelFunc
	file   string
}

func (c cancelAfter) watch(ctx context.Context) {
	before, _ := os.Stat(c.file)
	for ctx.Err() == nil {
		if now, err := os.Stat(c.file); err == nil && (before == nil || now.ModTime() != before.ModTime()) {
			c.cancel()
		}
		time.Sleep(100 * time.Microsecond) // the command has work for all processors
	}
}

func timeless(text string) string {
	return regexp.MustCompile(`"seconds": [^,\n]*`).ReplaceAllString(text, "")
}
