package analysis

import (
	"context"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

func book(t testing.TB, epsilon float64) *ledger.Ledger {
	return testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: epsilon, Delta: 1e-5, Mode: ledger.Filter}))
}

func publish(t testing.TB, s *Sanitizer, key rng.Key, rows [][]int) (Released, error) {
	return s.Release(context.Background(), testkit.Must(book(t, 100).Reserve(s.Event())), key, histograms(rows))
}

func smallSanitizer(t testing.TB) *Sanitizer {
	s := testkit.Must(NewSanitizer(SanitizerConfig{
		Mechanism: confident(12, 8, 4), Queries: 3, Teachers: 20, Classes: 3, Delta: 1e-5,
		Order: 4, Beta: 0.05, Sigma: 5, Margin: 2,
	}))
	return s
}

var smallVotes = [][]int{{20, 0, 0}, {1, 18, 1}, {9, 7, 2}}

// Releases of other settings on the same votes meet other noise: with the same noise
// two sizes of it would give away what they cover.
func TestReleasesOfOtherSettingsMeetOtherNoise(t *testing.T) {
	groups, _ := testkit.Must2(collect(context.Background(), histograms(smallVotes), Options{}))
	base := smallSanitizer(t).Config()
	seen := map[uint64]string{}
	for name, change := range map[string]func(*SanitizerConfig){
		"nothing":   func(*SanitizerConfig) {},
		"queries":   func(c *SanitizerConfig) { c.Queries = 4 },
		"teachers":  func(c *SanitizerConfig) { c.Teachers = 21 },
		"order":     func(c *SanitizerConfig) { c.Order = 5 },
		"beta":      func(c *SanitizerConfig) { c.Beta = 0.06 },
		"sigma":     func(c *SanitizerConfig) { c.Sigma = 6 },
		"margin":    func(c *SanitizerConfig) { c.Margin = 1 },
		"grid":      func(c *SanitizerConfig) { c.Grid = 0x1p-10 },
		"threshold": func(c *SanitizerConfig) { c.Mechanism = confident(13, 8, 4) },
		"sigma1":    func(c *SanitizerConfig) { c.Mechanism = confident(12, 9, 4) },
		"mechanism": func(c *SanitizerConfig) { c.Mechanism = gnmax(8) },
	} {
		cfg := base
		change(&cfg)
		word := testkit.Must(NewSanitizer(cfg)).key(rng.SeedKey(1), groups).Stream().Uint64()
		require.NotContains(t, seen, word, "%s and %s", name, seen[word])
		seen[word] = name
	}
}

// The epsilon of a release holds what the queries cost and what telling it cost, and
// is not below the conversion of their sum.
func TestReleasedEpsilonHoldsBothCosts(t *testing.T) {
	s := smallSanitizer(t)
	for _, drawn := range []float64{0, 0.1, 1, s.worst / 2} {
		r := testkit.Must(s.released(drawn, true))
		require.Equal(t, s.cost, r.ReleaseCost)
		require.GreaterOrEqual(t, r.Cost, math.Min(drawn, s.worst))
		// at an integer order the rule is sum + log(1-1/a) - log(a delta)/(a-1)
		a := new(big.Float).SetPrec(200).SetFloat64(r.Order)
		require.True(t, a.IsInt())
		sum := new(big.Float).SetPrec(200).Add(big.NewFloat(r.Cost), big.NewFloat(r.ReleaseCost))
		rest := math.Log1p(-1/r.Order) - math.Log(r.Order*r.Delta)/(r.Order-1)
		exact, _ := sum.Add(sum, big.NewFloat(rest)).Float64()
		require.GreaterOrEqual(t, r.Epsilon, exact)
		require.InEpsilon(t, exact, r.Epsilon, 1e-12, "and not far above")
	}
}

