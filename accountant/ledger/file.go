package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/pate-go/pate/internal/durable"
)

// ErrBroken is returned by every Reserve, Begin and Commit from the first write or sync on that failed:
// what is on disk is not known then, so nothing may be built on it. Opening the file again reads what is
// there.
var ErrBroken = errors.New("ledger: broken by a failed write, nothing may be released")

// store is what a ledger needs of its file, which it alone holds.
type store interface {
	io.ReaderAt
	io.WriterAt
	Size() (int64, error)
	Truncate(size int64) error
	Sync() error
	SyncFolder() error // makes the file's name durable
	Close() error
}

// disk is a locked file. A lock is one of the file and not of its name: where the name has come to mean
// another file, or none, somebody else may hold a ledger of that name, and what is written here is read by
// nobody. So every write and every sync checks that the name still means this file.
type disk struct {
	*lockedfile.File
	path string // absolute
}

func openDisk(path string) (store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	// Looked at first: opening what is no file may have effects of its own.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("ledger: %s is no regular file", path)
	}
	f, err := lockedfile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if info, err := f.Stat(); err == nil && info.Size() == 0 { // made here, or by a process that was killed
		if err := durable.KeepPrivate(path); err != nil {
			f.Close()
			return nil, fmt.Errorf("ledger: %w", err)
		}
	}
	d := disk{f, path}
	if err := d.named(); err != nil { // while the lock was waited for
		f.Close()
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return d, nil
}

// named checks that the path still means this file.
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

// file appends lines.
type file struct {
	store  store
	size   int64 // up to the last newline that was synced
	broken error // of the first append that failed
}

// openFile reads what the store holds into c, mends a last line that was cut off, and writes the header if
// there is none.
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
		return nil, err
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
		return f, syncFolder(s)
	}
	h, err := newHeader(cfg)
	if err != nil {
		return nil, err
	}
	h.ID = newID()
	if err := c.start(h); err != nil {
		return nil, err
	}
	text, err := h.encode()
	if err != nil {
		return nil, err
	}
	first := c.next(headerLine)
	first.text = text
	if err := f.append(c, first); err != nil {
		return nil, err
	}
	return f, syncFolder(s)
}

// settleBytes is how much of the end of a file is written again when it is opened.
const settleBytes = 1 << 20

// settle returns when what was read is on disk. It, and the name of the file, may be known to the kernel
// alone: of a process that was killed before its sync, or of one whose sync failed, after which the kernel
// takes the same bytes for written. So the end of the file is written again as it is. Nothing may be built
// on it before it is on disk, least of all what would reach the disk first.
func (f *file) settle() error {
	if from := max(0, f.size-settleBytes); f.size > 0 {
		end := make([]byte, f.size-from)
		if _, err := f.store.ReadAt(end, from); err != nil && err != io.EOF {
			return fmt.Errorf("ledger: %w", err)
		}
		if _, err := f.store.WriteAt(end, from); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	if err := f.store.Sync(); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

func syncFolder(s store) error {
	if err := s.SyncFolder(); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// mend deals with a last line that was cut off, on disk and in c.
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
	// Nothing of the fragment reaches beyond what was written in its place.
	if err := f.store.Truncate(f.size); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if err := f.store.Sync(); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// append encodes lines that were applied to c, one after the other, and returns when they are on disk.
// After it failed once it fails for ever; what a failed write left behind is removed if the disk allows it.
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
		if len(buf)-start > maxLine {
			f.broken = fmt.Errorf("%w: a line of %d bytes, at most %d are read back", ErrBroken, len(buf)-start, maxLine)
			return f.broken
		}
		c.append(buf[start:])
		buf = append(buf, '\n')
	}
	if err := f.alone(); err != nil {
		f.broken = fmt.Errorf("%w: %w", ErrBroken, err)
		return f.broken
	}
	if _, err := f.store.WriteAt(buf, f.size); err != nil {
		f.broken = fmt.Errorf("%w: %w", ErrBroken, err)
		if f.store.Truncate(f.size) == nil {
			_ = f.store.Sync() // nothing was promised of what is now gone
		}
		return f.broken
	}
	if err := f.store.Sync(); err != nil {
		f.broken = fmt.Errorf("%w: %w", ErrBroken, err)
		return f.broken
	}
	if err := f.holds(buf); err != nil {
		f.broken = fmt.Errorf("%w: %w", ErrBroken, err)
		return f.broken
	}
	f.size += int64(len(buf))
	return nil
}

// errShared says that a lock did not keep others out, as on file systems that have none between hosts.
var errShared = errors.New("somebody else has written to the file while it was locked: its file system does not keep locks")

// alone checks that the file ends where it was left.
func (f *file) alone() error {
	size, err := f.store.Size()
	if err == nil && size != f.size {
		err = fmt.Errorf("%w (%d bytes, not %d)", errShared, size, f.size)
	}
	return err
}

// holds reads lines back that were written at the end.
func (f *file) holds(lines []byte) error {
	is := make([]byte, len(lines))
	if n, err := f.store.ReadAt(is, f.size); err != nil && !(err == io.EOF && n == len(is)) {
		return fmt.Errorf("reading back what was written: %w", err)
	}
	if !bytes.Equal(is, lines) {
		return errShared
	}
	size, err := f.store.Size()
	if err == nil && size != f.size+int64(len(lines)) {
		err = errShared
	}
	return err
}
