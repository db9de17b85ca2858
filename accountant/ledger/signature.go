package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

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
