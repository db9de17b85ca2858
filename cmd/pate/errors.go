package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd/recipe"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/fault"
	"github.com/pate-go/pate/teachers"
)

// Exit codes, a contract of the command line.
const (
	exitDone         = 0
	exitFailure      = 1
	exitUsage        = 2
	exitInvalidInput = 3
	exitOverBudget   = 4
	exitCheckFailed  = 5
	exitAllDeclined  = 6
	exitInterrupted  = 130
)

// commandError is what a person reads: what, why, fix, and where to read on.
type commandError struct {
	code  int
	what  error
	why   string // optional
	fix   string // optional
	topic string // optional, of `pate help TOPIC`
}

func (e *commandError) Error() string { return e.what.Error() }
func (e *commandError) Unwrap() error { return e.what }

func usageError(topic string, what error) error {
	return &commandError{code: exitUsage, what: what, topic: topic}
}

// inputError says that data or parameters handed in are invalid; nothing was
// written.
func inputError(what error, why, fix, topic string) error {
	return &commandError{code: exitInvalidInput, what: what, why: why, fix: fix, topic: topic}
}

// told turns what a package says to a person into what the command says, with a
// topic to read on. Other errors stay what they are.
func told(err error, topic string) error {
	words, found := fault.In(err)
	if !found {
		return err
	}
	code := exitInvalidInput
	if words.Check {
		code = exitCheckFailed
	}
	return &commandError{code: code, what: errors.New(words.What), why: words.Why, fix: words.Fix, topic: topic}
}

// explain turns an error of a command into its exit code and the lines for stderr.
func explain(command string, err error) (int, string) {
	var ce *commandError
	if !errors.As(err, &ce) {
		err = told(err, "ledger") // of package release; commands tell those of others
	}
	switch {
	case errors.As(err, &ce):
	case errors.Is(err, context.Canceled):
		ce = &commandError{code: exitInterrupted, what: errors.New("interrupted"),
			why: "nothing half-written is left behind",
			fix: "run the same command again to go on where it stopped"}
	case errors.Is(err, ledger.ErrBudgetExceeded):
		ce = &commandError{code: exitOverBudget, what: err,
			why: "the whole worst case is charged before anything is asked; nothing was spent",
			fix: "ask for less, add noise, or raise the budget", topic: "privacy"}
	case errors.Is(err, experiments.ErrOtherRun), errors.Is(err, recipe.ErrOtherRun), errors.Is(err, teachers.ErrForeignCheckpoint), errors.Is(err, ledger.ErrOtherConfig):
		ce = &commandError{code: exitInvalidInput, what: err,
			why: "its votes and ledger belong to that run; mixing the two would spend unseen",
			fix: "choose another --out, or repeat that command"}
	case errors.Is(err, ledger.ErrSealed):
		ce = &commandError{code: exitInvalidInput, what: err,
			why: "the guarantee of this ledger holds for charges that were fixed before its first answer; nothing was spent",
			fix: "use a ledger made as a filter for what comes later, or another ledger and add up the two"}
	case errors.Is(err, ledger.ErrBroken):
		ce = &commandError{code: exitFailure, what: err,
			why: "a charge or an outcome could not be made durable, so nothing was released under it",
			fix: "make room or repair the disk, and run the same command again"}
	case errors.Is(err, ledger.ErrCorrupt):
		ce = &commandError{code: exitCheckFailed, what: err,
			why: "what was charged can no longer be told, so nothing more may be released",
			fix: "restore the newest copy; under an older one nothing may be released: what was charged since is spent"}
	default:
		ce = &commandError{code: exitFailure, what: err}
	}
	lines := []string{"pate: " + ce.what.Error()}
	if ce.why != "" {
		lines = append(lines, ce.why)
	}
	if ce.fix != "" {
		lines = append(lines, ce.fix)
	}
	switch {
	case ce.topic != "":
		lines = append(lines, "pate help "+ce.topic)
	case ce.code == exitUsage && ce.fix == "":
		lines = append(lines, command+" --help")
	}
	return ce.code, fmt.Sprintln(strings.Join(lines, "\n"))
}
