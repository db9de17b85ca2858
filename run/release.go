package run

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/rng"
)

// Done is the result of a stage.
type Done struct {
	Recorded bool // the run was charged before
	Complete bool // the committed file exists and nothing was drawn
	// Entry is the index of the stage's first ledger entry. SHA256 is the hash of the stage's file. Every
	// entry of the stage commits this hash.
	Entry  int64
	SHA256 [sha256.Size]byte
}

type charged struct {
	reservations []*ledger.Reservation
	key          rng.Key
	hasKey       bool
}

// charge writes the key to disk before it reserves all events of the run in one batch.
func (s *Session) charge(ctx context.Context) (err error) {
	var c charged
	for _, stage := range s.run.Stages {
		if stage.Out != "" {
			durable.Sweep(stage.Out, "") // remains of a killed process that checked whether Out can be written
		}
	}
	if c.key, c.hasKey, err = s.readKey(); err != nil {
		return err
	}
	if !s.Recorded {
		// Check first, because a failed attempt must not leave a key file.
		for _, stage := range s.run.Stages {
			if err := stage.Clear(); err != nil {
				return err
			}
		}
		if !s.tried {
			if err := s.Ledger.Try(s.events()...); err != nil {
				return err
			}
		}
		if !c.hasKey {
			if c.key, err = rng.NewKey(); err != nil {
				return fmt.Errorf("run: %w", err)
			}
			if err := keyfile.Write(s.keyFile(), c.key); err != nil {
				return err
			}
			c.hasKey = true
		}
		if err := crash.Point(ctx, "key"); err != nil {
			return err
		}
	}
	if c.reservations, err = s.reserve(c); err != nil {
		return err
	}
	s.paid = &c
	return crash.Point(ctx, "reserved")
}

func (s *Session) keyFile() string {
	if !s.run.given().IsZero() {
		return ""
	}
	return s.run.Path + "." + s.tag + ".key"
}

func (s *Session) readKey() (key rng.Key, found bool, err error) {
	path := s.keyFile()
	if path == "" {
		return s.run.given(), true, nil
	}
	durable.Sweep(path, "")
	return keyfile.Read(path)
}

func (s *Session) reserve(c charged) (_ []*ledger.Reservation, err error) {
	events := s.events()
	if s.run.own() {
		return s.Ledger.ReserveBatch(events)
	}
	keyName := ""
	if c.hasKey {
		if keyName, err = nameOfKey(c.key); err != nil {
			return nil, err
		}
	}
	name := ""
	if !s.Recorded {
		s.id.Key = keyName
		if name, err = s.id.encode(); err != nil {
			return nil, err
		}
	} else if name = s.plan.Same.name; s.keyFile() != "" && c.hasKey && s.id.Key != "" && keyName != s.id.Key {
		return nil, &fault.Error{What: s.keyFile() + " is not the key of the unfinished run",
			Why: "with another key the noise would be drawn a second time", Fix: "restore the file"}
	}
	run, err := s.Ledger.Run(name)
	if err != nil {
		return nil, err
	}
	return run.ReserveBatch(events)
}

func (s *Session) leave(ctx context.Context, stage Stage, c charged, done *Done) error {
	if len(c.reservations) > 0 {
		done.Entry = c.reservations[0].Entry()
	}
	committed := s.Ledger.Committed(c.reservations...)
	there, err := stage.there()
	switch {
	case err != nil:
		return err
	case there && !committed:
		return stage.errExists()
	case there && !stage.Redraw:
		done.SHA256, err = s.verify(stage, c)
		done.Complete = err == nil
	case !c.hasKey && committed:
		return &fault.Error{What: stage.Out + " is missing, and the run that released it is complete",
			Why: "the key of the run is destroyed, and with another key the noise would be drawn a second time",
			Fix: "give as --out the file that the run wrote, or its copy", Check: true}
	case !c.hasKey:
		return &fault.Error{What: "the key of the unfinished run is missing: " + s.keyFile(),
			Why: "noise may have been drawn already, and another key would draw it a second time",
			Fix: "restore the file; the charge of the run stays spent", Check: true}
	default:
		done.SHA256, err = s.draw(ctx, stage, c)
	}
	return err
}

