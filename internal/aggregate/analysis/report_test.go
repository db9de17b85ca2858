package analysis

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/testkit"
)

// readNumbers reads a file of comma-separated numbers.
func readNumbers(t testing.TB, path string) [][]float64 {
	f := testkit.Must(os.Open(path))
	defer f.Close()
	var rows [][]float64
	for s := bufio.NewScanner(f); s.Scan(); {
		var row []float64
		for _, cell := range strings.Split(s.Text(), ",") {
			row = append(row, testkit.Must(strconv.ParseFloat(cell, 64)))
		}
		rows = append(rows, row)
	}
	return rows
}

func tallies(rows [][]float64) [][]int {
	out := make([][]int, len(rows))
	for i, row := range rows {
		for _, v := range row {
			out[i] = append(out[i], int(v))
		}
	}
	return out
}

func histograms(rows [][]int) iter.Seq2[aggregate.Histogram, error] {
	return func(yield func(aggregate.Histogram, error) bool) {
		for _, counts := range rows {
			if !yield(aggregate.NewHistogram(counts)) {
				return
			}
		}
	}
}

type totalsCase struct {
	EpsClassic    float64   `json:"eps_classic"`
	OrderClassic  float64   `json:"order_classic"`
	EpsImproved   float64   `json:"eps_improved"`
	OrderImproved float64   `json:"order_improved"`
	RDPAt         []float64 `json:"rdp_at"`
}

type endToEndCase struct {
	Votes, Mechanism, Queries string
	NumQueries                int `json:"num_queries"`
	Lam, Sigma                float64
	T, Sigma1, Sigma2         float64
	Delta                     float64
	ExpectedAnswered          float64     `json:"expected_answered"`
	DataDependent             *totalsCase `json:"data_dependent"`
	DataIndependent           *totalsCase `json:"data_independent"`
	WorstCase                 *totalsCase `json:"worst_case_all_answered"`
	EpsMoments                float64     `json:"eps_data_dependent"`
	EpsMomentsIndependent     float64     `json:"eps_data_independent"`
	Gamma                     float64
	Moments                   int
	Smooth                    *struct {
		Order, Beta float64
		EpsBefore   float64   `json:"eps_before"`
		Smooth      float64   `json:"smooth_sensitivity"`
		SigmaSS     float64   `json:"sigma_ss"`
		NoiseStd    float64   `json:"noise_std"`
		ReleaseRDP  float64   `json:"release_rdp"`
		EpsAfter    float64   `json:"eps_after"`
		LocalSum    []float64 `json:"local_sens_sum"`
	} `json:"smooth_sensitivity"`
}

func requireEpsilon(t *testing.T, want *totalsCase, got Epsilon, c endToEndCase) {
	t.Helper()
	if want == nil {
		return
	}
	relative(t, want.EpsClassic, got.Classic.Reveal(), 1e-9, "classic: %s %s", c.Mechanism, c.Queries)
	relative(t, want.EpsImproved, got.Improved.Reveal(), 1e-9, "improved: %s %s", c.Mechanism, c.Queries)
	relative(t, want.OrderClassic, got.ClassicOrder, 1e-9, "classic order: %s %s", c.Mechanism, c.Queries)
	relative(t, want.OrderImproved, got.ImprovedOrder, 1e-9, "improved order: %s %s", c.Mechanism, c.Queries)
}

