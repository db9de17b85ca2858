package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/pate-go/pate/internal/durable"
)

// ErrBroken matches the error of every Reserve, Begin and Commit after a failed write or sync. The contents
// of the file are then unknown until the file is opened again.
var ErrBroken = errors.New("ledger: a write failed, so nothing may be released")

type store interface {
	io.ReaderAt
	io.WriterAt
	Size() (int64, error)
	Truncate(size int64) error
	Sync() error
	SyncFolder() error // makes the name of the file durable
	Close() error
}

// The lock is on the file, not on its name. After the file was renamed, another process can lock a new file
// of the old name. So every write and sync checks the name.

type disk struct {
	*lockedfile.File
	path string // absolute
}

func openDisk(path string) (store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	// Reject other kinds of files before opening them, because opening a device may have effects.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("ledger: %s is no regular file", path)
	}
	f, err := lockedfile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if info, err := f.Stat(); err == nil && info.Size() == 0 { // new, or from a killed process
		if err := durable.KeepPrivate(path); err != nil {
			f.Close()
			return nil, fmt.Errorf("ledger: %w", err)
		}
	}
	d := disk{f, path}
	if err := d.named(); err != nil { // the name may have changed during the wait for the lock
		f.Close()
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return d, nil
}

func (d disk) named() error {
	is, err := d.Stat()
	if err != nil {
		return err
	}
	if !is.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", d.path)
	}
	there, err := os.Stat(d.path)
	if err != nil {
		return fmt.Errorf("the file was removed or renamed while it was open: %w", err)
	}
	if !os.SameFile(is, there) {
		return fmt.Errorf("%s was replaced by another file while it was open", d.path)
	}
	return nil
}

func (d disk) WriteAt(p []byte, off int64) (int, error) {
	if err := d.named(); err != nil {
		return 0, err
	}
	return d.File.WriteAt(p, off)
}

func (d disk) Sync() error {
	if err := d.File.Sync(); err != nil {
		return err
	}
	return d.named()
}

