package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

func corruptAt(t *testing.T, data []byte, cfg Config, lines ...int64) {
	t.Helper()
	_, verifyErr := verify(data)
	before := bytes.Clone(data)
	m := &memory{data: data}
	_, openErr := openStore(m, cfg, VerifyOptions{})
	require.True(t, bytes.Equal(before, m.data), "a corrupt file is left as it is")
	for _, err := range []error{verifyErr, openErr} {
		var corrupt *CorruptError
		require.ErrorAs(t, err, &corrupt)
		require.ErrorIs(t, err, ErrCorrupt)
		require.Contains(t, lines, corrupt.Line, err)
	}
}

func TestEveryChangedByteIsFoundWithItsLine(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{testConfig, filterConfig()} {
		cfg.Orders = []float64{4, 16} // few, for speed
		whole := sample(t, cfg)
		testkit.Must(verify(whole))
		line := int64(1)
		for i := range whole {
			if i%sampled(1, 7) != 0 && whole[i] != '\n' {
				continue
			}
			bad := bytes.Clone(whole)
			bad[i] ^= 1 << (i % 8)
			corruptAt(t, bad, cfg, line)
			to := []byte{'\n', ' ', '"', '0', '}'} // one after the other
			if bad := bytes.Clone(whole); bad[i] != to[i%len(to)] {
				bad[i] = to[i%len(to)]
				corruptAt(t, bad, cfg, line)
			}
			if whole[i] == '\n' {
				line++
			}
		}
	}
}

func TestMovedLinesAreFound(t *testing.T) {
	for _, cfg := range []Config{testConfig, filterConfig()} {
		lines := bytes.SplitAfter(sample(t, cfg), []byte("\n"))
		lines = lines[:len(lines)-1]
		require.GreaterOrEqual(t, len(lines), 8)
		join := func(l [][]byte) []byte { return bytes.Join(l, nil) }
		for i := range lines {
			at := int64(i) + 1
			if i < len(lines)-1 { // the last is for TestACutAtALineEnd
				corruptAt(t, join(slices.Delete(slices.Clone(lines), i, i+1)), cfg, at)
			}
			corruptAt(t, join(slices.Insert(slices.Clone(lines), i, lines[i])), cfg, at, at+1)
			for j := i + 1; j < len(lines); j++ {
				swapped := slices.Clone(lines)
				swapped[i], swapped[j] = swapped[j], swapped[i]
				corruptAt(t, join(swapped), cfg, at)
			}
		}
	}
}

func TestACutAtALineEnd(t *testing.T) {
	whole := sample(t, filterConfig())
	full := testkit.Must(verify(whole))
	testkit.Must(Verify(bytes.NewReader(whole), knowing(full.Head)))
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for n := 1; n < len(lines)-1; n++ {
		cut := bytes.Join(lines[:n], nil)
		s := testkit.Must(verify(cut))
		require.EqualValues(t, n, s.Head.Lines)
		_, err := Verify(bytes.NewReader(cut), knowing(full.Head))
		var corrupt *CorruptError
		require.ErrorAs(t, err, &corrupt)
		require.EqualValues(t, n+1, corrupt.Line)
		testkit.Must(Verify(bytes.NewReader(whole), knowing(s.Head))) // a head that was outgrown
		s.Head.Hash = full.Head.Hash
		_, err = Verify(bytes.NewReader(whole), knowing(s.Head))
		require.ErrorIs(t, err, ErrCorrupt, "a line that was replaced")
	}
}

// chained writes lines with the right numbers and hashes: what a forger with this package at hand could
// make.
func chained(t *testing.T, cfg Config, lines ...line) []byte {
	t.Helper()
	l, m := fileOf(t, cfg)
	for _, one := range lines {
		require.NoError(t, l.file.append(l.chain, one))
	}
	return m.data
}

