// Package shell holds common code of the commands of pate, such as flags, output formats, errors and exit
// codes. It also protects files that must not be overwritten.
//
// Each command is a package beside this package. The function New of a command takes [Globals] and returns a
// cobra command. Commands do not import each other.
package shell

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

func (g *Globals) Noise() ledger.Noise {
	if g.Seeded {
		return ledger.SeededNoise
	}
	return ledger.SecretNoise
}

func (g *Globals) Key() (rng.Key, error) {
	if g.Seeded {
		return rng.SeedKey(g.Seed), nil
	}
	return rng.NewKey()
}

// Globals holds the values of common flags (see [Globals.AddTo]).
type Globals struct {
	Stdout, Stderr io.Writer

	Format        string
	Seed          uint64
	Delta         float64
	Seeded, Quiet bool // --seed or --quiet was given
	Started       bool // flags and arguments were valid, so a later error is no usage error

	warning sync.Mutex
	warned  []string
}

const without = "pate_without"

// Without declares the common flags that a command does not have.
func Without(cmd *cobra.Command, names ...string) {
	annotate(cmd, without, strings.Join(names, " "))
}

// Command returns a cobra command without the common flags in `without`, which are separated by spaces.
func Command(use, without string, args cobra.PositionalArgs, run func(*cobra.Command, []string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Args: args, RunE: run}
	Without(cmd, strings.Fields(without)...)
	return cmd
}

// AddTo adds --quiet to all commands below root. It also adds --format, --seed and --delta, unless [Without]
// lists the flag for a command.
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
	g.Format, g.Delta = "table", run.UsualDelta
	add(root)
}

// Logf writes one line to stderr unless --quiet is set. Control characters in arguments are escaped.
func (g *Globals) Logf(format string, args ...any) {
	if !g.Quiet {
		fmt.Fprintln(g.Stderr, table.Printable(fmt.Sprintf(format, args...)))
	}
}

// Print writes report in format JSON, and the table from tableIn in all other formats.
func (g *Globals) Print(report any, tableIn func(table.Format) table.Table) error {
	format := g.ParsedFormat()
	if format == table.JSON {
		return WriteJSON(g.Stdout, report)
	}
	return tableIn(format).Write(g.Stdout, format)
}

// PrintRun writes the result of a run. Format JSON prints `report`, and CSV prints `records`. Other formats
// print `people` and then `below`. Format Text begins with `heading`.
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

// Below wraps text to the width of the output format. The result is the last argument of PrintRun.
func (g *Globals) Below(text string) string {
	width := Columns
	if g.ParsedFormat() == table.LaTeX {
		width -= len("% ")
	}
	return "\n" + strings.Join(Folded(text, width), "\n") + "\n"
}

// Warn prints each warning once, in one line, even if --quiet is set. Programs recognise warnings by the
// beginning of the line.
func (g *Globals) Warn(text string) {
	g.warning.Lock()
	defer g.warning.Unlock()
	if !slices.Contains(g.warned, text) {
		g.warned = append(g.warned, text)
		fmt.Fprintf(g.Stderr, "pate: warning: %s\n", table.Printable(text))
	}
}

// WarnBudget warns if epsilon gives almost no protection. The flag --quiet does not suppress this warning.
// Every command that prints a guarantee must call WarnBudget.
func (g *Globals) WarnBudget(epsilon float64) {
	if text := statement.Warning(epsilon); text != "" {
		g.Warn(text)
	}
}

const parameter = "pate_epsilon"

// EpsilonIsNoBudget marks the flag --epsilon of cmd as a parameter of a computation, not a budget.
func EpsilonIsNoBudget(cmd *cobra.Command) {
	annotate(cmd, parameter, "parameter")
}

// WarnOfBudgets calls WarnBudget with the largest value of --epsilon.
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

// Prose reports whether the output format is text or Markdown.
func (g *Globals) Prose() bool {
	return g.Format == string(table.Text) || g.Format == string(table.Markdown)
}

