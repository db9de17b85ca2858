package regime

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/internal/testkit"
)

var long = flag.Bool("long", false, "play all of what tests take a sample of")

// referenceOrders is the grid of the reference table.
func referenceOrders() []float64 {
	var orders []float64
	for i := 11; i <= 109; i++ {
		orders = append(orders, float64(i)/10)
	}
	for a := 11.0; a <= 64; a++ {
		orders = append(orders, a)
	}
	return append(orders, 80, 96, 128, 192, 256, 384, 512, 768, 1024, math.Inf(1))
}

// TestRegimeTable reproduces the reference: gaps of noisy argmax to 1e-8, to which
// noise is calibrated, never below; gaps of stability methods as said there.
func TestRegimeTable(t *testing.T) {
	var ref struct{ Entries []map[string]float64 }
	testkit.ReadJSON(t, "testdata/regime_table.json", &ref)
	require.Len(t, ref.Entries, 16)
	cfg := accountant.AutoConfig{Relation: accountant.AddRemove, Method: accountant.ByRDP, Orders: referenceOrders()}
	for i, e := range ref.Entries {
		for j, unstable := range []int{5, 20, 100} {
			if i%3 != j || i%2 == 1 && !*long { // every column of the reference is looked at in some rows
				continue
			}
			r := Regime{Teachers: 1 << 20, Classes: 2, Queries: int(e["queries"]), Epsilon: e["eps"], Delta: e["delta"], Unstable: unstable}
			name := fmt.Sprintf("%+v", r)
			advice := testkit.Must(advise(t.Context(), r, cfg))
			require.Len(t, advice.Methods, 9)
			gap := make(map[string]float64)
			for _, m := range advice.Methods {
				gap[m.Mechanism] = m.GapNeeded
				require.LessOrEqual(t, m.Epsilon, r.Epsilon, "%s %s", name, m.Mechanism)
			}
			require.InEpsilon(t, e["gnmax"], gap["gnmax"], 1e-8, name)
			require.GreaterOrEqual(t, gap["gnmax"], e["gnmax"]*(1-1e-12), name)
			// The reference charges a eps^2/8, the accountant the exact worst case of
			// bounded range, which is up to a hundredth less.
			require.LessOrEqual(t, gap["exponential"], e["exponential_mechanism"]*(1+1e-8), name)
			require.Greater(t, gap["exponential"], e["exponential_mechanism"]*0.99, name)
			// The reference charges LNMax as 2/b-differential privacy and nothing more, the accountant as
			// two Laplace counts: less by up to sqrt 2. Permute-and-flip still is charged that way.
			require.Less(t, gap["lnmax"], e["lnmax"], name)
			require.Greater(t, gap["lnmax"], e["lnmax"]/math.Sqrt2*0.99, name)
			pure := testkit.Must(r.argmaxPure(t, cfg))
			require.InEpsilon(t, e["lnmax"], pure, 1e-8, name)

			// Stability methods are those that are drawn, with integer noise: their gaps
			// are whole odd numbers, and a step of the distance is two votes.
			for method, c := range map[string]struct {
				field       string
				below, over float64 // how far from the reference, in votes
			}{
				// Discrete Laplace noise is charged as pure epsilon, the reference's by the
				// slightly lower curve of continuous noise.
				stable.MStabLaplace:  {"mstab_laplace", 0, 0.003*e["mstab_laplace"] + 8},
				stable.MStabGaussian: {"mstab_gaussian", 2, 2},
				stable.SVTPrinted:    {fmt.Sprintf("svt_paper_Q%d", unstable), 0, 2},
				// One-sided: the reference has a union over all queries where one over
				// stretches is enough, and needs up to half as much again.
				stable.SVTCalibrated: {fmt.Sprintf("svt_laplace_rdp_Q%d", unstable), 0.4 * e[fmt.Sprintf("svt_laplace_rdp_Q%d", unstable)], 0},
				stable.SVT:           {fmt.Sprintf("svt_onesided_Q%d_beta_Q_over_2m", unstable), 2, 0},
			} {
				want, ok := e[c.field]
				require.True(t, ok, c.field)
				require.LessOrEqual(t, gap[method], want+c.over, "%s %s", name, method)
				require.GreaterOrEqual(t, gap[method], want-c.below, "%s %s", name, method)
			}
			// Who wins, as the reference has it.
			noisy := min(e["gnmax"], e["exponential_mechanism"])
			onesided := e[fmt.Sprintf("svt_onesided_Q%d_beta_Q_over_2m", unstable)]
			if math.Abs(noisy-onesided) > 3 {
				require.Equal(t, noisy < onesided, advice.StabilityLoses(), name)
			}
		}
	}
}

