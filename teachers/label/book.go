package label

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/run"
)

// file returns the ledger of the run.
func (c Config) file() run.File {
	made := c.Account
	made.Run, made.Data, made.Noise = "", "", ledger.SecretNoise
	if c.Seed != nil {
		made.Noise = ledger.SeededNoise
	}
	if made.Mode == ledger.Reserved && made.Accountant == "" {
		made.Accountant = accountant.ByTightest
	}
	if c.mayFail() && made.Mode == ledger.Filter && made.FailureDelta == 0 {
		made.FailureDelta = made.Delta / 2
	}
	return run.File{Path: c.Ledger, New: made, Expect: c.Expect, Warn: c.Warn}
}

// fits refuses a ledger that the mechanism cannot be charged to.
func (c Config) fits(account ledger.Config) error {
	if c.mayFail() && account.Mode == ledger.Filter && account.FailureDelta == 0 {
		return &fault.Error{What: c.Ledger + " keeps none of its delta for releases that may fail", Why: c.Setting.Mechanism + " releases what it should not with a small probability",
			Fix: "name another ledger, made for it or with a failure delta"}
	}
	return nil
}

// keyFile returns the name of the key of an unfinished run.
func keyFile(ledger string, id identity) string { return ledger + "." + id.tag() + ".key" }

// recordedRun is a run of labels that a ledger has charged.
type recordedRun struct {
	name      string
	id        identity
	committed bool
}

// recordedRuns returns the runs of labels of a ledger.
func recordedRuns(book *ledger.Ledger) ([]recordedRun, error) {
	var runs []recordedRun
	for _, r := range book.Runs() {
		id, ok, err := parseIdentity(r.Name)
		if err != nil {
			return nil, err
		}
		if ok && r.Entries > 0 {
			runs = append(runs, recordedRun{name: r.Name, id: id, committed: r.Committed})
		}
	}
	return runs, nil
}

// identify fills in what tells these votes from others: their hash under the secret of
// the ledger.
func (j *job) identify(runs []recordedRun) error {
	secret, err := j.book.Secret(len(runs) > 0)
	if err != nil {
		return err
	}
	hash := j.Votes.Hash()
	j.id.Votes, err = run.KeyName(secret.DeriveBytes("votes", hash[:]))
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
		return nil, &fault.Error{What: fmt.Sprintf("queries %d:%d of pool %q were put to another run, which %s: %s", r.id.Queries[0], r.id.Queries[1], r.id.Pool, state, strings.Join(differ, "; ")),
			Why: "an answered query is never answered again with fresh noise", Fix: "repeat that run as it was, or choose queries that were not asked"}
	}
	return nil, nil
}

// sealed explains why a ledger of mode Reserved takes no more.
func sealed(err error) error {
	if errors.Is(err, ledger.ErrSealed) {
		return &fault.Error{What: "the ledger takes no more", Why: "it was made in mode reserved: everything is charged before anything is released", Fix: "name another ledger; one of mode filter can be shared", Err: err}
	}
	return err
}