func TestALineMustFollowFromThoseBeforeIt(t *testing.T) {
	event := testkit.Must(accountant.MarshalEvent(votes(5)))
	price := func(cfg Config, n int) float64 {
		l, err := New(cfg)
		require.NoError(t, err)
		var total float64
		for range n {
			_, total, err = l.afford(event, false)
			require.NoError(t, err)
			testkit.Must(l.Reserve(votes(5)))
		}
		return total
	}
	run := line{kind: runLine, run: 1, text: []byte(`"a"`)}
	for _, cfg := range []Config{testConfig, filterConfig()} {
		total := price(cfg, 1)
		refined := total
		if cfg.Mode == Reserved {
			l := testkit.Must(New(cfg))
			testkit.Must(l.Reserve(votes(5)))
			refined = testkit.Must(l.Epsilon())
		}
		reserve := line{kind: reserveLine, entry: 1, text: event, epsilon: total}
		second := line{kind: reserveLine, entry: 2, text: event, epsilon: price(cfg, 2)}
		seal := line{kind: sealLine, entry: 1, epsilon: refined}
		commit := line{kind: commitLine, entry: 1}
		with := func(l line, change func(*line)) line { change(&l); return l }
		sealed := []line{reserve, seal}
		if cfg.Mode == Filter {
			sealed = []line{reserve}
		}
		after := func(more ...line) []line { return append(slices.Clone(sealed), more...) }

		testkit.Must(verify(chained(t, cfg, after(commit)...)))
		bad := map[string][]line{
			"committed twice":     after(commit, commit),
			"commits nothing":     after(with(commit, func(l *line) { l.entry = 0 })),
			"commits a later one": after(with(commit, func(l *line) { l.entry = 2 })),
			"entry left out":      {with(reserve, func(l *line) { l.entry = 2 })},
			"less epsilon":        {with(reserve, func(l *line) { l.epsilon *= 1 - 1e-8 })},
			"more epsilon":        {with(reserve, func(l *line) { l.epsilon *= 1.5 })},
			"second not composed": {reserve, with(second, func(l *line) { l.epsilon = total })},
			"unknown run":         {with(reserve, func(l *line) { l.run = 1 })},
			"run left out":        {with(run, func(l *line) { l.run = 2 })},
			"same run twice":      {run, with(run, func(l *line) { l.run = 2 })},
			"run without a name":  {with(run, func(l *line) { l.text = []byte(`""`) })},
			"charge after all":    {{kind: tornLine, text: []byte(`"x"`)}, reserve},
			"second header":       {{kind: headerLine, text: []byte(`{}`)}},
			"not private": {with(reserve, func(l *line) {
				l.text = []byte(`{"type":"non_private"}`)
			})},
			// What depends on the data has no event, so it cannot be an entry.
			"data dependent": {with(reserve, func(l *line) {
				l.text = []byte(`{"type":"data_dependent","epsilon":0.1}`)
			})},
		}
		if cfg.Mode == Reserved {
			bad["charge after the seal"] = after(second)
			bad["commit before the seal"] = []line{reserve, commit}
			bad["two seals"] = after(seal)
			bad["seals less"] = []line{reserve, second, seal}
			bad["seals nothing"] = []line{with(seal, func(l *line) { l.entry = 0; l.epsilon = 0 })}
			bad["seal with another epsilon"] = []line{reserve, with(seal, func(l *line) { l.epsilon *= 0.999 })}
		} else {
			bad["seal of a filter"] = []line{reserve, seal}
		}
		for name, lines := range bad {
			_, err := verify(chained(t, cfg, lines...))
			var corrupt *CorruptError
			require.ErrorAs(t, err, &corrupt, name)
			require.EqualValues(t, len(lines)+1, corrupt.Line, name)
		}
	}
}

func TestAHeaderMustBeWhole(t *testing.T) {
	h := testkit.Must(newHeader(testConfig))
	for name, change := range map[string]func(*header){
		"accountant": func(h *header) { h.Accountant = "guess" },
		"conversion": func(h *header) { h.Conversion = accountant.Classic },
		"no orders":  func(h *header) { h.Orders = nil },
		"order":      func(h *header) { h.Orders = []order{1} },
		"unit":       func(h *header) { h.Unit = "" },
		"epsilon":    func(h *header) { h.Epsilon = 0 },
	} {
		bad := h
		change(&bad)
		text := testkit.Must(json.Marshal(bad))
		l := line{number: 1, kind: headerLine, text: text}
		require.ErrorIs(t, testkit.Err(verify(append(l.encode(nil), '\n'))), ErrCorrupt, name)
	}
	text := testkit.Must(h.encode())
	first := line{number: 1, kind: headerLine, text: text}
	other := bytes.Replace(first.encode(nil), []byte(schema), []byte("pate.ledger/1"), 1)
	require.ErrorContains(t, testkit.Err(verify(append(other, '\n'))), `the schema is "pate.ledger/1"`)
	require.ErrorIs(t, testkit.Err(verify(nil)), ErrCorrupt)
}

