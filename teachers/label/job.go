package label

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/keyfile"
)

// foreign is the error for a file that is in the way.
func foreign(path string) error {
	return &Error{What: path + " is there already", Why: "it was not written by this run, and is not overwritten", Fix: "move it away, or write the labels elsewhere"}
}

// job is a run on an open ledger.
type job struct {
	Config
	account ledger.Config
	book    *ledger.Ledger
	step    func(string) error
	id      identity
	secret  *aggregate.Key // identifies votes on the ledger; not nil if not yet on disk
}

// begin charges a new run and carries it out.
func (j job) begin(ctx context.Context) (Result, error) {
	there, err := exists(j.Out)
	if err != nil {
		return Result{}, err
	}
	if there {
		return Result{}, foreign(j.Out)
	}
	s, err := j.settle(ctx, j.book)
	if err != nil {
		return Result{}, sealed(err)
	}
	j.id.take(s)
	e, err := s.event()
	if err != nil {
		return Result{}, err
	}
	if n, err := j.book.Fits(ctx, e); err != nil {
		return Result{}, sealed(err)
	} else if n == 0 { // nothing is written: there shall be no key of a run that never is
		if _, err := s.charge(ctx, j.book, j.book.Reserve); err != nil {
			return Result{}, err
		}
		return Result{}, errors.New("label: the ledger took what does not fit")
	}
	if err := writable(j.Out, j.id.tag()); err != nil { // before it is charged
		return Result{}, err
	}
	if j.secret != nil {
		if err := keyfile.Write(IDFile(j.Ledger), *j.secret); err != nil {
			return Result{}, err
		}
		if err := j.step("id"); err != nil {
			return Result{}, err
		}
	}
	key, err := j.newKey()
	if err != nil {
		return Result{}, err
	}
	if j.id.Key, err = public(key); err != nil {
		return Result{}, err
	}
	result, err := j.carryOut(ctx, s, &key)
	result.Calibrated = !j.setting().settled()
	return result, err
}

// newKey is the key of a new run, on disk.
func (j job) newKey() (aggregate.Key, error) {
	if j.Seed != nil {
		return aggregate.SeedKey(*j.Seed), nil
	}
	path := keyFile(j.Ledger, j.id)
	key, ok, err := keyfile.Read(path) // of the same run, stopped before it was charged
	if ok || err != nil {
		return key, err
	}
	if key, err = aggregate.NewKey(); err != nil {
		return key, fmt.Errorf("label: %w", err)
	}
	if err := keyfile.Write(path, key); err != nil {
		return key, err
	}
	return key, j.step("key")
}

// resume goes on with a run, or checks it if it is complete.
func (j job) resume(ctx context.Context, found recordedRun) (Result, error) {
	j.id = found.id
	key, err := j.oldKey()
	if err != nil {
		return Result{}, err
	}
	there, err := exists(j.Out)
	if err != nil {
		return Result{}, err
	}
	switch {
	case there && found.committed:
		return j.verify(key != nil)
	case there:
		return Result{}, foreign(j.Out)
	case key != nil:
		result, err := j.carryOut(ctx, found.id.setting(), key)
		result.Resumed = true
		return result, err
	case found.committed:
		return Result{}, &Error{What: j.Out + " is not there, and the run that released these labels is complete",
			Why: "its key was destroyed then, and with another they would be answered a second time", Fix: "give as --out the file that it wrote, or a copy of it"}
	}
	return Result{}, &Error{What: "the key of the unfinished run is gone: " + keyFile(j.Ledger, j.id),
		Why: "some of its queries may have been answered, and with another key they would be a second time", Fix: "restore the file; what the run was charged is spent"}
}

// oldKey is the key of a recorded run, nil if it is gone.
func (j job) oldKey() (*aggregate.Key, error) {
	var key aggregate.Key
	if j.Seed != nil {
		key = aggregate.SeedKey(*j.Seed)
	} else {
		var ok bool
		var err error
		if key, ok, err = keyfile.Read(keyFile(j.Ledger, j.id)); !ok || err != nil {
			return nil, err
		}
	}
	name, err := public(key)
	if err != nil {
		return nil, err
	}
	if name != j.id.Key {
		return nil, &Error{What: keyFile(j.Ledger, j.id) + " is not the key of the unfinished run", Why: "with another key its queries would be answered a second time", Fix: "restore the file"}
	}
	return &key, nil
}

