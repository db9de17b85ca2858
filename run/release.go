package run

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/rng"
)

// Release is one thing that leaves once.
type Release struct {
	// Run names the release on the ledger. It is empty on a ledger made for this run alone
	// ([ledger.Config].Run), and for a new run with NameOf.
	Run string
	// NameOf names a new run by the name of its key; see [KeyName]. It may be nil.
	NameOf func(key string) (string, error)
	Events []accountant.Event // all that it costs, in the worst case
	// Charged are the reservations of Events if they were made before, by one ReserveBatch for this release
	// and others on a ledger made for this run alone. Its key is Given.
	Charged []*ledger.Reservation
	Key     Key // where all of its noise comes from
	Out     Out // where it goes
	// Redraw draws again what is complete already, for what else follows from it. It needs the key.
	Redraw bool
	// Draw uses the reservations, one for each of Events, and writes what leaves to out: the hash of all
	// that it writes is committed. It is a function of its arguments and of what Run names: the same ones
	// give the same bytes.
	Draw func(r []*ledger.Reservation, key rng.Key, out io.Writer) error
	// Read reads the file of a complete release, for what the caller says of it. It may be nil.
	Read func(file io.Reader) error

	tried bool // the events fit
}

// Key says where the noise of a release comes from.
type Key struct {
	// File is where the key of this release alone lies until the release is complete. A new release makes
	// it.
	File string
	// Given is the key if there is no File: that of a seed or of a run's folder, which others keep and
	// destroy.
	Given rng.Key
	// Name is what the key of a recorded run must be called; "" if that is not known.
	Name string
}

// Out is the file that leaves.
type Out struct {
	Path string // "" if it leaves by other means
	Tag  string // of its temporary file; other releases have other tags
	Mode os.FileMode
}

// Done says what was done.
type Done struct {
	Recorded bool // the release had been charged before
	Complete bool // and its file was there, as it was committed: nothing was drawn
	// Entry is the number in the ledger of the first of its reservations, and SHA256 the hash of the file,
	// which is committed for all of them.
	Entry  int64
	SHA256 [sha256.Size]byte
}

// Release carries out r, goes on with it, or checks that it is complete; the package comment says in which
// order and why. On an error nothing has left that was not committed, and nothing is charged that was not
// before, unless the error came after the charge: then repeating the release costs nothing more.
func (b *Book) Release(ctx context.Context, r Release) (Done, error) {
	c, err := b.charge(ctx, r, r.Out)
	done := Done{Recorded: c.recorded}
	if err != nil {
		return done, err
	}
	if err := b.leave(ctx, r, c, &done); err != nil {
		return done, err
	}
	return done, r.Key.end(ctx)
}

// charged is what was reserved, and the key of the noise if it is there still.
type charged struct {
	recorded     bool // before
	reservations []*ledger.Reservation
	key          rng.Key
	hasKey       bool
}

// charge puts the key on disk and reserves all events, or finds what was reserved before.
func (b *Book) charge(ctx context.Context, r Release, outs ...Out) (c charged, err error) {
	c.recorded = b.recorded(r.Run)
	for _, out := range outs {
		if out.Path != "" {
			durable.Sweep(out.Path, "") // what a killed process left of finding out whether it can write
		}
	}
	if c.key, c.hasKey, err = r.Key.read(); err != nil {
		return c, err
	}
	if !c.recorded {
		// Before anything is written: otherwise a failed attempt leaves a key file behind.
		for _, out := range outs {
			if err := out.clear(); err != nil {
				return c, err
			}
		}
		if !r.tried {
			if err := b.Ledger.Try(r.Events...); err != nil {
				return c, err
			}
		}
		if !c.hasKey {
			if c.key, err = r.Key.create(); err != nil {
				return c, err
			}
			c.hasKey = true
		}
		if err := crash.Point(ctx, "key"); err != nil {
			return c, err
		}
	}
	if c.reservations, err = b.reserve(r, c.key, c.hasKey); err != nil {
		return c, err
	}
	return c, crash.Point(ctx, "reserved")
}