func TestReleaseIsChargedOnceAndRepeats(t *testing.T) {
	cfg := smallSanitizer(t).Config()
	cfg.Sigma = 0.5
	s := testkit.Must(NewSanitizer(cfg))
	require.Equal(t, accountant.GNSS{Beta: 0.05, Sigma: 0.5, Margin: 2}, s.Event())
	var key rng.Key
	require.NoError(t, key.UnmarshalText([]byte("pate-key-1:releasable:"+strings.Repeat("A", 43))))
	first := testkit.Must(publish(t, s, key, smallVotes))
	require.Greater(t, first.Cost, 0.0, "not cut off")
	require.Less(t, first.Cost, s.worst)
	require.True(t, first.Releasable)
	require.Zero(t, math.Mod(first.Cost, defaultGrid))
	again := testkit.Must(publish(t, s, key, smallVotes))
	require.Equal(t, first, again, "the same key, the same votes: the same number")

	// Not the order of queries or the names of classes, which change nothing.
	again = testkit.Must(publish(t, s, key, [][]int{{7, 9, 2}, {0, 0, 20}, {1, 18, 1}}))
	require.Equal(t, first, again)

	// On other votes the noise is independent.
	moved := testkit.Must(publish(t, s, key, [][]int{{20, 0, 0}, {1, 18, 1}, {9, 6, 3}}))
	require.NotEqual(t, first.Cost, moved.Cost)
	drawn := func(rows [][]int, cost float64) float64 {
		groups, _ := testkit.Must2(collect(context.Background(), histograms(rows), Options{}))
		mean, sd := testkit.Must2(s.noise(context.Background(), groups))
		return (cost - mean) / sd
	}
	require.Greater(t, math.Abs(drawn(smallVotes, first.Cost)-drawn([][]int{{20, 0, 0}, {1, 18, 1}, {9, 6, 3}}, moved.Cost)), 1e-3, "independent noise")

	require.False(t, testkit.Must(publish(t, s, rng.SeedKey(1), smallVotes)).Releasable)

	l := book(t, 100)
	r := testkit.Must(l.Reserve(s.Event()))
	read := 0
	counting := func(yield func(aggregate.Histogram, error) bool) {
		read++
		histograms(smallVotes)(yield)
	}
	testkit.Must(s.Release(context.Background(), r, key, counting))
	require.ErrorIs(t, testkit.Err(s.Release(context.Background(), r, key, counting)), ledger.ErrNotReserved)
	r = testkit.Must(l.Reserve(accountant.GNSS{Beta: 0.05, Sigma: 50, Margin: 2}))
	require.ErrorIs(t, testkit.Err(s.Release(context.Background(), r, key, counting)), ledger.ErrNotReserved)
	require.ErrorIs(t, testkit.Err(s.Release(context.Background(), nil, key, counting)), ledger.ErrNotReserved)
	require.ErrorContains(t, testkit.Err(s.Release(context.Background(), r, rng.Key{}, counting)), "zero Key")
	require.Equal(t, 1, read, "no vote is read before the charge")
}

// TestReleaseHasItsLaw: over keys, the number follows the law whose divergence is
// charged, around the cost of the report; false-alarm rate 1e-9.
func TestReleaseHasItsLaw(t *testing.T) {
	s := smallSanitizer(t)
	groups, _ := testkit.Must2(collect(context.Background(), histograms(smallVotes), Options{}))
	mean, sd := testkit.Must2(s.noise(context.Background(), groups))
	profile := testkit.Must(s.sensitivity.worst(context.Background(), groups, 20))
	require.InEpsilon(t, 5*discounted(profile, 0.05), sd, 1e-5)
	r := testkit.Must(Analyze(context.Background(), s.cfg.Mechanism, histograms(smallVotes), Options{Delta: 1e-5, Orders: []float64{4}, Teachers: 20}))
	before := testkit.Must(accountant.Classic.Epsilon(4, mean-2*sd, 1e-5))
	require.InEpsilon(t, r.All.DataDependent.Classic.Reveal(), before, 1e-12)
	t.Logf("cost %.4f, sd %.4f, of at most %.4f", mean-2*sd, sd, s.worst)

	const bins = 8 // within the range of costs, which cuts the tails off
	low, high := 0.0, s.worst
	width := (high - low) / bins
	var observed [bins + 2]float64
	n := 3000
	for i := range n {
		out := testkit.Must(publish(t, s, rng.SeedKey(uint64(i)), smallVotes))
		require.GreaterOrEqual(t, out.Cost, 0.0)
		switch {
		case out.Cost == 0:
			observed[0]++
		case out.Cost >= s.worst:
			observed[bins+1]++
		default:
			observed[1+int((out.Cost-low)/width)]++
		}
	}
	law := distuv.Normal{Mu: mean, Sigma: sd}
	chi2, cells, last := 0.0, 0, 0.0
	for i := range observed {
		to := 1.0
		if i <= bins {
			to = law.CDF(low + float64(i)*width)
		}
		expected := (to - last) * float64(n)
		last = to
		if expected >= 5 {
			cells++
			chi2 += (observed[i] - expected) * (observed[i] - expected) / expected
		}
	}
	require.Greater(t, cells, 4)
	require.Greater(t, distuv.ChiSquared{K: float64(cells - 1)}.Survival(chi2), 1e-9)
}

