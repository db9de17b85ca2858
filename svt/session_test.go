package svt

import (
	"context"
	"flag"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

var long = flag.Bool("long", false, "play all of what tests take a sample of")

// runs returns how many runs a law is tested on. A right one fails with probability 1e-9
// (testkit.FalseAlarm). With -long the wrong laws below, of noise that is 15 % wider and of a threshold that is
// drawn anew or not, have p-values of 3e-20 at most; without, noise is 30 % wider.
func runs() (n int, wider float64) {
	if *long {
		return 40_000, 1.15
	}
	return 10_000, 1.3
}

func fits(t *testing.T, observed map[string]float64, l Law, values []float64) float64 {
	expected, n := transcripts(t, l, values), 0.0
	for _, times := range observed {
		n += times
	}
	var o, e []float64
	for k, p := range expected {
		o, e = append(o, observed[k]), append(e, n*p)
	}
	for k := range observed {
		require.Contains(t, expected, k)
	}
	return testkit.ChiSquare(o, e)
}

func TestSparseVectorFollowsItsLaw(t *testing.T) {
	n, wider := runs()
	values := []int64{-3, 2, 0, 5, 1}
	for _, cfg := range []SparseVectorConfig{
		{Noise: DiscreteLaplace, Epsilon: 2, Answers: 1, Sensitivity: 1, Threshold: 3},
		{Noise: Geometric, Epsilon: 1.5, Answers: 2, Sensitivity: 1, Threshold: 2},
		{Noise: DiscreteLaplace, Epsilon: 3, Answers: 2, Sensitivity: 2, Threshold: 1, Monotone: true},
	} {
		m := testkit.Must(NewSparseVector(cfg))
		observed := map[string]float64{}
		for seed := range uint64(n) {
			s := &Session{run[bool]{drawn: m.drawn, threshold: cfg.Threshold, stop: cfg.Answers}}
			s.charged(rng.SeedKey(seed))
			var above []bool
			for i, v := range values {
				a, err := s.Ask(uint64(i), v)
				if err != nil {
					require.ErrorIs(t, err, ErrExhausted)
					require.Zero(t, s.Left())
					break
				}
				above = append(above, a)
			}
			observed[name(above)]++
		}
		require.Greater(t, fits(t, observed, m.Law(), []float64{-3, 2, 0, 5, 1}), testkit.FalseAlarm)
		wrong := m.Law()
		wrong.QueryNoise.Scale *= wider
		require.Less(t, fits(t, observed, wrong, []float64{-3, 2, 0, 5, 1}), testkit.FalseAlarm)
	}
}

func TestStableRunsFollowTheirLaws(t *testing.T) {
	n, wider := runs()
	distances := []int64{9, 0, 7, 12, 4}
	values := []float64{-9, 0, -7, -12, -4}
	for _, m := range []StableMechanism{
		testkit.Must(NewStableSVT(StableSVTConfig{B1: 1.5, B2: 4, Threshold: 5, Failures: 2})),
		testkit.Must(NewMSvec(MSvecConfig{Lambda: 1.5, Threshold: 6, Failures: 2})),
	} {
		l := m.Law()
		observed := map[string]float64{}
		for seed := range uint64(n) {
			s := &StableSession[int]{run[Answer[int]]{drawn: m.sampled(), threshold: int64(l.Threshold), stop: l.Stop, refresh: l.Refresh}}
			s.charged(rng.SeedKey(seed))
			var refused []bool
			for i, d := range distances {
				a, err := s.Ask(uint64(i), i+10, d)
				if err != nil {
					break
				}
				if a.Released {
					require.Equal(t, i+10, a.Value)
				}
				refused = append(refused, !a.Released)
			}
			observed[name(refused)]++
		}
		require.Greater(t, fits(t, observed, l, values), testkit.FalseAlarm)
		wrong := l
		if wrong.Refresh = !l.Refresh; *long {
			require.Less(t, fits(t, observed, wrong, values), testkit.FalseAlarm)
		}
		wrong = l
		wrong.ThresholdNoise.Scale *= wider
		require.Less(t, fits(t, observed, wrong, values), testkit.FalseAlarm)
	}
}

func TestSessions(t *testing.T) {
	m := testkit.Must(NewSparseVector(SparseVectorConfig{Noise: Geometric, Epsilon: 1, Answers: 2, Sensitivity: 1, Threshold: 100}))
	r := reserve(t, m.Event())
	s := testkit.Must(m.Start(r, rng.SeedKey(1)))
	require.False(t, s.Releasable())
	for q := range uint64(5) {
		require.False(t, testkit.Must(s.Ask(q, -1000)))
	}
	require.Equal(t, 2, s.Left())
	for q := uint64(5); q < 7; q++ {
		require.True(t, testkit.Must(s.Ask(q, math.MaxInt64)))
	}
	require.ErrorIs(t, testkit.Err(s.Ask(7, 0)), ErrExhausted)
	require.True(t, testkit.Must(s.Ask(5, math.MinInt64)), "stored")

	require.ErrorIs(t, testkit.Err(m.Start(r, rng.SeedKey(1))), ledger.ErrNotReserved)
	require.ErrorIs(t, testkit.Err(m.Start(reserve(t, accountant.PureDP{Epsilon: 2}), rng.SeedKey(1))), ledger.ErrNotReserved)
	require.ErrorContains(t, testkit.Err(m.Start(reserve(t, m.Event()), rng.Key{})), "zero Key")

	stable := testkit.Must(NewStableSVT(StableSVTConfig{B1: 2, B2: 40, Threshold: 30, Failures: 1}))
	answers := func(seed uint64) (out []Answer[string]) {
		s := testkit.Must(Start[string](stable, reserve(t, stable.Event()), rng.SeedKey(seed)))
		for q := range uint64(50) {
			a, err := s.Ask(q, "x", 100)
			if err != nil {
				break
			}
			out = append(out, a)
		}
		require.False(t, s.Releasable())
		require.LessOrEqual(t, s.Left(), 1)
		return out
	}
	require.Equal(t, answers(1), answers(1))
	require.NotEqual(t, answers(1), answers(2))
	session := testkit.Must(Start[string](stable, reserve(t, stable.Event()), rng.SeedKey(1)))
	require.Equal(t, Answer[string]{}, testkit.Must(session.Ask(1, "secret", math.MinInt64)))
	require.ErrorIs(t, testkit.Err(session.Ask(2, "secret", math.MaxInt64)), ErrExhausted)
}

func TestSessionsAreSafe(t *testing.T) {
	m := testkit.Must(NewStableSVT(StableSVTConfig{B1: 2, B2: 10, Threshold: 20, Failures: 30}))
	s := testkit.Must(Start[uint64](m, reserve(t, m.Event()), rng.SeedKey(1)))
	const workers, queries = 8, 400
	var answers [workers]map[uint64]Answer[uint64]
	var wg sync.WaitGroup
	for w := range workers {
		answers[w] = map[uint64]Answer[uint64]{}
		wg.Go(func() {
			for i := range uint64(queries) {
				q := (i*7 + uint64(w)*50) % queries
				if a, err := s.Ask(q, q, int64(20+q%60)); err == nil {
					answers[w][q] = a
				}
			}
		})
	}
	wg.Wait()
	refused, all := 0, map[uint64]Answer[uint64]{}
	for _, seen := range answers {
		for q, a := range seen {
			if before, ok := all[q]; ok {
				require.Equal(t, before, a)
			} else if all[q] = a; !a.Released {
				refused++
			}
		}
	}
	require.Equal(t, 30, refused)
	require.Zero(t, s.Left())
}

func TestConfigsAreChecked(t *testing.T) {
	good := SparseVectorConfig{Noise: DiscreteLaplace, Epsilon: 1, Answers: 1, Sensitivity: 1}
	for want, change := range map[string]func(*SparseVectorConfig){
		"Noise":        func(c *SparseVectorConfig) { c.Noise = Laplace },
		"Epsilon":      func(c *SparseVectorConfig) { c.Epsilon = math.NaN() },
		"Epsilon must": func(c *SparseVectorConfig) { c.Epsilon = 0 },
		"Answers":      func(c *SparseVectorConfig) { c.Answers = 0 },
		"Sensitivity":  func(c *SparseVectorConfig) { c.Sensitivity = 0 },
		"Threshold":    func(c *SparseVectorConfig) { c.Threshold = 1 << 51 },
		"another":      func(c *SparseVectorConfig) { c.Epsilon, c.Answers, c.Sensitivity = 0x1p-20, 1<<30, 1<<20 },
	} {
		cfg := good
		change(&cfg)
		require.ErrorContains(t, testkit.Err(NewSparseVector(cfg)), want)
	}
	for _, cfg := range []StableSVTConfig{
		{}, {B1: 1, B2: 1}, {B1: math.NaN(), B2: 1, Failures: 1}, {B1: 1, B2: 0, Failures: 1}, {B1: 1, B2: 1, Failures: 1, Threshold: -1},
	} {
		require.Error(t, testkit.Err(NewStableSVT(cfg)))
	}
	for _, cfg := range []MSvecConfig{{}, {Lambda: math.Inf(1), Failures: 1}, {Lambda: 1}, {Lambda: 1, Failures: 1, Threshold: -1}} {
		require.Error(t, testkit.Err(NewMSvec(cfg)))
	}
	require.Error(t, testkit.Err(CalibrateStableSVT(1, 0, 1, 0.1)))
	require.Error(t, testkit.Err(CalibrateStableSVT(1, 0.1, 0, 0.1)))
	require.Error(t, testkit.Err(CalibrateMSvec(t.Context(), math.NaN(), 0.1, 1)))
	require.Error(t, testkit.Err(PrintedMSvec(1, 0.1, 0, 1)))
	require.Error(t, testkit.Err(DistanceFor(testkit.Must(NewStableSVT(StableSVTConfig{B1: 1, B2: 1, Failures: 1})), 1)))
}

func reserve(t require.TestingT, e accountant.Event) *ledger.Reservation {
	return testledger.Reserve(t, accountant.ReplaceOne, e)
}

func deltaOf(t require.TestingT, e accountant.Event, eps float64) float64 {
	return testkit.Must(testledger.Account(t, accountant.ReplaceOne, e).Delta(context.Background(), eps)).Upper
}

func TestEventsAreTheConfigurations(t *testing.T) {
	for _, cfg := range []StableSVTConfig{
		{B1: 4, B2: 8, Threshold: 40, Failures: 1}, {B1: 1, B2: 2, Threshold: 0, Failures: 7}, {B1: 100, B2: 3, Threshold: 999, Failures: 50},
	} {
		m := testkit.Must(NewStableSVT(cfg))
		require.Equal(t, accountant.StableSVT{B1: cfg.B1, B2: cfg.B2, Threshold: cfg.Threshold, Failures: int64(cfg.Failures)}, m.Event())
		require.Equal(t, Law{
			Threshold: -float64(cfg.Threshold), ThresholdNoise: Noise{Geometric, cfg.B1}, QueryNoise: Noise{Geometric, cfg.B2}, Stop: cfg.Failures,
		}, m.Law())
	}
	for _, cfg := range []SparseVectorConfig{
		{Noise: Geometric, Epsilon: 0.5, Answers: 3, Sensitivity: 2}, {Noise: DiscreteLaplace, Epsilon: 8, Answers: 1, Sensitivity: 1, Monotone: true},
	} {
		require.Equal(t, accountant.PureDP{Epsilon: cfg.Epsilon}, testkit.Must(NewSparseVector(cfg)).Event())
	}
}

func TestRunsOfOtherParametersMeetOtherNoise(t *testing.T) {
	seen := map[uint64]any{}
	add := func(cfg any, key rng.Key) {
		word := key.Stream().Uint64()
		require.NotContains(t, seen, word, "%+v and %+v", seen[word], cfg)
		seen[word] = cfg
	}
	for _, cfg := range []StableSVTConfig{
		{B1: 4, B2: 8, Threshold: 40, Failures: 1}, {B1: 5, B2: 8, Threshold: 40, Failures: 1}, {B1: 4, B2: 9, Threshold: 40, Failures: 1},
		{B1: 4, B2: 8, Threshold: 41, Failures: 1}, {B1: 4, B2: 8, Threshold: 40, Failures: 2},
	} {
		m := testkit.Must(NewStableSVT(cfg))
		add(cfg, testkit.Must(Start[int](m, reserve(t, m.Event()), rng.SeedKey(1))).key)
	}
	for _, cfg := range []MSvecConfig{
		{Lambda: 4, Threshold: 100, Failures: 1}, {Lambda: 5, Threshold: 100, Failures: 1}, {Lambda: 4, Threshold: 101, Failures: 1}, {Lambda: 4, Threshold: 100, Failures: 2},
	} {
		m := testkit.Must(NewMSvec(cfg))
		add(cfg, testkit.Must(Start[int](m, reserve(t, m.Event()), rng.SeedKey(1))).key)
	}
	for _, cfg := range []SparseVectorConfig{
		{Noise: Geometric, Epsilon: 1, Answers: 1, Sensitivity: 1}, {Noise: DiscreteLaplace, Epsilon: 1, Answers: 1, Sensitivity: 1},
		{Noise: Geometric, Epsilon: 2, Answers: 1, Sensitivity: 1}, {Noise: Geometric, Epsilon: 1, Answers: 2, Sensitivity: 1},
		{Noise: Geometric, Epsilon: 1, Answers: 1, Sensitivity: 2}, {Noise: Geometric, Epsilon: 1, Answers: 1, Sensitivity: 1, Threshold: 5},
	} {
		m := testkit.Must(NewSparseVector(cfg))
		add(cfg, testkit.Must(m.Start(reserve(t, m.Event()), rng.SeedKey(1))).key)
	}
}

func TestAccountingReference(t *testing.T) {
	var ref struct {
		Calibration []struct {
			Eps, Delta float64
			Q, M       int
			Printed    float64 `json:"lambda_paper"`
			Threshold  float64 `json:"threshold_paper"`
			Spent      float64 `json:"eps_actually_spent_by_lambda_paper_optimal_composition"`
			Pure       float64 `json:"lambda_pure_composition"`
			RDP        float64 `json:"lambda_rdp"`
			Optimal    float64 `json:"lambda_optimal_composition"`
			PerQuery   float64 `json:"per_query_false_release"`
			Laplace    float64 `json:"threshold_laplace"`
			Exp        float64 `json:"threshold_exponential"`
		}
		Split []struct {
			C        int
			Monotone bool
			Ratio    [2]float64 `json:"eps1_to_eps2"`
			Share    float64    `json:"eps1_share"`
			Optimal  float64    `json:"var_optimal"`
			Equal    float64    `json:"var_equal_split"`
		} `json:"lyu_optimal_split"`
		Bounds []struct {
			Eps1, Eps2, Alpha float64
			C                 int
			Recommended       float64
		} `json:"above_threshold_rdp_bounds"`
	}
	testkit.ReadJSON(t, "testdata/svt_accounting.json", &ref)
	require.Len(t, ref.Calibration, 16)
	for _, e := range ref.Calibration {
		printed := testkit.Must(PrintedMSvec(e.Eps, e.Delta, e.M, e.Q))
		require.InEpsilon(t, e.Printed, printed.Lambda, 1e-12)
		require.EqualValues(t, math.Ceil(e.Threshold), printed.Threshold)
		if e.Q < 116 {
			require.Greater(t, printed.Lambda, e.Pure, "worse than plain composition")
		}
		tight := testkit.Must(CalibrateMSvec(context.Background(), e.Eps, e.Delta, e.Q))
		require.LessOrEqual(t, tight.Lambda, e.RDP*(1+1e-7), "the account knows more orders than the reference")
		require.GreaterOrEqual(t, tight.Lambda, e.Optimal*(1-1e-7), "no account can do better")
		// These check the closed form of the false release, and what a union over stretches
		// in place of queries saves.
		require.InEpsilon(t, e.PerQuery, math.Exp(-e.Laplace/(2*e.RDP))*2/3-math.Exp(-e.Laplace/e.RDP)/6, 1e-9)
		require.InDelta(t, math.Log(e.PerQuery), sumTail(e.RDP*1024, 2*e.RDP*1024, int64(math.Round(e.Laplace*1024))), 0.01, "discrete noise of a fine grid")
		require.Less(t, float64(tight.Threshold), e.Laplace, "with fewer refusals than queries the threshold is lower")
		require.InEpsilon(t, e.PerQuery, 0.5*math.Exp(-e.Exp/e.RDP)*2/3, 0.5) // b1/(b1+b2) e^(-w/b1) with b2 = 2 b1
		account := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.ReplaceOne}))
		require.NoError(t, account.Compose(testkit.Must(NewMSvec(tight)).Event(), 1))
		eps := testkit.Must(account.Epsilon(context.Background(), e.Delta))
		require.LessOrEqual(t, eps.Upper, e.Eps*(1+1e-9))
		require.Greater(t, eps.Upper, e.Eps*0.9)
	}
	require.Len(t, ref.Split, 8)
	for _, e := range ref.Split {
		share := ThresholdShare(e.C, e.Monotone)
		require.InEpsilon(t, e.Share, share, 1e-9)
		require.InEpsilon(t, e.Ratio[1], (1-share)/share, 1e-9)
		moves := 2 * float64(e.C)
		if e.Monotone {
			moves /= 2
		}
		variance := func(share float64) float64 { return 2/(share*share) + 2*moves*moves/((1-share)*(1-share)) }
		require.InEpsilon(t, e.Optimal, variance(share), 1e-9)
		require.InEpsilon(t, e.Equal, variance(0.5), 1e-9)
	}
	for _, e := range ref.Bounds {
		if e.C == 1 {
			event := accountant.AboveThreshold{Epsilon1: e.Eps1, Epsilon2: e.Eps2, Answers: 1}
			got, _ := testkit.Must2(accountant.Divergence(accountant.ReplaceOne, e.Alpha, event))
			require.InEpsilon(t, e.Recommended, got, 1e-9)
		}
	}
}