// draw commits the hash of a stage's outcome to the ledger before the outcome's file gets its name.
func (s *Session) draw(ctx context.Context, stage Stage, c charged) (sum [sha256.Size]byte, err error) {
	release := func(out io.Writer) error {
		hash := sha256.New()
		if err := stage.Draw(c.reservations, c.key, io.MultiWriter(out, hash)); err != nil {
			return err
		}
		if err := crash.Point(ctx, "drawn"); err != nil {
			return err
		}
		if !stage.Redraw { // another process may have written the file in the meantime
			if there, err := stage.there(); err != nil {
				return err
			} else if there {
				return stage.errExists()
			}
		}
		sum = [sha256.Size]byte(hash.Sum(nil))
		if err := s.commit(c.reservations, sum); err != nil {
			return fmt.Errorf("run: %w", err)
		}
		if err := crash.Point(ctx, "committed"); err != nil {
			return err
		}
		if err := s.keep(); err != nil {
			return err
		}
		return crash.Point(ctx, "kept")
	}
	if stage.Out == "" {
		err = release(io.Discard)
		return sum, err
	}
	tag, mode := s.tag+stage.Name, stage.Mode
	switch {
	case mode != 0:
	case s.run.seeded() || s.Account.Withheld() != "":
		mode = 0o600
	default:
		mode = 0o644
	}
	durable.Sweep(stage.Out, tag) // remains of this run after a kill; this process holds the ledger
	if err := durable.WriteTagged(stage.Out, tag, mode, release); err != nil {
		return sum, err
	}
	return sum, crash.Point(ctx, "named")
}

func (b *Book) commit(of []*ledger.Reservation, file [sha256.Size]byte) error {
	outcomes := make([]ledger.Outcome, len(of))
	for i := range of {
		outcomes[i] = ledger.Outcome{Of: of[i], Hash: &file}
	}
	return b.Ledger.CommitBatch(outcomes)
}

func (s *Session) verify(stage Stage, c charged) (sum [sha256.Size]byte, err error) {
	if sum, err = stage.read(); err != nil {
		return sum, &fault.Error{What: stage.Out + " cannot be read", Err: err}
	}
	if err := s.commit(c.reservations, sum); err != nil {
		fix := "restore the file; it cannot be drawn again, because its key is destroyed"
		if c.hasKey {
			fix = "move the file away and run the command again, which writes the same release"
		}
		return sum, &fault.Error{What: stage.Out + " is not the file that was released",
			Why: "the hash of the file differs from the hash in the ledger", Fix: fix, Check: true, Err: err}
	}
	return sum, nil
}

func (s Stage) read() (sum [sha256.Size]byte, err error) {
	f, err := durable.OpenRegular(s.Out)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	hash := sha256.New()
	if s.Read != nil {
		if err := s.Read(io.TeeReader(f, hash)); err != nil {
			return sum, err
		}
	}
	_, err = io.Copy(hash, f) // the part that Read left
	return [sha256.Size]byte(hash.Sum(nil)), err
}

// nameOfKey returns a public name that reveals nothing about the key.
func nameOfKey(key rng.Key) (string, error) { return publicName(key.Derive("label public name")) }

func (s Stage) there() (bool, error) {
	if s.Out == "" {
		return false, nil
	}
	return durable.Exists(s.Out)
}

// Clear returns an error if the file Out exists or cannot be created.
func (s Stage) Clear() error {
	there, err := s.there()
	if there {
		return s.errExists()
	}
	if err != nil || s.Out == "" {
		return err
	}
	return writable(s.Out)
}

func (s Stage) errExists() error {
	return &fault.Error{What: s.Out + " exists already", Why: "the file is not from this run, so this run does not overwrite it",
		Fix: "move the file away, or choose another file name"}
}

func writable(path string) error {
	if err := durable.Writable(path); err != nil {
		return &fault.Error{What: path + " cannot be written", Why: "nothing was written or charged",
			Fix: "create its folder, or choose another file", Err: err}
	}
	return nil
}
