package ledger

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

func knowing(heads ...Head) VerifyOptions {
	return VerifyOptions{Heads: func(string) ([]Head, error) { return heads, nil }}
}

func TestHeadsThatWereKept(t *testing.T) {
	m := &memory{data: sample(t, filterConfig())}
	lines := bytes.SplitAfter(m.data, []byte("\n"))
	l := testkit.Must(openStore(m, filterConfig(), VerifyOptions{}))
	last := l.Head()
	require.NoError(t, l.Close())
	older := &memory{data: bytes.Join(lines[:3], nil)}
	l = testkit.Must(openStore(older, filterConfig(), VerifyOptions{}))
	first := l.Head()
	require.NoError(t, l.Close())
	require.EqualValues(t, 3, first.Lines)

	for name, c := range map[string]struct {
		file  []byte
		heads []Head
		says  string // "" if it is whole
	}{
		"the last":             {m.data, []Head{last}, ""},
		"an earlier one":       {m.data, []Head{first}, ""},
		"both":                 {m.data, []Head{first, last}, ""},
		"none":                 {m.data, []Head{{}}, ""},
		"another hash":         {m.data, []Head{{first.Lines, last.Hash}}, "differs from the hash of the head"},
		"an older copy":        {older.data, []Head{first, last}, "the file once had"},
		"the very first state": {lines[0], []Head{last}, "the file once had"},
	} {
		t.Run(name, func(t *testing.T) {
			file := &memory{data: bytes.Clone(c.file)}
			l, err := openStore(file, filterConfig(), knowing(c.heads...))
			_, verr := Verify(bytes.NewReader(c.file), knowing(c.heads...))
			if c.says == "" {
				require.NoError(t, err)
				require.NoError(t, verr)
				require.NoError(t, l.Close())
				return
			}
			require.ErrorIs(t, err, ErrCorrupt)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, verr, c.says)
			require.Equal(t, string(c.file), string(file.data), "nothing is written")
		})
	}
	refuse := errors.New("refused")
	file := &memory{data: bytes.Clone(m.data)}
	_, err := openStore(file, filterConfig(), VerifyOptions{Accept: func(s State) error {
		require.Equal(t, State{ID: s.ID, Lines: last.Lines, Entries: 3, Commits: 3}, s)
		require.NotEmpty(t, s.ID)
		return refuse
	}})
	require.ErrorIs(t, err, refuse)
	require.Equal(t, string(m.data), string(file.data))
}

func TestHeadersHaveOneForm(t *testing.T) {
	m := &memory{}
	l, err := openStore(m, filterConfig(), VerifyOptions{})
	require.NoError(t, err)
	text := testkit.Must(l.chain.header.encode())
	made := func(header string) []byte {
		l := line{number: 1, kind: headerLine, text: []byte(header)}
		return append(l.encode(nil), '\n')
	}
	testkit.Must(verify(made(string(text))))
	for _, change := range []struct{ from, to string }{
		{`"epsilon":2`, `"epsilon":2,"epsilon":200`},
		{`"epsilon":2`, `"Epsilon":2`},
		{`"epsilon":2`, `"epsilon":2.0`},
		{`"noise":""`, `"noise":"","noise":"secret"`},
		{`"id":"`, `"id":"0`},
		{`"id":"` + l.chain.id + `"`, `"id":""`},
		{`{"unit"`, `{ "unit"`},
	} {
		require.Contains(t, string(text), change.from)
		_, err = verify(made(strings.Replace(string(text), change.from, change.to, 1)))
		require.ErrorIs(t, err, ErrCorrupt, change.to)
	}
}

func TestAppendsOfOthersAreFound(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		m := &memory{}
		first := testkit.Must(openStore(m, filterConfig(), VerifyOptions{}))
		second := testkit.Must(openStore(m, filterConfig(), VerifyOptions{}))
		testkit.Must(first.Reserve(votes(1)))
		_, err := second.Reserve(votes(1))
		require.ErrorIs(t, err, ErrBroken)
		require.ErrorIs(t, err, errShared)
		require.EqualValues(t, 1, testkit.Must(verify(m.data)).Entries)
	})
	t.Run("at the same time", func(t *testing.T) {
		m := &overwritten{}
		l := testkit.Must(openStore(m, filterConfig(), VerifyOptions{}))
		m.with = []byte("{")
		require.ErrorIs(t, testkit.Err(l.Reserve(votes(1))), errShared)
	})
}

type overwritten struct {
	memory
	with []byte
}

func (o *overwritten) Sync() error {
	if o.with != nil {
		copy(o.data[len(o.data)-20:], o.with)
	}
	return nil
}

func TestTry(t *testing.T) {
	for _, cfg := range []Config{testConfig, filterConfig()} {
		l := testkit.Must(Open(t.Context(), filepath.Join(t.TempDir(), "ledger.jsonl"), cfg, VerifyOptions{}))
		defer l.Close()
		testkit.Must(l.Reserve(votes(3)))
		before, state := l.Left(), l.Head()
		require.NoError(t, l.Try(votes(2), accountant.Gaussian{NoiseMultiplier: 20}))
		wide := accountant.Gaussian{NoiseMultiplier: 0.1}
		tried := l.Try(votes(2), wide)
		require.ErrorIs(t, tried, ErrBudgetExceeded)
		require.Equal(t, before, l.Left())
		require.Equal(t, state, l.Head())
		_, err := l.ReserveBatch([]accountant.Event{votes(2), wide})
		require.Equal(t, err, tried)
		require.Equal(t, before, l.Left())
	}
}

func TestHeadsAreReadUnderTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	l := testkit.Must(Open(t.Context(), path, filterConfig(), VerifyOptions{}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	asked := make(chan bool, 1)
	_, err := Open(ctx, path, filterConfig(), VerifyOptions{Heads: func(string) ([]Head, error) {
		asked <- true
		return nil, nil
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, asked, "it is not ours")
	require.NoError(t, l.Close())
	<-asked
}

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
	require.Equal(t, s.Head, testkit.Must(verifySigned(file, read, publicOf(key))).Head)

	m := &memory{data: file} // for its line when the ledger grew
	l := testkit.Must(openStore(m, filterConfig(), VerifyOptions{}))
	testkit.Must(l.Reserve(votes(1)))
	require.NoError(t, l.Close())
	require.Greater(t, testkit.Must(verifySigned(m.data, s, publicOf(key))).Head.Lines, s.Lines)
}

func TestASignatureByAnotherKeyOrOfAnotherLedgerDoesNotHold(t *testing.T) {
	file, mine, theirs := sample(t, filterConfig()), signer('a'), publicOf(signer('b'))
	s := signed(t, file, mine)
	require.ErrorIs(t, testkit.Err(verifySigned(file, s, theirs)), ErrSignature)
	s.PublicKey = theirs // a lie
	require.ErrorIs(t, testkit.Err(verifySigned(file, s, theirs)), ErrSignature)
	s.PublicKey = nil
	require.ErrorIs(t, testkit.Err(verifySigned(file, s, nil)), ErrSignature)

	_, err := verifySigned(sample(t, filterConfig()), signed(t, file, mine), publicOf(mine)) // of another ledger
	require.ErrorIs(t, err, ErrSignature)
	require.ErrorContains(t, err, "the signature is for ledger "+s.ID)
	require.ErrorContains(t, testkit.Err(Sign(newID(), Head{}, mine)), "is not the head")
	require.ErrorContains(t, testkit.Err(Sign(newID(), Head{Lines: 1, Hash: strings.Repeat("0", 64)}, nil)), "private key")
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

func TestALedgerThatLostASignedLineIsRefused(t *testing.T) {
	file, key := sample(t, filterConfig()), signer('a')
	s := signed(t, file, key)
	lines := bytes.SplitAfter(file, []byte("\n"))
	for keep := 1; keep < int(s.Lines); keep++ {
		_, err := verifySigned(bytes.Join(lines[:keep], nil), s, publicOf(key))
		require.ErrorIs(t, err, ErrCorrupt, "%d lines", keep)
	}
	m := &memory{data: bytes.Join(lines[:3], nil)}
	l := testkit.Must(openStore(m, filterConfig(), VerifyOptions{}))
	for range s.Lines {
		testkit.Must(l.Reserve(votes(1)))
	}
	require.NoError(t, l.Close())
	_, err := verifySigned(m.data, s, publicOf(key))
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "differs from the hash of the head")
}

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

func TestWhatWasWaivedStandsInTheLedger(t *testing.T) {
	cfg := testConfig
	cfg.Noise = SecretNoise
	require.True(t, cfg.Releasable())
	require.Empty(t, cfg.Withheld())
	clean := &memory{}
	_, err := openStore(clean, cfg, VerifyOptions{})
	require.NoError(t, err)

	waived := cfg
	waived.Waived = []string{"checks", "duplicates"}
	m := &memory{}
	testkit.Must(openStore(m, waived, VerifyOptions{}))
	s := testkit.Must(verify(m.data))
	require.Equal(t, waived, s.Config)
	require.False(t, s.Config.Releasable())
	require.Contains(t, s.Config.Withheld(), "(checks, duplicates)")
	testkit.Must(openStore(m, waived, VerifyOptions{}))
	for _, opened := range []struct {
		file *memory
		cfg  Config
	}{{m, cfg}, {clean, waived}} {
		_, err = openStore(opened.file, opened.cfg, VerifyOptions{})
		require.ErrorIs(t, err, ErrOtherConfig)
		require.ErrorContains(t, err, "Waived")
	}

	for _, names := range [][]string{{""}, {"Checks"}, {"b", "a"}, {"a", "a"}, {"a b"}, {strings.Repeat("a", maxWaiver+1)}} {
		cfg.Waived = names
		require.ErrorContains(t, testkit.Err(New(cfg)), "Config.Waived", "%q", names)
		forged := strings.Replace(string(m.data), `["checks","duplicates"]`, `["`+strings.Join(names, `","`)+`"]`, 1)
		require.ErrorIs(t, testkit.Err(verify(relink(t, []byte(forged)))), ErrCorrupt, "%q", names)
	}
	_, err = verify(relink(t, []byte(strings.Replace(string(m.data), `["checks","duplicates"]`, `[]`, 1))))
	require.ErrorIs(t, err, ErrCorrupt)
}

func TestWhyOutcomesAreWithheld(t *testing.T) {
	for _, c := range []struct {
		noise      Noise
		waived     []string
		releasable bool
		withheld   []string
	}{
		{SecretNoise, nil, true, nil},
		{"", nil, false, nil},
		{SeededNoise, nil, false, []string{"seed"}},
		{"", []string{"checks"}, false, []string{"checks"}},
		{SeededNoise, []string{"checks"}, false, []string{"checks", "seed"}},
	} {
		cfg := Config{Noise: c.noise, Waived: c.waived}
		require.Equal(t, c.releasable, cfg.Releasable(), "%+v", c)
		require.Equal(t, c.withheld == nil, cfg.Withheld() == "", "%+v", c)
		for _, word := range c.withheld {
			require.Contains(t, cfg.Withheld(), word)
		}
	}
}