func TestMSvecFailureIsNeverZero(t *testing.T) {
	for _, threshold := range []int64{1 << 12, 1 << 40, 1 << 50} {
		m := testkit.Must(NewMSvec(MSvecConfig{Lambda: 1, Threshold: threshold, Failures: 3}))
		require.Greater(t, m.Event().(accountant.WithFailure).Delta, 0.0, threshold)
	}
}

func TestRunsFitTheirLedger(t *testing.T) {
	m := testkit.Must(NewStableSVT(StableSVTConfig{B1: 4, B2: 4, Threshold: 40, Failures: 1}))
	for _, relation := range []accountant.Relation{accountant.AddRemove, accountant.ReplaceOne} {
		l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: relation, Epsilon: 1e9, Delta: 0.5, Noise: ledger.SecretNoise}))
		r := testkit.Must(l.ReserveBatch([]accountant.Event{m.Event(), m.Event(), m.Event()}))
		require.ErrorIs(t, testkit.Err(Start[int](m, r[0], rng.SeedKey(1))), ledger.ErrUnfit)
		key := testkit.Must(rng.NewKey())
		seen := map[uint64]bool{}
		for i := range r {
			word := testkit.Must(Start[int](m, r[i], key)).key.Stream().Uint64()
			require.False(t, seen[word], "two charges under one noise")
			seen[word] = true
		}
	}
}
