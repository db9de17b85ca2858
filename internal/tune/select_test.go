package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

func reserve(t *testing.T, e accountant.Event, count int, noise ledger.Noise) []*ledger.Reservation {
	l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5, Noise: noise}))
	t.Cleanup(func() { l.Close() })
	events := make([]accountant.Event, count)
	for i := range events {
		events[i] = e
	}
	return testkit.Must(l.ReserveBatch(events))
}

var shares = [][]float64{{0.5, 0.3, 0.2}, {0.9, 0.05, 0.05}}

func scored(_ context.Context, r Run) (Outcome, error) {
	u, k := float64(r.Key.Stream().Uint64()>>11)/(1<<53), 0
	for u > shares[r.Setting][k] && k < 2 {
		u -= shares[r.Setting][k]
		k++
	}
	return Outcome{Score: float64(k), Output: []byte{byte('0' + k)}}, nil
}

func search(l Law) Search {
	return Search{Law: l, Settings: 2, Event: accountant.PureDP{Epsilon: 0.1}, Relation: accountant.AddRemove, Run: scored}
}

// What is selected has the law of the best of the number of runs, with the setting that made it. False
// alarm of each law: testkit.FalseAlarm.
func TestSelectionHasItsLaw(t *testing.T) {
	for i, l := range []Law{{Mean: 2}, {Eta: 1, Gamma: 0.25}, {Gamma: 0.2}, {Eta: -0.5, Gamma: 0.1}} {
		const n = 4000
		s := search(l)
		mixed := make([]float64, 3)
		for k := range mixed {
			mixed[k] = (shares[0][k] + shares[1][k]) / 2
		}
		law := best(l, mixed)
		expected, observed := []float64{n * law[0]}, make([]float64, 7)
		for k, p := range law[1:] {
			for j := range shares {
				expected = append(expected, n*p*shares[j][k]/2/mixed[k])
			}
		}
		for j, r := range reserve(t, l.Event(s.Event), n, ledger.SeededNoise) {
			b := testkit.Must(Select(context.Background(), s, r, rng.SeedKey(uint64(i)).Derive("search", uint64(j))))
			if b == nil {
				observed[0]++
				continue
			}
			require.Equal(t, []byte{byte('0' + b.Score)}, b.Output)
			observed[1+2*int(b.Score)+b.Setting]++
		}
		require.Greater(t, testkit.ChiSquare(observed, expected), testkit.FalseAlarm, "%v", l)
	}
}

// A search that is killed after any run goes on: it has the same answer, and no run that was over is made
// again.
func TestSearchGoesOn(t *testing.T) {
	s := search(Law{Mean: 12})
	key := rng.SeedKey(5)
	runs := 0
	s.Run = func(ctx context.Context, r Run) (Outcome, error) {
		runs++
		if r.Dir != "" {
			require.DirExists(t, r.Dir)
			entries := testkit.Must(filepath.Glob(filepath.Join(s.Dir, "run-*")))
			require.Len(t, entries, 1, "folders of runs would tell their number")
		}
		return scored(ctx, r)
	}
	event := s.Law.Event(s.Event)
	whole := testkit.Must(Select(context.Background(), s, reserve(t, event, 1, ledger.SeededNoise)[0], key))
	total := runs
	require.Greater(t, total, 5)
	killed := errors.New("killed")
	s.Dir, runs = filepath.Join(t.TempDir(), "search"), 0
	for range 100 {
		ctx := crash.With(context.Background(), func(string) error { return killed })
		_, err := Select(ctx, s, reserve(t, event, 1, ledger.SeededNoise)[0], key)
		if err == nil {
			break
		}
		require.ErrorIs(t, err, killed)
		other := filepath.Join(s.Dir, "run-0123456789abcdef") // of a run that was cut off
		require.NoError(t, os.MkdirAll(other, 0o700))
	}
	again := testkit.Must(Select(context.Background(), s, reserve(t, event, 1, ledger.SeededNoise)[0], key))
	require.Equal(t, whole, again)
	require.Equal(t, total, runs)
	_, err := Select(context.Background(), s, reserve(t, event, 1, ledger.SeededNoise)[0], rng.SeedKey(6))
	require.ErrorIs(t, err, run.ErrOtherRun)
}

