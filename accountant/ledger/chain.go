package ledger

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/pate-go/pate/accountant"
)

var ErrCorrupt = errors.New("ledger: corrupt")

// CorruptError reports the first line that is inconsistent with earlier lines. The charges of the ledger are
// then unknown.
type CorruptError struct {
	Line   int64 // from 1
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: line %d: %s", ErrCorrupt, e.Line, e.Reason)
}

func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

type chain struct {
	header  header
	balance *balance
	lines   int64
	size    int64 // bytes of the lines
	prev    [sha256.Size]byte
	entries int64
	runs    []run
	byID    map[string]int64 // run id to run index, from 1
	commits spans
	sealed  bool
	claimed *Claim // claim of a sealed file (see claimOfSeal)
	above   bool   // within must check: the accountant is ByPLD, or by Rényi orders the last total exceeds the budget
	id      string // id of the ledger
	// exhausted is true if a line that was cut off lost the event of a reservation. This reservation counts
	// as the rest of the budget.
	exhausted bool
}

type run struct {
	id      string
	entries int64
	first   int64 // index of its first entry; 0 without entries
}

func newChain() *chain { return &chain{byID: map[string]int64{}} }

func (c *chain) next(k kind) line { return line{number: c.lines + 1, kind: k, prev: c.prev} }

func (c *chain) start(h header) error {
	b, err := newBalance(h)
	if err != nil {
		return err
	}
	c.header, c.balance, c.id = h, b, h.ID
	return nil
}

// follow appends a line. The argument text must not include the newline.
func (c *chain) follow(text []byte) (line, error) {
	l, err := decode(text)
	if err != nil {
		return l, err
	}
	if err := c.link(l); err != nil {
		return l, err
	}
	if err := c.apply(l); err != nil {
		return l, err
	}
	c.append(text)
	return l, nil
}

func (c *chain) append(text []byte) {
	c.lines++
	c.size += int64(len(text)) + 1
	c.prev = sha256.Sum256(text)
}

func (c *chain) link(l line) error {
	switch {
	case l.number != c.lines+1:
		return fmt.Errorf("the line has number %d, so lines were removed, repeated or moved", l.number)
	case l.prev != c.prev:
		return errors.New("the line does not follow the line before")
	case (l.kind == headerLine) != (c.lines == 0):
		return errors.New("only the first line may hold the settings of the ledger")
	}
	return nil
}

func (c *chain) apply(l line) error {
	switch l.kind {
	case headerLine:
		h, err := parseHeader(l.text)
		if err != nil {
			return err
		}
		return c.start(h)
	case runLine:
		var id string
		if err := json.Unmarshal(l.text, &id); err != nil {
			return fmt.Errorf("its id: %w", err)
		}
		return c.declare(l.run, id)
	case reserveLine:
		return c.reserve(l)
	case sealLine:
		return c.seal(l)
	case commitLine:
		return c.commit(l.entry)
	default: // tornLine
		c.exhausted = true
		return nil
	}
}

func (r *run) take(first, n int64) {
	if r.entries == 0 {
		r.first = first
	}
	r.entries += n
}

func (c *chain) declare(number int64, id string) error {
	switch {
	case number != int64(len(c.runs))+1:
		return fmt.Errorf("the line declares run %d after %d runs", number, len(c.runs))
	case id == "" || c.byID[id] != 0:
		return fmt.Errorf("the line declares run %q, which is empty or declared already", id)
	}
	c.runs = append(c.runs, run{id: id})
	c.byID[id] = number
	return nil
}

func (c *chain) named() int64 {
	n := int64(0)
	for _, r := range c.runs {
		n += r.entries
	}
	return n
}

func (c *chain) mayReserve() error {
	switch {
	case c.exhausted:
		return errExhausted
	case c.sealed:
		return ErrSealed
	}
	return nil
}

func (c *chain) reserve(l line) error {
	if err := c.mayReserve(); err != nil {
		return err
	}
	if l.entry != c.entries+1 || l.run > int64(len(c.runs)) {
		return fmt.Errorf("the line is entry %d of run %d, after %d entries and %d runs", l.entry, l.run, c.entries, len(c.runs))
	}
	more, err := c.balance.chargeOf(l.text)
	if err != nil {
		return err
	}
	if err := c.sameEpsilon(l.epsilon, more); err != nil {
		return err
	}
	return c.charge(l, more)
}

func (c *chain) charge(l line, more *charge) error {
	if err := c.balance.add(more); err != nil {
		return err
	}
	c.entries++
	if l.run > 0 {
		c.runs[l.run-1].take(c.entries, 1)
	}
	return nil
}

func (c *chain) sameEpsilon(says float64, more *charge) error {
	rdp := c.balance.cfg.Method() == accountant.ByRDP
	if rdp && says > c.balance.cfg.Epsilon {
		return fmt.Errorf("the line raises epsilon to %v, above the budget of %v", says, c.balance.cfg.Epsilon)
	}
	is, err := c.balance.onOrders(more)
	if err != nil {
		return err
	}
	if nearlyEqual(says, is) {
		c.above = says > c.balance.cfg.Epsilon || c.balance.cfg.Method() == accountant.ByPLD
		return nil
	}
	if rdp && c.balance.refine {
		best, err := c.balance.claim(accountant.ByRDP, c.balance.cfg.Delta, more)
		if err != nil {
			return err
		}
		if is = best.Upper; nearlyEqual(says, is) {
			return nil
		}
	}
	return fmt.Errorf("the line has epsilon %v, but its events give %v", says, is)
}

