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
	"github.com/pate-go/pate/internal/buildinfo"
	"github.com/pate-go/pate/internal/testkit"
)

func tightConfig() Config {
	c := testConfig
	c.Accountant = accountant.ByAuto
	return c
}

func answers(sigma float64, n int64) accountant.Event {
	return accountant.Repeated{Event: accountant.GNMax{Sigma: sigma, Discrete: true}, Count: n}
}

// 310 answers at noise 49.9 are epsilon 2.16 by Rényi divergences and below 2 by privacy loss
// distributions. The file says who claims, and gives the claim back to the digit.
func TestLossDistributionsClaim(t *testing.T) {
	t.Parallel()
	l, m := fileOf(t, tightConfig())
	require.ErrorIs(t, l.Try(answers(49.9, 330)), ErrBudgetExceeded)
	r := testkit.Must(l.Reserve(answers(49.9, 310)))
	claim := testkit.Must(l.Claim())
	assert.Equal(t, accountant.ByPLD, claim.By)
	assert.LessOrEqual(t, claim.Epsilon, 2.0)
	assert.Greater(t, claim.Epsilon, 1.98)
	assert.Equal(t, claim.Epsilon, testkit.Must(verify(m.data)).Epsilon)
	require.NoError(t, l.Commit(r, []byte("labels")))
	s := testkit.Must(verify(m.data))
	assert.Equal(t, claim, s.Claimed)
	assert.True(t, s.Sealed)
	assert.Equal(t, claim.Epsilon, testkit.Must(s.Claim(testConfig.Delta)))
	alone := testkit.Must(accountant.Epsilon(t.Context(), accountant.ByAuto, accountant.AddRemove, testConfig.Delta, s.Schedule.Events...))
	assert.Equal(t, claim.Epsilon, alone.Upper, "from the events alone")
	assert.Greater(t, testkit.Must(s.Claim(1e-7)), claim.Epsilon)
	assert.Contains(t, string(m.data), `"accountant":"auto"`)
	assert.Contains(t, string(m.data), `"accountant":"pld","prev"`)
	again := testkit.Must(openStore(m, tightConfig(), VerifyOptions{}))
	assert.Equal(t, claim, testkit.Must(again.Claim()))
	require.ErrorIs(t, again.Try(answers(49.9, 1)), ErrSealed)

	small := testkit.Must(openStore(&memory{}, tightConfig(), VerifyOptions{}))
	testkit.Must(small.Reserve(accountant.ZCDP{Rho: 0.01}))
	claim = testkit.Must(small.Claim())
	assert.Equal(t, accountant.ByRDP, claim.By)
	require.ErrorIs(t, claim.Lack, accountant.ErrUnsupportedEvent)
}

// What privacy loss distributions let in over Rényi divergences: at least 13 % more answers, or, where the
// exact epsilon of Gaussian noise allows less, all of that but a few answers in a thousand. Of many answers
// at epsilon 8 the limit is 12.9 %: no accountant gives more.
func TestReservedLedgersTakeMoreAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ epsilon, sigma float64 }{{1, 40}, {2, 40}, {8, 20}, {8, 40}, {8, 100}} {
		exact := testkit.Must(accountant.GaussianNoise(c.epsilon, testConfig.Delta))
		renyi, _, err := accountant.CalibrateNoise(t.Context(), accountant.RDPConfig{Relation: accountant.AddRemove}.NewAccount,
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
			l := testkit.Must(New(cfg))
			fits[i] = testkit.Must(l.Fits(t.Context(), answers(c.sigma, 1)))
			require.NoError(t, l.Try(answers(c.sigma, fits[i])))
			require.ErrorIs(t, l.Try(answers(c.sigma, fits[i]+1)), ErrBudgetExceeded)
		}
		assert.GreaterOrEqual(t, float64(fits[1]), min(1.13, 0.998*limit)*float64(fits[0]), "%v", c)
		l := testkit.Must(New(after))
		noise := testkit.Must(l.LeastNoise(t.Context(), func(noise float64) (accountant.Event, error) { return answers(noise, 200), nil }))
		require.NoError(t, l.Try(answers(noise, 200)))
		least := testkit.Must(accountant.GaussianNoise(c.epsilon, testConfig.Delta))
		assert.InEpsilon(t, least*math.Sqrt(400), noise, 2e-3)
	}
}