// leave draws what was charged, or checks that it has left.
func (b *Book) leave(ctx context.Context, r Release, c charged, done *Done) error {
	if len(c.reservations) > 0 {
		done.Entry = c.reservations[0].Entry()
	}
	committed := b.Ledger.Committed(c.reservations...)
	there, err := r.Out.there()
	switch {
	case err != nil:
		return err
	case there && !committed:
		return r.Out.errExists()
	case there && !r.Redraw:
		done.Complete = true
		done.SHA256, err = b.verify(r, c)
	case !c.hasKey && committed:
		return &fault.Error{What: r.Out.Path + " is not there, and the run that released it is complete",
			Why: "its key was destroyed then, and with another it would be drawn a second time", Fix: "give as --out the file that it wrote, or a copy of it", Check: true}
	case !c.hasKey:
		return &fault.Error{What: "the key of the unfinished run is gone: " + r.Key.File,
			Why: "some of it may have been drawn, and with another key it would be a second time", Fix: "restore the file; what the run was charged is spent", Check: true}
	default:
		done.SHA256, err = b.draw(ctx, r, c)
	}
	if err != nil {
		done.Complete = false
	}
	return err
}

// end destroys the key of a release that is complete, if it is its own.
func (k Key) end(ctx context.Context) error {
	if k.File != "" {
		if err := keyfile.Destroy(k.File); err != nil {
			return err
		}
	}
	return crash.Point(ctx, "done")
}

// recorded reports whether a run was charged before; "" is a ledger made for one.
func (b *Book) recorded(run string) bool {
	if run == "" {
		return !b.shared && b.Ledger.State().Entries > 0
	}
	for _, r := range b.Ledger.Runs() {
		if r.Name == run && r.Entries > 0 {
			return true
		}
	}
	return false
}

// reserve charges the release, or finds what it was charged before.
func (b *Book) reserve(r Release, key rng.Key, hasKey bool) ([]*ledger.Reservation, error) {
	if r.Charged != nil {
		return r.Charged, nil
	}
	if hasKey && (r.Key.Name != "" || r.NameOf != nil) {
		name, err := KeyName(key)
		if err != nil {
			return nil, err
		}
		switch {
		case r.Key.Name != "" && name != r.Key.Name:
			return nil, &fault.Error{What: r.Key.File + " is not the key of the unfinished run", Why: "with another key it would be drawn a second time", Fix: "restore the file"}
		case r.Run == "":
			if r.Run, err = r.NameOf(name); err != nil {
				return nil, err
			}
		}
	}
	if r.Run == "" && !b.shared {
		return b.Ledger.ReserveBatch(r.Events)
	}
	run, err := b.Ledger.Run(r.Run)
	if err != nil {
		return nil, err
	}
	return run.ReserveBatch(r.Events)
}

// draw draws, commits, keeps the head and gives the file its name. It returns the hash of the file.
func (b *Book) draw(ctx context.Context, r Release, c charged) (sum [sha256.Size]byte, err error) {
	release := func(out io.Writer) error {
		file := hashed{out: out, sum: sha256.New()}
		if err := r.Draw(c.reservations, c.key, &file); err != nil {
			return err
		}
		if err := crash.Point(ctx, "drawn"); err != nil {
			return err
		}
		if !r.Redraw { // another release may have written it meanwhile
			if err := r.Out.checkAbsent(); err != nil {
				return err
			}
		}
		sum = file.SHA256()
		if err := b.commit(c.reservations, sum); err != nil {
			return fmt.Errorf("run: %w", err)
		}
		if err := crash.Point(ctx, "committed"); err != nil {
			return err
		}
		if err := b.keep(); err != nil {
			return err
		}
		return crash.Point(ctx, "kept")
	}
	if r.Out.Path == "" {
		err = release(io.Discard)
		return sum, err
	}
	durable.Sweep(r.Out.Path, r.Out.Tag) // what this run left when it was killed: the ledger is ours
	if err := durable.WriteTagged(r.Out.Path, r.Out.Tag, r.Out.Mode, release); err != nil {
		return sum, err
	}
	return sum, crash.Point(ctx, "named")
}

