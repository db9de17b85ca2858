package accountant

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/testkit"
)

// knowledge is an example of an event and what it claims to know. An event that is added needs a line here.
type knowledge struct {
	event  Event
	claims string // of curve, sampled, guarantee, rho, group, pair, attained; see holds
}

func knownEvents() []knowledge {
	inner := Gaussian{2}
	return []knowledge{
		{Gaussian{2}, "curve sampled rho group pair attained"},
		{Laplace{2}, "curve sampled guarantee group pair attained"},
		{DiscreteGaussian{2, 1}, "curve sampled rho group pair attained"},
		{DiscreteLaplace{2, 3}, "curve sampled guarantee group pair attained"},
		{ExponentialMechanism{0.5}, "curve guarantee rho group pair attained"},
		{PureDP{0.5}, "curve sampled guarantee pair attained"},
		{RandomizedResponse{0.5}, "curve sampled guarantee pair attained"},
		{KaryResponse{0.5, 4}, "curve guarantee pair attained"},
		{ZCDP{0.1}, "curve rho group"},
		{GNMax{Sigma: 3}, "curve sampled rho group pair attained"},
		{GNMax{Sigma: 3, Discrete: true}, "curve sampled rho group pair attained"},
		{Threshold{Sigma: 3}, "curve sampled rho group pair attained"},
		{Threshold{Sigma: 3, Discrete: true}, "curve sampled rho group pair attained"},
		{LNMax{Scale: 3}, "curve guarantee rho pair attained"},
		{LNMax{Scale: 3, Discrete: true}, "curve guarantee rho pair attained"},
		{GNSS{0.01, 3, 1}, "curve"},
		{MStab{0.5, 20}, "curve guarantee pair"},
		{AboveThreshold{0.5, 0.5, 1}, "curve guarantee group pair"},
		{StableSVT{4, 9, 60, 2}, "curve guarantee pair"},
		{PoissonSampled{0.1, inner}, "curve group pair attained"},
		{SampledWithoutReplacement{10, 100, inner}, "curve pair attained"},
		{TruncatedPoisson{0.1, 50, 100, inner}, ""},
		{RandomAllocation{1, 10, inner}, "curve pair attained"},
		{RandomAllocation{3, 10, inner}, "curve pair attained"},
		{BallsInBins{10, 3, inner}, ""},
		{BandedMatrix{4, 10, 0.1, 2}, ""},
		{Selection{1, 0.1, inner}, "group"},
		{PoissonSelection{5, inner}, "group"},
		{Group{2, inner}, "group"},
		{Composed{[]Event{inner, Laplace{3}}}, "group"},
		{Repeated{inner, 3}, "group"},
		{WithFailure{PureDP{0.5}, 1e-9}, "guarantee"},
		{NonPrivate{}, "guarantee group pair attained"},
	}
}

// holds lists what an event in fact knows. Its answers are checked elsewhere.
func holds(t *testing.T, e Event) string {
	var out []string
	note := func(what string, known bool) {
		if known {
			out = append(out, what)
		}
	}
	note("curve", !math.IsInf(curveOf(e)(2), 1))
	noise, _ := sampledAs(e)
	note("sampled", noise != nil)
	_, ok := guaranteeOf(e)
	note("guarantee", ok)
	_, ok = e.(concentrated)
	note("rho", ok)
	if rule, ok := e.(groupable); ok {
		note("group", testkit.Must(rule.group(2)) != nil)
	}
	var s, below pld.Sum
	err := addPairs(&s, e, 3)
	note("pair", err == nil)
	if err != nil {
		require.ErrorIs(t, err, ErrUnsupportedEvent)
		require.Equal(t, pld.Sum{}, s)
	}
	dominating := addAttained(&below, e, 3)
	note("attained", dominating || !reflect.DeepEqual(below, pld.Sum{}))
	if dominating {
		require.NoError(t, err, "%T attains a pair it does not have", e)
		require.Equal(t, pld.Sum{}, below)
	}
	return strings.Join(out, " ")
}