func TestAForeignFileIsNotOverwritten(t *testing.T) {
	for _, data := range []string{"secret", "a,b\n1,2\n", "{}", "\n", `{"line":1,"schema":"other/1"`, `{"line":2,`} {
		m := &memory{data: []byte(data)}
		require.Error(t, testkit.Err(openStore(m, testConfig, VerifyOptions{})), data)
		require.Equal(t, data, string(m.data))
	}
	var corrupt *CorruptError
	_, err := openStore(&memory{data: bytes.Repeat([]byte("x"), 3*maxLine)}, testConfig, VerifyOptions{})
	require.True(t, errors.As(err, &corrupt))
}

func FuzzVerify(f *testing.F) {
	for _, cfg := range []Config{testConfig, filterConfig()} {
		whole := sample(f, cfg)
		f.Add(whole)
		f.Add(whole[:len(whole)-20])
	}
	f.Add([]byte(`{"line":1,"schema":"` + schema))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, resealed(data)} {
			s, err := verify(data)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				continue
			}
			m := &memory{data: bytes.Clone(data)}
			l, err := openStore(m, s.Config, VerifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if whole := data[:bytes.LastIndexByte(data, '\n')+1]; !bytes.HasPrefix(m.data, whole) {
				t.Fatal("whole lines were changed")
			}
			if got, err := l.Epsilon(); err != nil || got != s.Epsilon || got > s.Config.Epsilon {
				t.Fatal(got, s.Epsilon, err)
			}
			if again, err := verify(m.data); err != nil || again.Torn != "" || again.Entries != s.Entries {
				t.Fatal(again, err)
			}
		}
	})
}

func resealed(data []byte) []byte {
	var out []byte
	c := newChain()
	for text := range bytes.Lines(data) {
		at := bytes.LastIndex(text, []byte(`,"prev":`))
		if at < 0 || !bytes.HasSuffix(text, []byte("\n")) {
			return append(out, text...)
		}
		start := len(out)
		out = append(append(out, text[:at]...), fmt.Sprintf(`,"prev":"%x"`, c.prev)...)
		out = append(out, fmt.Sprintf(`,"check":"%08x"}`, crc32.Checksum(out[start:], castagnoli))...)
		c.append(out[start:])
		out = append(out, '\n')
	}
	return out
}

func FuzzDecode(f *testing.F) {
	for _, text := range bytes.Split(sample(f, testConfig), []byte("\n")) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := decode(text)
		if err == nil && !bytes.Equal(l.encode(nil), text) {
			t.Fatalf("%q is read as %q", text, l.encode(nil))
		}
	})
}

func TestATornOwnReservationBesideNamedRuns(t *testing.T) {
	l, m := fileOf(t, filterConfig())
	testkit.Must(testkit.Must(l.Run("a")).Reserve(votes(5)))
	start := len(m.data)
	testkit.Must(l.Reserve(votes(7)))
	for cut := start + len(`{"line":4,"reserve"`) + 1; cut < start+bytes.Index(m.data[start:], []byte(`,"epsilon"`)); cut++ {
		require.True(t, testkit.Must(verify(m.data[:cut])).Exhausted, "%s", m.data[start:cut])
	}
}

// A seal that was cut off may have been whole, and answers given under it: it is written again, and nothing
// more can be reserved.
func TestATornSeal(t *testing.T) {
	l, m := fileOf(t, testConfig)
	r := testkit.Must(l.Reserve(votes(5)))
	start := len(m.data)
	require.NoError(t, r.Begin(votes(5), Use{Secret: true}))
	for cut := start + len(`{"line":3,"s`); cut < len(m.data); cut++ {
		torn := &memory{data: bytes.Clone(m.data[:cut])}
		require.True(t, testkit.Must(verify(torn.data)).Sealed, "%s", m.data[start:cut])
		again := testkit.Must(openStore(torn, testConfig, VerifyOptions{}))
		require.Equal(t, string(m.data), string(torn.data))
		require.ErrorIs(t, testkit.Err(again.Reserve(votes(1))), ErrSealed)
	}
	other := append(bytes.Clone(m.data[:start]), `{"line":3,"seal":7,"ep`...)
	require.ErrorIs(t, testkit.Err(verify(other)), ErrCorrupt)
}