func TestEndToEnd(t *testing.T) {
	file := golden[struct {
		Orders []float64
		Cases  []endToEndCase
	}](t, "pate/end_to_end.json")
	counts := tallies(readNumbers(t, filepath.Join("testdata", "pate", "counts.csv")))
	for _, c := range file.Cases {
		t.Run(fmt.Sprintf("%s/%s/%v", c.Mechanism, c.Queries, c.Sigma+c.Sigma2+c.Lam+c.Gamma), func(t *testing.T) {
			var first, last int
			testkit.Must(fmt.Sscanf(c.Queries, "rows %d..%d", &first, &last))
			if testkit.Race && last > 99 {
				t.Skip("one goroutine: nothing to learn under the race detector")
			}
			rows := counts[first : last+1]
			require.Len(t, rows, c.NumQueries)
			var m Mechanism
			switch c.Mechanism {
			case "gnmax":
				m = gnmax(c.Sigma)
			case "confident_gnmax":
				m = confident(c.T, c.Sigma1, c.Sigma2)
			case "lnmax_rdp_2018":
				m = lnmax(c.Lam)
			case "lnmax_moments_2017":
				moments(t, c, rows)
				return
			default:
				require.Fail(t, "unknown mechanism", c.Mechanism)
			}
			r := testkit.Must(Analyze(context.Background(), m, histograms(rows), Options{Delta: c.Delta, Orders: file.Orders}))
			require.Equal(t, c.NumQueries, r.Queries)
			costs := r.All
			if r.Expected != nil {
				costs = r.Expected.Costs
				relative(t, c.ExpectedAnswered, r.Expected.Answered.Reveal(), 1e-9, "expected answers")
				requireEpsilon(t, c.WorstCase, r.All.Independent, c)
				require.LessOrEqual(t, r.Expected.DataDependent.Improved.Reveal(), r.All.DataDependent.Improved.Reveal())
			}
			requireEpsilon(t, c.DataDependent, costs.DataDependent, c)
			requireEpsilon(t, c.DataIndependent, costs.Independent, c)
			require.LessOrEqual(t, r.Exact.Forward.Improved.Reveal(), r.All.DataDependent.Improved.Reveal())
			require.LessOrEqual(t, r.Exact.Forward.Improved.Reveal(), r.Exact.Both.Improved.Reveal())
			t.Logf("all answered: %.4f independent, %.4f data-dependent; exact %.4f forward, %.4f both",
				r.All.Independent.Improved.Reveal(), r.All.DataDependent.Improved.Reveal(), r.Exact.Forward.Improved.Reveal(), r.Exact.Both.Improved.Reveal())
			if c.Smooth == nil {
				t.Log(r.Sanitized, r.Unsanitized)
				return
			}
			require.NoError(t, r.Unsanitized)
			require.NoError(t, r.Sanitized.Unpublished)
			p := r.Sanitized.Published
			t.Logf("published %+v", *p)
			t.Logf("valid %+v", r.Sanitized.Valid)
			relative(t, c.Smooth.Order, p.Order, 1e-12, "order")
			relative(t, c.Smooth.Beta, p.GNSS.Beta, 1e-9, "beta")
			relative(t, c.Smooth.EpsBefore, p.Before.Reveal(), 1e-9, "before")
			relative(t, c.Smooth.Smooth, p.SmoothSensitivity.Reveal(), 1e-8, "smooth sensitivity")
			relative(t, c.Smooth.SigmaSS, p.GNSS.Sigma, 1e-8, "sigma_ss")
			relative(t, c.Smooth.NoiseStd, p.SD.Reveal(), 1e-8, "noise")
			relative(t, c.Smooth.ReleaseRDP, p.Cost.Reveal(), 1e-8, "release")
			relative(t, c.Smooth.EpsAfter, p.Mean.Reveal(), 1e-9, "after")
		})
	}
}

// moments is the moments accountant of 2017 on LNMax: epsilon is the least of
// (sum of log-moments - log delta)/l over the moments l.
func moments(t *testing.T, c endToEndCase, rows [][]int) {
	best, bestWorst := math.Inf(1), math.Inf(1)
	for l := 1.0; l <= float64(c.Moments); l++ {
		sum, worst := 0.0, 0.0
		for _, counts := range rows {
			sum += l * lnmaxRDP(newTally(counts).logFlipLaplace(1/c.Gamma), 1/c.Gamma, l+1)
			worst += l * lnmaxWorst(1/c.Gamma, l+1)
		}
		best = math.Min(best, (sum-math.Log(c.Delta))/l)
		// The paper's accountant had no cap by the pure epsilon here.
		bestWorst = math.Min(bestWorst, (worst-math.Log(c.Delta))/l)
	}
	relative(t, c.EpsMoments, best, 1e-9, "data-dependent")
	relative(t, c.EpsMomentsIndependent, bestWorst, 1e-9, "data-independent")
}