func TestEventsKnowWhatTheyClaim(t *testing.T) {
	seen := make(map[string]bool)
	for _, k := range knownEvents() {
		name := typeName(k.event)
		seen[name] = true
		require.NoError(t, Validate(k.event), name)
		assert.Equal(t, k.claims, holds(t, k.event), "%#v", k.event)
		// JSON and back
		data := testkit.Must(MarshalEvent(k.event))
		assert.Contains(t, string(data), `{"type":"`+name+`"`)
		assert.Equal(t, k.event, testkit.Must(UnmarshalEvent(data)))
		// words
		show := func(float64) string { return "#" }
		for _, p := range Describe(Repeated{k.event, 3}, show, show) {
			assert.NotEmpty(t, p.Mechanism, name)
			assert.NotContains(t, p.Mechanism+p.Parameters, "%!", name)
			assert.Zero(t, p.Count%3, name)
		}
		mechanism := k.event.row().mechanism
		_, composed := k.event.(Composed)
		_, repeated := k.event.(Repeated)
		assert.Equal(t, composed || repeated, mechanism == "", "words of %s", name)
		// every accountant answers or refuses with a reason
		for _, rel := range []Relation{AddRemove, ReplaceOne} {
			p := newPLD(t, PLDConfig{Relation: rel})
			for _, a := range []Accountant{newRDP(t, RDPConfig{Relation: rel}), p} {
				if err := a.Compose(k.event, 2); err != nil {
					var refused *UnsupportedEventError
					require.ErrorAs(t, err, &refused, name)
					require.NotEmpty(t, refused.Reason)
					continue
				}
				b := epsAt(t, a, 1e-5)
				require.LessOrEqual(t, b.Lower, b.Upper, name)
			}
		}
	}
	for _, e := range allEvents() {
		assert.True(t, seen[typeName(e)], "%T is missing in knownEvents", e)
	}
	assert.Len(t, seen, len(allEvents()))
}

// Every exported event type of the package is one that JSON knows.
func TestEveryEventIsRegistered(t *testing.T) {
	known := make(map[string]bool)
	for _, e := range allEvents() {
		known[strings.TrimPrefix(fmt.Sprintf("%T", e), "accountant.")] = true
	}
	names := testkit.Must(filepath.Glob("*.go"))
	found := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, d := range testkit.Must(parser.ParseFile(token.NewFileSet(), name, nil, 0)).Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != "row" || f.Recv == nil {
				continue
			}
			if name := f.Recv.List[0].Type.(*ast.Ident).Name; ast.IsExported(name) {
				found++
				assert.True(t, known[name], "%s is an event, but allEvents does not list it", name)
			}
		}
	}
	assert.Equal(t, len(known), found)
}

// TestEveryEventIsDocumented checks the table of the documentation, and the list of types that the help of
// the command prints.
func TestEveryEventIsDocumented(t *testing.T) {
	page := testkit.Must(os.ReadFile(filepath.Join("..", "docs", "accounting.md")))
	types := EventTypes()
	for i, e := range allEvents() {
		assert.Contains(t, string(page), "`"+typeName(e)+"`")
		assert.True(t, types[i] == typeName(e) || strings.HasPrefix(types[i], typeName(e)+" ("), types[i])
	}
	assert.Contains(t, types, "gnmax (sigma, [discrete])")
	assert.Contains(t, types, "non_private")
}

// news is an event of which only a dominating pair is known.
type news struct{}

func (news) row() row                { return row{name: "news", mechanism: "news"} }
func (news) pair() (pld.Pair, error) { return pld.Response(1), nil }

// Nobody said that the pair is attained, so its cost is an upper bound only; and what the event does not
// know is refused.
func TestUnsaidIsRefused(t *testing.T) {
	p := newPLD(t, PLDConfig{Relation: AddRemove}, Repeated{news{}, 20})
	b := epsAt(t, p, 1e-5)
	assert.Positive(t, b.Floor)
	assert.GreaterOrEqual(t, b.Upper, b.Floor)
	assert.Zero(t, b.Lower)
	d := deltaAt(t, p, 0.1)
	assert.Positive(t, d.Floor)
	assert.Zero(t, d.Lower)

	assert.Equal(t, math.Inf(1), epsilonOf(t, RDPConfig{}, 1e-5, news{}).Upper, "no curve")
	assert.True(t, math.IsNaN(PropertiesOf(news{}).Rho))
	for _, e := range []Event{PoissonSampled{0.5, news{}}, Group{2, news{}}} {
		err := newRDP(t, RDPConfig{}).Compose(e, 1)
		assert.True(t, errors.Is(err, ErrUnsupportedEvent), "%T: %v", e, err)
	}
}