func TestSanitizerDefaultsLookAtPublicNumbersOnly(t *testing.T) {
	for _, c := range []struct {
		m       Mechanism
		queries int
	}{{confident(200, 150, 40), 640}, {gnmax(40), 640}, {gnmax(40), 10}, {gnmax(20), 1000}, {gnmax(400), 100}} {
		s := testkit.Must(NewSanitizer(SanitizerConfig{Mechanism: c.m, Queries: c.queries, Teachers: 250, Classes: 10, Delta: 1e-5, Margin: 2}))
		got := s.Config()
		t.Logf("%+v x %d: order %.2f beta %.4f sigma %.3f, costs %.4f of %.4f", c.m, c.queries, got.Order, got.Beta, got.Sigma, s.cost, s.worst)
		require.Greater(t, got.Order, 1.0)
		require.Less(t, s.cost, s.worst/9+0.02)
		require.Equal(t, got, testkit.Must(NewSanitizer(got)).Config(), "what was chosen is taken as it is")
	}
}

func TestSanitizerRefusesBadInput(t *testing.T) {
	good := smallSanitizer(t).Config()
	for name, change := range map[string]func(c *SanitizerConfig){
		"Sigma":         func(c *SanitizerConfig) { c.Mechanism = gnmax(0) },
		"LNMax":         func(c *SanitizerConfig) { c.Mechanism = lnmax(20) },
		"Queries":       func(c *SanitizerConfig) { c.Queries = 0 },
		"Queries must":  func(c *SanitizerConfig) { c.Queries = maxTallies + 1 },
		"Teachers":      func(c *SanitizerConfig) { c.Teachers = 0 },
		"Classes":       func(c *SanitizerConfig) { c.Classes = 1 },
		"Delta":         func(c *SanitizerConfig) { c.Delta = 0 },
		"Order":         func(c *SanitizerConfig) { c.Order = 1 },
		"Order NaN":     func(c *SanitizerConfig) { c.Order = math.NaN() },
		"Beta":          func(c *SanitizerConfig) { c.Beta = 1e-6 },
		"infinite cost": func(c *SanitizerConfig) { c.Beta = 1 },
		"Sigma -1":      func(c *SanitizerConfig) { c.Sigma = -1 },
		"Sigma +Inf":    func(c *SanitizerConfig) { c.Sigma = math.Inf(1) },
		"Margin":        func(c *SanitizerConfig) { c.Margin = -1 },
		"Grid":          func(c *SanitizerConfig) { c.Grid = 0.3 },
		"Grid 2":        func(c *SanitizerConfig) { c.Grid = 2 },
		"noise of":      func(c *SanitizerConfig) { c.Mechanism = gnmax(1e100) },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := good
			change(&cfg)
			require.ErrorContains(t, testkit.Err(NewSanitizer(cfg)), name)
		})
	}
	s := smallSanitizer(t)
	for name, rows := range map[string][][]int{
		"no queries":              nil,
		"2 queries of 3 classes":  smallVotes[:2],
		"3 queries of 2 classes":  {{1, 2}, {1, 2}, {1, 2}},
		"has more votes":          {{20, 1, 0}, {1, 2, 3}, {1, 2, 3}},
		"query 1 has 2 classes":   {{20, 0, 0}, {1, 2}, {1, 2, 3}},
		"4 queries of 3 classes":  append([][]int{{1, 1, 1}}, smallVotes...),
		"at least 2 classes, not": {{20}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := publish(t, s, rng.SeedKey(1), rows)
			require.ErrorContains(t, err, name)
			require.Zero(t, out)
		})
	}
	r := testkit.Must(book(t, 100).Reserve(s.Event()))
	require.ErrorIs(t, testkit.Err(s.Release(testkit.Ended(), r, rng.SeedKey(1), histograms(smallVotes))), context.Canceled)
}

