package ledger

import (
	"bytes"
	"math/rand/v2"
	"syscall"
)

// killed is what a faulty disk panics with.
type killed struct{ power bool }

// operation changed the file since it was synced.
type operation struct {
	data []byte // written at off, or nil
	off  int64  // of the write, or the size it was cut to
}

func (o operation) apply(data []byte, n int) []byte {
	if o.data == nil {
		if grow := int(o.off) - len(data); grow > 0 {
			return append(data, make([]byte, grow)...)
		}
		return data[:o.off]
	}
	if grow := int(o.off) + n - len(data); grow > 0 {
		data = append(data, make([]byte, grow)...)
	}
	copy(data[o.off:], o.data[:n])
	return data
}

// faultyDisk is a file as processes see it, and as it is after the power was lost: what was synced, and of
// the rest whatever the disk got round to. One of its calls goes wrong.
type faultyDisk struct {
	rnd     *rand.Rand
	now     []byte
	synced  []byte
	named   bool // the folder was synced
	pending []operation

	calls int  // until the fault; below 0 none comes
	lies  bool // syncs do nothing
}

// fault says whether this call goes wrong, and kills the process if it is to go that way.
func (d *faultyDisk) fault() bool {
	d.calls--
	if d.calls != -1 {
		return false
	}
	switch d.rnd.IntN(3) {
	case 0:
		panic(killed{power: false})
	case 1:
		panic(killed{power: true})
	}
	return true
}

// after is fault, once the call has done what it does.
func (d *faultyDisk) after() error {
	if d.fault() {
		return syscall.EIO
	}
	return nil
}

func (d *faultyDisk) do(o operation, n int) {
	if o.data != nil {
		o.data = bytes.Clone(o.data[:n])
	}
	d.now = o.apply(d.now, n)
	d.pending = append(d.pending, o)
}

func (d *faultyDisk) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(d.now).ReadAt(p, off)
}

func (d *faultyDisk) Size() (int64, error) { return int64(len(d.now)), nil }

func (d *faultyDisk) WriteAt(p []byte, off int64) (int, error) {
	if d.fault() {
		n := d.rnd.IntN(len(p) + 1)
		d.do(operation{p, off}, n)
		return n, syscall.ENOSPC
	}
	if d.calls == 0 { // the next call is the fault: sometimes in the middle of this one
		if n := d.rnd.IntN(2 * len(p)); n < len(p) {
			d.do(operation{p, off}, n)
			panic(killed{power: d.rnd.IntN(2) == 0})
		}
	}
	d.do(operation{p, off}, len(p))
	return len(p), d.after()
}

func (d *faultyDisk) Truncate(size int64) error {
	if d.fault() {
		return syscall.EIO
	}
	d.do(operation{nil, size}, 0)
	return d.after()
}

func (d *faultyDisk) Sync() error {
	if d.fault() {
		return syscall.EIO // and nothing is known about what is pending
	}
	if !d.lies {
		d.synced, d.pending = bytes.Clone(d.now), nil
	}
	return d.after()
}

func (d *faultyDisk) SyncFolder() error {
	if d.fault() {
		return syscall.EIO
	}
	d.named = true
	return d.after()
}

func (d *faultyDisk) Close() error { return nil }

// losePower drops what was not synced, but for parts of it.
func (d *faultyDisk) losePower() {
	if !d.named && d.rnd.IntN(2) == 0 {
		d.now, d.synced, d.pending = nil, nil, nil
		return
	}
	data := bytes.Clone(d.synced)
	for _, o := range d.pending {
		n := len(o.data)
		switch d.rnd.IntN(4) {
		case 0: // lost
			continue
		case 1: // the beginning of it
			n = d.rnd.IntN(n + 1)
		case 2: // the size of it, and the beginning; zeros come by the sector
			if n = d.rnd.IntN(max(n-1, 1)); o.data != nil {
				if grow := int(o.off) + len(o.data) - len(data); grow > 0 {
					data = append(data, make([]byte, grow)...)
				}
			}
		}
		data = o.apply(data, n)
	}
	d.now, d.synced, d.pending, d.named = data, bytes.Clone(data), nil, true
}
