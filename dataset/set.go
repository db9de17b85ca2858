package dataset

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/sealed"
)

// Shape is the size of an image in pixels. The zero Shape marks rows that are not images.
type Shape struct {
	Rows, Cols int
	Channels   int `json:",omitempty"` // 0 or 1: grey; 3: one plane each for red, green and blue
}

// Planes returns the number of colour planes, 1 for grey images.
func (s Shape) Planes() int { return max(1, s.Channels) }

// Pixels returns the number of features of an image: Rows * Cols * Planes().
func (s Shape) Pixels() int { return s.Rows * s.Cols * s.Planes() }

// Set is labelled data with one row per example.
type Set struct {
	Name       string
	X          blas32.General // features; images are row-major pixels in [0, 1]
	Y          []int          // class of each row, an index into Classes
	Units      []string       // privacy unit of each row; several rows may share a unit
	LeftOut    []string       // units of rows that [DropOther] dropped; they still count as units
	IDs        []string       // names of rows, such as "pool/17"; a name depends only on the row's part of the data
	Classes    []string
	Image      Shape  // zero if the rows are not images
	Provenance string // source of the data in one line

	bytes  []byte        // pixels, if X has no Data
	values *[256]float32 // of bytes
}

func (s Set) Len() int { return len(s.Y) }

// Slice returns the rows with indices in [from, to). The result shares memory with s.
func (s Set) Slice(from, to int) (Set, error) {
	out, err := s.slice(from, to)
	if out.bytes != nil {
		out.X.Data = s.pixels(make([]float32, len(out.bytes)), out.bytes)
		out.bytes, out.values = nil, nil
	}
	return out, err
}

func (s Set) pixels(dst []float32, bytes []byte) []float32 {
	dst = dst[:len(bytes)]
	for i, b := range bytes {
		dst[i] = s.values[b]
	}
	return dst
}

// row returns row i. It may use buffer, which has one element per column.
func (s Set) row(buffer []float32, i int) []float32 {
	if s.bytes != nil {
		return s.pixels(buffer, s.bytes[i*s.X.Cols:(i+1)*s.X.Cols])
	}
	return dense.Row(s.X, i)
}

func (s Set) slice(from, to int) (Set, error) {
	if from < 0 || to < from || to > s.Len() {
		return Set{}, fmt.Errorf("dataset: rows [%d, %d) of %q, which has %d", from, to, s.Name, s.Len())
	}
	out := s
	out.Y, out.Units, out.IDs = s.Y[from:to:to], s.Units[from:to:to], s.IDs[from:to:to]
	out.X.Rows, out.X.Data, out.bytes = to-from, nil, nil
	switch {
	case s.bytes != nil:
		out.bytes = s.bytes[from*s.X.Cols : to*s.X.Cols : to*s.X.Cols]
	case to > from:
		end := (to-1)*s.X.Stride + s.X.Cols
		out.X.Data = s.X.Data[from*s.X.Stride : end : end]
	}
	return out, nil
}

// Sample returns about the given fraction of the units, each with all its rows. The fraction must be in (0,
// 1]. A unit is kept if a hash of its name is below the fraction. So the removal of a unit does not affect
// the choice of other units. The sample may be empty. The sample shares no memory with s.
func (s Set) Sample(fraction float64) (Set, error) {
	if !(fraction > 0 && fraction <= 1) {
		return Set{}, fmt.Errorf("dataset: a sample of the fraction %v of %q, want above 0 and at most 1", fraction, s.Name)
	}
	place := newPlacer("pate dataset sample 1")
	var sampled []int
	for i, u := range s.Units {
		if place.of(u) < fraction {
			sampled = append(sampled, i)
		}
	}
	out := s.rows(sampled)
	out.LeftOut = slices.DeleteFunc(slices.Clone(s.LeftOut), func(u string) bool { return place.of(u) >= fraction })
	return out, nil
}

