package ledger

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/pate-go/pate/accountant"
)

// Entry is a reservation in a file.
type Entry struct {
	Number  int64 // from 1
	Line    int64
	Run     string // "" of the ledger's own
	Event   accountant.Event
	Epsilon float64 // the total with it, recomputed
	Left    Left    // after it
}

// Summary is the contents of a whole ledger.
type Summary struct {
	Config    Config
	Orders    []float64 // on which every epsilon is computed
	Library   string    // that made the file
	ID        string    // see State
	Entries   int64
	Commits   int64
	Sealed    bool // mode Reserved: the charges are complete
	Exhausted bool // an unreadable reservation took what was left
	// Torn is the reading of a last line that is cut off; empty if none is. The numbers here count it the
	// way opening the file will.
	Torn     string
	Head     Head                // of the whole lines; zero if there is none
	Epsilon  float64             // see Ledger.Epsilon
	Claimed  Claim               // Epsilon, and the accountant that proved it
	Left     Left                // see Ledger.Left
	Schedule accountant.Schedule // see Ledger.Schedule

	balance *balance
	commits spans
}

// Verify reads a ledger in one pass, in memory that does not grow with its length: it checks the chain and
// recomputes every epsilon with package accountant. Anything that does not follow, or contradicts the
// options, is a *CorruptError with its line. Verify changes nothing and takes no lock; of a file that is
// being written it sees a beginning.
func Verify(r io.Reader, opt VerifyOptions) (Summary, error) {
	c := newChain()
	fragment, err := (&reading{chain: c, VerifyOptions: opt}).read(r)
	if err != nil {
		return Summary{}, err
	}
	// The head leaves out a line that is cut off: heads are kept to be found again, and the line may be
	// mended otherwise.
	torn, head := "", c.head()
	if fragment != nil || c.lines == 0 {
		repair, err := c.mend(fragment)
		if err == nil && len(repair.write) > 0 {
			var l line
			if l, err = c.follow(repair.write[:len(repair.write)-1]); err == nil && l.kind == reserveLine && opt.Entry != nil {
				if err := c.visit(l, opt.Entry); err != nil {
					return Summary{}, err
				}
			}
		}
		if err == nil && c.lines == 0 {
			err = errors.New("the file holds no ledger")
		}
		if err != nil {
			return Summary{}, &CorruptError{c.lines + 1, err.Error()}
		}
		torn = repair.what
	}
	if err := c.within(); err != nil {
		return Summary{}, err
	}
	s, err := c.summary()
	s.Torn, s.Head = torn, head
	return s, err
}

func (c *chain) visit(l line, visit func(Entry) error) error {
	if l.epsilon > c.balance.cfg.Epsilon { // by Rényi divergences alone
		total, err := c.balance.total()
		if err != nil {
			return err
		}
		l.epsilon = total.Epsilon
	}
	e := Entry{Number: l.entry, Line: l.number, Epsilon: l.epsilon, Left: c.balance.left()}
	if l.run > 0 {
		e.Run = c.runs[l.run-1].id
	}
	more, err := c.balance.chargeOf(l.text)
	if err != nil {
		return err
	}
	e.Event = more.event
	return visit(e)
}

func (c *chain) summary() (Summary, error) {
	s := Summary{
		Config: c.header.config(), Orders: c.header.orders(), Library: c.header.Library,
		ID:      c.id,
		Entries: c.entries, Commits: c.commits.n, Sealed: c.sealed, Exhausted: c.exhausted,
		Head: c.head(), Left: c.left(), Schedule: c.balance.schedule(),
		balance: c.balance, commits: c.commits,
	}
	var err error
	s.Claimed, err = c.total()
	s.Epsilon = s.Claimed.Epsilon
	return s, err
}

// Committed reports whether the outcome of a reservation was committed.
func (s Summary) Committed(entry int64) bool { return s.commits.has(entry) }

// Claim returns an epsilon that holds, at any delta in (0, 1), for everything released under the ledger;
// +Inf if none is known. In mode Reserved it covers everything reserved, and in mode Filter the whole
// budget, since a total that was reached by choice is no bound; in both used or not.
func (s Summary) Claim(delta float64) (float64, error) {
	if !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("ledger: delta %v must lie strictly between 0 and 1", delta)
	}
	b := s.balance
	switch {
	case s.Exhausted && b.cfg.Mode == Reserved && delta < b.cfg.Delta:
		return math.Inf(1), nil
	case s.Exhausted && b.cfg.Mode == Reserved:
		return b.cfg.Epsilon, nil
	case b.cfg.Mode == Reserved && s.Entries == 0:
		return 0, nil
	case b.cfg.Mode == Reserved && delta == b.cfg.Delta:
		return s.Epsilon, nil
	case b.cfg.Mode == Reserved:
		bound, err := b.claim(b.cfg.Method(), delta)
		return bound.Upper, err
	case b.cfg.Mode == Filter && delta == b.cfg.Delta:
		return b.cfg.Epsilon, nil
	case delta <= b.cfg.FailureDelta:
		return math.Inf(1), nil
	}
	// Each set of outcomes is within the divergence of one order; the worst order decides.
	part, most := share(b.cfg, delta), 0.0
	for i, a := range b.cfg.Orders {
		p, err := penalty(a, part)
		if err != nil {
			return 0, err
		}
		if room := b.cfg.Epsilon - b.penalty[i]; room > 0 { // no run ends within another order
			most = math.Max(most, room+p)
		}
	}
	return most * (1 + 1e-14), nil
}

// ReadConfig returns the Config in the first line of a ledger, with which the ledger can be opened; the
// rest is not read.
func ReadConfig(r io.Reader) (Config, error) {
	text, err := newLineReader(r).next()
	if err != nil {
		return Config{}, &CorruptError{1, "it is cut off or too long"}
	}
	c := newChain()
	if _, err := c.follow(text); err != nil {
		return Config{}, &CorruptError{1, err.Error()}
	}
	return c.header.config(), nil
}
