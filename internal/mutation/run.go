package main

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

// outcome says how the tests took a mutation.
type outcome struct {
	caught  bool
	by      string // the first test that failed, or "panic", "timeout"
	seconds float64
	output  string // of go test
}

// errDoesNotCompile is returned for a mutation that is no program.
var errDoesNotCompile = errors.New("does not compile")

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// run runs the tests of m with the mutation applied. It changes no file below root,
// and removes the failures that property tests write down there.
func run(ctx context.Context, root string, m mutation) (outcome, error) {
	file, source, err := m.apply(root)
	if err != nil {
		return outcome{}, err
	}
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(dir)
	overlay, err := writeOverlay(dir, root, file, source)
	if err != nil {
		return outcome{}, err
	}
	defer removeFailures(root, m, failures(root, m))
	start := time.Now()
	args := append([]string{"test", "-overlay", overlay, "-vet=off", "-count=1", "-failfast", "-timeout=5m"}, m.test...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	o := outcome{seconds: time.Since(start).Seconds(), output: string(out)}
	if err == nil {
		return o, nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || ctx.Err() != nil {
		return o, fmt.Errorf("%s: %w", m.id, errors.Join(err, ctx.Err()))
	}
	o.caught, o.by = true, "panic"
	switch found := failedTest.FindStringSubmatch(o.output); {
	case strings.Contains(o.output, "[build failed]"), strings.Contains(o.output, "[setup failed]"):
		return o, fmt.Errorf("%w: %s: %s", errDoesNotCompile, m.id, o.output)
	case found != nil:
		o.by = found[1]
	case strings.Contains(o.output, "test timed out"):
		o.by = "timeout"
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
func failures(root string, m mutation) map[string]bool {
	found := map[string]bool{}
	for _, p := range m.test {
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
func removeFailures(root string, m mutation, before map[string]bool) {
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
