package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/testkit"
)

// blobs writes a table of three classes that a line can tell apart, four rows a person.
func blobs(t *testing.T, path string, rows int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("length,width,colour,who,kind\n")
	for i := range rows {
		class := i % 3
		fmt.Fprintf(&text, "%.2f,%.2f,%s,p%d,%c\n", 4*float64(class)+rnd.NormFloat64(), rnd.NormFloat64()-3*float64(class%2),
			[]string{"red", "blue"}[rnd.IntN(2)], i/4, 'a'+class)
	}
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
}

// typed runs a command and returns what it printed.
func typed(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, code, run(context.Background(), args, strings.NewReader(""), &out, &errs), "%s\nstdout:\n%s\nstderr:\n%s", args, &out, &errs)
	return out.String(), errs.String()
}

func TestDPSGDTrainsAndRepeatsItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, out := filepath.Join(dir, "blobs.csv"), filepath.Join(dir, "run")
	blobs(t, data, 900)
	base := []string{"dpsgd", "--data", data, "--label", "kind", "--delta", "1e-4", "--seed", "3", "--epsilon", "0.5,2", "--seeds", "2", "--out", out}
	table, errs := typed(t, shell.ExitDone, base...)
	require.Contains(t, table, "blobs: 3 classes;")
	require.Contains(t, table, "not releasable")
	require.Contains(t, table, "Publishing all of it")
	require.Contains(t, errs, "not releasable")
	for line := range strings.Lines(table) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 81, line)
	}

	for format, want := range map[string]string{
		"json": `"schema": "pate.dpsgd/1"`, "csv": "model,features,epsilon,", "md": "| ε | test %", "latex": `\begin{tabular}`,
	} {
		text, _ := typed(t, shell.ExitDone, append(base, "--format", format)...)
		require.Contains(t, text, want)
	}
	text, _ := typed(t, shell.ExitDone, append(base, "--format", "json", "--workers", "1")...)
	var r recipe.Result
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	require.Len(t, r.Rows, 2)
	require.False(t, r.Releasable)
	for i, target := range []float64{0.5, 2} {
		row := r.Rows[i]
		require.LessOrEqual(t, *row.Epsilon, target)
		require.Greater(t, *row.Epsilon, target*0.999)
		require.LessOrEqual(t, *row.EpsilonLow, *row.Epsilon)
		require.Greater(t, row.Accuracy, 0.8, "a line tells them apart")
		require.NotEmpty(t, row.Curve)
		last := row.Curve[len(row.Curve)-1]
		require.Equal(t, row.Steps, last.Step)
		require.Equal(t, *row.Epsilon, last.Epsilon)
		require.NotNil(t, row.SD)
	}
	require.Greater(t, r.EpsilonAll, 2.0)

	// Anybody can compute epsilon again, and read the ledger.
	// A thousandth of delta is kept for the noise being discrete.
	account, _ := typed(t, shell.ExitDone, "account", filepath.Join(out, "private", "results", "accounts", "seeded-epsilon-2.json"), "--delta", fmt.Sprint(1e-4*(1-1e-3)), "--accountant", "pld", "--format", "csv")
	require.Contains(t, account, fmt.Sprint(*r.Rows[1].Epsilon))
	statement, _ := typed(t, shell.ExitDone, "ledger", "statement", filepath.Join(out, "private", "ledger", "epsilon-2-run-1.jsonl"))
	require.Contains(t, statement, "NOT FOR RELEASE")

	_, errs = typed(t, shell.ExitInvalidInput, append(base, "--steps", "9")...)
	require.Contains(t, errs, "holds another run")
	blobs(t, data, 901)
	_, errs = typed(t, shell.ExitInvalidInput, base...)
	require.Contains(t, errs, "other data")
}

func TestDPSGDGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	goesOn(t, "epsilon-2-run-0")
	// Of the other schemes this one keeps noise on disk; package dpsgd interrupts all of them.
	goesOn(t, "noise-9-run-0", "--noise-multiplier", "9", "--batch", "157.5", "--sampling", "cyclic", "--bands", "4", "--steps", "100")
}

// goesOn interrupts a run again and again, and compares it with one that is not.
func goesOn(t *testing.T, name string, more ...string) {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "blobs.csv")
	blobs(t, data, 900)
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
	blobs(t, data, 900)
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

// cancelAfter cancels when a file appears or changes.
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

// timeless is a result without its running times.
func timeless(text string) string {
	return regexp.MustCompile(`"seconds": [^,\n]*`).ReplaceAllString(text, "")
}

