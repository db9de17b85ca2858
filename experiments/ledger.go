package experiments

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// openLedger opens the ledger of one method in one run. The run's name covers its key, its data and, as
// bound, everything else that the answers depend on: a run that repeats itself pays nothing twice, and one
// that would answer differently is refused. Where the pool is drawn it is the ledger that paid for that.
func (c point) openLedger(ctx context.Context, method string, seed int, bound []byte) (paidBook, error) {
	if book, found := c.drawn.take(method); found {
		return book, nil
	}
	id, err := c.runID(bound)
	if err != nil {
		return paidBook{}, err
	}
	noise := ledger.SeededNoise
	if c.Key.Releasable() {
		noise = ledger.SecretNoise
	}
	made := ledger.Config{Unit: c.Unit, Relation: relation, Epsilon: c.epsilon, Delta: c.Delta, Run: id, Noise: noise, Waived: c.Task.Waived(), Accountant: accountant.ByAuto}
	book, err := run.File{Path: results.Folder(c.Dir).Private("ledger", c.file(method, seed)+".jsonl")}.Open(ctx, made)
	if err != nil {
		return paidBook{}, fmt.Errorf("experiments: %w", err)
	}
	return paidBook{Book: book}, nil
}

// file returns the name of files of a method in one run. Where there are several targets, it has the
// target.
func (c point) file(method string, seed int) string {
	return fmt.Sprintf("%s-%d", FileName(method, c.epsilon, len(c.Epsilons) > 1), seed)
}

// out returns the file of what a method releases, such as labels. What a seeded run releases is marked by
// its name.
func (c point) out(what, method string, seed int) (run.Out, error) {
	name := what + "-" + c.file(method, seed) + ".csv"
	if !c.Key.Releasable() {
		name = "seeded-" + name
	}
	path, mode, err := results.Folder(c.Dir).Place(c.releasable(), name)
	return run.Out{Path: path, Mode: mode}, err
}

// releasable reports whether what was charged may leave.
func (c Config) releasable() bool { return c.Key.Releasable() && c.Task.Withheld() == "" }

// FileName returns how files about a method at a target begin.
func FileName(method string, epsilon float64, several bool) string {
	name := strings.ReplaceAll(method, "/", "-")
	if several {
		name += "-epsilon-" + number.Exact(epsilon)
	}
	return name
}

func (c Config) runID(bound []byte) (string, error) { return RunID(c.Key, c.hash(), bound) }

// RunID names, in a ledger, the run whose answers repeat themselves: those of a key, of data by their hash,
// and of all that bound says. It is a pseudorandom function of the data under the run's secret key and says
// nothing about them.
func RunID(key rng.Key, data [32]byte, bound []byte) (string, error) {
	id, err := key.DeriveBytes("ledger", data[:]).DeriveBytes("bound", bound).MarshalText()
	if err != nil {
		return "", fmt.Errorf("experiments: %w", err)
	}
	return hex.EncodeToString(id[len(id)-16:]), nil
}

// subfolder makes and returns a private folder of one seed's run.
func (c Config) subfolder(seed int) (string, error) {
	path := results.Folder(c.Dir).Private(fmt.Sprintf("run-%d", seed) + c.drawn.suffix())
	if err := durable.PrivateFolder(path); err != nil {
		return "", fmt.Errorf("run: %w", err)
	}
	return path, nil
}
