package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/run"
)

// These exit codes are part of the stable command line interface.
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

// CommandError is an error for the user: what is wrong, why it matters, how to fix it, and a help topic.
type CommandError struct {
	Code  int
	What  error
	Why   string
	Fix   string
	Topic string // topic of `pate help TOPIC`
	Cause error  // error of a library from which What was made
}

func (e *CommandError) Error() string { return e.What.Error() }
func (e *CommandError) Unwrap() error { return e.What }

// UsageError returns an error about flags or arguments. Commands return usage errors before they read or
// write anything.
func UsageError(topic string, what error) error {
	return &CommandError{Code: ExitUsage, What: what, Topic: topic}
}

func Usagef(topic, format string, args ...any) error {
	return UsageError(topic, fmt.Errorf(format, args...))
}

// If returns an error with the formatted text if broken is true, and otherwise nil.
func If(broken bool, format string, args ...any) error {
	if !broken {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// Positive returns an error if given is true, unless the flag's value x is finite and above 0.
func Positive(given bool, name string, x float64) error {
	return If(given && !(x > 0 && x <= math.MaxFloat64), "--%s %v: must be a finite number above 0", name, x)
}

// Refuse returns the first error in rules as a UsageError, or nil if all rules are nil.
func Refuse(topic string, rules ...error) error {
	if err := cmp.Or(rules...); err != nil {
		return UsageError(topic, err)
	}
	return nil
}

// InputError returns an error about invalid data or parameters. A command returns this error before writing
// anything.
func InputError(what error, why, fix, topic string) error {
	return &CommandError{Code: ExitInvalidInput, What: what, Why: why, Fix: fix, Topic: topic}
}

// FaultError converts a [*fault.Error] in err to a CommandError with the given help topic. Other errors stay
// unchanged.
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

// Remedy holds the exit code and the text for every error that matches Of.
type Remedy struct {
	Of              error
	Code            int
	What            error // replaces the error's own text if not nil
	Why, Fix, Topic string
}

var remedies = []Remedy{
	{context.Canceled, ExitInterrupted, errors.New("interrupted"), "no incomplete file remains",
		"run the same command again to resume", ""},
	{ledger.ErrBudgetExceeded, ExitOverBudget, nil, "the whole worst case must fit the budget before the first query; nothing was spent",
		"ask fewer queries, add noise, or raise the budget", "privacy"},
	{run.ErrOtherRun, ExitInvalidInput, nil, otherRun, "choose another --out, or repeat that command", ""},
	{ledger.ErrOtherConfig, ExitInvalidInput, nil, otherRun, "choose another --out, or repeat that command", ""},
	{ledger.ErrSealed, ExitInvalidInput, nil,
		"the ledger is in mode reserved, which allows no charge after the first release; nothing was spent",
		"choose another ledger and add up both budgets; several runs can charge a ledger of mode filter", "ledger"},
	{ledger.ErrBroken, ExitFailure, nil, "a charge or an outcome could not be written to disk, so nothing was released under this charge",
		"free disk space or repair the disk, and run the same command again", ""},
	{ledger.ErrCorrupt, ExitCheckFailed, nil, "the ledger is damaged, so its charges are uncertain, and nothing more may be released",
		"restore a complete copy; if there is none, release nothing more about these people", "ledger"},
}

const otherRun = "key, ledger and checkpoints in the folder belong to that run, and a second run would spend its budget unnoticed"

// Explain returns the exit code of an error, and the lines that describe the error on stderr. Control
// characters are escaped, because an error may contain untrusted text.
func Explain(command string, err error) (int, string) {
	var ce *CommandError
	if !errors.As(err, &ce) {
		err = FaultError(err, "ledger") // faults of package run; commands convert faults of other packages
	}
	if err = Remedied(err, remedies); !errors.As(err, &ce) {
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

var trainings = []Remedy{
	{recipe.ErrSpent, ExitOverBudget, nil, "earlier charges to the ledger stay; nothing more was charged",
		"choose another ledger and add up both budgets, or choose features that learn nothing from private rows", "privacy"},
	{recipe.ErrBudget, ExitOverBudget, nil, "even the largest noise does not bring the total within the budget; nothing was spent",
		"raise --epsilon, or choose features that learn nothing from private rows", "privacy"},
	{ledger.ErrBudgetExceeded, ExitOverBudget, nil,
		"the whole training must fit the budget before a private row is read; nothing was spent",
		"add noise, use fewer --steps, or omit --noise-multiplier to get the smallest noise that fits", "privacy"},
	{dpsgd.ErrCheckpoint, ExitCheckFailed, nil, "the training cannot resume from this checkpoint, but it is charged already",
		"remove the checkpoint: then the same command trains the model again from the start, at no further cost", "dpsgd"},
}

func TrainingError(err error) error { return Remedied(err, trainings) }

// Remedied adds the first matching remedy to err, unless err already has one.
func Remedied(err error, of []Remedy) error {
	i := slices.IndexFunc(of, func(r Remedy) bool { return errors.Is(err, r.Of) })
	if i < 0 || errors.As(err, new(*CommandError)) {
		return err
	}
	r := of[i]
	return &CommandError{Code: r.Code, What: cmp.Or(r.What, err), Why: r.Why, Fix: r.Fix, Topic: r.Topic}
}

var general = []string{"", "check its name", "choose another file", "create its folder, or choose another file",
	"check its name, or give - for standard input"}

func (e *CommandError) advise() {
	why, fix := adviceOn(cmp.Or(e.Cause, e.What))
	if fix == "" {
		return
	}
	if slices.Contains(general, e.Fix) {
		e.Fix = fix
	}
	e.Why = cmp.Or(e.Why, why)
}

func adviceOn(err error) (why, fix string) {
	var link *os.LinkError
	switch {
	case isHeld(err):
		return "another process has the file open", "wait until the process ends, and run the same command again"
	case errors.Is(err, fs.ErrPermission):
		return "this user has no permission for the file or folder", "check its owner and mode with ls -l, or choose another place"
	case errors.Is(err, syscall.ENOSPC), isQuota(err):
		return "the disk is full; no incomplete file remains", "free disk space, or choose a place on another disk, and run the same command again"
	case errors.Is(err, syscall.EROFS):
		return "the file system is read-only", "choose another place"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many files are open at once", "raise the limit (ulimit -n 4096), or give fewer files"
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "the file system does not allow such a long name", "choose a shorter name"
	case errors.Is(err, syscall.ENOTDIR):
		return "a part of the path is a file, not a folder", "check the path"
	case errors.As(err, &link):
		return "the finished file could not be renamed; the old file is unchanged", "check that no other program uses the file, and run the " +
			"same command again"
	case errors.Is(err, syscall.EIO):
		return "the disk or the network failed", "check the disk and the network, and run the same command again"
	case errors.Is(err, fs.ErrNotExist):
		return "no file or folder has this name", "check the names of the file and of its folder"
	}
	return "", ""
}

var unnamed = regexp.MustCompile(`\.([^/\\\s]+?)(\.[0-9a-f]{8,}|\.released)?\.[0-9]+\.tmp\b`)

var packages = regexp.MustCompile(`(^|: )(?:(?:durable|experiments|recipe|accountant|aggregate|learn|release|manifest|svt|stable|dataset|` +
	`rng|statement|plan|dpsgd|optim|ledger|published|tune|tuned): (?:(?:bad (?:Config|law|settings)|invalid input|corrupt|Config.Optimizer): )?)+`)

var calls = regexp.MustCompile(`(--[a-z-]+ \S+: )(?:stat|open) \S+: |(^|: )(?:stat|open) `)

var fields = strings.NewReplacer("Config.ClipNorm", "--clip", "Config.Steps", "--steps", "Config.LearningRate", "--learning-rate",
	"Config.Momentum", "--momentum", "Config.SamplingProbability", "the sampling probability of --batch", "Config.FailureDelta", "--failure-delta",
	"Private.Share", "--score-share", "Accuracy must lie strictly", "the accuracy of a teacher must lie strictly",
	"Sigma (m", "--sigma (m", "Sigma1 (m", "--sigma1 (m", "Sigma2 (m", "--sigma2 (m", "Scale (m", "--scale (m")

func plain(text string) string {
	text = packages.ReplaceAllString(text, "$1")
	return fields.Replace(unnamed.ReplaceAllString(calls.ReplaceAllString(text, "$1$2"), "$1"))
}

func onWindows(err error, numbers ...syscall.Errno) bool {
	return runtime.GOOS == "windows" && slices.ContainsFunc(numbers, func(n syscall.Errno) bool { return errors.Is(err, n) })
}

func isQuota(err error) bool {
	const handleDiskFull, diskFull, diskQuotaExceeded = 39, 112, 1295
	return errors.Is(err, syscall.EDQUOT) || onWindows(err, handleDiskFull, diskFull, diskQuotaExceeded)
}

func isHeld(err error) bool {
	const sharingViolation, lockViolation = 32, 33
	return onWindows(err, sharingViolation, lockViolation)
}