func TestDPSGDOnASharedLedger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, book := filepath.Join(dir, "blobs.csv"), filepath.Join(dir, "shared.jsonl")
	blobs(t, data, 900)
	label := func(code int, out string, more ...string) {
		votes := filepath.Join(dir, out+".votes.csv")
		row := strings.Repeat("1,", 60) + out[:1] + "\n"
		row = strings.NewReplacer("l\n", "0\n", "m\n", "1\n").Replace(row) // other votes in another file
		require.NoError(t, os.WriteFile(votes, []byte(strings.Repeat(row, 20)), 0o600))
		typed(t, code, append([]string{"label", votes, "--header", "no", "--classes", "2", "--teachers", "61", "--mechanism", "gnmax", "--delta", "1e-4",
			"--ledger", book, "--out", filepath.Join(dir, out)}, more...)...)
	}
	train := func(code int, out string, more ...string) string {
		text, _ := typed(t, code, append([]string{"dpsgd", "--data", data, "--label", "kind", "--delta", "1e-4", "--ledger", book,
			"--out", filepath.Join(dir, out), "--format", "json"}, more...)...)
		return text
	}
	train(shell.ExitOverBudget, "never", "--epsilon", "4", "--noise-multiplier", "0.5")
	require.NoFileExists(t, book, "nothing is written")
	require.NoDirExists(t, filepath.Join(dir, "never"))

	first := train(shell.ExitDone, "one", "--epsilon", "4", "--spend", "1")
	label(shell.ExitDone, "labels.csv", "--sigma", "30")
	before := testkit.Must(os.ReadFile(book))
	train(shell.ExitOverBudget, "never", "--noise-multiplier", "0.5")
	require.NoDirExists(t, filepath.Join(dir, "never"))
	after := testkit.Must(os.ReadFile(book))
	require.Equal(t, string(before), string(after), "nothing is spent")

	rest := train(shell.ExitDone, "rest")
	train(shell.ExitOverBudget, "never")
	var r recipe.Result
	require.NoError(t, json.Unmarshal([]byte(rest), &r))
	require.Equal(t, 4.0, r.Ledger.Budget)
	require.Equal(t, 4.0, r.Ledger.Claim)
	require.Less(t, r.Ledger.LeftRho, 1e-6)
	require.Less(t, *r.Rows[0].Epsilon, 4.0)
	label(shell.ExitOverBudget, "more.csv", "--sigma", "20", "--pool", "another")
	require.Equal(t, first, train(shell.ExitDone, "one", "--epsilon", "4", "--spend", "1"), "a finished run costs nothing more")
	train(shell.ExitInvalidInput, "never", "--unit", "who")
	train(shell.ExitInvalidInput, "never", "--mode", "reserved")
	typed(t, shell.ExitDone, "ledger", "verify", book)

	// In mode reserved this model is all.
	book = filepath.Join(dir, "sealed.jsonl")
	train(shell.ExitDone, "sealed", "--epsilon", "2", "--mode", "reserved")
	train(shell.ExitInvalidInput, "never")
	require.NoDirExists(t, filepath.Join(dir, "never"))
}

// Every file of a seeded run says so, and is for its owner alone; no file that may leave
// tells how long work on private rows took.
func TestDPSGDMarksItsFiles(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "blobs.csv")
	blobs(t, data, 300)
	for _, seeded := range []bool{true, false} {
		out := filepath.Join(dir, fmt.Sprint(seeded))
		args := []string{"dpsgd", "--data", data, "--label", "kind", "--delta", "1e-4", "--steps", "5", "--out", out, "--format", "json"}
		mode, account, mark, half := os.FileMode(0o644), "epsilon-2.json", "true", "public"
		if seeded {
			args = append(args, "--seed", "3")
			mode, account, mark, half = 0o600, "seeded-epsilon-2.json", "false", filepath.Join("private", "results")
		}
		text, _ := typed(t, shell.ExitDone, args...)
		require.Equal(t, seeded, strings.Contains(text, `"seconds"`), "what may leave has no times")
		for _, name := range []string{"results.json", "results.csv", "curve.csv", filepath.Join("accounts", account), filepath.Join("models", "epsilon-2-run-0.model")} {
			info := testkit.Must(os.Stat(filepath.Join(out, half, name)))
			require.Equal(t, mode, info.Mode().Perm(), name)
			text := testkit.Must(os.ReadFile(filepath.Join(out, half, name)))
			require.NotContains(t, string(text), `"seconds"`, name)
		}
		for _, name := range []string{"results.csv", "curve.csv"} {
			text := testkit.Must(os.ReadFile(filepath.Join(out, half, name)))
			for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
				require.True(t, i == 0 || strings.HasSuffix(line, ","+mark), line)
			}
		}
		again, _ := typed(t, shell.ExitDone, args...)
		require.Equal(t, text, again, "times are kept apart")
	}
}

