package ledger

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// A reservation of no named run is nobody's to repeat, also on a ledger that only named runs have charged
// before.
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

// The head that Verify tells is one that VerifyHead finds, in the same file and after it was mended.
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

// counted counts what is read.
type counted struct {
	memory
	bytes int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.memory.ReadAt(p, off)
	c.bytes += n
	return n, err
}

// Outcomes may be committed again in any order without reading the file over and over.
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

// What is left of a filter that is nearly used up is next to nothing, not the penalty of its one order.
func TestLeftOfANearlySpentFilter(t *testing.T) {
	l := testkit.Must(New(filterConfig()))
	whole := l.Left()
	require.Greater(t, whole.Epsilon, 1.5)
	rho := whole.Rho * (1 - 1e-7)
	testkit.Must(l.Reserve(accountant.ZCDP{Rho: rho}))
	left := l.Left()
	require.Positive(t, left.Rho)
	require.Less(t, left.Epsilon, 0.01)

	// What is said to fit does, and not much more.
	l = testkit.Must(New(filterConfig()))
	testkit.Must(l.Reserve(votes(60)))
	left = l.Left()
	n := testkit.Must(l.Fits(t.Context(), accountant.Gaussian{NoiseMultiplier: math.Sqrt(1 / (2 * left.Rho))}))
	require.EqualValues(t, 1, n)
	require.InEpsilon(t, renyi(accountant.ZCDP{Rho: left.Rho}, 1, filterConfig().Delta), left.Epsilon, 1e-3)
}