func TestNumbersSayThatTheyArePrivate(t *testing.T) {
	n := Number{1.25}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%g"} {
		require.Equal(t, "1.25 (private)", fmt.Sprintf(verb, n))
	}
	require.Contains(t, fmt.Sprint(Epsilon{Improved: n}), "1.25 (private)")
	require.JSONEq(t, `{"private":true,"value":1.25}`, string(testkit.Must(json.Marshal(n))))
	for want, m := range map[string]Mechanism{`{"Sigma":4}`: gnmax(4), `{"Threshold":3,"Sigma1":2,"Sigma2":4}`: confident(3, 2, 4), `{"Scale":4}`: lnmax(4)} {
		require.Equal(t, want, string(testkit.Must(json.Marshal(m))), "releases of before")
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "epsilon", n)
	require.Contains(t, log.String(), "epsilon.private=true")
	_, isEvent := any(n).(accountant.Event)
	require.False(t, isEvent)
	_, isEvent = any(&Report{}).(accountant.Event)
	require.False(t, isEvent)
}

func TestAnalyzeRefusesBadInput(t *testing.T) {
	good := [][]int{{3, 1}, {2, 2}}
	valid := Options{Delta: 1e-5}
	for name, c := range map[string]struct {
		m    Mechanism
		rows [][]int
		o    Options
	}{
		"no sigma":        {gnmax(0), good, valid},
		"NaN sigma":       {gnmax(math.NaN()), good, valid},
		"infinite scale":  {lnmax(math.Inf(1)), good, valid},
		"NaN threshold":   {confident(math.NaN(), 1, 1), good, valid},
		"no delta":        {gnmax(1), good, Options{}},
		"NaN delta":       {gnmax(1), good, Options{Delta: math.NaN()}},
		"delta of 1":      {gnmax(1), good, Options{Delta: 1}},
		"order of 1":      {gnmax(1), good, Options{Delta: 1e-5, Orders: []float64{2, 1}}},
		"infinite order":  {gnmax(1), good, Options{Delta: 1e-5, Orders: []float64{math.Inf(1)}}},
		"no queries":      {gnmax(1), nil, valid},
		"one class":       {gnmax(1), [][]int{{1}}, valid},
		"ragged":          {gnmax(1), [][]int{{1, 2}, {1, 2, 3}}, valid},
		"few answers":     {confident(1, 1, 1), good, Options{Delta: 1e-5, Answered: []bool{true}}},
		"many answers":    {confident(1, 1, 1), good, Options{Delta: 1e-5, Answered: make([]bool, 3)}},
		"fewer teachers":  {gnmax(1), good, Options{Delta: 1e-5, Teachers: 3}},
		"too many voters": {gnmax(1), good, Options{Delta: 1e-5, Teachers: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Analyze(context.Background(), c.m, histograms(c.rows), c.o)
			require.ErrorContains(t, err, "a") // says something
			require.Nil(t, r)
		})
	}
	r, err := Analyze(testkit.Ended(), gnmax(1), histograms(good), valid)
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, r)
}

// TestRealisedCostIsKeptApart: the costs of what was answered lie between those of
// answering nothing and everything, and do not change the other numbers.
func TestRealisedCostIsKeptApart(t *testing.T) {
	rows := tallies(readNumbers(t, filepath.Join("testdata", "pate", "counts.csv")))[:40]
	m, o := confident(200, 150, 40), Options{Delta: 1e-5}
	answered := testkit.Series(len(rows), func(i int) bool { return i%2 == 0 })
	plain := testkit.Must(Analyze(context.Background(), m, histograms(rows), o))
	require.Nil(t, plain.Realised)
	o.Answered = answered
	half := testkit.Must(Analyze(context.Background(), m, histograms(rows), o))
	require.Equal(t, plain.All, half.All)
	require.Equal(t, plain.Expected, half.Expected)
	require.Equal(t, 20, half.Realised.Answered)
	require.Less(t, half.Realised.DataDependent.Improved.Reveal(), half.All.DataDependent.Improved.Reveal())
	o.Answered = make([]bool, len(rows))
	none := testkit.Must(Analyze(context.Background(), m, histograms(rows), o))
	require.Less(t, none.Realised.DataDependent.Improved.Reveal(), half.Realised.DataDependent.Improved.Reveal())
	o.Answered = slices.Repeat([]bool{true}, len(rows))
	all := testkit.Must(Analyze(context.Background(), m, histograms(rows), o))
	require.Equal(t, all.All.DataDependent, all.Realised.DataDependent)
}
