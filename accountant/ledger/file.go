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

// ErrBroken is returned by every Reserve, Begin and Commit after a write or sync has failed: the contents of
// the disk are then unknown, so nothing may be built on them. Opening the file again reads them.
var ErrBroken = errors.New("ledger: broken by a failed write, nothing may be released")

// store is the file of a ledger, which no other process holds.
type store interface {
	io.ReaderAt
	io.WriterAt
	Size() (int64, error)
	Truncate(size int64) error
	Sync() error
	SyncFolder() error // makes the file's name durable
	Close() error
}

// disk is a locked file. The lock is on the file and not on its name. If the name has come to refer to
// another file, or to none, another process may hold a ledger of that name, and nobody reads this file any
// more. So every write and every sync checks that the name still refers to this file.
type disk struct {
	*lockedfile.File
	path string // absolute
}

func openDisk(path string) (store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	// Checked first: opening anything but a regular file may have effects.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("ledger: %s is no regular file", path)
	}
	f, err := lockedfile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if info, err := f.Stat(); err == nil && info.Size() == 0 { // new, or left by a process that was killed
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

// named checks that the path still refers to this file.
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

// file appends lines to a store.
type file struct {
	store  store
	size   int64 // up to the last newline that was synced
	broken error // of the first append that failed
}

// lines reads the file from its beginning.
func (f *file) lines() *lineReader { return newLineReader(io.NewSectionReader(f.store, 0, f.size)) }

// wrapped returns err as an error of this package, or nil if err is nil.
func wrapped(err error) error {
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// openFile reads the store into c, mends a last line that was cut off, and writes the header if the store is
// empty.
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

// settleBytes is the length of the end of a file that is rewritten when the file is opened.
const settleBytes = 1 << 20

// settle returns when everything that was read is on disk. The end of the file, and its name, may be in the
// kernel's memory alone: after a process that was killed before its sync, or whose sync failed, after which
// the kernel takes the same bytes for written. So settle writes the end again unchanged and syncs it: nothing
// may be built on it before it is on disk.
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

// mend repairs a last line that was cut off, on disk and in c.
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
			return fmt.Errorf("ledger: line %d was cut off, and cannot be mended: %w", c.lines, err)
		}
		f.size += int64(len(repair.write))
	}
	// The repair may be shorter than the fragment.
	if err := f.store.Truncate(f.size); err != nil {
		return wrapped(err)
	}
	return wrapped(f.store.Sync())
}

// append encodes lines that were applied to c, in order, and returns when they are on disk. After one failure
// every call fails. The remains of a failed write are removed if the disk allows it.
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
			f.broken = fmt.Errorf("%w: a line of %d bytes, at most %d are read back", ErrBroken, n, maxLine)
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

// errShared: the lock did not exclude other writers, as on file systems without locks between hosts.
var errShared = errors.New("somebody else has written to the file while it was locked: its file system does not keep locks")

// write appends lines to the file and syncs them. It checks that the size of the file has not changed since
// the last append, and reads the lines back.
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
			_ = f.store.Sync() // no call has returned for the line that is now gone
		}
		return err
	}
	if err := f.store.Sync(); err != nil {
		return err
	}
	is := make([]byte, len(lines))
	if n, err := f.store.ReadAt(is, f.size); err != nil && !(err == io.EOF && n == len(is)) {
		return fmt.Errorf("reading back what was written: %w", err)
	}
	size, err = f.store.Size()
	if err == nil && (!bytes.Equal(is, lines) || size != f.size+int64(len(lines))) {
		err = errShared
	}
	return err
}

// repair describes what to do with a last line that was cut off.
type repair struct {
	// write replaces the fragment; if it is empty, the fragment is dropped. It begins with the same bytes as
	// the fragment, as far as these determine the kind of line: so a crash during this write leaves a
	// fragment that is read the same way again.
	write []byte
	what  string
}

// mend decides how to repair a fragment at the end of a file. The append of the fragment never returned, so
// nothing ran under it and nothing was released. Yet the fragment may be the rest of a whole line on a bad
// disk or in a bad copy, so nothing that may be a charge is dropped:
//
//   - a whole line that lacks its newline is a line,
//   - a reservation that names its event is that reservation,
//   - a seal is that seal: it may have been whole, and answers given under it,
//   - a reservation of a resumable run, or what may be one on a ledger that only such runs have charged,
//     is dropped, as the run will ask for it again before it goes on, and be charged for it then,
//   - another reservation, or a line that may be one, takes all of the budget that was left,
//   - any other line charges nothing, and is dropped,
//   - and what no append can have left is corrupt.
//
// The chain is not changed.
func (c *chain) mend(fragment []byte) (repair, error) {
	l, err := decode(fragment)
	if err == nil {
		return repair{append(bytes.Clone(fragment), '\n'), "it lacked its newline"}, nil
	}
	// half: the line is a tornLine that was itself cut off while it replaced a fragment. No other line begins
	// so, whatever follows.
	half := bytes.HasPrefix(fragment, fmt.Appendf(nil, `{"line":%d,"t`, c.lines+1)) && !errors.Is(err, errMore)
	if !errors.Is(err, errShort) && !half {
		return repair{}, err
	}
	if l.number != 0 && l.number != c.lines+1 { // 0 if the number itself was cut off
		return repair{}, errors.New("it is cut off, and not the next line either")
	}
	own := l.kind == reserveLine && l.run == 0 // of no named run
	resumes := c.header.Run != "" || l.run != 0 || !own && len(c.runs) > 0 && c.named() == c.entries
	switch {
	case c.lines == 0:
		return repair{what: "it never became a ledger"}, nil
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
			return repair{}, fmt.Errorf("it is cut off and seals %d entries, there are %d", l.entry, c.entries)
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
		return repair{what: "it charged nothing: dropped"}, nil
	case resumes:
		return repair{what: "a reservation of a run that will repeat it: dropped"}, nil
	}
	torn := c.next(tornLine)
	torn.text, err = json.Marshal(string(fragment[:min(len(fragment), 256)]))
	if err != nil {
		return repair{}, err
	}
	return repair{append(torn.encode(nil), '\n'), "a reservation of unknown cost: taken to be all that was left"}, nil
}