// A reservation that was cut off may have been any event within the budget. So the budget is known to hold
// at its own delta, and at larger ones, and nothing at a smaller.
func TestAnExhaustedLedgerClaimsNothingAtASmallerDelta(t *testing.T) {
	for _, cfg := range []Config{testConfig, tightConfig()} {
		l, m := fileOf(t, cfg)
		testkit.Must(l.Reserve(votes(5)))
		s := testkit.Must(verify(append(bytes.Clone(m.data), `{"line":3,"reserve":2,"event":{"ty`...)))
		require.True(t, s.Exhausted)
		for delta, claim := range map[float64]float64{cfg.Delta: cfg.Epsilon, 2 * cfg.Delta: cfg.Epsilon, cfg.Delta / 10: math.Inf(1)} {
			require.Equal(t, claim, testkit.Must(s.Claim(delta)), "at delta %g", delta)
		}
	}
}

func TestTheHeadOfATornLedger(t *testing.T) {
	l, m := fileOf(t, filterConfig())
	for range 2 {
		testkit.Must(l.Reserve(votes(5)))
	}
	header := bytes.IndexByte(m.data, '\n')
	for cut := header + 1; cut <= len(m.data); cut++ {
		s := testkit.Must(verify(m.data[:cut]))
		_, err := Verify(bytes.NewReader(m.data[:cut]), knowing(s.Head))
		require.NoError(t, err, "cut at %d", cut)
		mended := &memory{data: bytes.Clone(m.data[:cut])}
		testkit.Must(openStore(mended, filterConfig(), VerifyOptions{}))
		_, err = Verify(bytes.NewReader(mended.data), knowing(s.Head))
		require.NoError(t, err, "cut at %d", cut)
	}
	require.Zero(t, testkit.Must(verify(m.data[:header])).Head)
}

type counted struct {
	memory
	bytes int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.memory.ReadAt(p, off)
	c.bytes += n
	return n, err
}

func TestCommittingAgainBackwards(t *testing.T) {
	const entries = 2000
	cfg := filterConfig()
	cfg.Run, cfg.Epsilon = "r", 1e6
	events := make([]accountant.Event, entries)
	for i := range events {
		events[i] = votes(1)
	}
	commit := func(l *Ledger, r []*Reservation, i int) error { return l.Commit(r[i], fmt.Append(nil, i)) }
	m := &counted{}
	l := testkit.Must(openStore(m, cfg, VerifyOptions{}))
	r := testkit.Must(l.ReserveBatch(events))
	for i := range r {
		require.NoError(t, commit(l, r, i))
	}
	l = testkit.Must(openStore(m, cfg, VerifyOptions{}))
	r = testkit.Must(l.ReserveBatch(events))
	before := m.bytes
	for i := range r {
		require.NoError(t, commit(l, r, len(r)-1-i))
	}
	require.Less(t, m.bytes-before, 2*len(m.data)+entries*(1<<14+1))
	require.Error(t, l.Commit(r[7], []byte("another")))
	require.Equal(t, sha256.Sum256([]byte("0")), l.recorded[1])
}

func TestLeftOfANearlySpentFilter(t *testing.T) {
	l := testkit.Must(New(filterConfig()))
	whole := l.Left()
	require.Greater(t, whole.Epsilon, 1.5)
	rho := whole.Rho * (1 - 1e-7)
	testkit.Must(l.Reserve(accountant.ZCDP{Rho: rho}))
	left := l.Left()
	require.Positive(t, left.Rho)
	require.Less(t, left.Epsilon, 0.01)

	l = testkit.Must(New(filterConfig()))
	testkit.Must(l.Reserve(votes(60)))
	left = l.Left()
	n := testkit.Must(l.Fits(t.Context(), accountant.Gaussian{NoiseMultiplier: math.Sqrt(1 / (2 * left.Rho))}))
	require.EqualValues(t, 1, n)
	require.InEpsilon(t, renyi(accountant.ZCDP{Rho: left.Rho}, 1, filterConfig().Delta), left.Epsilon, 1e-3)
}