// UnitCount returns the number of distinct units, including units without remaining rows. The set of units is
// assumed to be public. A unit's labels and number of rows are private.
func (s Set) UnitCount() int {
	seen := make(map[string]bool, s.Len())
	for _, u := range slices.Concat(s.Units, s.LeftOut) {
		seen[u] = true
	}
	return len(seen)
}

// OnePerUnit returns the first row of every unit, for methods whose guarantee is for one row. Adding or
// removing a unit adds or removes one row of the result. If every row is its own unit, OnePerUnit returns s.
// Otherwise the rows are copies.
func (s Set) OnePerUnit() Set {
	first := make([]int, 0, s.Len())
	seen := make(map[string]bool, s.Len())
	for i, u := range s.Units {
		if !seen[u] {
			seen[u] = true
			first = append(first, i)
		}
	}
	if len(first) == s.Len() {
		return s
	}
	return s.rows(first)
}

func (s Set) rows(indices []int) Set {
	out := s
	out.X, out.Y = dense.New(len(indices), s.X.Cols), pickRows(s.Y, indices)
	for i, r := range indices {
		copy(dense.Row(out.X, i), s.row(dense.Row(out.X, i), r))
	}
	out.bytes, out.values = nil, nil
	out.Units, out.IDs = pickRows(s.Units, indices), pickRows(s.IDs, indices)
	return out
}

func (s Set) with(other Set) Set {
	all, more := s.rows(upTo(s.Len())), other.rows(upTo(other.Len()))
	all.X.Rows, all.X.Data = all.Len()+more.Len(), append(all.X.Data, more.X.Data...)
	all.Y, all.Units, all.IDs = append(all.Y, more.Y...), append(all.Units, more.Units...), append(all.IDs, more.IDs...)
	return all
}

func numbered(part string, n int) []string {
	names, raw := make([]string, n), []byte(part+"/")
	var texts textBlocks
	for i := range names {
		names[i] = texts.add(strconv.AppendInt(raw, int64(i), 10))
	}
	return names
}

// Validate returns an error for the first invalid field. Each list must have one entry per row. Labels must
// be in range, units not empty, and features finite. For images, X.Cols must be Image.Pixels(). There must be
// at least 2 classes.
func (s Set) Validate() error {
	fail := func(format string, a ...any) error {
		return fmt.Errorf("dataset: set %q: %s", s.Name, fmt.Sprintf(format, a...))
	}
	n := len(s.Y)
	switch {
	case s.X.Rows != n || len(s.Units) != n || len(s.IDs) != n:
		return fail("%d feature rows, %d labels, %d units, %d ids; all four must be equal", s.X.Rows, n, len(s.Units), len(s.IDs))
	case s.X.Cols < 1 || s.X.Stride < s.X.Cols:
		return fail("%d columns with stride %d", s.X.Cols, s.X.Stride)
	case n > 0 && s.bytes == nil && len(s.X.Data) < (n-1)*s.X.Stride+s.X.Cols:
		return fail("%d numbers are too few for %d rows of stride %d", len(s.X.Data), n, s.X.Stride)
	case len(s.Classes) < 2:
		return fail("%d classes, at least 2 needed", len(s.Classes))
	case s.Image != Shape{} && (s.Image.Rows < 1 || s.Image.Cols < 1 || s.Image.Pixels() != s.X.Cols):
		return fail("images of %dx%d in rows of %d", s.Image.Rows, s.Image.Cols, s.X.Cols)
	}
	for i, y := range s.Y {
		if y < 0 || y >= len(s.Classes) {
			return fail("row %d has label %d, there are %d classes", i, y, len(s.Classes))
		}
		if s.Units[i] == "" {
			return fail("row %d has no unit", i)
		}
	}
	if s.bytes != nil {
		return nil
	}
	if i := dense.NotFinite(s.X); i >= 0 {
		at := slices.IndexFunc(dense.Row(s.X, i), func(v float32) bool { return !mathx.IsFinite(v) })
		return fail("feature %d of row %d is not finite", at, i)
	}
	return nil
}