func TestBatchesFitWhatTheirSumFits(t *testing.T) {
	t.Parallel()
	events := make([]accountant.Event, 31)
	for i := range events {
		events[i] = answers(49.9, 10)
	}
	l, m := fileOf(t, tightConfig())
	testkit.Must(l.ReserveBatch(events))
	batch := testkit.Must(l.Claim())
	single := testkit.Must(New(tightConfig()))
	for _, e := range events {
		testkit.Must(single.Reserve(e))
	}
	require.Equal(t, batch, testkit.Must(single.Claim()))
	size := len(m.data)
	var over *BudgetError
	require.ErrorAs(t, testkit.Err(l.ReserveBatch(events[:2])), &over)
	require.Equal(t, batch.Epsilon, over.Spent)
	require.Greater(t, over.Epsilon, 2.0)
	require.Less(t, over.Epsilon, 2.1, "by privacy loss distributions too")
	require.Less(t, over.Asked, 0.5)
	require.Len(t, m.data, size)
	require.Equal(t, batch, testkit.Must(l.Claim()))

	var shown []float64
	testkit.Must(Verify(bytes.NewReader(m.data), VerifyOptions{Entry: func(e Entry) error {
		shown = append(shown, e.Epsilon)
		return nil
	}}))
	require.Len(t, shown, len(events))
	require.LessOrEqual(t, shown[len(shown)-1], 2.0)
	require.Equal(t, batch.Epsilon, shown[len(shown)-1])
}

func TestALedgerKeepsItsAccountant(t *testing.T) {
	t.Parallel()
	l, m := fileOf(t, testConfig)
	testkit.Must(l.Reserve(answers(49.9, 265)))
	require.Contains(t, string(m.data), `"accountant":"rdp"`)
	require.ErrorIs(t, testkit.Err(openStore(m, tightConfig(), VerifyOptions{})), ErrOtherConfig)
	l = testkit.Must(openStore(m, testConfig, VerifyOptions{}))
	claim := testkit.Must(l.Claim())
	require.Equal(t, accountant.ByRDP, claim.By)
	require.Greater(t, claim.Epsilon, 1.97)
	require.ErrorIs(t, l.Try(answers(49.9, 30)), ErrBudgetExceeded)

	_, m = fileOf(t, tightConfig())
	require.Equal(t, tightConfig(), testkit.Must(ReadConfig(bytes.NewReader(m.data))))
	testkit.Must(openStore(m, testConfig, VerifyOptions{})) // left out is what the file says
	rdp := testConfig
	rdp.Accountant = accountant.ByRDP
	require.ErrorIs(t, testkit.Err(openStore(m, rdp, VerifyOptions{})), ErrOtherConfig)
}

func TestAFilterIsRenyi(t *testing.T) {
	t.Parallel()
	cfg := filterConfig()
	cfg.Accountant = accountant.ByPLD
	require.ErrorContains(t, testkit.Err(New(cfg)), "do not bound a filter")
	cfg.Accountant = accountant.ByAuto
	l, m := fileOf(t, cfg)
	require.Contains(t, string(m.data), `"accountant":"rdp"`)
	fits := testkit.Must(l.Fits(t.Context(), answers(40, 1)))
	require.Equal(t, testkit.Must(testkit.Must(New(filterConfig())).Fits(t.Context(), answers(40, 1))), fits)
	forged := strings.Replace(string(m.data), `"accountant":"rdp"`, `"accountant":"auto"`, 1)
	require.ErrorIs(t, testkit.Err(verify(relink(t, []byte(forged)))), ErrCorrupt)
}

func TestRenyiBoundsWantARenyiLedger(t *testing.T) {
	t.Parallel()
	e := accountant.Gaussian{NoiseMultiplier: 10}
	for _, c := range []struct {
		cfg  Config
		fits bool
	}{{testConfig, true}, {filterConfig(), true}, {tightConfig(), false}} {
		l, err := New(c.cfg)
		require.NoError(t, err)
		r := testkit.Must(l.Reserve(e))
		if err = r.Begin(e, Use{Renyi: true}); c.fits {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, ErrUnfit)
		require.NoError(t, r.Begin(e, Use{}), "nothing ran, and the reservation is there still")
	}
}

