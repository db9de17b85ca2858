package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"github.com/pate-go/pate/internal/sealed"
)

// Hash returns SHA-256 over features, labels, units, class names and image shape. It does not depend on
// Name, Provenance or the stride of X, so equal data have equal hashes however they were loaded. It is a
// key for resuming from disk; it is a digest of private rows and must not be published.
func (s Set) Hash() [32]byte {
	return hashSets("pate dataset set 1", s)
}

// Hash returns SHA-256 over the three sets of the task, in the sense of [Set.Hash].
func (t Task) Hash() [32]byte {
	return hashSets("pate dataset task 1", t.Private, t.Pool, t.Test)
}

// Hash returns SHA-256 over features, ids and image shape. It is public, as the rows are.
func (p Pool) Hash() [32]byte {
	return hashSets("pate dataset pool 1", Set{X: p.X, Units: p.IDs, Image: p.Image})
}

func hashSets(kind string, sets ...Set) (out [32]byte) {
	w := &hashWriter{h: sha256.New()}
	w.text(kind)
	for _, s := range sets {
		w.set(s)
	}
	w.h.Write(w.buf) // a hash.Hash never returns an error
	w.h.Sum(out[:0])
	return out
}

// hashWriter feeds a hash through a buffer. Every list is preceded by its length, so that different data
// never give the same stream of bytes.
type hashWriter struct {
	h   hash.Hash
	buf []byte
}

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

func (w *hashWriter) set(s Set) {
	for _, n := range []int{s.X.Rows, s.X.Cols, s.Image.Rows, s.Image.Cols} {
		w.number(n)
	}
	for i := range s.X.Rows {
		w.add(sealed.Append(w.buf, s.X.Data[i*s.X.Stride:i*s.X.Stride+s.X.Cols]))
	}
	w.number(len(s.Y))
	for _, y := range s.Y {
		w.number(y)
	}
	w.number(len(s.Units))
	w.number(len(s.LeftOut))
	for _, u := range slices.Concat(s.Units, s.LeftOut) {
		w.text(u)
	}
	w.number(len(s.Classes))
	for _, c := range s.Classes {
		w.text(c)
	}
}