// Hash returns the SHA-256 of features, labels, units, LeftOut, class names and image shape. It does not
// depend on Name, Provenance or the stride of X. The hash of private rows must not be published.
func (s Set) Hash() [32]byte {
	return hashSets("pate dataset set 1", s)
}

// Hash returns the SHA-256 of Private, Pool and Test, and of the silos. The hash covers the same fields
// of each set that [Set.Hash] covers.
func (t Task) Hash() [32]byte {
	sets := []Set{t.Private, t.Pool, t.Test}
	if t.Silos != nil {
		silos := Set{Classes: t.Silos}
		for _, u := range t.Private.Units {
			silos.Y = append(silos.Y, t.SiloOf[u])
		}
		sets = append(sets, silos)
	}
	return hashSets("pate dataset task 1", sets...)
}

// Hash returns the SHA-256 of features, ids and image shape. The hash is public, like the rows.
func (p Pool) Hash() [32]byte {
	return hashSets("pate dataset pool 1", Set{X: p.X, Units: p.IDs, Image: p.Image})
}

func hashSets(kind string, sets ...Set) (out [32]byte) {
	h := sha256.New()
	w := bufio.NewWriterSize(h, 1<<15) // a hash.Hash never returns an error
	number := func(all ...int) {
		for _, v := range all {
			_, _ = w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), uint64(v)))
		}
	}
	text := func(all ...string) {
		for _, s := range all {
			number(len(s))
			_, _ = w.WriteString(s)
		}
	}
	text(kind)
	for _, s := range sets {
		number(s.X.Rows, s.X.Cols, s.Image.Rows, s.Image.Cols)
		buffer := make([]float32, s.X.Cols)
		for i := range s.X.Rows {
			_, _ = w.Write(sealed.Append(w.AvailableBuffer(), s.row(buffer, i)))
		}
		number(len(s.Y))
		number(s.Y...)
		number(len(s.Units), len(s.LeftOut))
		text(s.Units...)
		text(s.LeftOut...)
		number(len(s.Classes))
		text(s.Classes...)
	}
	_ = w.Flush()
	h.Sum(out[:0])
	return out
}

// PerUnit returns a limited number of rows of every unit, grouped by unit. Units are in the order of their
// first rows. Unit u has the rows from ends[u-1] (0 for u = 0) to ends[u]-1.
//
// Rows of a unit are sorted by a keyed hash of label and features. A unit with too many rows keeps the rows
// with the smallest hashes. So the kept rows of a unit, and the order of these rows, depend only on the key
// and the contents of the unit's rows. Adding or removing a unit adds or removes one group.
func (s Set) PerUnit(most int, key []byte) (kept Set, ends []int) {
	type ranked struct {
		row  int
		hash [sha256.Size]byte
	}
	mac, raw, buffer := hmac.New(sha256.New, key), []byte(nil), make([]float32, s.X.Cols)
	number := make(map[string]int)
	var units [][]ranked
	for i, name := range s.Units {
		u, ok := number[name]
		if !ok {
			u = len(units)
			number[name] = u
			units = append(units, nil)
		}
		mac.Reset()
		raw = sealed.Append(binary.LittleEndian.AppendUint64(raw[:0], uint64(s.Y[i])), s.row(buffer, i))
		mac.Write(raw)
		r := ranked{row: i}
		mac.Sum(r.hash[:0])
		units[u] = append(units[u], r)
	}
	var rows []int
	for _, unit := range units {
		slices.SortFunc(unit, func(a, b ranked) int { return bytes.Compare(a.hash[:], b.hash[:]) })
		for _, r := range unit[:min(most, len(unit))] {
			rows = append(rows, r.row)
		}
		ends = append(ends, len(rows))
	}
	return s.rows(rows), ends
}
