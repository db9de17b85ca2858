package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
)

// Hash is SHA-256 over features, labels, units, class names and image shape. It
// does not depend on Name, Provenance or the stride of X, so equal data have
// equal hashes however they were loaded. It keys what is resumed from disk; it is
// a digest of private rows and must not be published.
func (s Set) Hash() [32]byte {
	w := hashWriter{h: sha256.New(), buf: make([]byte, 0, 1<<16)}
	w.text("pate dataset set 1")
	w.set(s)
	return w.sum()
}

// Hash is SHA-256 over the three sets of the task, in the sense of [Set.Hash].
func (t Task) Hash() [32]byte {
	w := hashWriter{h: sha256.New(), buf: make([]byte, 0, 1<<16)}
	w.text("pate dataset task 1")
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

func (w *hashWriter) sum() (out [32]byte) {
	w.flush()
	w.h.Sum(out[:0])
	return out
}

func (w *hashWriter) flush() {
	w.h.Write(w.buf) // a hash.Hash never returns an error
	w.buf = w.buf[:0]
}

func (w *hashWriter) number(v int) {
	if cap(w.buf)-len(w.buf) < 8 {
		w.flush()
	}
	w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(v))
}

func (w *hashWriter) text(s string) {
	w.number(len(s))
	for len(s) > 0 {
		if len(w.buf) == cap(w.buf) {
			w.flush()
		}
		n := min(len(s), cap(w.buf)-len(w.buf))
		w.buf = append(w.buf, s[:n]...)
		s = s[n:]
	}
}

func (w *hashWriter) floats(row []float32) {
	for len(row) > 0 {
		if cap(w.buf)-len(w.buf) < 4 {
			w.flush()
		}
		n := min(len(row), (cap(w.buf)-len(w.buf))/4)
		at := len(w.buf)
		w.buf = w.buf[:at+4*n]
		out := w.buf[at:]
		for i, v := range row[:n] {
			binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v))
		}
		row = row[n:]
	}
}

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
	for _, u := range s.Units {
		w.text(u)
	}
	w.number(len(s.Classes))
	for _, c := range s.Classes {
		w.text(c)
	}
}
