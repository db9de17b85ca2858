package votes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"math"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/npy"
)

const (
	// MaxClasses is the largest number of classes of votes and data sets.
	MaxClasses  = 1<<15 - 1
	MaxTeachers = 1 << 20
)

// Abstention is the vote of a teacher that votes for no class.
const Abstention = aggregate.Abstain

// Matrix is a matrix of votes, queries x teachers. Each entry is a class in [0, classes) or [Abstention]. An
// entry takes one byte for up to 127 classes, otherwise two. The packages fmt and slog print only the shape.
type Matrix struct {
	queries, teachers, classes int
	narrow                     []byte  // row-major int8, if classes <= 127
	wide                       []int16 // row-major, if classes > 127
}

// New returns a matrix that holds only abstentions.
func New(queries, teachers, classes int) (*Matrix, error) {
	if err := checkShape(queries, teachers, classes); err != nil {
		return nil, err
	}
	return newMatrix(queries, teachers, classes), nil
}

func newMatrix(queries, teachers, classes int) *Matrix {
	v := &Matrix{queries: queries, teachers: teachers, classes: classes}
	if classes <= math.MaxInt8 {
		v.narrow = bytes.Repeat([]byte{0xff}, queries*teachers)
	} else {
		v.wide = make([]int16, queries*teachers)
		for i := range v.wide {
			v.wide[i] = Abstention
		}
	}
	return v
}

func checkShape(queries, teachers, classes int) error {
	switch {
	case classes < 2 || classes > MaxClasses:
		return fmt.Errorf("votes: votes among %d classes, want 2 to %d", classes, MaxClasses)
	case teachers < 1 || teachers > MaxTeachers:
		return fmt.Errorf("votes: votes of %d teachers, want 1 to %d", teachers, MaxTeachers)
	case queries < 0 || queries > math.MaxInt/(2*teachers):
		return fmt.Errorf("votes: votes on %d queries", queries)
	}
	return nil
}

func (v Matrix) Queries() int  { return v.queries }
func (v Matrix) Teachers() int { return v.teachers }
func (v Matrix) Classes() int  { return v.classes }

// At returns one vote. If an index is out of range, At panics.
func (v Matrix) At(query, teacher int) int {
	i := v.index(query, teacher)
	if v.narrow != nil {
		return signed(v.narrow[i])
	}
	return int(v.wide[i])
}

// Set changes one vote. It returns an error unless vote is a class or [Abstention]. It panics if an index is
// out of range.
func (v Matrix) Set(query, teacher, vote int) error {
	i := v.index(query, teacher)
	if vote < Abstention || vote >= v.classes {
		return fmt.Errorf("votes: vote of teacher %d on query %d is outside [-1, %d)", teacher, query, v.classes)
	}
	if v.narrow != nil {
		v.narrow[i] = byte(vote)
	} else {
		v.wide[i] = int16(vote)
	}
	return nil
}

func (v Matrix) index(query, teacher int) int {
	if uint(query) >= uint(v.queries) || uint(teacher) >= uint(v.teachers) {
		panic(fmt.Sprintf("votes: vote (%d, %d) of %d queries and %d teachers", query, teacher, v.queries, v.teachers))
	}
	return query*v.teachers + teacher
}

func (v Matrix) counts(dst []int, query int) []int {
	start := v.index(query, 0)
	if v.narrow != nil {
		var t tally
		t.count(dst, v.narrow[start:start+v.teachers])
	} else {
		countWide(dst, v.wide[start:start+v.teachers])
	}
	return dst
}

// Histogram returns the votes on one query, or an error if query is out of range.
func (v Matrix) Histogram(query int) (aggregate.Histogram, error) {
	if query < 0 || query >= v.queries {
		return aggregate.Histogram{}, fmt.Errorf("votes: query %d of %d", query, v.queries)
	}
	return aggregate.NewHistogram(v.counts(make([]int, v.classes), query))
}

// Pluralities returns the lowest class with the most votes for every query. The result is secret.
func (v Matrix) Pluralities() []int {
	best, _ := v.leaders()
	return best
}

// Gaps returns the difference of the two largest counts for every query. The result is secret.
func (v Matrix) Gaps() []int {
	_, gaps := v.leaders()
	return gaps
}

