package ledger

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
)

func tightConfig() Config {
	c := testConfig
	c.Accountant = accountant.ByTightest
	return c
}

func answers(sigma float64, n int64) accountant.Event {
	return accountant.Repeated{Event: accountant.GNMax{Sigma: sigma, Discrete: true}, Count: n}
}

// fileOf is a ledger in a file, and what it holds.
func fileOf(t testing.TB, cfg Config) (*Ledger, *memory) {
	t.Helper()
	m := &memory{}
	l, err := openStore(m, cfg, Kept{})
	require.NoError(t, err)
	return l, m
}

// 310 answers at noise 49.9 are epsilon 2.16 by Rényi divergences and below 2 by loss
// distributions. The file says who claims, and gives the claim back to the digit.
func TestLossDistributionsClaim(t *testing.T) {
	t.Parallel()
	l, m := fileOf(t, tightConfig())
	require.ErrorIs(t, l.Try(answers(49.9, 330)), ErrBudgetExceeded)
	r, err := l.Reserve(answers(49.9, 310))
	require.NoError(t, err)
	claim, err := l.Claim()
	require.NoError(t, err)
	assert.Equal(t, accountant.ByPLD, claim.By)
	assert.LessOrEqual(t, claim.Epsilon, 2.0)
	assert.Greater(t, claim.Epsilon, 1.98)
	unsealed, err := verify(m.data)
	require.NoError(t, err)
	assert.Equal(t, claim.Epsilon, unsealed.Epsilon)
	require.NoError(t, l.Commit(r, []byte("labels")))
	s, err := verify(m.data)
	require.NoError(t, err)
	assert.Equal(t, claim, s.Claimed)
	assert.True(t, s.Sealed)
	same, err := s.Claim(testConfig.Delta)
	require.NoError(t, err)
	assert.Equal(t, claim.Epsilon, same)
	alone, err := accountant.Tightest(t.Context(), accountant.ByTightest, accountant.AddRemove, testConfig.Delta, s.Schedule.Events...)
	require.NoError(t, err)
	assert.Equal(t, claim.Epsilon, alone.Upper, "from the events alone")
	other, err := s.Claim(1e-7)
	require.NoError(t, err)
	assert.Greater(t, other, claim.Epsilon)
	assert.Contains(t, string(m.data), `"accountant":"auto"`)
	assert.Contains(t, string(m.data), `"accountant":"pld","prev"`)
	again, err := openStore(m, tightConfig(), Kept{})
	require.NoError(t, err)
	reopened, err := again.Claim()
	require.NoError(t, err)
	assert.Equal(t, claim, reopened)
	require.ErrorIs(t, again.Try(answers(49.9, 1)), ErrSealed)

	small, err := openStore(&memory{}, tightConfig(), Kept{})
	require.NoError(t, err)
	_, err = small.Reserve(accountant.ZCDP{Rho: 0.01})
	require.NoError(t, err)
	claim, err = small.Claim()
	require.NoError(t, err)
	assert.Equal(t, accountant.ByRDP, claim.By)
	require.ErrorIs(t, claim.Lack, accountant.ErrUnsupportedEvent)
}

