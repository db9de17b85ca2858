// Command mutation tests the tests. It breaks one expression on which privacy depends, runs the relevant
// tests, and expects a failure. Run the command in the root of the module.
//
//	go run ./internal/mutation -all
//	go run ./internal/mutation -sample 8            # another eight every day
//	go run ./internal/mutation stability/ svt/msvec # by prefix of the id
//
// The mutations are listed in text files under mutations/, one file per group of packages:
//
//	in: accountant
//	test: ./accountant -run ConversionGolden
//	conversion-gain (Conversion.epsilon): the conversion must not promise more than its theorem
//		math.Log(a) => 2*math.Log(a)
//
// The name in parentheses is a declaration: a function, Type.Method, constant, variable or type. The next
// line replaces an expression or statement there. White space and comments do not matter. "#2" after an
// expression selects the second of equal expressions. An empty replacement removes a statement. A mutation
// may have several replacements and its own "test:" line.
//
// Mutations use an overlay of the go command, so no file of the tree changes. If no test fails, the mutation
// "survives": a test is missing, or the line protects nothing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		stop()
		os.Exit(1)
	}
}

func command(ctx context.Context) error {
	every := flag.Bool("all", false, "run every mutation")
	list := flag.Bool("list", false, "print the mutations and run nothing")
	sample := flag.Int("sample", 0, "run this many mutations, others on another day")
	day := flag.Int64("day", time.Now().Unix()/86400, "the day of -sample, in days since 1970")
	verbose := flag.Bool("v", false, "print what go test printed for survivors")
	flag.Parse()
	mutations, err := all()
	if err != nil {
		return err
	}
	chosen := choose(mutations, *every, *sample, *day, flag.Args())
	if len(chosen) == 0 {
		return fmt.Errorf("nothing chosen of %d mutations: give -all, -sample or the beginning of an id", len(mutations))
	}
	if *sample > 0 {
		fmt.Printf("a sample of %d mutations of %d; again with -sample %d -day %d\n", len(chosen), len(mutations), *sample, *day)
	}
	if *list {
		for _, m := range chosen {
			fmt.Printf("%-40s %s: %s\n", m.id, m.dir+"."+m.in, m.why)
		}
		return nil
	}
	return try(ctx, chosen, *verbose)
}

func choose(mutations []mutation, all bool, sample int, day int64, ids []string) (chosen []mutation) {
	if all {
		return mutations
	}
	if sample > 0 {
		stride := max(1, len(mutations)/sample)
		for i := int(day % int64(stride)); i < len(mutations) && len(chosen) < sample; i += stride {
			chosen = append(chosen, mutations[i])
		}
		return chosen
	}
	for _, m := range mutations {
		for _, id := range ids {
			if strings.HasPrefix(m.id, id) {
				chosen = append(chosen, m)
				break
			}
		}
	}
	return chosen
}

func try(ctx context.Context, chosen []mutation, verbose bool) error {
	var survived, broken []string
	for _, m := range chosen {
		o, err := run(ctx, ".", m)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			broken = append(broken, m.id)
			fmt.Printf("BROKEN   %-40s %v\n", m.id, err)
		case o.caught:
			fmt.Printf("caught   %-40s %5.1f s  %s\n", m.id, o.seconds, o.by)
		default:
			survived = append(survived, m.id)
			fmt.Printf("SURVIVED %-40s %5.1f s  %s\n", m.id, o.seconds, m.why)
			if verbose {
				fmt.Println(o.output)
			}
		}
	}
	fmt.Printf("%d mutations, %d caught\n", len(chosen), len(chosen)-len(survived)-len(broken))
	if len(survived)+len(broken) > 0 {
		return fmt.Errorf("no test fails for %v; cannot be run: %v", survived, broken)
	}
	return nil
}

type outcome struct {
	caught  bool
	by      string // the first failing test, or "panic" or "timeout"
	seconds float64
	output  string // of go test
}

var errDoesNotCompile = errors.New("does not compile")

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

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

func failures(root string, m mutation) map[string]bool {
	found := map[string]bool{}
	for _, p := range m.test {
		if !strings.HasPrefix(p, "./") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, p, "testdata", "rapid", "*", "*.fail"))
		if err != nil {
			continue // a malformed pattern matches nothing
		}
		for _, f := range files {
			found[f] = true
		}
	}
	return found
}

func removeFailures(root string, m mutation, before map[string]bool) {
	for f := range failures(root, m) {
		if before[f] {
			continue
		}
		for dir := f; filepath.Base(dir) != "testdata"; dir = filepath.Dir(dir) {
			if os.Remove(dir) != nil {
				break // the folder is not empty
			}
		}
	}
}