// A selection costs what its runs cost under the relation of the account.
func TestASelectionHasTheRelationOfItsAccount(t *testing.T) {
	e := SampledWithoutReplacement{10, 1000, Gaussian{2}}
	for _, s := range []Event{Selection{1, 0.01, e}, PoissonSelection{20, e}} {
		for _, order := range []float64{2, 8, 30} {
			inner, _, err := Divergence(ReplaceOne, order, e)
			require.NoError(t, err)
			outer, _, err := Divergence(AddRemove, order, e)
			require.NoError(t, err)
			require.NotEqual(t, inner, outer)
			replaced, _, err := Divergence(ReplaceOne, order, s)
			require.NoError(t, err)
			added, _, err := Divergence(AddRemove, order, s)
			require.NoError(t, err)
			require.NotEqual(t, replaced, added)
			require.Equal(t, inner < outer, replaced < added, "%v at %v", s, order)
		}
	}
}

// The theorem about groups of a sample is for orders from 2; below, the divergence at 2 counts.
func TestAGroupOfASampleBelowOrderTwo(t *testing.T) {
	at := groupedSample{0.01, 2, 4}.curve()
	require.Equal(t, at(2), at(1.1))
	require.Greater(t, at(2.5), at(2))
}

// normalDivergence is the divergence of order a of N(0, 1) from N(mean, sd^2), by quadrature.
func normalDivergence(a, mean, sd float64) float64 {
	log := func(x float64) float64 { // of p^a q^(1-a)
		z := (x - mean) / sd
		return -a*x*x/2 - (1-a)*(z*z/2+math.Log(sd)) - math.Log(2*math.Pi)/2
	}
	c := a + (1-a)/(sd*sd) // the integrand is a normal density of precision c around peak
	peak := (1 - a) * mean / (sd * sd) / c
	top := log(peak)
	width := 12 / math.Sqrt(c)
	return (math.Log(simpson(func(x float64) float64 { return math.Exp(log(x) - top) }, peak-width, peak+width)) + top) / (a - 1)
}

// The curve is never below the divergence of two releases that smooth sensitivity allows, whichever of the
// two bounds is the larger, and reached by the worst.
func TestGNSSAgainstQuadrature(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(23, 1))
	closest := 0.0
	for i := range 200 {
		if skipped(i, 2) {
			continue
		}
		a := 1 + math.Exp(4*rnd.Float64()-1)
		e := GNSS{Beta: rnd.Float64() * 0.49 / a, Sigma: math.Exp(3 * rnd.Float64()), Margin: 3 * rnd.Float64() * float64(rnd.IntN(2))}
		claim := e.curve()(a)
		if math.IsInf(claim, 1) {
			continue
		}
		for _, t0 := range []float64{-e.Beta, -e.Beta / 2, 0, e.Beta / 2, e.Beta} {
			ratio := math.Exp(t0) // of the two smooth bounds; noise in units of the first
			shift := math.Min(1, ratio)/e.Sigma + e.Margin*math.Abs(1-ratio)
			truth := normalDivergence(a, shift, ratio)
			require.LessOrEqual(t, truth, claim*(1+1e-7)+1e-9, "%+v order %v ratio e^%v", e, a, t0)
			closest = math.Max(closest, truth/claim)
		}
	}
	assert.InDelta(t, 1, closest, 1e-6)
}

// The cost printed in the paper, at the parameters its code chooses, is below the divergence of two laws
// that smooth sensitivity allows.
func TestPrintedGNSSCostIsNoBound(t *testing.T) {
	const a, beta, sigma = 17, .02824, 7.703
	printed := a*math.Exp(2*beta)/(sigma*sigma) + (beta*a-math.Log(1-2*a*beta)/2)/(a-1)
	truth := normalDivergence(a, math.Exp(-beta)/sigma, math.Exp(-beta))
	assert.InDelta(t, 0.434, printed, 1e-3)
	assert.Greater(t, truth, 4*printed)
	assert.InEpsilon(t, truth, GNSS{beta, sigma, 0}.curve()(a), 1e-7)
}