// carryOut reserves, asks, commits, names the file and destroys the key. What
// was done before is done again, at no cost and with the same outcome.
func (j job) carryOut(ctx context.Context, s Setting, key *aggregate.Key) (Result, error) {
	reservation, err := j.reserve(s)
	if err != nil {
		return Result{}, err
	}
	if err := j.step("reserved"); err != nil {
		return Result{}, err
	}
	hash := j.Votes.Hash()
	ask, err := s.start(reservation, key.DeriveBytes("votes", hash[:]))
	if err != nil {
		return Result{}, err
	}
	var predictions *predictionReader
	if j.Predictions != "" {
		if predictions, err = openPredictions(j.Predictions, j.Votes.Classes()); err != nil {
			return Result{}, err
		}
		defer predictions.close()
	}
	progress := func(int) {}
	if j.Progress != nil {
		progress = func(done int) { j.Progress(done, s.Queries) }
	}
	durable.Sweep(j.Out, j.id.tag()) // what this run left when it was killed: the ledger is ours
	var count counts
	err = durable.WriteTagged(j.Out, j.id.tag(), 0o644, func(out io.Writer) error {
		w := newLabelWriter(out)
		if err := release(ctx, j.Votes.Histograms(ctx), predictions, ask, w, progress); err != nil {
			return err
		}
		if predictions != nil {
			if err := predictions.unchanged(j.id.Predictions); err != nil {
				return err
			}
		}
		count = w.counts
		if err := j.step("asked"); err != nil {
			return err
		}
		there, err := exists(j.Out)
		if err != nil {
			return err
		}
		if there { // of a run on another ledger, meanwhile
			return foreign(j.Out)
		}
		if err := j.book.Commit(reservation, outcome(w.hash.Sum(nil))); err != nil {
			return fmt.Errorf("label: %w", err)
		}
		if err := j.keepHead(); err != nil {
			return err
		}
		return j.step("committed")
	})
	if err != nil {
		return Result{}, err
	}
	if err := j.step("named"); err != nil {
		return Result{}, err
	}
	return j.finish(s, count)
}

func (j job) reserve(s Setting) (*ledger.Reservation, error) {
	name, err := j.id.encode()
	if err != nil {
		return nil, err
	}
	run, err := j.book.Run(name)
	if err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	e, err := s.event()
	if err != nil {
		return nil, err
	}
	reservation, err := run.Reserve(e)
	if err != nil {
		return nil, sealed(err)
	}
	return reservation, nil
}

// verify compares the labels of a complete run with what it committed.
func (j job) verify(hasKey bool) (Result, error) {
	sum, count, err := readLabels(j.Out)
	if err != nil {
		return Result{}, &Error{What: j.Out + " cannot be read", Err: err}
	}
	s := j.id.setting()
	reservation, err := j.reserve(s) // again, at no cost
	if err != nil {
		return Result{}, err
	}
	if err := j.book.Commit(reservation, outcome(sum)); err != nil {
		fix := "restore the file; its key is destroyed and nothing is drawn again"
		if hasKey {
			fix = "move it away and run the command again, which repeats what was released"
		}
		return Result{}, &Error{What: j.Out + " is not what was released", Why: "its hash is not the one that the ledger has committed", Fix: fix, Check: true, Err: err}
	}
	result, err := j.finish(s, count)
	result.Resumed, result.Complete = true, true
	return result, err
}

// finish destroys the key and says what there is.
func (j job) finish(s Setting, count counts) (Result, error) {
	if j.Seed == nil {
		if err := keyfile.Destroy(keyFile(j.Ledger, j.id)); err != nil {
			return Result{}, err
		}
	}
	result := Result{
		Asked: count.asked, Answered: count.answered, Declined: count.asked - count.answered, NotAsked: s.Queries - count.asked,
		Setting: s, Delta: j.account.Delta, Account: j.account, Left: j.book.Left(),
		Releasable: !j.id.Seeded && j.account.Noise != ledger.SeededNoise,
	}
	e, err := s.event()
	if err != nil {
		return Result{}, err
	}
	if result.Epsilon, err = alone(e, j.account); err != nil {
		return Result{}, err
	}
	result.Claim = j.account.Epsilon
	if j.account.Mode == ledger.Reserved {
		if result.Claim, err = j.book.Epsilon(); err != nil {
			return Result{}, fmt.Errorf("label: %w", err)
		}
	}
	return result, j.step("done")
}

// alone is the cost of one event by itself.
func alone(e accountant.Event, account ledger.Config) (float64, error) {
	rdp, err := accountant.NewRDP(accountant.Config{Relation: account.Relation})
	if err != nil {
		return math.NaN(), fmt.Errorf("label: %w", err)
	}
	if err := rdp.Compose(e, 1); err != nil {
		return math.NaN(), fmt.Errorf("label: %w", err)
	}
	bound, err := rdp.Epsilon(account.Delta)
	if err != nil {
		return math.NaN(), fmt.Errorf("label: %w", err)
	}
	return bound.Upper, nil
}
