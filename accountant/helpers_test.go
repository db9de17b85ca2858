package accountant

import (
	"context"
	"flag"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

var (
	long = flag.Bool("long", false, "play all of what tests take a sample of")
	seed = flag.Uint64("seed", 1, "of the random cases of -curves and -compositions")
)

// Cases returns how many random cases are played: those of the flag, or all with -long.
func Cases(flagged *int, all int) int {
	if *long {
		return max(*flagged, all)
	}
	return *flagged
}

// skipped reports whether case i is left out: all but each n-th are, unless -long plays all.
func skipped(i, n int) bool { return !*long && i%n != 0 }

// The accountants of package theorems, which imports this one: TestMain, of the external tests, hands them
// over.
var (
	NewBasic, NewOptimal, NewMoments func(Relation) (Accountant, error)
	NewDworkRoth, NewKairouzOh       func(Relation) (Accountant, error)
	NewAdvanced                      func(Relation) (Accountant, error)
	NewZCDP                          func(Relation, Conversion) (Accountant, error)
)

// composed returns an account with events in it.
func composed[A Accountant](t require.TestingT, a A, err error, events ...Event) A {
	require.NoError(t, err)
	for _, e := range events {
		require.NoError(t, a.Compose(e, 1), "%+v", e)
	}
	return a
}

// newRDP and newPLD compose under add_remove unless the configuration has a relation.
func newRDP(t require.TestingT, cfg RDPConfig, events ...Event) *RDP {
	cfg.Relation = max(cfg.Relation, AddRemove)
	r, err := NewRDP(cfg)
	return composed(t, r, err, events...)
}

func newPLD(t require.TestingT, cfg PLDConfig, events ...Event) *PLD {
	cfg.Relation = max(cfg.Relation, AddRemove)
	p, err := NewPLD(cfg)
	return composed(t, p, err, events...)
}

func newAuto(t require.TestingT, cfg AutoConfig, events ...Event) *Auto {
	cfg.Relation = max(cfg.Relation, AddRemove)
	a, err := NewAuto(cfg)
	return composed(t, a, err, events...)
}

func epsAt(t require.TestingT, a Accountant, delta float64) Bound {
	b, err := a.Epsilon(context.Background(), delta)
	require.NoError(t, err)
	return b
}

func deltaAt(t require.TestingT, a Accountant, epsilon float64) Bound {
	b, err := a.Delta(context.Background(), epsilon)
	require.NoError(t, err)
	return b
}

// rdpAt returns the divergence of events at one order, and the failure probability.
func rdpAt(t require.TestingT, order float64, events ...Event) (divergence, failure float64) {
	d, failure, err := newRDP(t, RDPConfig{}, events...).RDP([]float64{order})
	require.NoError(t, err)
	return d[0], failure
}

func epsilonOf(t require.TestingT, cfg RDPConfig, delta float64, events ...Event) Bound {
	return epsAt(t, newRDP(t, cfg, events...), delta)
}

func pldEpsilon(t require.TestingT, cfg PLDConfig, delta float64, events ...Event) Bound {
	return epsAt(t, newPLD(t, cfg, events...), delta)
}

func upperOf(t require.TestingT, a Accountant, err error, delta float64, events ...Event) float64 {
	return epsAt(t, composed(t, a, err, events...), delta).Upper
}

func sgd(q, sigma float64, steps int64) Event {
	return Repeated{PoissonSampled{q, Gaussian{sigma}}, steps}
}

// newAccounts starts one of every accountant.
func newAccounts(t require.TestingT, rel Relation) map[string]Accountant {
	out := map[string]Accountant{}
	add := func(name string, a Accountant, err error) {
		require.NoError(t, err)
		out[name] = a
	}
	out["rdp"], out["rdp classic"] = newRDP(t, RDPConfig{Relation: rel}), newRDP(t, RDPConfig{Relation: rel, Conversion: Classic})
	out["pld"] = newPLD(t, PLDConfig{Relation: rel, Gap: 0.01})
	for name, start := range map[string]func(Relation) (Accountant, error){"moments": NewMoments, "basic": NewBasic,
		"advanced dwork-roth": NewDworkRoth, "advanced kov": NewKairouzOh, "advanced": NewAdvanced, "optimal": NewOptimal} {
		a, err := start(rel)
		add(name, a, err)
	}
	for name, c := range map[string]Conversion{"zcdp": Improved, "zcdp classic": Classic} {
		a, err := NewZCDP(rel, c)
		add(name, a, err)
	}
	return out
}

// readGolden decodes one file of testdata; see testdata/README.md.
func readGolden(t testing.TB, name string, into any) {
	t.Helper()
	testkit.ReadJSON(t, filepath.Join("testdata", name), into)
}

func relErr(got, want float64) float64 {
	if got == want {
		return 0
	}
	return math.Abs(got-want) / math.Abs(want)
}

// worstOf keeps the largest relative error of a column and asserts the tolerance on each value.
type worstOf struct {
	t     *testing.T
	tol   float64
	worst map[string]float64
	count map[string]int
}

func newWorst(t *testing.T, tol float64) *worstOf {
	return &worstOf{t, tol, map[string]float64{}, map[string]int{}}
}

func (w *worstOf) check(column string, got, want float64, record any) {
	w.t.Helper()
	e := relErr(got, want)
	assert.LessOrEqual(w.t, e, w.tol, "%s: got %v, want %v: %+v", column, got, want, record)
	w.worst[column] = math.Max(w.worst[column], e)
	w.count[column]++
}

func (w *worstOf) log() {
	for column, e := range w.worst {
		w.t.Logf("%s: %d values, worst relative error %.2g", column, w.count[column], e)
	}
}

// simpson integrates f over [a, b].
func simpson(f func(x float64) float64, a, b float64) float64 {
	const n = 8000
	h := (b - a) / n
	sum := f(a) + f(b)
	for i := 1; i < n; i++ {
		sum += float64(2+2*(i%2)) * f(a+float64(i)*h)
	}
	return sum * h / 3
}