func (v Matrix) leaders() (best, gaps []int) {
	best, gaps = make([]int, v.queries), make([]int, v.queries)
	counts := make([]int, v.classes)
	for q := range best {
		best[q], gaps[q] = topTwo(v.counts(counts, q))
	}
	return best, gaps
}

func topTwo(counts []int) (best, gap int) {
	second := -1
	for i := 1; i < len(counts); i++ {
		switch {
		case counts[i] > counts[best]:
			best, second = i, best
		case second < 0 || counts[i] > counts[second]:
			second = i
		}
	}
	return best, counts[best] - counts[second]
}

// Hash returns the SHA-256 of shape, classes and votes. Do not publish the hash: without a key, a small
// matrix can be guessed from its hash.
func (v Matrix) Hash() (sum [32]byte) {
	h := newHash("pate votes 1\x00", v.queries, v.teachers, v.classes)
	_ = v.writeCells(h) // a hash never returns an error
	h.Sum(sum[:0])
	return sum
}

func (v Matrix) writeCells(w io.Writer) (err error) {
	buf := make([]byte, 0, 2*v.teachers)
	for from := 0; from < v.queries*v.teachers && err == nil; from += v.teachers {
		if v.narrow != nil {
			buf = appendCells(buf[:0], v.narrow[from:from+v.teachers])
		} else {
			buf = appendCells(buf[:0], v.wide[from:from+v.teachers])
		}
		_, err = w.Write(buf)
	}
	return err
}

func (v Matrix) String() string {
	return fmt.Sprintf("votes of %d teachers on %d queries, %d classes (redacted)", v.teachers, v.queries, v.classes)
}

func (v Matrix) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, v.String()) }
func (v Matrix) LogValue() slog.Value       { return slog.StringValue(v.String()) }

// Save writes the votes to an NPY file at path, atomically and with mode 0600. The file has version 1.0, C
// order and shape (queries, teachers). An abstention is -1. For up to 127 classes the type is int8, otherwise
// little-endian int16. Votes are as secret as the data.
func (v Matrix) Save(path string) error {
	err := durable.WriteFile(path, 0o600, func(w io.Writer) error {
		typ := "|i1"
		if v.narrow == nil {
			typ = "<i2"
		}
		if err := npy.WriteHeader(w, npy.Header{Type: typ, Shape: []int{v.queries, v.teachers}}); err != nil {
			return err
		}
		return v.writeCells(w)
	})
	if err != nil {
		return fmt.Errorf("votes: saving: %w", err)
	}
	return nil
}

// Load reads a matrix of labels into memory (see [Open]). The rows are queries, and the columns are teachers.
func Load(path string, classes int) (*Matrix, error) {
	s, err := Open(context.Background(), []string{path}, Options{Classes: classes})
	if err != nil {
		return nil, err
	}
	return s.Load(context.Background())
}

func newHash(kind string, shape ...int) hash.Hash {
	head := []byte(kind)
	for _, n := range shape {
		head = binary.LittleEndian.AppendUint64(head, uint64(n))
	}
	h := sha256.New()
	h.Write(head)
	return h
}

func appendCells[C cell](buf []byte, cells []C) []byte {
	switch cells := any(cells).(type) {
	case []byte:
		return append(buf, cells...)
	case []int16:
		for _, v := range cells {
			buf = binary.LittleEndian.AppendUint16(buf, uint16(v))
		}
	case []int32:
		for _, v := range cells {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(v))
		}
	}
	return buf
}

func signed[C cell](v C) int {
	if b, ok := any(v).(byte); ok {
		return int(int8(b))
	}
	return int(v)
}

func countWide(dst []int, votes []int16) {
	clear(dst)
	for _, vote := range votes {
		if vote >= 0 {
			dst[vote]++
		}
	}
}

// Consecutive votes are often equal, and increments of one entry would wait for each other. Between calls of
// count all class entries are 0.

// tally counts one-byte votes in four tables.
type tally [4][256]uint32

func (t *tally) count(dst []int, votes []byte) {
	for ; len(votes) >= 8; votes = votes[8:] {
		v := binary.LittleEndian.Uint64(votes)
		for i := range t {
			t[i][byte(v>>(8*i))]++
			t[i][byte(v>>(8*i+32))]++
		}
	}
	for _, v := range votes {
		t[0][v]++
	}
	for class := range dst {
		dst[class] = 0
		for i := range t {
			dst[class] += int(t[i][class])
			t[i][class] = 0
		}
	}
}