func (d disk) Size() (int64, error) {
	info, err := d.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (d disk) SyncFolder() error { return durable.SyncDir(filepath.Dir(d.path)) }

type file struct {
	store  store
	size   int64 // length up to the last synced newline
	broken error // error of the first failed append
}

func (f *file) lines() *lineReader { return newLineReader(io.NewSectionReader(f.store, 0, f.size)) }

func wrapped(err error) error {
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

func openFile(s store, c *chain, cfg Config, opt VerifyOptions) (*file, error) {
	size, err := s.Size()
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	r := reading{chain: c, VerifyOptions: opt, header: func(made Config) error { return sameConfig(made, cfg) }}
	fragment, err := r.read(io.NewSectionReader(s, 0, size))
	if err != nil {
		return nil, err
	}
	f := &file{store: s, size: c.size}
	if err := f.settle(); err != nil {
		return nil, wrapped(err)
	}
	if fragment != nil {
		if err := f.mend(c, fragment); err != nil {
			return nil, err
		}
		if err := c.within(); err != nil {
			return nil, err
		}
	}
	if c.lines > 0 {
		return f, wrapped(s.SyncFolder())
	}
	h, err := newHeader(cfg)
	if err != nil {
		return nil, err
	}
	h.ID = newID()
	if err := c.start(h); err != nil {
		return nil, err
	}
	first := c.next(headerLine)
	if first.text, err = h.encode(); err != nil {
		return nil, err
	}
	if err := f.append(c, first); err != nil {
		return nil, err
	}
	return f, wrapped(s.SyncFolder())
}

const settleBytes = 1 << 20

// settle writes the last settleBytes bytes again and syncs, because a killed process may not have synced.
func (f *file) settle() error {
	if from := max(0, f.size-settleBytes); f.size > 0 {
		end := make([]byte, f.size-from)
		if _, err := f.store.ReadAt(end, from); err != nil && err != io.EOF {
			return err
		}
		if _, err := f.store.WriteAt(end, from); err != nil {
			return err
		}
	}
	return f.store.Sync()
}

func (f *file) mend(c *chain, fragment []byte) error {
	corrupt := func(err error) error { return &CorruptError{c.lines + 1, err.Error()} }
	repair, err := c.mend(fragment)
	if err != nil {
		return corrupt(err)
	}
	if len(repair.write) > 0 {
		if _, err := c.follow(repair.write[:len(repair.write)-1]); err != nil {
			return corrupt(err)
		}
		if _, err := f.store.WriteAt(repair.write, f.size); err != nil {
			return fmt.Errorf("ledger: line %d was cut off and cannot be repaired: %w", c.lines, err)
		}
		f.size += int64(len(repair.write))
	}
	// The repair may be shorter than the fragment.
	if err := f.store.Truncate(f.size); err != nil {
		return wrapped(err)
	}
	return wrapped(f.store.Sync())
}

func (f *file) append(c *chain, lines ...line) error {
	if f.broken != nil {
		return f.broken
	}
	var buf []byte
	for i := range lines {
		l := &lines[i]
		l.number, l.prev = c.lines+1, c.prev
		start := len(buf)
		buf = l.encode(buf)
		if n := len(buf) - start; n > maxLine {
			f.broken = fmt.Errorf("%w: a line has %d bytes, but at most %d can be read", ErrBroken, n, maxLine)
			return f.broken
		}
		c.append(buf[start:])
		buf = append(buf, '\n')
	}
	if err := f.write(buf); err != nil {
		f.broken = fmt.Errorf("%w: %w", ErrBroken, err)
		return f.broken
	}
	f.size += int64(len(buf))
	return nil
}

var errShared = errors.New("another process wrote to the locked file, so locks do not work on this file system")

func (f *file) write(lines []byte) error {
	size, err := f.store.Size()
	if err != nil {
		return err
	}
	if size != f.size {
		return fmt.Errorf("%w (%d bytes, not %d)", errShared, size, f.size)
	}
	if _, err := f.store.WriteAt(lines, f.size); err != nil {
		if f.store.Truncate(f.size) == nil {
			_ = f.store.Sync() // no call has returned for the removed line
		}
		return err
	}
	if err := f.store.Sync(); err != nil {
		return err
	}
	is := make([]byte, len(lines))
	if n, err := f.store.ReadAt(is, f.size); err != nil && !(err == io.EOF && n == len(is)) {
		return fmt.Errorf("reading the written lines: %w", err)
	}
	size, err = f.store.Size()
	if err == nil && (!bytes.Equal(is, lines) || size != f.size+int64(len(lines))) {
		err = errShared
	}
	return err
}

type repair struct {
	// write holds the bytes that replace a cut-off last line, or nothing if this line is dropped. If a crash
	// cuts off the replacement, mend chooses the same repair again.
	write []byte
	what  string
}

func (c *chain) mend(fragment []byte) (repair, error) {
	// The append of the fragment never returned, so nothing was released under it. But the disk may have
	// damaged a whole line. So mend loses no possible charge:
	//
	//   - A line that lacks only the newline is kept.
	//   - A reservation that contains its event is completed.
	//   - A seal is completed, because it may have been whole before, with releases under it.
	//   - A reservation of a resumable run is dropped, because the run repeats it and is charged then. A line
	//     that may be a reservation is dropped if only resumable runs have charged the ledger.
	//   - Any other line that may be a reservation is charged the rest of the budget.
	//   - Any other line charges nothing and is dropped.
	//   - A fragment that no append can leave is corrupt.
	//
	// mend does not change the chain.
	l, err := decode(fragment)
	if err == nil {
		return repair{append(bytes.Clone(fragment), '\n'), "the line lacked its newline"}, nil
	}
	// half means that the fragment is the start of a tornLine. Lines of other kinds begin differently.
	half := bytes.HasPrefix(fragment, fmt.Appendf(nil, `{"line":%d,"t`, c.lines+1)) && !errors.Is(err, errMore)
	if !errors.Is(err, errShort) && !half {
		return repair{}, err
	}
	if l.number != 0 && l.number != c.lines+1 { // 0 if the number was cut off
		return repair{}, errors.New("the line is cut off and does not follow the line before")
	}
	own := l.kind == reserveLine && l.run == 0 // belongs to no named run
	resumes := c.header.Run != "" || l.run != 0 || !own && len(c.runs) > 0 && c.named() == c.entries
	switch {
	case c.lines == 0:
		return repair{what: "the file never became a ledger"}, nil
	case half: // below
	case l.kind == reserveLine && l.text != nil && l.run <= int64(len(c.runs)) && c.mayReserve() == nil && l.entry == c.entries+1:
		more, err := c.balance.chargeOf(l.text)
		if err != nil {
			return repair{}, err
		}
		whole := c.next(reserveLine)
		whole.run, whole.entry, whole.text = l.run, l.entry, l.text
		if whole.epsilon, _, err = c.balance.price(c.balance.cfg.Method(), more); err != nil {
			return repair{}, err
		}
		return repair{append(whole.encode(nil), '\n'), "a reservation, cut off after its event: charged"}, nil
	case l.kind == sealLine && c.header.Mode == Reserved && !c.sealed && c.entries > 0:
		if l.entry != 0 && l.entry != c.entries {
			return repair{}, fmt.Errorf("the line is cut off and seals %d entries, but there are %d", l.entry, c.entries)
		}
		whole := c.next(sealLine)
		whole.entry = c.entries
		total, err := c.total()
		if err != nil {
			return repair{}, err
		}
		whole.claim(total, c.header)
		return repair{append(whole.encode(nil), '\n'), "a seal: nothing more can be reserved"}, nil
	case c.exhausted || c.sealed,
		l.kind == sealLine || l.kind == commitLine || l.kind == runLine || l.kind == headerLine:
		return repair{what: "the line charged nothing: dropped"}, nil
	case resumes:
		return repair{what: "a reservation of a run that will repeat it: dropped"}, nil
	}
	torn := c.next(tornLine)
	torn.text, err = json.Marshal(string(fragment[:min(len(fragment), 256)]))
	if err != nil {
		return repair{}, err
	}
	return repair{append(torn.encode(nil), '\n'), "a reservation of unknown cost: charged as the whole rest of the budget"}, nil
}