// commit commits the file as what all reservations led to.
func (b *Book) commit(of []*ledger.Reservation, file [sha256.Size]byte) error {
	outcomes := make([]ledger.Outcome, len(of))
	for i := range of {
		outcomes[i] = ledger.Outcome{Of: of[i], Hash: &file}
	}
	return b.Ledger.CommitBatch(outcomes)
}

// verify compares the file of a complete release with what it committed, and returns its hash.
func (b *Book) verify(r Release, c charged) (sum [sha256.Size]byte, err error) {
	if sum, err = r.read(); err != nil {
		return sum, &fault.Error{What: r.Out.Path + " cannot be read", Err: err}
	}
	if err := b.commit(c.reservations, sum); err != nil {
		fix := "restore the file; its key is destroyed and nothing is drawn again"
		if c.hasKey {
			fix = "move it away and run the command again, which repeats what was released"
		}
		return sum, &fault.Error{What: r.Out.Path + " is not what was released", Why: "its hash is not the one that the ledger has committed", Fix: fix, Check: true, Err: err}
	}
	return sum, nil
}

// read returns the hash of the file, and lets the caller read it.
func (r Release) read() (sum [sha256.Size]byte, err error) {
	f, err := durable.OpenRegular(r.Out.Path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	file := hashed{out: io.Discard, sum: sha256.New()}
	if r.Read != nil {
		if err := r.Read(io.TeeReader(f, &file)); err != nil {
			return sum, err
		}
	}
	_, err = io.Copy(&file, f) // what Read left
	return file.SHA256(), err
}

// KeyName returns a public name for a key, or for what was derived from it, that tells nothing about it:
// keys are derived one way.
func KeyName(key rng.Key) (string, error) { return publicName(key.Derive("label public name")) }

// read returns the key if it is there.
func (k Key) read() (key rng.Key, found bool, err error) {
	if k.File == "" {
		return k.Given, true, nil
	}
	durable.Sweep(k.File, "")
	return keyfile.Read(k.File)
}

// create returns a new key that is on disk.
func (k Key) create() (rng.Key, error) {
	key, err := rng.NewKey()
	if err != nil {
		return key, fmt.Errorf("run: %w", err)
	}
	return key, keyfile.Write(k.File, key)
}

// there reports whether the file has its name.
func (o Out) there() (bool, error) {
	if o.Path == "" {
		return false, nil
	}
	return durable.Exists(o.Path)
}

func (o Out) checkAbsent() error {
	there, err := o.there()
	if there {
		return o.errExists()
	}
	return err
}

// clear refuses a file that is there, and one that could not be made.
func (o Out) clear() error {
	if err := o.checkAbsent(); err != nil || o.Path == "" {
		return err
	}
	return writable(o.Path)
}

func (o Out) errExists() error {
	return &fault.Error{What: o.Path + " is there already", Why: "it was not written by this run, and is not overwritten", Fix: "move it away, or name another file"}
}

// writable refuses a file that could not be made.
func writable(path string) error {
	if err := durable.Writable(path); err != nil {
		return &fault.Error{What: path + " cannot be written", Why: "nothing was written or charged", Fix: "make its folder, or name another file", Err: err}
	}
	return nil
}

// hashed is a file that is hashed while it is written or read.
type hashed struct {
	out io.Writer
	sum hash.Hash
}

// Write writes to the file.
func (f *hashed) Write(p []byte) (int, error) {
	n, err := f.out.Write(p)
	f.sum.Write(p[:n])
	return n, err
}

// SHA256 returns the hash of the file, which is what is committed for it.
func (f *hashed) SHA256() [sha256.Size]byte { return [sha256.Size]byte(f.sum.Sum(nil)) }