// What loss distributions let in over Rényi divergences: at least 13 % more answers, or,
// where the exact epsilon of Gaussian noise allows less, all of that but a few answers in a
// thousand. Of many answers at epsilon 8 the limit is 12.9 %: no accountant gives more.
func TestReservedLedgersTakeMoreAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ epsilon, sigma float64 }{{1, 40}, {2, 40}, {8, 20}, {8, 40}, {8, 100}} {
		exact, err := accountant.GaussianNoise(c.epsilon, testConfig.Delta)
		require.NoError(t, err)
		renyi, _, err := accountant.CalibrateNoise(t.Context(), accountant.Config{Relation: accountant.AddRemove}.NewAccount,
			accountant.Target{Epsilon: c.epsilon, Delta: testConfig.Delta},
			func(noise float64) (accountant.Event, error) { return accountant.Gaussian{NoiseMultiplier: noise}, nil })
		require.NoError(t, err)
		limit := math.Pow(renyi/exact, 2) // answers go with the square of the noise
		if c.epsilon < 8 {
			require.Greater(t, limit, 1.16)
		} else {
			require.InDelta(t, 1.129, limit, 1e-3)
		}
		before, after := testConfig, tightConfig()
		before.Epsilon, after.Epsilon = c.epsilon, c.epsilon
		var fits [2]int64
		for i, cfg := range []Config{before, after} {
			l, err := openStore(nil, cfg, Kept{})
			require.NoError(t, err)
			fits[i], err = l.Fits(t.Context(), answers(c.sigma, 1))
			require.NoError(t, err)
			require.NoError(t, l.Try(answers(c.sigma, fits[i])))
			require.ErrorIs(t, l.Try(answers(c.sigma, fits[i]+1)), ErrBudgetExceeded)
		}
		assert.GreaterOrEqual(t, float64(fits[1]), min(1.13, 0.998*limit)*float64(fits[0]), "%v", c)
		l, err := openStore(nil, after, Kept{})
		require.NoError(t, err)
		noise, err := l.LeastNoise(t.Context(), func(noise float64) (accountant.Event, error) { return answers(noise, 200), nil })
		require.NoError(t, err)
		require.NoError(t, l.Try(answers(noise, 200)))
		least, err := accountant.GaussianNoise(c.epsilon, testConfig.Delta)
		require.NoError(t, err)
		assert.InEpsilon(t, least*math.Sqrt(400), noise, 2e-3)
	}
}

