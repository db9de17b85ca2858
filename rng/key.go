package rng

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Key is a 256-bit secret, from [NewKey] or [SeedKey]. Using a zero Key, which has no secret, panics. Every
// fmt verb and logger prints a Key as redacted text, and JSON encoding fails. Only [Key.MarshalText] returns
// the secret.
type Key struct {
	secret     *sealed
	releasable bool
}

// sealed hides the secret behind two pointers. So fmt prints only an address for a Key in an unexported
// field.
type sealed struct {
	bytes *[sha256.Size]byte
}

func seal(bytes [sha256.Size]byte) *sealed { return &sealed{bytes: &bytes} }

const redacted = "rng.Key(redacted)"

const (
	// Derive puts domainIDs before the label, and DeriveBytes puts domainBytes, so that the inputs of HMAC
	// differ.
	domainIDs   = 1
	domainBytes = 2
)

// NewKey draws a secret key from the operating system. Results with noise from this key may be released.
func NewKey() (Key, error) {
	var secret [sha256.Size]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return Key{}, fmt.Errorf("rng: reading the system's randomness: %w", err)
	}
	return Key{secret: seal(secret), releasable: true}, nil
}

// SeedKey returns the key of a seed, for repeatable experiments. This key and all derived keys are not
// releasable, because anyone with the seed can draw the noise again.
func SeedKey(seed uint64) Key {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("pate seeded key 1\x00"), seed))
	return Key{secret: seal(sum)}
}

// IsZero reports whether the key has no secret.
func (k Key) IsZero() bool { return k.secret == nil }

// Releasable reports whether results with noise from k may be released: k came from NewKey, or was derived
// from such a key.
func (k Key) Releasable() bool { return k.releasable && k.secret != nil }

// Derive returns the key with the name (label, ids). The key is the HMAC-SHA256 of an unambiguous encoding of
// the name, under the secret of k. Different names give independent keys, and equal names give equal keys.
func (k Key) Derive(label string, ids ...uint64) Key {
	var scratch [256]byte
	b := k.message(scratch[:0], domainIDs, label)
	b = binary.BigEndian.AppendUint64(b, uint64(len(ids)))
	for _, id := range ids {
		b = binary.BigEndian.AppendUint64(b, id)
	}
	return k.child(b)
}

// DeriveBytes returns the key with the name (label, data). DeriveBytes and Derive never return the same key.
func (k Key) DeriveBytes(label string, data []byte) Key {
	var scratch [256]byte
	return k.child(append(k.message(scratch[:0], domainBytes, label), data...))
}

func (k Key) message(b []byte, domain byte, label string) []byte {
	if k.secret == nil {
		panic("rng: zero Key: make one with NewKey or SeedKey")
	}
	b = k.appendPad(b, 0x36)
	b = append(b, domain)
	b = binary.BigEndian.AppendUint64(b, uint64(len(label)))
	return append(b, label...)
}

// child returns HMAC-SHA256 (RFC 2104) of a text under k. The argument message holds HMAC's inner padded key,
// then the text.
func (k Key) child(message []byte) Key {
	inner := sha256.Sum256(message) // hash.Hash would take three times as long
	var scratch [sha256.BlockSize + sha256.Size]byte
	outer := append(k.appendPad(scratch[:0], 0x5c), inner[:]...)
	return Key{secret: seal(sha256.Sum256(outer)), releasable: k.releasable}
}

func (k Key) appendPad(b []byte, xor byte) []byte {
	xors := 0x0101010101010101 * uint64(xor)
	for i := 0; i < sha256.Size; i += 8 {
		b = binary.BigEndian.AppendUint64(b, binary.BigEndian.Uint64(k.secret.bytes[i:])^xors)
	}
	for i := sha256.Size; i < sha256.BlockSize; i += 8 {
		b = binary.BigEndian.AppendUint64(b, xors)
	}
	return b
}

const (
	textReleasable = "pate-key-1:releasable:"
	textSeeded     = "pate-key-1:seeded:"
)

// MarshalText encodes the secret for a resumed run. Anyone who reads the text can remove the noise. Write the
// text only to a file with mode 0600.
func (k Key) MarshalText() ([]byte, error) {
	if k.secret == nil {
		return nil, errors.New("rng: zero Key has no text form")
	}
	prefix := textSeeded
	if k.releasable {
		prefix = textReleasable
	}
	return base64.RawURLEncoding.AppendEncode([]byte(prefix), k.secret.bytes[:]), nil
}

// UnmarshalText decodes the result of MarshalText, and ignores surrounding white space. Errors do not contain
// the text.
func (k *Key) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	body, releasable := strings.CutPrefix(s, textReleasable)
	if !releasable {
		var seeded bool
		if body, seeded = strings.CutPrefix(s, textSeeded); !seeded {
			return fmt.Errorf("rng: not a key: it starts with neither %q nor %q", textReleasable, textSeeded)
		}
	}
	secret, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil || len(secret) != sha256.Size {
		return errors.New("rng: damaged key: its secret must be 43 characters of base64url")
	}
	*k = Key{secret: seal([sha256.Size]byte(secret)), releasable: releasable}
	return nil
}

// MarshalJSON always fails, so that no key gets into a configuration or a log by accident.
func (k Key) MarshalJSON() ([]byte, error) {
	return nil, errors.New("rng: a Key is secret and has no JSON form; use MarshalText on purpose")
}

// Format writes redacted text for every verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

func (k Key) String() string { return redacted }

func (k Key) LogValue() slog.Value { return slog.StringValue(redacted) }