func TestNothingRunsUncharged(t *testing.T) {
	s := search(Law{Mean: 3})
	s.Run = func(context.Context, Run) (Outcome, error) { t.Fatal("it ran"); return Outcome{}, nil }
	secret := testkit.Must(rng.NewKey())
	for name, c := range map[string]struct {
		event accountant.Event
		noise ledger.Noise
		key   rng.Key
		want  error
	}{
		"one run charged":   {s.Event, ledger.SecretNoise, secret, ledger.ErrNotReserved},
		"a smaller law":     {Law{Mean: 2}.Event(s.Event), ledger.SecretNoise, secret, ledger.ErrNotReserved},
		"another law":       {Law{Eta: 1, Gamma: 1.0 / 3}.Event(s.Event), ledger.SecretNoise, secret, ledger.ErrNotReserved},
		"a key from a seed": {s.Law.Event(s.Event), ledger.SecretNoise, rng.SeedKey(1), ledger.ErrUnfit},
		"no key":            {s.Law.Event(s.Event), ledger.SecretNoise, rng.Key{}, ErrSearch},
	} {
		_, err := Select(context.Background(), s, reserve(t, c.event, 1, c.noise)[0], c.key)
		require.ErrorIs(t, err, c.want, name)
	}
	other := s
	other.Relation = accountant.ReplaceOne
	_, err := Select(context.Background(), other, reserve(t, s.Law.Event(s.Event), 1, ledger.SecretNoise)[0], secret)
	require.ErrorIs(t, err, ledger.ErrUnfit)
	tight := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 9, Delta: 1e-5, Noise: ledger.SecretNoise, Accountant: accountant.ByAuto}))
	defer tight.Close()
	r := testkit.Must(tight.Reserve(s.Law.Event(s.Event)))
	_, err = Select(context.Background(), s, r, secret)
	require.ErrorIs(t, err, ledger.ErrUnfit, "privacy loss distributions may claim there")
	for name, change := range map[string]func(*Search){
		"law": func(s *Search) { s.Law = Law{} }, "settings": func(s *Search) { s.Settings = 0 }, "event": func(s *Search) { s.Event = nil },
		"bad event": func(s *Search) { s.Event = accountant.PureDP{Epsilon: math.NaN()} }, "relation": func(s *Search) { s.Relation = 0 },
		"run": func(s *Search) { s.Run = nil }, "every": func(s *Search) { s.Every = -1 },
	} {
		bad := s
		change(&bad)
		require.ErrorIs(t, bad.Validate(), ErrSearch, name)
	}
}

func TestScoresThatAreNoNumbers(t *testing.T) {
	s := search(Law{Mean: 40})
	s.Settings = 3
	s.Run = func(_ context.Context, r Run) (Outcome, error) {
		return Outcome{Score: []float64{math.NaN(), -5, math.Inf(1)}[r.Setting], Output: []byte{byte(r.Setting)}}, nil
	}
	b := testkit.Must(Select(context.Background(), s, reserve(t, s.Law.Event(s.Event), 1, ledger.SeededNoise)[0], rng.SeedKey(1)))
	require.Equal(t, Best{Outcome{-5, []byte{1}}, 1}, *b)
}

func TestNothingIsAnAnswer(t *testing.T) {
	s := search(Law{Mean: 1e-9})
	s.Dir = t.TempDir()
	b := testkit.Must(Select(context.Background(), s, reserve(t, s.Law.Event(s.Event), 1, ledger.SeededNoise)[0], rng.SeedKey(1)))
	require.Nil(t, b)
}

func TestSearchEndsAtMultiples(t *testing.T) {
	s := search(Law{Mean: 3})
	s.Every = 50 * time.Millisecond
	began := time.Now()
	testkit.Must(Select(context.Background(), s, reserve(t, s.Law.Event(s.Event), 1, ledger.SeededNoise)[0], rng.SeedKey(1)))
	require.GreaterOrEqual(t, time.Since(began), s.Every)
	s.Every = time.Hour
	ctx, cancel := context.WithCancel(context.Background())
	s.Run = func(context.Context, Run) (Outcome, error) { cancel(); return Outcome{}, nil }
	_, err := Select(ctx, s, reserve(t, s.Law.Event(s.Event), 1, ledger.SeededNoise)[0], rng.SeedKey(1))
	require.ErrorIs(t, err, context.Canceled)
}

