package ledger

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// signer is a key that a test knows; no two letters have the same.
func signer(letter byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{letter}, ed25519.SeedSize))
}

func publicOf(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func signed(t *testing.T, file []byte, key ed25519.PrivateKey) Signature {
	t.Helper()
	sum := testkit.Must(verify(file))
	return testkit.Must(Sign(sum.ID, sum.Head, key))
}

func verifySigned(file []byte, s Signature, key ed25519.PublicKey) (Summary, error) {
	return Verify(bytes.NewReader(file), VerifyOptions{Signature: &s, PublicKey: key})
}

func TestASignatureHoldsForTheLedgerThatWasSigned(t *testing.T) {
	file, key := sample(t, filterConfig()), signer('a')
	s := signed(t, file, key)
	require.EqualValues(t, bytes.Count(file, []byte("\n")), s.Lines)
	text := fmt.Sprintf("pate.ledger-signature/1\n%s\n%d:%s\n", s.ID, s.Lines, s.Hash)
	require.True(t, ed25519.Verify(publicOf(key), []byte(text), s.Signature), text)

	written := testkit.Must(json.Marshal(s))
	var read Signature
	require.NoError(t, json.Unmarshal(written, &read))
	sum := testkit.Must(verifySigned(file, read, publicOf(key)))
	require.Equal(t, s.Head, sum.Head)
}

func TestASignatureHoldsForItsLineWhenTheLedgerGrew(t *testing.T) {
	m, key := &memory{data: sample(t, filterConfig())}, signer('a')
	s := signed(t, m.data, key)
	l := testkit.Must(openStore(m, filterConfig(), VerifyOptions{}))
	testkit.Must(l.Reserve(votes(1)))
	require.NoError(t, l.Close())
	sum := testkit.Must(verifySigned(m.data, s, publicOf(key)))
	require.Greater(t, sum.Head.Lines, s.Lines)
}

func TestASignatureByAnotherKeyDoesNotHold(t *testing.T) {
	file, mine, theirs := sample(t, filterConfig()), signer('a'), publicOf(signer('b'))
	s := signed(t, file, mine)
	require.ErrorIs(t, testkit.Err(verifySigned(file, s, theirs)), ErrSignature)
	s.PublicKey = theirs // a lie
	require.ErrorIs(t, testkit.Err(verifySigned(file, s, theirs)), ErrSignature)
	s.PublicKey = nil
	require.ErrorIs(t, testkit.Err(verifySigned(file, s, nil)), ErrSignature)
}

func TestAChangedSignatureDoesNotHold(t *testing.T) {
	file, key := sample(t, filterConfig()), signer('a')
	refused := func(s Signature) {
		t.Helper()
		require.ErrorIs(t, testkit.Err(verifySigned(file, s, publicOf(key))), ErrSignature)
	}
	whole := signed(t, file, key)
	for i := range whole.Signature {
		s := whole
		s.Signature = bytes.Clone(whole.Signature)
		s.Signature[i] ^= 1
		refused(s)
	}
	for i := range whole.Hash {
		for _, digit := range "0aG" {
			if s := whole; rune(s.Hash[i]) != digit {
				s.Hash = s.Hash[:i] + string(digit) + s.Hash[i+1:]
				refused(s)
			}
		}
	}
	for name, change := range map[string]func(*Signature){
		"fewer lines": func(s *Signature) { s.Lines-- },
		"no line":     func(s *Signature) { s.Head = Head{} },
		"id":          func(s *Signature) { s.ID = strings.Repeat("0", len(s.ID)) },
		"no id":       func(s *Signature) { s.ID = "" },
		"schema":      func(s *Signature) { s.Schema = "pate.ledger-signature/2" },
		"cut":         func(s *Signature) { s.Signature = s.Signature[:ed25519.SignatureSize-1] },
		"no key":      func(s *Signature) { s.PublicKey = nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := whole
			change(&s)
			refused(s)
		})
	}
}

func TestASignatureOfAnotherLedgerDoesNotHold(t *testing.T) {
	key := signer('a')
	s := signed(t, sample(t, filterConfig()), key)
	_, err := verifySigned(sample(t, filterConfig()), s, publicOf(key))
	require.ErrorIs(t, err, ErrSignature)
	require.ErrorContains(t, err, "it is of ledger "+s.ID)
}

func TestSignRefusesWhatIsNoHeadAndNoKey(t *testing.T) {
	require.ErrorContains(t, testkit.Err(Sign(newID(), Head{}, signer('a'))), "is no head")
	_, err := Sign(newID(), Head{Lines: 1, Hash: strings.Repeat("0", 64)}, nil)
	require.ErrorContains(t, err, "private key")
}

func TestALedgerThatLostASignedLineIsRefused(t *testing.T) {
	file, key := sample(t, filterConfig()), signer('a')
	s := signed(t, file, key)
	lines := bytes.SplitAfter(file, []byte("\n"))
	for keep := 1; keep < int(s.Lines); keep++ {
		_, err := verifySigned(bytes.Join(lines[:keep], nil), s, publicOf(key))
		require.ErrorIs(t, err, ErrCorrupt, "%d lines", keep)
	}
	// The same ledger with another end: an older copy that went on elsewhere.
	m := &memory{data: bytes.Join(lines[:3], nil)}
	l := testkit.Must(openStore(m, filterConfig(), VerifyOptions{}))
	for range s.Lines {
		testkit.Must(l.Reserve(votes(1)))
	}
	require.NoError(t, l.Close())
	_, err := verifySigned(m.data, s, publicOf(key))
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "is not that of the head")
}

// Heads that were kept are compared as without a signature.
func TestASignedLedgerIsComparedWithKeptHeadsToo(t *testing.T) {
	file, key := sample(t, filterConfig()), signer('a')
	s := signed(t, file, key)
	later := Head{Lines: s.Lines + 1, Hash: s.Hash}
	opt := knowing(later)
	opt.Signature, opt.PublicKey = &s, publicOf(key)
	require.ErrorIs(t, testkit.Err(Verify(bytes.NewReader(file), opt)), ErrCorrupt)
	opt.Heads, opt.Accept = nil, func(State) error { return ErrBroken }
	require.ErrorIs(t, testkit.Err(Verify(bytes.NewReader(file), opt)), ErrBroken)
}
