package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/run"
)

// Exit codes, a contract of the command line.
const (
	ExitDone         = 0
	ExitFailure      = 1
	ExitUsage        = 2
	ExitInvalidInput = 3
	ExitOverBudget   = 4
	ExitCheckFailed  = 5
	ExitAllDeclined  = 6
	ExitInterrupted  = 130
)

// CommandError is what a person reads: what, why, fix, and where to read on.
type CommandError struct {
	Code  int
	What  error
	Why   string // optional
	Fix   string // optional
	Topic string // optional, of `pate help TOPIC`
	Cause error  // optional, what What came from
}

func (e *CommandError) Error() string { return e.What.Error() }
func (e *CommandError) Unwrap() error { return e.What }

// UsageError says that flags or arguments are wrong; nothing was done.
func UsageError(topic string, what error) error {
	return &CommandError{Code: ExitUsage, What: what, Topic: topic}
}

// InputError says that data or parameters handed in are invalid; nothing was
// written.
func InputError(what error, why, fix, topic string) error {
	return &CommandError{Code: ExitInvalidInput, What: what, Why: why, Fix: fix, Topic: topic}
}

// FaultError returns the [fault] in err as a CommandError with a topic to read on. It
// returns other errors as they are.
func FaultError(err error, topic string) error {
	words, found := fault.In(err)
	if !found {
		return err
	}
	code := ExitInvalidInput
	if words.Check {
		code = ExitCheckFailed
	}
	return &CommandError{Code: code, What: errors.New(words.What), Why: words.Why, Fix: words.Fix, Topic: topic, Cause: err}
}

// Explain turns an error of a command into its exit code and the lines for stderr. Each of what,
// why and fix is one line, of which a terminal obeys nothing: names of files and flags, and the
// words of a server, are somebody else's.
func Explain(command string, err error) (int, string) {
	var ce *CommandError
	if !errors.As(err, &ce) {
		err = FaultError(err, "ledger") // of package run; commands tell those of others
	}
	switch {
	case errors.As(err, &ce):
	case errors.Is(err, context.Canceled):
		ce = &CommandError{Code: ExitInterrupted, What: errors.New("interrupted"),
			Why: "nothing half-written is left behind",
			Fix: "run the same command again to go on where it stopped"}
	case errors.Is(err, ledger.ErrBudgetExceeded):
		ce = &CommandError{Code: ExitOverBudget, What: err,
			Why: "the whole worst case is charged before anything is asked; nothing was spent",
			Fix: "ask for less, add noise, or raise the budget", Topic: "privacy"}
	case errors.Is(err, run.ErrOtherRun), errors.Is(err, recipe.ErrOtherRun), errors.Is(err, ledger.ErrOtherConfig):
		ce = &CommandError{Code: ExitInvalidInput, What: err,
			Why: "its key, ledger and checkpoints belong to that run; mixing the two would spend unseen",
			Fix: "choose another --out, or repeat that command"}
	case errors.Is(err, ledger.ErrSealed):
		ce = &CommandError{Code: ExitInvalidInput, What: err,
			Why: "the ledger was made in mode reserved: everything is charged before anything is released; nothing was spent",
			Fix: "name another ledger, and add up the two; one of mode filter can be shared", Topic: "ledger"}
	case errors.Is(err, ledger.ErrBroken):
		ce = &CommandError{Code: ExitFailure, What: err,
			Why: "a charge or an outcome could not be made durable, so nothing was released under it",
			Fix: "make room or repair the disk, and run the same command again"}
	case errors.Is(err, ledger.ErrCorrupt):
		ce = &CommandError{Code: ExitCheckFailed, What: err,
			Why: "what was charged can no longer be told, so nothing more may be released",
			Fix: "restore the newest copy; under an older one nothing may be released: what was charged since is spent", Topic: "ledger"}
	default:
		ce = &CommandError{Code: ExitFailure, What: err}
	}
	ce.advise()
	lines := []string{"pate: " + table.Printable(plain(ce.What.Error()))}
	if ce.Why != "" {
		lines = append(lines, table.Printable(plain(ce.Why)))
	}
	if ce.Fix != "" {
		lines = append(lines, table.Printable(ce.Fix))
	}
	switch {
	case ce.Topic != "":
		lines = append(lines, "pate help "+ce.Topic)
	case ce.Code == ExitUsage && ce.Fix == "":
		lines = append(lines, command+" --help")
	}
	return ce.Code, fmt.Sprintln(strings.Join(lines, "\n"))
}

// TrainingError adds to an error of a training what a person can do about it.
func TrainingError(err error) error {
	var ce *CommandError
	switch {
	case err == nil || errors.As(err, &ce):
		return err
	case errors.Is(err, recipe.ErrSpent):
		return &CommandError{Code: ExitOverBudget, What: err, Why: "what was charged to a ledger stays spent; nothing more was",
			Fix: "name another ledger, and add up the two, or take features that learn nothing from private rows", Topic: "privacy"}
	case errors.Is(err, recipe.ErrBudget):
		return &CommandError{Code: ExitOverBudget, What: err, Why: "no noise brings the whole within the budget; nothing was spent",
			Fix: "raise --epsilon, or take features that learn nothing from private rows", Topic: "privacy"}
	case errors.Is(err, ledger.ErrBudgetExceeded):
		return &CommandError{Code: ExitOverBudget, What: err, Why: "all of a training is charged before a private row is looked at; nothing was spent",
			Fix: "leave --noise-multiplier out to have it chosen, add noise, or train fewer --steps", Topic: "privacy"}
	case errors.Is(err, dpsgd.ErrCheckpoint):
		return &CommandError{Code: ExitCheckFailed, What: err, Why: "the training cannot go on from there; its charge stays",
			Fix: "remove the checkpoint to train again from the start, to the same model at no further cost", Topic: "dpsgd"}
	}
	return err
}
