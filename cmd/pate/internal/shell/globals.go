package shell

import (
	"fmt"
	"io"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/table"
)

// Noise returns where the noise of a release comes from.
func (g *Globals) Noise() ledger.Noise {
	if g.Seeded {
		return ledger.SeededNoise
	}
	return ledger.SecretNoise
}

// Globals are the flags every command takes.
type Globals struct {
	Stdout, Stderr io.Writer

	Format  string
	Seed    uint64
	Seeded  bool // --seed was given
	Delta   float64
	Quiet   bool
	Started bool // flags and arguments were understood; a later error is not a usage error
}

// Logf writes one message line to stderr unless --quiet.
func (g *Globals) Logf(format string, args ...any) {
	if !g.Quiet {
		fmt.Fprintf(g.Stderr, format+"\n", args...)
	}
}

// Warn says, also with --quiet, what may be unsafe.
func (g *Globals) Warn(text string) { fmt.Fprintf(g.Stderr, "pate: warning: %s\n", text) }

// ParsedFormat returns the validated --format.
func (g *Globals) ParsedFormat() table.Format {
	f, _ := table.ParseFormat(g.Format) // checked before any command runs
	return f
}
