package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/analysis"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/teachers/label"
)

// releaseFlags are the flags of `pate analyze release`.
type releaseFlags struct {
	votesFlags
	analyzedFlags
	order, beta, sigmaSS, margin float64
	ledger, out, name            string
	epsilon                      float64
	unit                         string
}

func newAnalyzeReleaseCommand(g *globals) *cobra.Command {
	var f releaseFlags
	cmd := &cobra.Command{
		Use:   "release VOTES...",
		Short: "One number of the report that may leave: noised and charged",
		Long: `One number of the report that may leave: noised and charged.

What pate analyze prints is as private as the votes. This command releases one
number instead, once: the data-dependent cost of all queries (as if all were
answered) at one Rényi order, with noise in proportion to its smooth sensitivity
and a margin that makes it seldom too low. The release has a price of its own,
which is charged to the ledger before the votes are counted. The answers must have
been charged already, in full: the number replaces nothing on the ledger.

--order, --beta, --sigma-ss and --margin must be fixed before anybody looks at the
votes. Left out, they are chosen from the mechanism, --delta and the numbers of
queries, teachers and classes. Taken from a report on these votes they would be a
second release that nobody pays for: do not.

The number says how well these votes hid a record from whoever saw the answers, in
one direction. It is no guarantee: that is the ledger's, see pate statement. With
few queries it is hardly below the worst case.

Interrupted, run the same command again: the same number comes out, bit for bit,
at no further cost. The key of the noise lies beside the ledger until then,
LEDGER.*.key, and is destroyed at the end; then the same command checks that --out
is what was released. Another release on the same ledger needs another --name, and
is charged like the first.`,
		Example: `  pate analyze release votes.npy --classes 10 --mechanism gnmax --sigma 40 \
      --ledger run.jsonl --out released.json
  pate analyze release votes.npy --classes 10 --mechanism gnmax --sigma 40 \
      --order 13 --beta 0.026 --sigma-ss 8.4 --margin 2 \
      --ledger run.jsonl --out released.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runAnalyzeRelease(cmd, g, f, args) },
	}
	f.add(cmd)
	f.addMechanism(cmd)
	flags := cmd.Flags()
	flags.Float64Var(&f.order, "order", 0, "Rényi order of the cost (default: the best if the votes save four fifths of the worst case)")
	flags.Float64Var(&f.beta, "beta", 0, "smoothness of the sensitivity (default 1/(3 order))")
	flags.Float64Var(&f.sigmaSS, "sigma-ss", 0, "standard deviation of the noise, in smooth sensitivities (default: the release costs a tenth of the worst case of the queries)")
	flags.Float64Var(&f.margin, "margin", 2, "added so that the number is seldom too low, in standard deviations of the noise")
	flags.StringVar(&f.ledger, "ledger", "", "the file that is charged: the one that charged the answers (required)")
	flags.StringVar(&f.out, "out", "", "JSON file for what is released (required)")
	flags.StringVar(&f.name, "name", "release", "names this release on the ledger")
	flags.Float64Var(&f.epsilon, "epsilon", 0, "the budget of the ledger (required if it is new)")
	flags.StringVar(&f.unit, "unit", "record", "of a new ledger: whose data one teacher alone has seen: record, user, ...")
	return cmd
}

// check refuses flags that say nothing before files are opened.
func (f *releaseFlags) check(cmd *cobra.Command) error {
	for _, flag := range []struct {
		name  string
		value float64
	}{{"order", f.order}, {"beta", f.beta}, {"sigma-ss", f.sigmaSS}, {"epsilon", f.epsilon}} {
		if cmd.Flags().Changed(flag.name) && !(flag.value > 0) {
			return usageError("privacy", fmt.Errorf("--%s %v: must be above 0", flag.name, flag.value))
		}
	}
	switch {
	case f.mechanism == "lnmax":
		return usageError("mechanisms", errors.New("--mechanism lnmax: its smooth sensitivity is not known; gnmax and confident can be released"))
	case f.ledger == "":
		return usageError("ledger", errors.New("--ledger is required: a release is charged to a file"))
	case f.out == "":
		return usageError("votes", errors.New("--out is required: what is released is written there"))
	case f.name == "":
		return usageError("ledger", errors.New("--name is empty: it names the release on the ledger"))
	}
	return nil
}

// target is the file of what is released.
func (f *releaseFlags) target() target { return target{flag: "--out", path: f.out, topic: "ledger"} }

// keyPath is the key of the release until it is complete.
func (f *releaseFlags) keyPath() string {
	name := sha256.Sum256([]byte("analyze release " + f.name))
	return f.ledger + "." + hex.EncodeToString(name[:6]) + ".key"
}

// apart refuses an --out that would overwrite what the release is made from.
func (f *releaseFlags) apart(args []string) error {
	out := f.target()
	keys, err := keysBeside(f.ledger)
	if err != nil {
		return err
	}
	return cmp.Or(
		out.apart("the ledger", f.ledger),
		out.apart("a file that belongs to the ledger", append(keys, label.IDFile(f.ledger), label.HeadFile(f.ledger), f.keyPath())...),
		out.apart("one of the votes files", filesOf(args)...),
	)
}

// keysBeside are the keys of runs on a ledger that are not complete.
func keysBeside(path string) ([]string, error) {
	beside, err := os.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, inputError(err, "the ledger is charged before anything is released", "check its name", "ledger")
	}
	var keys []string
	for _, file := range beside {
		if name := file.Name(); strings.HasPrefix(name, filepath.Base(path)+".") && strings.HasSuffix(name, ".key") {
			keys = append(keys, filepath.Join(filepath.Dir(path), name))
		}
	}
	return keys, nil
}

// lost refuses a ledger that is new if something shows that it was there: its
// charges stay spent, and noise drawn anew would answer a second time.
func (f *releaseFlags) lost() error {
	traces, err := keysBeside(f.ledger)
	if err != nil {
		return err
	}
	for _, trace := range append(traces, label.IDFile(f.ledger), label.HeadFile(f.ledger)) {
		if there, err := durable.Exists(trace); err != nil {
			return err
		} else if there {
			return &commandError{code: exitCheckFailed, what: fmt.Errorf("%s is gone or empty, and %s shows that it was there", f.ledger, trace),
				why: "what was charged to it stays spent, and without it nothing tells what was released",
				fix: "restore the ledger; if it never charged anything, remove the other file too", topic: "ledger"}
		}
	}
	return nil
}

// account is how the ledger is opened, and whether it is new.
func (f *releaseFlags) account(cmd *cobra.Command, g *globals) (account ledger.Config, fresh bool, err error) {
	// Before the ledger is looked for: it was there before what shows so.
	lost := f.lost()
	file, err := os.Open(f.ledger)
	if err == nil {
		defer file.Close()
		var first []byte
		if first, err = io.ReadAll(io.LimitReader(file, 1)); err == nil && len(first) == 0 {
			err = fs.ErrNotExist // made by somebody who was killed before the first line
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		if lost != nil {
			return account, true, lost
		}
		account, err = f.newAccount(g)
		return account, true, err
	}
	if err != nil {
		return account, false, inputError(err, "the ledger is charged before anything is released", "check its name", "ledger")
	}
	account, err = f.madeAccount(cmd, g, file)
	return account, false, err
}

// noise is where that of the release comes from.
func (g *globals) noise() ledger.Noise {
	if g.seeded {
		return ledger.SeededNoise
	}
	return ledger.SecretNoise
}

func (f *releaseFlags) newAccount(g *globals) (ledger.Config, error) {
	if f.epsilon == 0 {
		return ledger.Config{}, usageError("privacy", fmt.Errorf("--epsilon is required: %s is new", f.ledger))
	}
	book := target{flag: "--ledger", path: f.ledger, topic: "ledger"}
	return ledger.Config{Unit: f.unit, Relation: accountant.AddRemove, Epsilon: f.epsilon, Delta: g.delta, Mode: ledger.Filter, Noise: g.noise()}, book.possible()
}

func (f *releaseFlags) madeAccount(cmd *cobra.Command, g *globals, file *os.File) (ledger.Config, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return ledger.Config{}, err
	}
	is, err := ledger.ReadConfig(file)
	if err != nil {
		return is, fmt.Errorf("%w (%s)", err, f.ledger)
	}
	given := cmd.Flags().Changed
	differs := func(what string, is, want any) error {
		return inputError(fmt.Errorf("%s was made otherwise: its %s is %v, not %v", f.ledger, what, is, want),
			"a ledger has one budget, one unit, and noise that is secret or not", "take the ledger as it is, or name another", "ledger")
	}
	switch {
	case given("epsilon") && is.Epsilon != f.epsilon:
		return is, differs("epsilon", is.Epsilon, f.epsilon)
	case given("delta") && is.Delta != g.delta:
		return is, differs("delta", is.Delta, g.delta)
	case given("unit") && is.Unit != f.unit:
		return is, differs("unit", is.Unit, f.unit)
	case is.Noise != ledger.UnknownNoise && is.Noise != g.noise():
		return is, differs("noise", is.Noise, g.noise())
	}
	return is, nil
}

func runAnalyzeRelease(cmd *cobra.Command, g *globals, f releaseFlags, args []string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	m, err := f.described(cmd)
	if err != nil {
		return err
	}
	if err := f.apart(args); err != nil {
		return err
	}
	account, fresh, err := f.account(cmd, g)
	if err != nil {
		return err
	}
	votes, err := f.open(cmd.Context(), args)
	if err != nil {
		return err
	}
	if err := checkDelta(account.Delta, votes); err != nil {
		return err
	}
	if votes.Teachers() == 0 {
		return usageError("votes", errors.New("--teachers is required with --counts: the number of teachers is public and is not guessed from votes"))
	}
	s, err := analysis.NewSanitizer(analysis.SanitizerConfig{
		Mechanism: m, Queries: votes.Queries(), Teachers: votes.Teachers(), Classes: votes.Classes(), Delta: account.Delta,
		Order: f.order, Beta: f.beta, Sigma: f.sigmaSS, Margin: f.margin,
	})
	if err != nil {
		return usageError("privacy", err)
	}
	r := releaseRun{ctx: cmd.Context(), globals: g, flags: f, account: account, fresh: fresh, sanitizer: s, votes: votes}
	report, err := r.run(onlyHistograms(cmd, votes))
	if err != nil {
		return err
	}
	return writeReleased(g, report)
}