func TestErrorsDoNotCount(t *testing.T) {
	full := errors.New("the disk is full")
	texts := map[string]bool{}
	for seed := range uint64(30) {
		s, left := search(Law{Mean: 8}), int(seed%7)
		s.Run = func(_ context.Context, r Run) (Outcome, error) {
			if left--; left < 0 {
				return Outcome{}, full
			}
			return Outcome{Score: 1}, nil
		}
		_, err := Select(context.Background(), s, reserve(t, s.Law.Event(s.Event), 1, ledger.SeededNoise)[0], rng.SeedKey(seed))
		if err != nil {
			require.ErrorIs(t, err, full)
			texts[err.Error()] = true
		}
	}
	require.Len(t, texts, 1)
}

func TestPriceOfASearch(t *testing.T) {
	event := func(noise float64) (accountant.Event, error) {
		return accountant.Repeated{Event: accountant.PoissonSampled{Probability: 0.1, Event: accountant.Gaussian{NoiseMultiplier: noise}}, Count: 50}, nil
	}
	target := accountant.Target{Epsilon: 2, Delta: 1e-5}
	for _, l := range []Law{{Mean: 20}, {Eta: 1, Gamma: 0.05}, {Gamma: 0.01}} {
		p := testkit.Must(PriceOf(context.Background(), l, accountant.AddRemove, target, event))
		run, _ := event(p.Noise)
		b := testkit.Must(accountant.Epsilon(t.Context(), accountant.ByRDP, accountant.AddRemove, target.Delta, l.Event(run)))
		require.Equal(t, b.Upper, p.Epsilon)
		require.LessOrEqual(t, p.Epsilon, target.Epsilon)
		require.Greater(t, p.Epsilon, target.Epsilon*(1-1e-6))
		require.Greater(t, p.Ratio(), 1.0, fmt.Sprint(l))
		require.Less(t, p.OneEpsilon, p.Epsilon)
	}
	require.ErrorIs(t, testkit.Err(PriceOf(context.Background(), Law{}, accountant.AddRemove, target, event)), ErrLaw)
}

type world struct {
	event accountant.Event
	p, q  []float64
}

func randomWorld(r *rand.Rand) world {
	m := 2 + r.IntN(5)
	if r.IntN(3) == 0 { // a noised number that is seen through m cells, at a place of chance
		sigma, at := []float64{1, 2, 4}[r.IntN(3)], 6*r.Float64()-3
		w := world{event: accountant.Gaussian{NoiseMultiplier: sigma}}
		below := func(x, mean float64) float64 { return math.Erfc((mean-x)/sigma/math.Sqrt2) / 2 }
		lastP, lastQ := 0.0, 0.0
		for k := 1; k <= m; k++ {
			p, q := 1.0, 1.0
			if k < m {
				x := at + sigma*(float64(k)-float64(m)/2)
				p, q = below(x, 0), below(x, 1)
			}
			w.p, w.q = append(w.p, p-lastP), append(w.q, q-lastQ)
			lastP, lastQ = p, q
		}
		return w
	}
	eps := []float64{0.1, 0.5, 1, 2}[r.IntN(4)]
	w := world{event: accountant.PureDP{Epsilon: eps}, p: make([]float64, m), q: make([]float64, m)}
	for k := range m {
		w.p[k] = math.Exp(8 * (r.Float64() - 1))
	}
	if r.IntN(2) == 0 { // a bad outcome takes what the others gain and lose
		w.p[0] += 2 * math.Exp(eps)
	}
	floats.Scale(1/floats.Sum(w.p), w.p)
	rest := 1.0
	for k := m - 1; k > 0; k-- {
		w.q[k] = w.p[k] * math.Exp(eps*float64(2*r.IntN(2)-1))
		rest -= w.q[k]
	}
	if w.q[0] = rest; rest > 0 && math.Abs(math.Log(rest/w.p[0])) <= eps {
		return w
	}
	for k := range m {
		w.q[k] = w.p[k] * math.Exp(eps*(float64(r.IntN(2))-0.5))
	}
	floats.Scale(1/floats.Sum(w.q), w.q)
	return w
}

