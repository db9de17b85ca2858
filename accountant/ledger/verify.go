package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
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
	Run     string // "" for the ledger's own run
	Event   accountant.Event
	Epsilon float64 // recomputed total up to this entry
	Left    Left    // rest of the budget after this entry
}

// Summary describes a ledger that passed [Verify].
type Summary struct {
	Config    Config
	Orders    []float64 // Rényi orders of every epsilon
	Library   string    // version of the library that made the file
	ID        string    // random id of the ledger
	Entries   int64
	Commits   int64
	Sealed    bool // mode Reserved: no more charges are possible
	Exhausted bool // an unreadable reservation took the rest of the budget
	// Torn describes a last line that is cut off, or is "". Open repairs this line. All other fields except
	// Head describe the repaired ledger.
	Torn     string
	Head     Head                // of the whole lines; zero without whole lines
	Epsilon  float64             // see Ledger.Epsilon
	Claimed  Claim               // Epsilon and the accountant that proved it
	Left     Left                // see Ledger.Left
	Schedule accountant.Schedule // see Ledger.Schedule

	balance *balance
	commits spans
}

// Verify reads a ledger in one pass. It checks the chain and recomputes every epsilon with package
// accountant. The memory does not grow with the length of the file. Verify takes no lock, so it may miss
// lines that another process is appending. Damaged lines, and lines that contradict earlier lines or an
// earlier head, give a *CorruptError. A wrong opt.Signature gives ErrSignature.
func Verify(r io.Reader, opt VerifyOptions) (Summary, error) {
	c := newChain()
	fragment, err := (&reading{chain: c, VerifyOptions: opt}).read(r)
	if err != nil {
		return Summary{}, err
	}
	// The head excludes a line that is cut off, because Open may replace that line.
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
			err = errors.New("the file has no ledger")
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

// Committed reports whether the outcome of a ledger entry is committed.
func (s Summary) Committed(entry int64) bool { return s.commits.has(entry) }

// Claim returns an epsilon at delta in (0, 1) for all releases under the ledger. If no bound is known, Claim
// returns +Inf. In mode Reserved, the epsilon covers all reservations. In mode Filter, the epsilon covers the
// whole budget, because a total that depends on answers is not a bound.
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
	// On each set of outcomes the budget bounds the divergence of one order. So the bound is the worst order.
	part, most := share(b.cfg, delta), 0.0
	for i, a := range b.cfg.Orders {
		p, err := penalty(a, part)
		if err != nil {
			return 0, err
		}
		if room := b.cfg.Epsilon - b.penalty[i]; room > 0 { // no run ends within the other orders
			most = math.Max(most, room+p)
		}
	}
	return most * (1 + 1e-14), nil
}

// ReadConfig reads only the first line of a ledger and returns its Config.
func ReadConfig(r io.Reader) (Config, error) {
	text, err := newLineReader(r).next()
	if err != nil {
		return Config{}, &CorruptError{1, "the line is cut off or too long"}
	}
	c := newChain()
	if _, err := c.follow(text); err != nil {
		return Config{}, &CorruptError{1, err.Error()}
	}
	return c.header.config(), nil
}

// Head identifies a ledger up to its last line. Only comparison with an earlier Head detects a removal of
// lines at the end (see [VerifyOptions]).
type Head struct {
	Lines int64  `json:"lines"`
	Hash  string `json:"hash"` // SHA-256 of the last line, in hexadecimal
}

// Head returns the current head of the file, or zero for a ledger in memory.
func (l *Ledger) Head() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.head()
}

func (c *chain) head() Head {
	if c.lines == 0 {
		return Head{}
	}
	return Head{c.lines, hex.EncodeToString(c.prev[:])}
}

// VerifyOptions configures the verification of a ledger. All fields are optional.
type VerifyOptions struct {
	// Heads returns earlier heads of the ledger with the given id. It is called after the first line was
	// read. A zero Head is ignored. If the line of an earlier head is missing or different, the error is a
	// *CorruptError. Without an earlier head, missing last lines are not detected.
	Heads func(id string) ([]Head, error)
	// Signature is checked with PublicKey. The caller must get PublicKey from the signer, not from Signature.
	// A different key or ledger gives ErrSignature. A ledger without the signed line gives a *CorruptError.
	Signature *Signature
	PublicKey ed25519.PublicKey
	// Accept is called after reading and before any write. An error of Accept refuses the ledger.
	Accept func(State) error
	// Entry receives every reservation.
	Entry func(Entry) error
	// Outcome receives the entry index and the hash of every committed outcome.
	Outcome func(entry int64, hash [sha256.Size]byte)
}

// State is a short summary of a ledger.
type State struct {
	ID      string // id of the ledger; "" in memory
	Lines   int64  // number of whole lines; 0 for a file that never became a ledger
	Entries int64
	Commits int64
}