// One by one, as a batch, in one go: the same events fit, and a refused batch leaves
// nothing behind.
func TestBatchesFitWhatTheirSumFits(t *testing.T) {
	t.Parallel()
	events := make([]accountant.Event, 31)
	for i := range events {
		events[i] = answers(49.9, 10)
	}
	l, m := fileOf(t, tightConfig())
	_, err := l.ReserveBatch(events)
	require.NoError(t, err)
	batch, err := l.Claim()
	require.NoError(t, err)
	single, err := openStore(nil, tightConfig(), Kept{})
	require.NoError(t, err)
	for _, e := range events {
		_, err := single.Reserve(e)
		require.NoError(t, err)
	}
	claim, err := single.Claim()
	require.NoError(t, err)
	require.Equal(t, batch, claim)
	size := len(m.data)
	var over *BudgetError
	_, err = l.ReserveBatch(events[:2])
	require.ErrorAs(t, err, &over)
	require.Equal(t, batch.Epsilon, over.Spent)
	require.Greater(t, over.Epsilon, 2.0)
	require.Less(t, over.Epsilon, 2.1, "by loss distributions too")
	require.Less(t, over.Asked, 0.5)
	require.Len(t, m.data, size)
	after, err := l.Claim()
	require.NoError(t, err)
	require.Equal(t, batch, after)

	var shown []float64
	_, err = Verify(bytes.NewReader(m.data), func(e Entry) error {
		shown = append(shown, e.Epsilon)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, shown, len(events))
	require.LessOrEqual(t, shown[len(shown)-1], 2.0)
	require.Equal(t, batch.Epsilon, shown[len(shown)-1])
}

// A ledger keeps the accountant that it was made with.
func TestALedgerKeepsItsAccountant(t *testing.T) {
	t.Parallel()
	l, m := fileOf(t, testConfig)
	_, err := l.Reserve(answers(49.9, 265))
	require.NoError(t, err)
	require.Contains(t, string(m.data), `"accountant":"rdp"`)
	_, err = openStore(m, tightConfig(), Kept{})
	require.ErrorIs(t, err, ErrOtherConfig)
	l, err = openStore(m, testConfig, Kept{})
	require.NoError(t, err)
	claim, err := l.Claim()
	require.NoError(t, err)
	require.Equal(t, accountant.ByRDP, claim.By)
	require.Greater(t, claim.Epsilon, 1.97)
	require.ErrorIs(t, l.Try(answers(49.9, 30)), ErrBudgetExceeded)

	_, m = fileOf(t, tightConfig())
	read, err := ReadConfig(bytes.NewReader(m.data))
	require.NoError(t, err)
	require.Equal(t, tightConfig(), read)
	_, err = openStore(m, testConfig, Kept{})
	require.NoError(t, err, "left out is what the file says")
	rdp := testConfig
	rdp.Accountant = accountant.ByRDP
	_, err = openStore(m, rdp, Kept{})
	require.ErrorIs(t, err, ErrOtherConfig)
}

// A filter adds Rényi divergences, whatever is asked for.
func TestAFilterIsRenyi(t *testing.T) {
	t.Parallel()
	cfg := filterConfig()
	cfg.Accountant = accountant.ByPLD
	_, err := Open("", cfg)
	require.ErrorContains(t, err, "no filter")
	cfg.Accountant = accountant.ByTightest
	l, m := fileOf(t, cfg)
	require.Contains(t, string(m.data), `"accountant":"rdp"`)
	fits, err := l.Fits(t.Context(), answers(40, 1))
	require.NoError(t, err)
	plain, err := openStore(nil, filterConfig(), Kept{})
	require.NoError(t, err)
	same, err := plain.Fits(t.Context(), answers(40, 1))
	require.NoError(t, err)
	require.Equal(t, same, fits)
	forged := strings.Replace(string(m.data), `"accountant":"rdp"`, `"accountant":"auto"`, 1)
	_, err = verify(relink(t, []byte(forged)))
	require.ErrorIs(t, err, ErrCorrupt)
}

// relink makes the lines of a file follow from each other again.
func relink(t testing.TB, file []byte) []byte {
	t.Helper()
	c := newChain()
	var out []byte
	for text := range bytes.Lines(file) {
		text = bytes.TrimSuffix(text, []byte("\n"))
		l, err := decode(text)
		if err != nil && !strings.Contains(err.Error(), "check does not match") {
			require.NoError(t, err)
		}
		l.prev = c.prev
		line := l.encode(nil)
		c.append(line)
		out = append(append(out, line...), '\n')
	}
	return out
}

// A file that was rewritten, hashes and all, cannot claim less than its events cost, nor
// hold more than its budget.
func TestForgedClaimsAreFound(t *testing.T) {
	t.Parallel()
	l, m := fileOf(t, tightConfig())
	r, err := l.Reserve(answers(49.9, 310))
	require.NoError(t, err)
	unsealed := string(m.data)
	require.NoError(t, r.Begin(answers(49.9, 310), Use{}))
	sealed := string(m.data)
	claim, err := l.Claim()
	require.NoError(t, err)
	sealOf := func(epsilon float64, by string) string {
		return fmt.Sprintf(`"seal":1,"epsilon":%v%s`, epsilon, by)
	}
	honest := sealOf(claim.Epsilon, `,"accountant":"pld"`)
	best, err := l.chain.balance.claim(accountant.ByTightest, 1e-5)
	require.NoError(t, err)
	lower := best.Floor
	require.Less(t, claim.Epsilon-lower, 2e-3)
	require.Contains(t, sealed, honest)
	for name, forged := range map[string]string{
		"claims 1 % less":   strings.Replace(sealed, honest, sealOf(0.99*claim.Epsilon, `,"accountant":"pld"`), 1),
		"claims too little": strings.Replace(sealed, honest, sealOf(lower-1e-4, `,"accountant":"pld"`), 1),
		"claims much more":  strings.Replace(sealed, honest, sealOf(claim.Epsilon*1.2, `,"accountant":"pld"`), 1),
		"says not who":      strings.Replace(sealed, honest, sealOf(claim.Epsilon, ""), 1),
		"over, unsealed":    strings.Replace(unsealed, `"count":310`, `"count":330`, 1),
		"over, sealed":      strings.Replace(sealed, `"count":310`, `"count":330`, 1),
		"renamed to rdp":    strings.Replace(sealed, `"accountant":"auto"`, `"accountant":"rdp"`, 1),
		"unknown":           strings.Replace(sealed, `"accountant":"auto"`, `"accountant":"best"`, 1),
		"unknown at a seal": strings.Replace(sealed, `,"accountant":"pld"`, `,"accountant":"best"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			data := []byte(forged)
			if !strings.Contains(name, "unknown at") {
				if strings.HasPrefix(name, "over") { // the line says what its events cost by Rényi divergences
					c, err := accountant.Epsilon(accountant.AddRemove, 1e-5, answers(49.9, 330))
					require.NoError(t, err)
					data = reprice(t, data, c.Upper)
				}
				data = relink(t, data)
			}
			_, err := verify(data)
			require.ErrorIs(t, err, ErrCorrupt)
			_, err = openStore(&memory{data: data}, tightConfig(), Kept{})
			require.Error(t, err)
		})
	}
	// Another version may have ended elsewhere between the lower end and the upper one, and one
	// to come may prove more, or by another accountant: what was claimed holds.
	for _, c := range []struct {
		epsilon float64
		by      accountant.Method
	}{
		{(lower + claim.Epsilon) / 2, accountant.ByPLD}, {claim.Epsilon + 5e-4, accountant.ByPLD},
		{claim.Epsilon + 0.01, accountant.ByPLD}, {claim.Epsilon + 0.01, accountant.ByRDP},
	} {
		data := relink(t, []byte(strings.Replace(sealed, honest, sealOf(c.epsilon, fmt.Sprintf(`,"accountant":%q`, c.by)), 1)))
		s, err := verify(data)
		require.NoError(t, err, "%+v", c)
		require.Equal(t, c.epsilon, s.Epsilon)
		require.Equal(t, &accountant.Bound{Lower: lower, Upper: claim.Epsilon}, s.Claimed.Again)
		at, err := s.Claim(1e-5)
		require.NoError(t, err)
		require.Equal(t, c.epsilon, at)
		again, err := openStore(&memory{data: data}, tightConfig(), Kept{})
		require.NoError(t, err)
		kept, err := again.Claim()
		require.NoError(t, err)
		require.Equal(t, c.epsilon, kept.Epsilon)
	}
	s, err := verify([]byte(sealed))
	require.NoError(t, err)
	require.Nil(t, s.Claimed.Again)
}

// What another version let in, and this one finds above the budget by less than their gap, is
// refused until that version has sealed it.
func TestLedgersThatFittedByAnotherVersion(t *testing.T) {
	t.Parallel()
	l, m := fileOf(t, tightConfig())
	r, err := l.Reserve(answers(49.9, 310))
	require.NoError(t, err)
	unsealed := string(m.data)
	require.NoError(t, r.Begin(answers(49.9, 310), Use{}))
	sealed := string(m.data)
	best, err := l.chain.balance.claim(accountant.ByTightest, 1e-5)
	require.NoError(t, err)
	claim, err := l.Claim()
	require.NoError(t, err)
	budgeted := func(file string, budget, sealedAt float64) ([]byte, Config) {
		cfg := tightConfig()
		header := fmt.Sprintf(`"epsilon":%v,"delta"`, cfg.Epsilon)
		require.Equal(t, 1, strings.Count(file, header))
		file = strings.Replace(file, header, fmt.Sprintf(`"epsilon":%v,"delta"`, budget), 1)
		file = strings.Replace(file, fmt.Sprintf(`"seal":1,"epsilon":%v`, claim.Epsilon), fmt.Sprintf(`"seal":1,"epsilon":%v`, sealedAt), 1)
		cfg.Epsilon = budget
		return relink(t, []byte(file)), cfg
	}
	within := (best.Floor + claim.Epsilon) / 2
	const advice = "may have found that they fit"
	for budget, advised := range map[float64]bool{within: true, best.Floor - 1e-4: false} {
		data, cfg := budgeted(unsealed, budget, 0)
		_, err = verify(data)
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "above the budget")
		require.Equal(t, advised, strings.Contains(err.Error(), advice), err)
		_, err = openStore(&memory{data: data}, cfg, Kept{})
		require.ErrorIs(t, err, ErrCorrupt)
		require.Equal(t, advised, strings.Contains(err.Error(), advice), err)
		require.Equal(t, advised, strings.Contains(err.Error(), library()), err)
	}
	data, cfg := budgeted(sealed, within, within)
	again, err := openStore(&memory{data: data}, cfg, Kept{})
	require.NoError(t, err, "with that version's seal")
	kept, err := again.Claim()
	require.NoError(t, err)
	require.Equal(t, within, kept.Epsilon)
}

// Where the floor is far off, a claim may lack half a percent, and no more.
func TestForgedClaimsOfWideIntervals(t *testing.T) {
	wide, narrow := accountant.Bound{Lower: 0.5, Upper: 2}, accountant.Bound{Lower: 1.9995, Upper: 2}
	small := accountant.Bound{Lower: 0.01, Upper: 0.02}
	for _, c := range []struct {
		says      float64
		in        accountant.Bound
		plausible bool
	}{
		{3, wide, true}, {2, wide, true}, {1.991, wide, true}, {1.98, wide, false}, {0.6, wide, false}, {0.4, wide, false},
		{1.9996, narrow, true}, {1.9994, narrow, false}, {1.991, narrow, false},
		{0.0181, small, true}, {0.0179, small, false},
	} {
		assert.Equal(t, c.plausible, plausible(c.says, c.in), "%+v", c)
	}
}

// reprice makes the first reservation say what the balance makes of its event.
func reprice(t testing.TB, file []byte, near float64) []byte {
	t.Helper()
	b, err := openStore(nil, tightConfig(), Kept{})
	require.NoError(t, err)
	var out []byte
	for text := range bytes.Lines(file) {
		l, err := decode(bytes.TrimSuffix(text, []byte("\n")))
		if err != nil {
			require.ErrorContains(t, err, "check does not match")
		}
		if l.kind == reserveLine {
			more, err := b.chain.balance.chargeOf(l.text)
			require.NoError(t, err)
			l.epsilon, err = b.chain.balance.onOrders(more)
			require.NoError(t, err)
			require.InDelta(t, near, l.epsilon, 0.05)
		}
		out = append(l.encode(out), '\n')
	}
	return out
}

// An event that bounds Rényi divergences alone has no place where loss distributions claim.
func TestRenyiBoundsWantARenyiLedger(t *testing.T) {
	t.Parallel()
	e := accountant.Gaussian{NoiseMultiplier: 10}
	for _, c := range []struct {
		cfg  Config
		fits bool
	}{{testConfig, true}, {filterConfig(), true}, {tightConfig(), false}} {
		l, err := openStore(nil, c.cfg, Kept{})
		require.NoError(t, err)
		r, err := l.Reserve(e)
		require.NoError(t, err)
		if err = r.Begin(e, Use{Renyi: true}); c.fits {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, ErrUnfit)
		require.NoError(t, r.Begin(e, Use{}), "nothing ran, and the reservation is there still")
	}
}

// Small worlds: responses with different odds, of which an adversary, seeing every answer,
// chooses the next. All strategies are enumerated; the hockey-stick divergence of the best is never above
// what a ledger claims for the multiset, and reaches it.
func TestAdaptiveOrderOfAFixedMultiset(t *testing.T) {
	t.Parallel()
	for _, epsilons := range [][]float64{{1}, {0.3, 0.7}, {0.3, 0.3, 1.1}, {0.2, 0.5, 0.9, 1.3}} {
		l, err := openStore(nil, Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 10, Delta: 1e-5, Accountant: accountant.ByTightest}, Kept{})
		require.NoError(t, err)
		for _, e := range epsilons {
			_, err := l.Reserve(accountant.PureDP{Epsilon: e})
			require.NoError(t, err)
		}
		for _, delta := range []float64{1e-3, 0.05, 0.2} {
			claim, err := l.chain.balance.claim(accountant.ByTightest, delta)
			require.NoError(t, err)
			least := bestGame(epsilons, 1, math.Exp(claim.Upper))
			require.LessOrEqual(t, least, delta*(1+1e-9), "%v at %v", epsilons, delta)
			if claim.Upper > 1e-2 {
				require.Greater(t, bestGame(epsilons, 1, math.Exp(claim.Upper-1e-2)), delta*(1-1e-9), "and no less would do")
			}
		}
	}
}

// bestGame is the most that P(S) - ratio Q(S) can be, p being the probability of what
// was seen under P and ratio that under Q times e^epsilon, over all orders and, at every
// step, stopping.
func bestGame(left []float64, p, ratio float64) float64 {
	best := math.Max(0, p-ratio)
	for i, e := range left {
		rest := append(append([]float64(nil), left[:i]...), left[i+1:]...)
		high := 1 / (1 + math.Exp(-e))
		value := bestGame(rest, p*high, ratio*(1-high)) + bestGame(rest, p*(1-high), ratio*high)
		best = math.Max(best, value)
	}
	return best
}