// What pate compare shows of DP-SGD is what pate dpsgd trains.
func TestCompareTrainsAsDPSGDDoes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "t.csv")
	require.NoError(t, os.WriteFile(file, people(false), 0o600))
	common := []string{"--data", file, "--label", "kind", "--unit", "who", "--delta", "1e-4", "--epsilon", "3", "--format", "json"}
	row := func(args ...string) map[string]any {
		text, _ := typed(t, shell.ExitDone, slices.Concat(args, common)...)
		var r struct{ Rows []map[string]any }
		require.NoError(t, json.Unmarshal([]byte(text), &r))
		require.Len(t, r.Rows, 1)
		return r.Rows[0]
	}
	alone := row("dpsgd", "--out", filepath.Join(dir, "a"))
	beside := row("compare", "--methods", "dpsgd/linear", "--out", filepath.Join(dir, "b"))
	for _, key := range []string{"epsilon", "steps", "sampling_probability", "noise_multiplier", "account"} {
		require.Equal(t, alone[key], beside[key], key)
	}
	typed(t, shell.ExitDone, "predict", filepath.Join(dir, "b", "public", "models", "epsilon-3-run-0.model"), file, "--label", "kind", "--unit", "who", "--scored")
}

// TestPredictionsOfASeededStudentAreMarked: a file of predictions leaves without what the
// terminal said of the model.
func TestPredictionsOfASeededStudentAreMarked(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("private.csv"), people(false), 0o600))
	require.NoError(t, os.WriteFile(at("public.csv"), clearPublic(), 0o600))
	typed(t, shell.ExitDone, publishing(at("private.csv"), at("public.csv"), at("out"), "--seed", "3")...)
	var model string
	require.NoError(t, filepath.WalkDir(at("out"), func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path) == "student.model" {
			model = path
		}
		return err
	}))
	typed(t, shell.ExitDone, "predict", model, at("public.csv"), "--public-rows", "--probability", "--out", at("new.csv"))
	lines := strings.Split(strings.TrimSpace(read(t, at("new.csv"))), "\n")
	require.Len(t, lines, 13)
	for i, line := range lines {
		require.True(t, strings.HasSuffix(line, map[bool]string{true: ",releasable", false: ",false"}[i == 0]), line)
	}
}

// A table with everything that people have in tables is read aloud, and what cannot help is
// left out.
func TestTablesAreReadAloud(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString(",patient_id,visit,weight,ward,note,seen,label\n")
	for i := range 400 {
		fmt.Fprintf(&b, "%d,%d,v%05d,\"%d,%d\",%s,came at %d with pain,%02d.%02d.2024,%c\n", i, 5000+i*7%150, (i*7919)%100000, 50+i%40, i%10, []string{"north", "south"}[i%2], i*31, 1+i%28, 1+i%12, 'a'+i/3%2)
	}
	file := filepath.Join(dir, "t.csv")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	text, errs := typed(t, shell.ExitDone, "dpsgd", "--data", file, "--header", "yes", "--delta", "1e-4", "--steps", "3", "--format", "json")
	for _, want := range []string{
		`column 1 +row numbers without a name -> left out`, `patient_id +id-like, and ids repeat -> left out`, `visit +id-like: .* -> left out`,
		`weight +numeric, with decimal commas -> 1 feature`, `ward +category, 2 levels -> 2 features`, `note +free text -> left out`, `seen +date, like 02.01.2006 -> 1 feature`,
		`warning: ids repeat in column patient_id, .* --unit`,
	} {
		require.Regexp(t, want, errs)
	}
	var r struct {
		Rows []struct {
			Accuracy      float64 `json:"accuracy"`
			StandardError float64 `json:"standard_error"`
			Dimensions    int     `json:"dimensions"`
		} `json:"rows"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &r))
	require.Equal(t, 4, r.Rows[0].Dimensions)
	require.InDelta(t, 0.07, r.Rows[0].StandardError, 0.03)

	_, errs = typed(t, shell.ExitDone, "dpsgd", "--data", file, "--label", "label", "--unit", "patient_id", "--keep", "visit", "--drop", "note,seen", "--delta", "1e-4", "--steps", "3")
	require.NotContains(t, errs, "warning")
	require.NotContains(t, errs, "seen")
	require.Regexp(t, `visit +category, \d+ levels -> \d+ features`, errs)

	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(b.String(), ",label", ",kind", 1)), 0o600))
	_, errs = typed(t, shell.ExitInvalidInput, "compare", "--data", file, "--header", "yes", "--delta", "1e-4")
	require.Contains(t, errs, "name the column of the class with --label")
	require.Contains(t, errs, "ward, note, seen, kind")
}