func (g *Globals) ParsedFormat() table.Format {
	f, _ := table.ParseFormat(g.Format) // checked before any command runs
	return f
}

// Input is the standard input of a command. When ctx is done, a waiting Read returns, so Ctrl-C ends the
// command.
type Input struct {
	ctx context.Context
	in  io.Reader
	own []byte // buffer of the reading goroutine, which may write to it after Read has returned
	cut atomic.Bool
}

func NewInput(ctx context.Context, in io.Reader) *Input { return &Input{ctx: ctx, in: in} }

// Read reads the input. Once ctx is done, Read returns ctx.Err() at once.
func (i *Input) Read(p []byte) (int, error) {
	if i.cut.Load() {
		return 0, i.ctx.Err()
	}
	if cap(i.own) < len(p) {
		i.own = make([]byte, len(p))
	}
	type outcome struct {
		n   int
		err error
	}
	own, done := i.own[:len(p)], make(chan outcome, 1)
	go func() {
		n, err := i.in.Read(own)
		done <- outcome{n, err}
	}()
	select {
	case got := <-done:
		return copy(p, own[:got.n]), got.err
	case <-i.ctx.Done():
		i.cut.Store(true)
		return 0, i.ctx.Err()
	}
}

func (i *Input) Cut() bool { return i.cut.Load() }

// Terminal reports whether the input is a terminal.
func (i *Input) Terminal() bool {
	f, ok := i.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

type progress struct {
	g       *Globals
	mu      sync.Mutex
	out     *os.File // nil if silent
	stage   string   // the shown stage
	runs    bool     // the shown stage has not ended
	stepped time.Time
	drawn   time.Time
	begun   map[string]time.Time // of each stage
	width   int                  // width of the line on the screen
	noted   string
}

// NewProgress returns a progress line on stderr. The line is not drawn if stderr is not a terminal or if
// g.Quiet is set.
func NewProgress(g *Globals) *progress {
	f, ok := g.Stderr.(*os.File)
	if g.Quiet || !ok || !term.IsTerminal(int(f.Fd())) {
		return &progress{g: g}
	}
	return &progress{g: g, out: f, begun: map[string]time.Time{}}
}

func (p *progress) Say(text string) {
	p.Clear()
	p.g.Logf("%s", text)
}

func (p *progress) Warn(text string) {
	p.Clear()
	p.g.Warn(text)
}

func (p *progress) ReadAloud(notes []dataset.ColumnNote) {
	p.Clear()
	ReadAloud(p.g, notes)
}

const (
	barWidth = 24
	patience = 2 * time.Second
)

// Update is safe for concurrent use. It draws another stage only after the drawn stage ends or makes no step
// for 2 s.
func (p *progress) Update(stage string, done, total int) {
	if p.out == nil || total <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if _, known := p.begun[stage]; !known || done == 0 {
		p.begun[stage] = now
	}
	if stage != p.stage && p.runs && now.Sub(p.stepped) < patience {
		return
	}
	p.stepped = now
	if stage == p.stage && done < total && now.Sub(p.drawn) < 100*time.Millisecond {
		return
	}
	p.stage, p.runs, p.drawn = stage, done < total, now
	filled := barWidth * done / total
	line := fmt.Sprintf("%-28s %s%s %3d %%", stage, strings.Repeat("━", filled), strings.Repeat("╌", barWidth-filled), 100*done/total)
	if total == 1 {
		line = stage + " ..."
	}
	if spent := now.Sub(p.begun[stage]); done > 0 && done < total && spent > 2*time.Second {
		left := time.Duration(float64(spent) * float64(total-done) / float64(done))
		line += fmt.Sprintf("  %s left", left.Round(time.Second))
	}
	if p.noted != "" {
		line += "  " + p.noted
	}
	p.draw(line)
}

func (p *progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noted = text
}

func (p *progress) Clear() {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.width > 0 {
		p.draw("")
		fmt.Fprint(p.out, "\r")
	}
}

func (p *progress) draw(line string) {
	n := len([]rune(line))
	fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-n)))
	p.width = n
}