// Small worlds: responses with different odds, of which an adversary, seeing every answer, chooses the
// next. All strategies are enumerated; the hockey-stick divergence of the best is never above what a ledger
// claims for the multiset, and reaches it.
func TestAdaptiveOrderOfAFixedMultiset(t *testing.T) {
	t.Parallel()
	for _, epsilons := range [][]float64{{1}, {0.3, 0.7}, {0.3, 0.3, 1.1}, {0.2, 0.5, 0.9, 1.3}} {
		l := testkit.Must(New(Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 10, Delta: 1e-5, Accountant: accountant.ByAuto}))
		for _, e := range epsilons {
			testkit.Must(l.Reserve(accountant.PureDP{Epsilon: e}))
		}
		for _, delta := range []float64{1e-3, 0.05, 0.2} {
			claim := testkit.Must(l.chain.balance.claim(accountant.ByAuto, delta))
			least := bestGame(epsilons, 1, math.Exp(claim.Upper))
			require.LessOrEqual(t, least, delta*(1+1e-9), "%v at %v", epsilons, delta)
			if claim.Upper > 1e-2 {
				require.Greater(t, bestGame(epsilons, 1, math.Exp(claim.Upper-1e-2)), delta*(1-1e-9), "and no less would do")
			}
		}
	}
}

// bestGame is the most that P(S) - ratio Q(S) can be, p being the probability of what was seen under P and
// ratio that under Q times e^epsilon, over all orders and, at every step, stopping.
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

func sealedFile(t testing.TB) (unsealed, sealed string, given Claim, found accountant.Claim) {
	t.Helper()
	l, m := fileOf(t, tightConfig())
	r := testkit.Must(l.Reserve(answers(49.9, 310)))
	unsealed = string(m.data)
	require.NoError(t, r.Begin(answers(49.9, 310), Use{}))
	given = testkit.Must(l.Claim())
	found = testkit.Must(l.chain.balance.claim(accountant.ByAuto, 1e-5))
	return unsealed, string(m.data), given, found
}

func relink(t testing.TB, file []byte) []byte {
	t.Helper()
	c := newChain()
	var out []byte
	for text := range bytes.Lines(file) {
		text = bytes.TrimSuffix(text, []byte("\n"))
		l, err := decode(text)
		if err != nil && !strings.Contains(err.Error(), "checksum does not match") {
			require.NoError(t, err)
		}
		l.prev = c.prev
		line := l.encode(nil)
		c.append(line)
		out = append(append(out, line...), '\n')
	}
	return out
}

func TestForgedClaimsAreFound(t *testing.T) {
	t.Parallel()
	unsealed, sealed, claim, best := sealedFile(t)
	sealOf := func(epsilon float64, by string) string {
		return fmt.Sprintf(`"seal":1,"epsilon":%v%s`, epsilon, by)
	}
	honest := sealOf(claim.Epsilon, `,"accountant":"pld"`)
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
					c := testkit.Must(accountant.Epsilon(t.Context(), accountant.ByRDP, accountant.AddRemove, 1e-5, answers(49.9, 330)))
					data = reprice(t, data, c.Upper)
				}
				data = relink(t, data)
			}
			require.ErrorIs(t, testkit.Err(verify(data)), ErrCorrupt)
			require.Error(t, testkit.Err(openStore(&memory{data: data}, tightConfig(), VerifyOptions{})))
		})
	}
	// Another version may have ended elsewhere between the lower end and the upper one, and one to come may
	// prove more, or by another accountant: the file is not damaged.
	for _, c := range []struct {
		epsilon float64
		by      accountant.Method
	}{
		{(lower + claim.Epsilon) / 2, accountant.ByPLD}, {claim.Epsilon + 5e-4, accountant.ByPLD},
		{claim.Epsilon + 0.01, accountant.ByPLD}, {claim.Epsilon + 0.01, accountant.ByRDP},
	} {
		data := relink(t, []byte(strings.Replace(sealed, honest, sealOf(c.epsilon, fmt.Sprintf(`,"accountant":%q`, c.by)), 1)))
		claims(t, data, tightConfig(), max(c.epsilon, claim.Epsilon))
		s := testkit.Must(verify(data))
		require.Equal(t, &accountant.Bound{Lower: lower, Upper: claim.Epsilon}, s.Claimed.Again)
		require.Equal(t, c.epsilon, s.Claimed.Sealed)
		require.Equal(t, c.by, s.Claimed.By)
	}
	require.Nil(t, testkit.Must(verify([]byte(sealed))).Claimed.Again)
}

func claims(t *testing.T, data []byte, cfg Config, epsilon float64) {
	t.Helper()
	s := testkit.Must(verify(data))
	require.Equal(t, epsilon, s.Epsilon)
	require.Equal(t, epsilon, s.Claimed.Epsilon)
	require.Equal(t, epsilon, testkit.Must(s.Claim(cfg.Delta)))
	again := testkit.Must(openStore(&memory{data: data}, cfg, VerifyOptions{}))
	require.Equal(t, s.Claimed, testkit.Must(again.Claim()))
}