func TestASeedIsRefusedWhereNoiseIsSecret(t *testing.T) {
	s := smallSanitizer(t)
	l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 100, Delta: 1e-5, Noise: ledger.SecretNoise}))
	r := testkit.Must(l.Reserve(s.Event()))
	released, err := s.Release(context.Background(), r, rng.SeedKey(1), histograms(smallVotes))
	require.ErrorIs(t, err, ledger.ErrUnfit)
	require.Zero(t, released)
}

// A bound in terms of q is used with an upper bound of q, so it must grow with q wherever it is given at all.
func TestFlipBoundGrowsWithTheProbability(t *testing.T) {
	given := 0
	for _, sigma := range []float64{2, 5, 10, 40, 150} {
		for _, a := range []float64{1.5, 2, 5, 17, 40} {
			last := 0.0
			for logQ := -60.0; logQ < 0; logQ += 0.01 {
				bound, ok := flipBound(logQ, sigma, a)
				if !ok {
					continue
				}
				given++
				require.GreaterOrEqual(t, bound, last*(1-1e-9), "sigma %v, order %v, log q %v", sigma, a, logQ)
				last = bound
			}
		}
	}
	require.Greater(t, given, 10000)
}

// Queries with the same votes change together: twice the queries are twice the
// sensitivity, of the threshold test too.
func TestSensitivityCountsEveryQuery(t *testing.T) {
	argmax := 0.0
	for _, m := range []Mechanism{gnmax(4), confident(8, 2, 4)} {
		l := testkit.Must(newSensitivity(m, 3, 3))
		profile := func(times int) []float64 {
			var rows [][]int
			for range times {
				rows = append(rows, smallVotes...)
			}
			groups, _ := testkit.Must2(collect(context.Background(), histograms(rows), Options{}))
			require.Len(t, groups, len(smallVotes), "equal votes are one group")
			return testkit.Must(l.worst(context.Background(), groups, 20))
		}
		once, thrice := profile(1), profile(3)
		for d := range once {
			require.InDelta(t, 3*once[d], thrice[d], 1e-12*(1+once[d]), "%T at distance %d", m, d)
		}
		require.Positive(t, once[0])
		if m.Tested {
			require.Greater(t, once[0], argmax, "the test is sensitive too")
		}
		argmax = once[0]
	}
}

// What leaves is rounded up to the grid: on a coarse one it is above the noisy value
// by half a unit on average, and not below by that.
func TestReleaseIsRoundedUp(t *testing.T) {
	const seeds = 400
	s := testkit.Must(NewSanitizer(SanitizerConfig{
		Mechanism: gnmax(2), Queries: 60, Teachers: 20, Classes: 3, Delta: 1e-5,
		Order: 4, Beta: 0.05, Sigma: 0.05, Grid: 0.5,
	}))
	var rows [][]int
	for range 20 {
		rows = append(rows, smallVotes...)
	}
	groups, _ := testkit.Must2(collect(context.Background(), histograms(rows), Options{}))
	mean, sd := testkit.Must2(s.noise(context.Background(), groups))
	require.Greater(t, mean, 5*sd+1, "far from 0")
	require.Less(t, mean, s.worst-5*sd-1, "and from the worst case")
	total := 0.0
	for seed := range uint64(seeds) {
		charge := testkit.Must(book(t, 1e6).Reserve(s.Event()))
		total += testkit.Must(s.Release(t.Context(), charge, rng.SeedKey(seed), histograms(rows))).Cost - mean
	}
	// six standard deviations of the mean: false alarm below 1e-8
	require.InDelta(t, s.cfg.Grid/2, total/seeds, 6*math.Sqrt((sd*sd+s.cfg.Grid*s.cfg.Grid/12)/seeds))
	require.Less(t, 6*math.Sqrt((sd*sd+s.cfg.Grid*s.cfg.Grid/12)/seeds), s.cfg.Grid/2, "so a mean of -1/2 is found")
}

