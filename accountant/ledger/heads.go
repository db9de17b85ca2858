package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// Head identifies a ledger up to its last line. A file that lost lines at its end is a whole ledger with
// fewer lines; only a head that was kept elsewhere reveals the loss: see [VerifyOptions].
type Head struct {
	Lines int64  `json:"lines"`
	Hash  string `json:"hash"` // SHA-256 of the last line, in hexadecimal
}

// Head returns the head of the file now; zero in memory.
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

// VerifyOptions hold outside knowledge of a ledger, and functions that receive the contents of its file.
// Every field may be left out.
type VerifyOptions struct {
	// Heads returns the heads that the ledger is known to have had. It is called at the first line, with
	// the id of the ledger. A zero Head is ignored. The chain of hashes cannot show that lines were cut off
	// at the end, nor that the file is an older copy: a ledger that lacks the line of a head is a
	// *CorruptError.
	Heads func(id string) ([]Head, error)
	// Signature must be by the holder of PublicKey, which has to come from the signer, not from the
	// signature. A signature by somebody else or for another ledger is ErrSignature. A ledger that lacks
	// the signed line is a *CorruptError.
	Signature *Signature
	PublicKey ed25519.PublicKey
	// Accept may refuse a ledger after everything was read and before anything is written.
	Accept func(State) error
	// Entry receives every reservation.
	Entry func(Entry) error
	// Outcome receives the entry and the hash of every committed outcome.
	Outcome func(entry int64, hash [sha256.Size]byte)
}

// State sums up a file.
type State struct {
	ID      string // of the ledger; "" in memory
	Lines   int64  // whole ones; 0 of a file that never became a ledger
	Entries int64
	Commits int64
}

// State sums up the file.
func (l *Ledger) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.state()
}

func (c *chain) state() State {
	return State{ID: c.id, Lines: c.lines, Entries: c.entries, Commits: c.commits.n}
}

// reading follows a file, and compares it with outside knowledge.
type reading struct {
	*chain
	VerifyOptions
	header func(Config) error // refuses the first line; may be nil
	heads  []Head
}

// read follows the file up to its last newline, and returns the rest.
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
			return nil, &CorruptError{r.lines + 1, fmt.Sprintf("it is missing: the file once had %d lines", h.Lines)}
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

// line compares the line just followed with the kept heads, and hands out its contents.
func (r *reading) line(l line) error {
	if l.kind == headerLine {
		if err := r.first(); err != nil {
			return err
		}
	}
	for _, h := range r.heads {
		if h.Lines == r.lines && h.Hash != hex.EncodeToString(r.prev[:]) {
			return &CorruptError{h.Lines, "its hash is not that of the head that was kept"}
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

// first gets the known heads, once the header names the ledger.
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
			return fmt.Errorf("%w: it is of ledger %s, this is ledger %q", ErrSignature, s.ID, r.id)
		}
		r.heads = append([]Head{s.Head}, r.heads...)
	}
	return nil
}

// ErrSignature is matched by the errors of an invalid signature.
var ErrSignature = errors.New("ledger: signature does not hold")

const signatureSchema = "pate.ledger-signature/1"

// Signature vouches, by the holder of a key, for a ledger up to the line of Head, which the chain of
// hashes, having no key, cannot do. It stays valid when lines are appended, and does not cover them.
//
// It is an Ed25519 signature of the text
//
//	pate.ledger-signature/1
//	ID
//	LINES:HASH
//
// with a newline after each of the three lines.
type Signature struct {
	Schema string `json:"schema"`
	ID     string `json:"id"` // see State
	Head
	Signature []byte `json:"signature"`  // base64 in JSON
	PublicKey []byte `json:"public_key"` // of the signer, 32 bytes; to find it, not to trust it
}

// Sign signs the head of a ledger that was verified; id is the id of the ledger.
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

// check returns an error if s is no signature by the holder of the key.
func (s Signature) check(key ed25519.PublicKey) error {
	if len(key) != ed25519.PublicKeySize {
		return fmt.Errorf("an Ed25519 public key has %d bytes, not %d", ed25519.PublicKeySize, len(key))
	}
	if err := s.wellFormed(); err != nil {
		return err
	}
	if !bytes.Equal(s.PublicKey, key) {
		return errors.New("it names another public key")
	}
	if !ed25519.Verify(key, s.text(), s.Signature) {
		return errors.New("the holder of the key did not sign this")
	}
	return nil
}

// wellFormed returns an error if no ledger can have this id and head.
func (s Signature) wellFormed() error {
	if s.Schema != signatureSchema {
		return fmt.Errorf("its schema is %q, not %s", s.Schema, signatureSchema)
	}
	if err := checkID(s.ID); err != nil {
		return err
	}
	hash, err := hex.DecodeString(s.Hash)
	if err != nil || len(hash) != sha256.Size || hex.EncodeToString(hash) != s.Hash || s.Lines < 1 {
		return fmt.Errorf("%d:%s is no head of a ledger", s.Lines, s.Hash)
	}
	return nil
}

// text returns the text to sign.
func (s Signature) text() []byte {
	return fmt.Appendf(nil, "%s\n%s\n%d:%s\n", s.Schema, s.ID, s.Lines, s.Hash)
}