// A seal between the floor of an interval and its upper end may lie below the truth. So it is no claim:
// what is reported is the upper end, however little the seal lacks.
func TestASealBelowTheUpperEndIsNotTheClaim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		event  accountant.Event
		delta  float64
		truth  float64 // at least, from an interval of 1e-6
		forged []float64
	}{
		{sampledGaussian(0.01, 1, 1000), 1e-5, 1.82823636, []float64{1.82797, 1.828, 1.8282}},
		{sampledGaussian(0.02, 0.8, 3000), 1e-6, 12.7331183, []float64{12.732972, 12.733}},
	} {
		cfg := tightConfig()
		cfg.Epsilon, cfg.Delta = 20, c.delta
		l, m := fileOf(t, cfg)
		require.NoError(t, testkit.Must(l.Reserve(c.event)).Begin(c.event, Use{}))
		honest := testkit.Must(l.Claim())
		claims(t, m.data, cfg, honest.Epsilon)
		for _, says := range append(c.forged, honest.Epsilon*(1-1e-10)) {
			data := strings.Replace(string(m.data), fmt.Sprintf(`"seal":1,"epsilon":%v`, honest.Epsilon), fmt.Sprintf(`"seal":1,"epsilon":%v`, says), 1)
			require.NotEqual(t, string(m.data), data)
			require.Greater(t, honest.Epsilon, c.truth)
			claims(t, relink(t, []byte(data)), cfg, honest.Epsilon)
		}
	}
}

func sampledGaussian(probability, noise float64, steps int64) accountant.Event {
	return accountant.Repeated{Event: accountant.PoissonSampled{Probability: probability, Event: accountant.Gaussian{NoiseMultiplier: noise}}, Count: steps}
}

// A seal by Rényi divergences is no upper end of privacy loss distributions: below what this version proves
// it is refused, however near.
func TestASealByRenyiLacksNothing(t *testing.T) {
	t.Parallel()
	_, sealed, claim, _ := sealedFile(t)
	seal := func(epsilon float64) []byte {
		honest := fmt.Sprintf(`"seal":1,"epsilon":%v,"accountant":"pld"`, claim.Epsilon)
		return relink(t, []byte(strings.Replace(sealed, honest, fmt.Sprintf(`"seal":1,"epsilon":%v,"accountant":"rdp"`, epsilon), 1)))
	}
	require.ErrorIs(t, testkit.Err(verify(seal(claim.Epsilon-1e-4))), ErrCorrupt)
	testkit.Must(verify(seal(claim.Epsilon + 1e-4)))
}

// What another version let in, and this one finds above the budget by less than their gap, is refused until
// that version has sealed it.
func TestLedgersThatFittedByAnotherVersion(t *testing.T) {
	t.Parallel()
	unsealed, sealed, claim, best := sealedFile(t)
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
		_, err := verify(data)
		require.ErrorIs(t, err, ErrCorrupt)
		require.ErrorContains(t, err, "above the budget")
		require.Equal(t, advised, strings.Contains(err.Error(), advice), err)
		_, err = openStore(&memory{data: data}, cfg, VerifyOptions{})
		require.ErrorIs(t, err, ErrCorrupt)
		require.Equal(t, advised, strings.Contains(err.Error(), advice), err)
		require.Equal(t, advised, strings.Contains(err.Error(), buildinfo.Module+" "+buildinfo.Read().String()), err)
	}
	data, cfg := budgeted(sealed, within, within)
	again := testkit.Must(openStore(&memory{data: data}, cfg, VerifyOptions{})) // with that version's seal
	kept := testkit.Must(again.Claim())
	require.Equal(t, claim.Epsilon, kept.Epsilon, "the larger of the seal and of what this version finds")
	require.Equal(t, within, kept.Sealed)
}

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

func reprice(t testing.TB, file []byte, near float64) []byte {
	t.Helper()
	b := testkit.Must(New(tightConfig()))
	var out []byte
	for text := range bytes.Lines(file) {
		l, err := decode(bytes.TrimSuffix(text, []byte("\n")))
		if err != nil {
			require.ErrorContains(t, err, "checksum does not match")
		}
		if l.kind == reserveLine {
			l.epsilon = testkit.Must(b.chain.balance.onOrders(testkit.Must(b.chain.balance.chargeOf(l.text))))
			require.InDelta(t, near, l.epsilon, 0.05)
		}
		out = append(l.encode(out), '\n')
	}
	return out
}