// TestSmoothSensitivityOfAReleaseIsSmooth: in a small world, between all neighbours, costs differ by at
// most the smooth sensitivity of either, and that by at most the factor that is charged; so the
// divergence of the two laws is at most the charge. Without the discount for distance it is not smooth.
func TestSmoothSensitivityOfAReleaseIsSmooth(t *testing.T) {
	most := 0.0
	for _, m := range []Mechanism{gnmax(0.8), gnmax(1.5), gnmax(4), confident(5, 3, 1.5)} {
		s := testkit.Must(NewSanitizer(SanitizerConfig{Mechanism: m, Queries: 1, Teachers: 7, Classes: 3, Delta: 1e-5, Order: 3, Beta: 0.1, Sigma: 5, Margin: 1}))
		type law struct{ mean, sd, smooth float64 }
		all := testkit.Histograms(7, 3) // the rest abstains
		laws := make([]law, len(all))
		for i, h := range all {
			mean, sd := testkit.Must2(s.noise(context.Background(), []group{{tally: newTally(h), queries: 1}}))
			laws[i] = law{mean, sd, sd / 5}
		}
		charge := testkit.Must(releaseCost(s.event(), 3))
		ratio, closest := 0.0, 0.0
		for i, edges := range testkit.Neighbours(all, true) {
			for _, j := range edges {
				p, q := laws[i], laws[j]
				require.LessOrEqual(t, math.Abs((p.mean-p.sd)-(q.mean-q.sd)), math.Min(p.smooth, q.smooth), "%v %v", all[i], all[j])
				ratio = math.Max(ratio, p.sd/q.sd)
				d := gaussianDivergence(p.mean, p.sd, q.mean, q.sd, 3)
				require.LessOrEqual(t, d, charge, "%v %v", all[i], all[j])
				closest = math.Max(closest, d/charge)
			}
		}
		require.LessOrEqual(t, ratio, math.Exp(0.1))
		t.Logf("%+v: ratio of neighbours e^%.4f, divergence up to %.3f of the charge", m, math.Log(ratio), closest)
		most = math.Max(most, closest)
	}
	require.Greater(t, most, 0.3, "the charge is not far above")
}

// gaussianDivergence is the divergence of order a of N(m, s^2) from N(n, r^2).
func gaussianDivergence(m, s, n, r, a float64) float64 {
	v := a*r*r + (1-a)*s*s
	if v <= 0 {
		return math.Inf(1)
	}
	return a*(m-n)*(m-n)/(2*v) + math.Log(r/s) + math.Log(r*r/v)/(2*(a-1))
}

// TestSmoothSensitivityOfTwoQueriesIsSmooth: a teacher moves in both at once.
func TestSmoothSensitivityOfTwoQueriesIsSmooth(t *testing.T) {
	const teachers = 5
	s := testkit.Must(NewSanitizer(SanitizerConfig{Mechanism: gnmax(0.9), Queries: 2, Teachers: teachers, Classes: 2, Delta: 1e-5, Order: 3, Beta: 0.1, Sigma: 5, Margin: 1}))
	charge := testkit.Must(releaseCost(s.event(), 3))
	all := testkit.Histograms(teachers, 2)
	edges := testkit.Neighbours(all, true)
	near := func(i, j int) bool { return i == j || slices.Contains(edges[i], j) } // one teacher votes otherwise, or abstains
	type law struct{ mean, sd float64 }
	laws := map[[2]int]law{}
	for i, p := range all {
		for j, q := range all {
			mean, sd, err := s.noise(context.Background(), []group{{tally: newTally(p), queries: 1}, {tally: newTally(q), queries: 1}})
			require.NoError(t, err)
			laws[[2]int{i, j}] = law{mean, sd}
		}
	}
	closest := 0.0
	for x, p := range laws {
		for y, q := range laws {
			if near(x[0], y[0]) && near(x[1], y[1]) {
				d := gaussianDivergence(p.mean, p.sd, q.mean, q.sd, 3)
				require.LessOrEqual(t, d, charge, "%v %v", x, y)
				closest = math.Max(closest, d/charge)
			}
		}
	}
	t.Logf("divergence up to %.3f of the charge", closest)
	require.Greater(t, closest, 0.1)
}

// Noise scaled by the local sensitivity alone differs between neighbours by more than is charged.
func TestLocalSensitivityIsNotSmooth(t *testing.T) {
	l := testkit.Must(newLocalCost(1.5, 3, 3))
	local := func(counts ...int) float64 {
		profile := make([]float64, 1)
		l.cellProfile(profile, newTally(counts), 1)
		return profile[0]
	}
	require.Greater(t, local(11, 1, 0)/local(12, 0, 0), math.Exp(0.1))
}
