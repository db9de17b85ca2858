package manifest

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// Salt is the silos' common 256-bit secret. A Salt prints as a fixed text.
type Salt struct{ sealed *sealed }

// sealed points to the secret, and [Salt] points to sealed. So package fmt prints an address, not the secret.
type sealed struct{ bytes *[sha256.Size]byte }

const (
	redacted = "manifest.Salt(redacted)"
	saltText = "pate-salt-1:"
)

func NewSalt() (Salt, error) {
	var secret [sha256.Size]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return Salt{}, fmt.Errorf("manifest: reading the system's randomness: %w", err)
	}
	return Salt{&sealed{&secret}}, nil
}

func (s Salt) MarshalText() ([]byte, error) {
	if s.sealed == nil {
		return nil, errors.New("manifest: zero Salt has no text form")
	}
	return base64.RawURLEncoding.AppendEncode([]byte(saltText), s.sealed.bytes[:]), nil
}

// UnmarshalText decodes the result of MarshalText, with optional white space around it. Errors never quote
// the text.
func (s *Salt) UnmarshalText(text []byte) error {
	body, ok := strings.CutPrefix(string(bytes.TrimSpace(text)), saltText)
	if !ok {
		return fmt.Errorf("manifest: not a salt: the file does not start with %q", saltText)
	}
	secret, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil || len(secret) != sha256.Size {
		return errors.New("manifest: damaged salt: its secret must be 43 characters of base64url")
	}
	bytes := [sha256.Size]byte(secret)
	s.sealed = &sealed{&bytes}
	return nil
}

// MarshalJSON always fails, to keep the salt out of logs and results.
func (s Salt) MarshalJSON() ([]byte, error) {
	return nil, errors.New("manifest: a Salt is secret and has no JSON form; use MarshalText on purpose")
}

func (s Salt) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

func (s Salt) LogValue() slog.Value { return slog.StringValue(redacted) }

// Each method of Salt starts its HMAC input with its own number, so inputs of different methods differ.
const (
	domainID     = 0
	domainRecord = 1
	domainVotes  = 2
	domainData   = 3
	domainPart   = 4
)

// ID returns 16 hexadecimal digits that identify the salt without revealing it. Only manifests whose salts
// have the same ID can be compared.
func (s Salt) ID() string {
	return hex.EncodeToString(s.mac(domainID, "")[:8])
}

func (s Salt) Hash(id string) Hash {
	return Hash(s.mac(domainRecord, id)[:len(Hash{})])
}

// Votes returns the HMAC of a votes hash under the salt, in hexadecimal. A hash without a key would reveal a
// small vote matrix to a reader who tries all small matrices.
func (s Salt) Votes(hash [32]byte) string {
	return hex.EncodeToString(s.mac(domainVotes, string(hash[:])))
}

func (s Salt) Data(hash [32]byte) string {
	return hex.EncodeToString(s.mac(domainData, string(hash[:])))
}

// Part returns 16 hexadecimal digits of an HMAC, which identify the part file with this SHA-256.
func (s Salt) Part(hash [32]byte) string {
	return hex.EncodeToString(s.mac(domainPart, string(hash[:]))[:8])
}

func (s Salt) IsZero() bool { return s.sealed == nil }

func (s Salt) mac(domain byte, text string) []byte {
	if s.sealed == nil {
		panic("manifest: zero Salt: make one with NewSalt")
	}
	mac := hmac.New(sha256.New, s.sealed.bytes[:])
	mac.Write([]byte{domain})
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// Hash is a keyed hash of a unit id.
type Hash [16]byte

// Silo holds the distinct unit hashes of one teacher in ascending order.
type Silo struct {
	Name   string
	Hashes []Hash
}

const (
	maxID = 1 << 16 // bytes of an id
	// MaxUnits is the largest number of units of a silo, at 16 bytes of memory each.
	MaxUnits = 1 << 24
	maxName  = 200 // bytes
)

// HashIDs reads one id per line and hashes each id. It strips white space and skips empty lines. A repeated
// id counts once, because a unit may have several records.
func HashIDs(ids io.Reader, name string, salt Salt) (Silo, error) {
	if err := checkName("silo", name); err != nil {
		return Silo{}, err
	}
	silo := Silo{Name: name}
	lines := bufio.NewScanner(ids)
	lines.Buffer(nil, maxID)
	line := 0
	for lines.Scan() {
		line++
		id := bytes.TrimSpace(lines.Bytes())
		if line == 1 {
			id = bytes.TrimPrefix(id, []byte("\xef\xbb\xbf"))
		}
		if len(id) == 0 {
			continue
		}
		if len(silo.Hashes) == MaxUnits {
			return Silo{}, fmt.Errorf("manifest: more than %d ids", MaxUnits)
		}
		silo.Hashes = append(silo.Hashes, salt.Hash(string(id)))
	}
	if err := lines.Err(); err != nil {
		return Silo{}, fmt.Errorf("manifest: line %d: %w", line+1, err)
	}
	if len(silo.Hashes) == 0 {
		return Silo{}, errors.New("manifest: no ids")
	}
	silo.Hashes = distinct(silo.Hashes)
	return silo, nil
}

// Units strips white space from units and returns their distinct hashes in ascending order.
func (s Salt) Units(units []string) (hashes []Hash) {
	seen := make(map[string]bool)
	for _, unit := range units {
		if unit = strings.TrimSpace(unit); !seen[unit] {
			seen[unit] = true
			hashes = append(hashes, s.Hash(unit))
		}
	}
	return distinct(hashes)
}

func distinct(hashes []Hash) []Hash {
	slices.SortFunc(hashes, func(a, b Hash) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(hashes)
}

func checkName(what, name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("manifest: the name of the %s has %d bytes, want 1 to %d", what, len(name), maxName)
	}
	for _, r := range name {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return fmt.Errorf("manifest: the name of the %s %q has a character that does not print", what, name)
		}
	}
	return nil
}
