package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Outcome says how the tests took a mutation.
type Outcome struct {
	Caught  bool
	By      string // the first test that failed, or "panic", "timeout"
	Seconds float64
	Output  string // of go test
}

// ErrDoesNotCompile is returned for a mutation that is no program.
var ErrDoesNotCompile = errors.New("mutation: does not compile")

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// Run runs the tests of m with the mutation applied. It changes no file below root,
// and removes the failures that property tests write down there.
func Run(ctx context.Context, root string, m Mutation) (Outcome, error) {
	source, err := m.Source(root)
	if err != nil {
		return Outcome{}, err
	}
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return Outcome{}, fmt.Errorf("mutation: %w", err)
	}
	defer os.RemoveAll(dir)
	overlay, err := writeOverlay(dir, root, m.File, source)
	if err != nil {
		return Outcome{}, fmt.Errorf("mutation: %w", err)
	}
	defer removeFailures(root, m, failures(root, m))
	start := time.Now()
	args := append([]string{"test", "-overlay", overlay, "-vet=off", "-count=1", "-failfast", "-timeout=5m"}, m.Test...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	o := Outcome{Seconds: time.Since(start).Seconds(), Output: string(out)}
	if err == nil {
		return o, nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || ctx.Err() != nil {
		return o, fmt.Errorf("mutation: %s: %w", m.ID, errors.Join(err, ctx.Err()))
	}
	o.Caught, o.By = true, "panic"
	switch found := failedTest.FindStringSubmatch(o.Output); {
	case strings.Contains(o.Output, "[build failed]"), strings.Contains(o.Output, "[setup failed]"):
		return o, fmt.Errorf("%w: %s: %s", ErrDoesNotCompile, m.ID, o.Output)
	case found != nil:
		o.By = found[1]
	case strings.Contains(o.Output, "test timed out"):
		o.By = "timeout"
	}
	return o, nil
}

// writeOverlay writes the mutated source and the file that makes the go command
// read it in place of the original.
func writeOverlay(dir, root, file string, source []byte) (string, error) {
	mutated := filepath.Join(dir, "mutated.go")
	if err := os.WriteFile(mutated, source, 0o600); err != nil {
		return "", err
	}
	original, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{original: mutated}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// failures lists the failures of property tests (testdata/rapid) on disk for the
// packages that m tests.
func failures(root string, m Mutation) map[string]bool {
	found := map[string]bool{}
	for _, p := range m.Test {
		if !strings.HasPrefix(p, "./") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, p, "testdata", "rapid", "*", "*.fail"))
		if err != nil {
			continue // the pattern is malformed: there are none
		}
		for _, f := range files {
			found[f] = true
		}
	}
	return found
}

// removeFailures removes those that were not there before, and folders left empty.
func removeFailures(root string, m Mutation, before map[string]bool) {
	for f := range failures(root, m) {
		if before[f] {
			continue
		}
		for dir := f; filepath.Base(dir) != "testdata"; dir = filepath.Dir(dir) {
			if os.Remove(dir) != nil {
				break // others are in it
			}
		}
	}
}
