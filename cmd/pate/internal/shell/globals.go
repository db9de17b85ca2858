// Package shell holds what the commands of pate share: flags that every command takes
// and groups of flags that several take, formats of output, errors and exit codes,
// progress, suggestions for typing errors, and files that must not be overwritten.
//
// A command is a package beside this one with one function, New, which takes the
// [Globals] and returns a cobra command. No command imports another one.
package shell

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/rng"
)

// Noise returns where the noise of a release comes from.
func (g *Globals) Noise() ledger.Noise {
	if g.Seeded {
		return ledger.SeededNoise
	}
	return ledger.SecretNoise
}

// Key returns the key of the noise: that of the seed, or a new one.
func (g *Globals) Key() (rng.Key, error) {
	if g.Seeded {
		return rng.SeedKey(g.Seed), nil
	}
	return rng.NewKey()
}

// Globals are the flags that most commands take; see AddTo.
type Globals struct {
	Stdout, Stderr io.Writer

	Format  string
	Seed    uint64
	Seeded  bool // --seed was given
	Delta   float64
	Quiet   bool
	Started bool // flags and arguments were understood; a later error is not a usage error

	warning sync.Mutex
	warned  []string
}

// without is the annotation of a command that names flags of Globals it does not use.
const without = "pate_without"

// Without declares flags of Globals that a command refuses.
func Without(cmd *cobra.Command, names ...string) {
	annotate(cmd, without, strings.Join(names, " "))
}

// AddTo gives --format, --seed and --delta to every command below root that is not Without them, and --quiet
// to all.
func (g *Globals) AddTo(root *cobra.Command) {
	root.PersistentFlags().BoolVarP(&g.Quiet, "quiet", "q", false, "no messages and no progress")
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		for _, child := range cmd.Commands() {
			add(child)
		}
		if cmd == root || !cmd.Runnable() {
			return
		}
		unused := strings.Fields(cmd.Annotations[without])
		own := func(name string) bool { return slices.Contains(unused, name) || cmd.Flags().Lookup(name) != nil }
		to := To{"format": &g.Format, "seed": &g.Seed, "delta": &g.Delta}
		maps.DeleteFunc(to, func(name string, _ any) bool { return own(name) })
		Declare(cmd.Flags(), "globals", to)
	}
	g.Format, g.Delta = "table", 1e-5
	add(root)
}

// Logf writes one message line to stderr unless --quiet. Whatever is in its arguments, it stays
// one line, of which a terminal obeys nothing.
func (g *Globals) Logf(format string, args ...any) {
	if !g.Quiet {
		fmt.Fprintln(g.Stderr, table.Printable(fmt.Sprintf(format, args...)))
	}
}

// Print writes a report as JSON, or its table in another format.
func (g *Globals) Print(report any, of func(table.Format) table.Table) error {
	format := g.ParsedFormat()
	if format == table.JSON {
		return WriteJSON(g.Stdout, report)
	}
	return of(format).Write(g.Stdout, format)
}

// PrintRun writes the result of a run: JSON, records for programs, or a table for people with a
// text below and, on a terminal, a heading.
func (g *Globals) PrintRun(report any, records, people table.Table, heading, below string) error {
	comment, format := "", g.ParsedFormat()
	switch format {
	case table.JSON:
		return WriteJSON(g.Stdout, report)
	case table.CSV:
		return records.Write(g.Stdout, format)
	case table.Text:
		fmt.Fprint(g.Stdout, heading)
	case table.LaTeX:
		comment = "% "
	}
	err := people.Write(g.Stdout, format)
	for line := range strings.Lines(below) {
		if line != "\n" {
			line = comment + line
		}
		fmt.Fprint(g.Stdout, line)
	}
	return err
}

// Below folds a text that stands below the table of a run.
func (g *Globals) Below(text string) string {
	width := Columns
	if g.ParsedFormat() == table.LaTeX {
		width -= len("% ")
	}
	return "\n" + strings.Join(Folded(text, width), "\n") + "\n"
}

// Warn prints a warning in one line, also with --quiet, and each text once. Programs recognise warnings by
// the beginning of the line, as package pate_go does.
func (g *Globals) Warn(text string) {
	g.warning.Lock()
	defer g.warning.Unlock()
	if !slices.Contains(g.warned, text) {
		g.warned = append(g.warned, text)
		fmt.Fprintf(g.Stderr, "pate: warning: %s\n", table.Printable(text))
	}
}

// WarnBudget warns, also with --quiet, of a claim that protects next to nothing. Every
// command that states a claim calls it; JSON has the text too, of statement.Warning.
func (g *Globals) WarnBudget(epsilon float64) {
	if text := statement.Warning(epsilon); text != "" {
		g.Warn(text)
	}
}

// parameter is the annotation of a command whose --epsilon is no budget.
const parameter = "pate_epsilon"

// EpsilonIsNoBudget declares that --epsilon of a command is a parameter of a computation and promises
// nothing.
func EpsilonIsNoBudget(cmd *cobra.Command) {
	annotate(cmd, parameter, "parameter")
}

// WarnOfBudgets warns of the budgets that a command was given with --epsilon.
func (g *Globals) WarnOfBudgets(cmd *cobra.Command) {
	flag := cmd.Flags().Lookup("epsilon")
	if flag == nil || !flag.Changed || cmd.Annotations[parameter] != "" {
		return
	}
	largest := 0.0
	for word := range strings.SplitSeq(strings.Trim(flag.Value.String(), "[]"), ",") {
		if x, err := strconv.ParseFloat(strings.TrimSpace(word), 64); err == nil && !math.IsInf(x, 1) {
			largest = max(largest, x)
		}
	}
	g.WarnBudget(largest)
}

// Prose reports whether results are for people to read, so that sentences may stand beside them.
func (g *Globals) Prose() bool {
	return g.Format == string(table.Text) || g.Format == string(table.Markdown)
}

// ParsedFormat returns the validated --format.
func (g *Globals) ParsedFormat() table.Format {
	f, _ := table.ParseFormat(g.Format) // checked before any command runs
	return f
}