func best(l Law, p []float64) []float64 {
	out := []float64{l.Missed(1)}
	above := 1.0 // probability of a better outcome than those before
	last := out[0]
	for _, x := range p {
		above = math.Max(0, above-x)
		missed := l.Missed(above)
		out, last = append(out, math.Max(0, missed-last)), missed
	}
	return out
}

type claims map[string]float64

func (c claims) of(t *testing.T, e accountant.Event, eps float64) float64 {
	t.Helper()
	name := fmt.Sprintf("%#v %v", e, eps)
	if delta, known := c[name]; known {
		return delta
	}
	account := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove}))
	require.NoError(t, account.Compose(e, 1))
	b := testkit.Must(account.Delta(context.Background(), eps))
	c[name] = b.Upper
	return b.Upper
}

// What a search releases, listed with its exact law on both of two neighbours, is never further apart than
// its event claims.
func TestSearchesAreWithinTheirClaim(t *testing.T) {
	r, said := rand.New(rand.NewPCG(1, 2)), claims{}
	nearest := 0.0
	for range 3000 {
		w := randomWorld(r)
		for _, l := range []Law{{Mean: 0.5}, {Mean: 15}, {Eta: 1, Gamma: 0.1}, {Gamma: 0.02}, {Eta: -0.5, Gamma: 0.01}} {
			p, q := best(l, w.p), best(l, w.q)
			for _, eps := range []float64{0, 1, 4} {
				truth, said := testkit.EitherHockeyStick(p, q, eps), said.of(t, l.Event(w.event), eps)
				require.LessOrEqual(t, truth, said*(1+1e-9)+1e-12, "%+v %+v at %v", l, w, eps)
				if said > 0 {
					nearest = math.Max(nearest, truth/said)
				}
			}
		}
	}
	require.Greater(t, nearest, 0.1, "worlds that are nowhere near the claim test nothing")
	t.Logf("nearest to a claim: %.2f of its delta", nearest)
}

func TestOtherSearchesAreNot(t *testing.T) {
	const n = 20
	poisson, geometric := Law{Mean: n}, Law{Eta: 1, Gamma: 1.0 / n}
	same := func(e accountant.Event) accountant.Event { return e }
	argmax := func(p []float64) []float64 { // of n runs
		var out []float64
		below, last := 0.0, 0.0
		for _, x := range p {
			below += x
			out = append(out, math.Pow(below, n)-last)
			last = math.Pow(below, n)
		}
		return out
	}
	for name, c := range map[string]struct {
		charged func(accountant.Event) accountant.Event
		law     func(p []float64) []float64
	}{
		"the best of n full runs, charged as one": {same, argmax},
		"n runs, and no number of chance":         {poisson.Event, argmax},
		"all runs are shown": {poisson.Event, func(p []float64) []float64 { // how many of n were the best outcome
			out := make([]float64, n+1)
			for k := range out {
				out[k] = distuv.Binomial{N: n, P: p[len(p)-1]}.Prob(float64(k))
			}
			return out
		}},
		"runs until one is good, charged as one": {same, func(p []float64) []float64 { // two outcomes are good
			good := p[len(p)-1] + p[len(p)-2]
			return []float64{p[len(p)-2] / good, p[len(p)-1] / good}
		}},
		"runs until one is good, their number shown": {geometric.Event, func(p []float64) []float64 {
			var out []float64
			for rest := 1.0; len(out) < 2000; rest *= 1 - p[len(p)-1] {
				out = append(out, rest*p[len(p)-1])
			}
			return out
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, said := rand.New(rand.NewPCG(3, 4)), claims{}
			refuted := 0
			for range 300 {
				w := randomWorld(r)
				p, q := c.law(w.p), c.law(w.q)
				for _, eps := range []float64{1, 4, 8} {
					if testkit.EitherHockeyStick(p, q, eps) > 1.01*said.of(t, c.charged(w.event), eps)+1e-9 {
						refuted++
						break
					}
				}
			}
			require.Positive(t, refuted)
		})
	}
}