func (l *Ledger) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.state()
}

func (c *chain) state() State {
	return State{ID: c.id, Lines: c.lines, Entries: c.entries, Commits: c.commits.n}
}

type reading struct {
	*chain
	VerifyOptions
	header func(Config) error // may refuse the Config in the first line; may be nil
	heads  []Head
}

func (r *reading) read(file io.Reader) (fragment []byte, err error) {
	if r.Signature != nil {
		if err := r.Signature.check(r.PublicKey); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSignature, err)
		}
	}
	if fragment, err = r.chain.read(file, r.line); err != nil {
		return nil, err
	}
	for _, h := range r.heads {
		if h.Lines > r.lines {
			return nil, &CorruptError{r.lines + 1, fmt.Sprintf("the line is missing: the file once had %d lines", h.Lines)}
		}
	}
	if err := r.within(); err != nil {
		return nil, err
	}
	if r.Accept != nil {
		return fragment, r.Accept(r.state())
	}
	return fragment, nil
}

func (r *reading) line(l line) error {
	if l.kind == headerLine {
		if err := r.first(); err != nil {
			return err
		}
	}
	for _, h := range r.heads {
		if h.Lines == r.lines && h.Hash != hex.EncodeToString(r.prev[:]) {
			return &CorruptError{h.Lines, "the hash of the line differs from the hash of the head that was kept"}
		}
	}
	if l.kind == commitLine && r.Outcome != nil {
		r.Outcome(l.entry, l.outcome)
	}
	if l.kind == reserveLine && r.Entry != nil {
		return r.visit(l, r.Entry)
	}
	return nil
}

func (r *reading) first() (err error) {
	if r.header != nil {
		if err := r.header(r.chain.header.config()); err != nil {
			return err
		}
	}
	if r.Heads != nil {
		if r.heads, err = r.Heads(r.id); err != nil {
			return err
		}
	}
	if s := r.Signature; s != nil {
		if s.ID != r.id {
			return fmt.Errorf("%w: the signature is for ledger %s, but this is ledger %q", ErrSignature, s.ID, r.id)
		}
		r.heads = append([]Head{s.Head}, r.heads...)
	}
	return nil
}

var ErrSignature = errors.New("ledger: the signature is invalid")

const signatureSchema = "pate.ledger-signature/1"

// Signature signs a ledger up to the line of Head, but not later lines.
//
// The field Signature is an Ed25519 signature of three lines, each with a newline:
//
//	pate.ledger-signature/1
//	ID
//	LINES:HASH
type Signature struct {
	Schema string `json:"schema"`
	ID     string `json:"id"` // id of the ledger
	Head
	Signature []byte `json:"signature"`  // base64 in JSON
	PublicKey []byte `json:"public_key"` // 32 bytes; identifies the key of the signer but must not be trusted
}

// Sign signs a head of ledger `id`. The caller must have verified the ledger.
func Sign(id string, head Head, key ed25519.PrivateKey) (Signature, error) {
	if len(key) != ed25519.PrivateKeySize {
		return Signature{}, fmt.Errorf("ledger: an Ed25519 private key has %d bytes, not %d", ed25519.PrivateKeySize, len(key))
	}
	s := Signature{Schema: signatureSchema, ID: id, Head: head, PublicKey: bytes.Clone(key[ed25519.SeedSize:])}
	if err := s.wellFormed(); err != nil {
		return Signature{}, fmt.Errorf("ledger: cannot be signed: %w", err)
	}
	s.Signature = ed25519.Sign(key, s.text())
	return s, nil
}

func (s Signature) check(key ed25519.PublicKey) error {
	if len(key) != ed25519.PublicKeySize {
		return fmt.Errorf("an Ed25519 public key has %d bytes, not %d", ed25519.PublicKeySize, len(key))
	}
	if err := s.wellFormed(); err != nil {
		return err
	}
	if !bytes.Equal(s.PublicKey, key) {
		return errors.New("the signature names another public key")
	}
	if !ed25519.Verify(key, s.text(), s.Signature) {
		return errors.New("the holder of the key did not sign this head")
	}
	return nil
}

func (s Signature) wellFormed() error {
	if s.Schema != signatureSchema {
		return fmt.Errorf("the schema is %q, not %s", s.Schema, signatureSchema)
	}
	if err := checkID(s.ID); err != nil {
		return err
	}
	hash, err := hex.DecodeString(s.Hash)
	if err != nil || len(hash) != sha256.Size || hex.EncodeToString(hash) != s.Hash || s.Lines < 1 {
		return fmt.Errorf("%d:%s is not the head of a ledger", s.Lines, s.Hash)
	}
	return nil
}

func (s Signature) text() []byte {
	return fmt.Appendf(nil, "%s\n%s\n%d:%s\n", s.Schema, s.ID, s.Lines, s.Hash)
}