func nearlyEqual(a, b float64) bool {
	return !math.IsInf(a-b, 0) && math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b))
}

func (c *chain) seal(l line) error {
	switch {
	case c.header.Mode != Reserved:
		return errors.New("the line seals a ledger of mode filter, which cannot be sealed")
	case c.sealed:
		return errors.New("the line seals a ledger that is already sealed")
	case l.entry != c.entries || c.entries == 0:
		return fmt.Errorf("the line seals %d entries, but there are %d", l.entry, c.entries)
	}
	claim, err := c.claimOfSeal(l.epsilon, l.by)
	if err != nil {
		return err
	}
	c.sealed, c.claimed = true, &claim
	return nil
}

func (c *chain) commit(entry int64) error {
	switch {
	case entry < 1 || entry > c.entries:
		return fmt.Errorf("the line commits entry %d of %d", entry, c.entries)
	case c.commits.has(entry):
		return fmt.Errorf("the line commits entry %d a second time", entry)
	case c.header.Mode == Reserved && !c.sealed:
		return errors.New("the line commits an outcome before the charges were sealed")
	}
	c.commits.add(entry)
	return nil
}

func (c *chain) total() (Claim, error) {
	switch {
	case c.exhausted:
		return Claim{Epsilon: c.balance.cfg.Epsilon, By: c.balance.cfg.Method()}, nil
	case c.claimed != nil:
		return *c.claimed, nil
	}
	return c.balance.total()
}

type lineReader struct {
	r    *bufio.Reader
	long []byte
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{r: bufio.NewReaderSize(r, 1<<14)} }

func (r *lineReader) nextOf(k kind) (line, error) {
	for {
		text, err := r.next()
		if err != nil {
			return line{}, err
		}
		if l, err := decode(text); err != nil {
			return l, &CorruptError{l.number, err.Error()}
		} else if l.kind == k {
			return l, nil
		}
	}
}

var errLongLine = fmt.Errorf("the line is longer than %d bytes", maxLine)

// next returns a line without its newline, valid until the next call. At the end it returns io.EOF and the
// incomplete last line.
func (r *lineReader) next() ([]byte, error) {
	text, err := r.r.ReadSlice('\n')
	if err == nil {
		return text[:len(text)-1], nil
	}
	r.long = append(r.long[:0], text...)
	for err == bufio.ErrBufferFull {
		if len(r.long) > maxLine {
			return nil, errLongLine
		}
		text, err = r.r.ReadSlice('\n')
		r.long = append(r.long, text...)
	}
	if err != nil {
		return r.long, err
	}
	return r.long[:len(r.long)-1], nil
}

// read appends all whole lines of r. It returns the bytes after the last newline, without trailing zero bytes
// from a power failure.
func (c *chain) read(r io.Reader, visit func(line) error) (rest []byte, err error) {
	lines := newLineReader(r)
	for {
		text, err := lines.next()
		switch {
		case err == io.EOF:
			if len(text) == 0 {
				return nil, nil
			}
			written := bytes.TrimRight(text, "\x00")
			if _, err := decode(written); err == nil && len(written) == len(text)-1 {
				written = text // the newline was changed to another byte
			}
			return written, nil
		case err == errLongLine:
			return nil, &CorruptError{c.lines + 1, err.Error()}
		case err != nil:
			return nil, fmt.Errorf("ledger: %w", err)
		}
		l, err := c.follow(text)
		if err != nil {
			return nil, &CorruptError{c.lines + 1, err.Error()}
		}
		if visit == nil {
			continue
		}
		if err := visit(l); err != nil {
			return nil, err
		}
	}
}

type spans struct {
	of []span // sorted, with gaps between neighbours
	n  int64
}

type span struct{ lo, hi int64 }

func (s *spans) find(n int64) int {
	last := len(s.of) - 1
	if last < 0 || n > s.of[last].hi {
		return last + 1
	}
	return sort.Search(len(s.of), func(i int) bool { return n <= s.of[i].hi })
}

func (s *spans) has(n int64) bool {
	i := s.find(n)
	return i < len(s.of) && s.of[i].lo <= n
}

func (s *spans) add(n int64) {
	s.n++
	i := s.find(n)
	left := i > 0 && s.of[i-1].hi == n-1
	right := i < len(s.of) && s.of[i].lo == n+1
	switch {
	case left && right:
		s.of[i-1].hi = s.of[i].hi
		s.of = slices.Delete(s.of, i, i+1)
	case left:
		s.of[i-1].hi = n
	case right:
		s.of[i].lo = n
	default:
		s.of = slices.Insert(s.of, i, span{n, n})
	}
}
