package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/pate-go/pate/internal/sealed"
)

// Hash returns SHA-256 over features, labels, units, class names and image shape. It
// does not depend on Name, Provenance or the stride of X, so equal data have
// equal hashes however they were loaded. It keys what is resumed from disk; it is
// a digest of private rows and must not be published.
func (s Set) Hash() [32]byte {
	w := newHashWriter("pate dataset set 1")
	w.set(s)
	return w.sum()
}

// Hash returns SHA-256 over the three sets of the task, in the sense of [Set.Hash].
func (t Task) Hash() [32]byte {
	w := newHashWriter("pate dataset task 1")
	w.set(t.Private)
	w.set(t.Pool)
	w.set(t.Test)
	return w.sum()
}

// hashWriter feeds a hash through a buffer. Every list is preceded by its
// length, so that different data never give the same stream of bytes.
type hashWriter struct {
	h   hash.Hash
	buf []byte
}

func newHashWriter(kind string) *hashWriter {
	w := &hashWriter{h: sha256.New()}
	w.text(kind)
	return w
}

func (w *hashWriter) sum() (out [32]byte) {
	w.h.Write(w.buf) // a hash.Hash never returns an error
	w.h.Sum(out[:0])
	return out
}

// add takes the buffer with something appended.
func (w *hashWriter) add(longer []byte) {
	if w.buf = longer; len(longer) >= 1<<15 {
		w.h.Write(longer)
		w.buf = longer[:0]
	}
}

func (w *hashWriter) number(v int) { w.add(binary.LittleEndian.AppendUint64(w.buf, uint64(v))) }

func (w *hashWriter) text(s string) {
	w.number(len(s))
	w.add(append(w.buf, s...))
}

func (w *hashWriter) floats(row []float32) { w.add(sealed.Append(w.buf, row)) }

func (w *hashWriter) set(s Set) {
	w.number(s.X.Rows)
	w.number(s.X.Cols)
	w.number(s.Image.Rows)
	w.number(s.Image.Cols)
	for i := range s.X.Rows {
		w.floats(s.X.Data[i*s.X.Stride : i*s.X.Stride+s.X.Cols])
	}
	w.number(len(s.Y))
	for _, y := range s.Y {
		w.number(y)
	}
	w.number(len(s.Units))
	w.number(len(s.LeftOut))
	for _, units := range [][]string{s.Units, s.LeftOut} {
		for _, u := range units {
			w.text(u)
		}
	}
	w.number(len(s.Classes))
	for _, c := range s.Classes {
		w.text(c)
	}
}

// Hash returns SHA-256 over features, ids and image shape. It is public, as the rows are.
func (p Pool) Hash() [32]byte {
	w := newHashWriter("pate dataset pool 1")
	w.set(Set{X: p.X, Units: p.IDs, Image: p.Image})
	return w.sum()
}
