package label

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/keyfile"
)

// account is how the ledger is opened, and whether it is new.
func (c Config) account() (account ledger.Config, fresh bool, err error) {
	made, want := c.Account, c.Expect
	made.Run, made.Data, made.Noise = "", "", ledger.SecretNoise
	if c.Seed != nil {
		made.Noise = ledger.SeededNoise
	}
	if c.Setting.Stable() && made.Mode == ledger.Filter && made.FailureDelta == 0 {
		made.FailureDelta = made.Delta / 2
	}
	// Before the ledger is looked for: it was there, whole, before its secret was.
	known, err := exists(IDFile(c.Ledger))
	if err != nil {
		return made, false, err
	}
	f, err := os.Open(c.Ledger)
	if errors.Is(err, fs.ErrNotExist) {
		return made, true, c.lost(known)
	}
	if err != nil {
		return made, false, &Error{What: "the ledger cannot be read", Err: err}
	}
	defer f.Close()
	first, err := bufio.NewReader(io.LimitReader(f, 1<<21)).ReadBytes('\n')
	if err == io.EOF { // it never became one, or opening it says what it is
		return made, true, c.lost(known)
	}
	if err != nil {
		return made, false, &Error{What: "the ledger cannot be read", Err: err}
	}
	is, err := ledger.ReadConfig(bytes.NewReader(first))
	if err != nil {
		return is, false, fmt.Errorf("%w (%s)", err, c.Ledger)
	}
	var differ []string
	field := func(name string, is, want any, given bool) {
		if given && is != want {
			differ = append(differ, fmt.Sprintf("%s is %v, not %v", name, is, want))
		}
	}
	field("epsilon", is.Epsilon, want.Epsilon, want.Epsilon != 0)
	field("delta", is.Delta, want.Delta, want.Delta != 0)
	field("unit", is.Unit, want.Unit, want.Unit != "")
	field("relation", is.Relation, want.Relation, want.Relation != 0)
	if want.Mode != nil {
		field("mode", is.Mode, *want.Mode, true)
	}
	field("noise", string(is.Noise), string(made.Noise), is.Noise != ledger.UnknownNoise)
	if c.Setting.Stable() && is.Mode == ledger.Filter && is.FailureDelta == 0 {
		return is, false, &Error{What: c.Ledger + " keeps none of its delta for releases that may fail", Why: c.Setting.Mechanism + " releases what it should not with a small probability",
			Fix: "name another ledger, made for it or with a failure delta"}
	}
	if differ != nil {
		return is, false, &Error{What: c.Ledger + " was made otherwise: its " + strings.Join(differ, ", "),
			Why: "a ledger has one budget, one unit, and noise that is secret or not", Fix: "take the ledger as it is, or name another"}
	}
	return is, false, nil
}

// lost is the error for a ledger that is not there and whose secret is.
func (c Config) lost(known bool) error {
	if !known {
		return nil
	}
	return &Error{What: c.Ledger + " is gone or cut off, and " + IDFile(c.Ledger) + " shows that it was there",
		Why: "what was charged to it stays spent, and without it nothing tells what was answered",
		Fix: "restore the ledger; if it never charged anything, remove the other file too"}
}

// openLedger opens the ledger, waiting for whoever holds it, until ctx ends.
func openLedger(ctx context.Context, path string, account ledger.Config) (*ledger.Ledger, error) {
	type opened struct {
		book *ledger.Ledger
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		book, err := ledger.Open(path, account)
		done <- opened{book, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, fmt.Errorf("label: %w", o.err)
		}
		return o.book, nil
	case <-ctx.Done():
		go func() { // give it back when it comes after all
			if o := <-done; o.err == nil {
				o.book.Close()
			}
		}()
		return nil, fmt.Errorf("label: waiting for another process to leave the ledger: %w", ctx.Err())
	}
}

// recordedRun is a run of labels that a ledger has charged.
type recordedRun struct {
	id        identity
	committed bool
}

// keptHead is the head that the ledger at a path is known to have had; zero if none
// was kept.
func keptHead(path string) (ledger.Head, error) {
	text, err := os.ReadFile(HeadFile(path))
	if errors.Is(err, fs.ErrNotExist) {
		return ledger.Head{}, nil
	}
	if err != nil {
		return ledger.Head{}, fmt.Errorf("label: %w", err)
	}
	lines, hash, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), ":")
	n, err := strconv.ParseInt(lines, 10, 64)
	if err != nil || n < 1 || len(hash) != 64 {
		return ledger.Head{}, &Error{What: HeadFile(path) + " is not the head of a ledger", Why: "it tells whether lines were cut off the ledger", Fix: "restore it", Check: true}
	}
	return ledger.Head{Lines: n, Hash: hash}, nil
}

// keepHead keeps the head of the ledger, before what it has committed leaves.
func (j job) keepHead() error {
	head := j.book.Head()
	if err := durable.WriteBytes(HeadFile(j.Ledger), 0o600, fmt.Appendf(nil, "%d:%s\n", head.Lines, head.Hash)); err != nil {
		return fmt.Errorf("label: %w", err)
	}
	return nil
}

// recordedRuns reads the runs of a ledger that is held open, and checks that it
// still has all lines it is known to have had.
func recordedRuns(path string) ([]recordedRun, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	defer f.Close()
	head, err := keptHead(path)
	if err != nil {
		return nil, err
	}
	var runs []recordedRun
	var entries []int64
	sum, err := ledger.VerifyHead(f, head, func(e ledger.Entry) error {
		id, ok, err := parseIdentity(e.Run)
		if ok {
			runs, entries = append(runs, recordedRun{id: id}), append(entries, e.Number)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("label: %w (%s)", err, path)
	}
	for i := range runs {
		runs[i].committed = sum.Committed(entries[i])
	}
	return runs, nil
}

// identify fills in what tells these votes from others.
func (j *job) identify(runs []recordedRun) error {
	path := IDFile(j.Ledger)
	secret, ok, err := keyfile.Read(path)
	if err != nil {
		return err
	}
	if !ok {
		if len(runs) > 0 {
			return &Error{What: path + " is gone", Why: "without it nothing tells whether these votes were answered before", Fix: "restore the file; without it no more labels are released under this ledger"}
		}
		if secret, err = aggregate.NewKey(); err != nil {
			return fmt.Errorf("label: %w", err)
		}
		j.secret = &secret
	}
	hash := j.Votes.Hash()
	j.id.Votes, err = public(secret.DeriveBytes("votes", hash[:]))
	return err
}

// find returns the recorded run that is asked for, nil if it is new. A run that
// has a query in common with another one is refused.
func find(runs []recordedRun, asked identity) (*recordedRun, error) {
	for i, r := range runs {
		if !r.id.shares(asked) {
			continue
		}
		differ := r.id.differences(asked)
		if differ == nil {
			return &runs[i], nil
		}
		state := "was started"
		if r.committed {
			state = "is complete"
		}
		return nil, &Error{What: fmt.Sprintf("queries %d:%d of pool %q were put to another run, which %s: %s", r.id.Queries[0], r.id.Queries[1], r.id.Pool, state, strings.Join(differ, "; ")),
			Why: "an answered query is never answered again with fresh noise", Fix: "repeat that run as it was, or choose queries that were not asked"}
	}
	return nil, nil
}

// sealed explains why a ledger of mode Reserved takes no more.
func sealed(err error) error {
	if errors.Is(err, ledger.ErrSealed) {
		return &Error{What: "the ledger takes no more", Why: "it was made in mode reserved: everything is charged before anything is released", Fix: "name another ledger; one of mode filter can be shared", Err: err}
	}
	return err
}