// argmaxPure returns the gap LNMax needs if it is charged as 2/b-DP alone.
func (r Regime) argmaxPure(t *testing.T, cfg accountant.AutoConfig) (float64, error) {
	r.Success = 0.95
	d := testkit.Must(mechanisms.Find("lnmax"))
	m, err := r.argmaxRegime(t.Context(), cfg, d, func(x float64) (accountant.Event, error) {
		return accountant.Repeated{Event: accountant.PureDP{Epsilon: 2 / x}, Count: int64(r.Queries)}, nil
	})
	return m.GapNeeded, err
}

func TestAdvise(t *testing.T) {
	// Few queries, few teachers: noisy argmax. Many unanimous ones: stability.
	few := testkit.Must(Advise(t.Context(), Regime{Teachers: 250, Classes: 10, Queries: 1000, Epsilon: 2, Delta: 1e-5, Gap: 190}))
	require.True(t, few.StabilityLoses())
	require.Equal(t, 50, few.Regime.Unstable)
	require.Equal(t, "gnmax", few.Winner().Mechanism)
	many := testkit.Must(Advise(t.Context(), Regime{Teachers: 1000, Classes: 10, Queries: 100_000, Epsilon: 4, Delta: 1e-6, Gap: 900, Unstable: 20}))
	require.Equal(t, stable.SVT, many.Winner().Mechanism)
	require.True(t, many.Feasible(many.Winner()))
	require.Greater(t, many.Winner().AtGap, 0.95)

	// At the gap needed, the method succeeds as often as was asked, and no more.
	renyi := claims(accountant.ByRDP)
	for i, m := range testkit.Must(advise(t.Context(), few.Regime, renyi)).Methods {
		if i%3 > 0 && !*long {
			continue
		}
		require.GreaterOrEqual(t, m.GapNeeded, few.method(m.Mechanism).GapNeeded, "the tightest accountant asks for no larger gap of %s", m.Mechanism)
		gap := int(math.Ceil(m.GapNeeded))
		again := testkit.Must(advise(t.Context(), Regime{Teachers: 10_000, Classes: 10, Queries: 1000, Epsilon: 2, Delta: 1e-5, Gap: gap}, renyi))
		below := testkit.Must(advise(t.Context(), Regime{Teachers: 10_000, Classes: 10, Queries: 1000, Epsilon: 2, Delta: 1e-5, Gap: gap - 4}, renyi))
		require.GreaterOrEqual(t, again.method(m.Mechanism).AtGap, 0.95, m.Mechanism)
		require.Less(t, below.method(m.Mechanism).AtGap, again.method(m.Mechanism).AtGap, m.Mechanism)
		if m.Mechanism != stable.SVT { // which asks for more than 95 %, not to use up its failures
			require.Less(t, below.method(m.Mechanism).AtGap, 0.95, m.Mechanism)
		}
	}

	from := testkit.Must(StabilityWinsFrom(t.Context(), few.Regime))
	r := few.Regime
	for queries, loses := range map[int]bool{from / 2: true, from: false} {
		if loses && !*long {
			continue
		}
		r.Queries = queries
		require.Equal(t, loses, testkit.Must(Advise(t.Context(), r)).StabilityLoses(), "%d queries", queries)
	}
}

func (a Advice) method(mechanism string) Method {
	return a.Methods[slices.IndexFunc(a.Methods, func(m Method) bool { return m.Mechanism == mechanism })]
}

func TestAdviseRefuses(t *testing.T) {
	good := Regime{Teachers: 10, Classes: 3, Queries: 5, Epsilon: 1, Delta: 1e-5, Gap: 2}
	testkit.Must(Advise(t.Context(), good))
	for name, change := range map[string]func(*Regime){
		"teachers": func(r *Regime) { r.Teachers = 1 }, "classes": func(r *Regime) { r.Classes = 1 }, "queries": func(r *Regime) { r.Queries = 0 },
		"epsilon": func(r *Regime) { r.Epsilon = math.NaN() }, "delta": func(r *Regime) { r.Delta = 1 }, "gap": func(r *Regime) { r.Gap = 11 },
		"unstable": func(r *Regime) { r.Unstable = 6 }, "success": func(r *Regime) { r.Success = 0.3 }, "success 1": func(r *Regime) { r.Success = 1 },
	} {
		r := good
		change(&r)
		require.Error(t, testkit.Err(Advise(t.Context(), r)), name)
		require.Error(t, testkit.Err(StabilityWinsFrom(t.Context(), r)), name)
	}
}
