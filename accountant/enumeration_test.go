package accountant

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/testkit"
)

var enumerated = flag.Int("cases", 100, "random compositions that TestNeverBelowEnumeration enumerates")

// worlds is the law of a sum of losses under P, by enumeration; under Q it is mass e^-loss.
type worlds struct{ loss, mass []float64 }

func (w worlds) times(v worlds) worlds {
	sums := make(map[float64]float64, len(w.loss))
	for i, a := range w.loss {
		for j, b := range v.loss {
			key := math.Round((a+b)*1e13) / 1e13
			sums[key] += w.mass[i] * v.mass[j]
		}
	}
	var out worlds
	for l := range sums {
		out.loss = append(out.loss, l)
	}
	sort.Float64s(out.loss)
	for _, l := range out.loss {
		out.mass = append(out.mass, sums[l])
	}
	return out
}

func (w worlds) delta(eps float64) float64 {
	forward, backward := 0.0, 0.0
	for i, l := range w.loss {
		if l > eps {
			forward += -math.Expm1(eps-l) * w.mass[i]
		}
		if -l > eps {
			backward += -math.Expm1(eps+l) * w.mass[i] * math.Exp(-l)
		}
	}
	return math.Max(forward, backward)
}

func (w worlds) sampled(q float64) worlds {
	var out worlds
	for i, l := range w.loss {
		m := mathx.LogMix(q, l)
		out.loss = append(out.loss, m)
		out.mass = append(out.mass, w.mass[i]*math.Exp(m-l))
	}
	return out
}

func gaussianWorld(sigma float64) (w worlds) {
	norm := math.Exp(mathx.LogTheta(sigma))
	for x := int(9*sigma) + 1; x >= -int(9*sigma); x-- { // the rest has mass below 1e-17
		w.loss = append(w.loss, float64(1-2*x)/(2*sigma*sigma))
		w.mass = append(w.mass, math.Exp(-float64(x*x)/(2*sigma*sigma))/norm)
	}
	return w
}

func laplaceWorld(e DiscreteLaplace) (w worlds) {
	r := math.Exp(-1 / e.Scale)
	for x := -400; x <= 400; x++ {
		w.loss = append(w.loss, (math.Abs(float64(x)-float64(e.Sensitivity))-math.Abs(float64(x)))/e.Scale)
		w.mass = append(w.mass, (1-r)/(1+r)*math.Pow(r, math.Abs(float64(x))))
	}
	return worlds{[]float64{0}, []float64{1}}.times(w)
}

func randomWorld(rnd *rand.Rand) (Event, worlds) {
	response := func(eps float64) worlds {
		hi := 1 / (1 + math.Exp(-eps))
		return worlds{[]float64{-eps, eps}, []float64{1 - hi, hi}}
	}
	eps, q := math.Exp(rnd.Float64()*4-3), math.Pow(10, -3*rnd.Float64())
	sigma := 0.5 + rnd.Float64()/2
	switch rnd.IntN(8) {
	case 0:
		return RandomizedResponse{eps}, response(eps)
	case 1:
		e := DiscreteLaplace{Scale: 0.5 + 5*rnd.Float64(), Sensitivity: 1 + rnd.Int64N(4)}
		if rnd.IntN(2) == 0 {
			return e, laplaceWorld(e)
		}
		return PoissonSampled{q, e}, laplaceWorld(e).sampled(q)
	case 2:
		return DiscreteGaussian{Sigma: sigma, Sensitivity: 1}, gaussianWorld(sigma)
	case 3:
		return PoissonSampled{q, DiscreteGaussian{Sigma: sigma, Sensitivity: 1}}, gaussianWorld(sigma).sampled(q)
	case 4:
		return PoissonSampled{q, PureDP{eps}}, response(eps).sampled(q)
	case 5: // two counts one vote apart
		one := response(eps)
		return LNMax{Scale: 1 / eps, Discrete: true}, one.times(one)
	case 6:
		return Threshold{Sigma: 2 * sigma, Discrete: true}, gaussianWorld(2 * sigma)
	}
	k := 3 + rnd.Int64N(5)
	z := math.Exp(eps) + float64(k) - 1
	return KaryResponse{eps, k}, worlds{[]float64{-eps, 0, eps}, []float64{1 / z, (float64(k) - 2) / z, math.Exp(eps) / z}}
}

// TestNeverBelowEnumeration: random compositions of randomised responses, discrete Laplace and discrete
// Gaussian noise, also under sampling, against enumeration of all outcomes at a random epsilon, by every
// accountant that holds them. Nothing is below the truth, and no lower bound above it. Run it with -cases
// 100000 before a release.
func TestNeverBelowEnumeration(t *testing.T) {
	t.Parallel()
	type extreme struct{ least, most float64 }
	var mu sync.Mutex
	ratios := map[string]extreme{}
	var wg sync.WaitGroup
	failed := make(chan string, 1)
	for worker := range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := worker; i < Cases(enumerated, 500) && len(failed) == 0; i += runtime.GOMAXPROCS(0) {
				why := enumerate(uint64(i), func(name string, ratio float64) {
					mu.Lock()
					defer mu.Unlock()
					r, ok := ratios[name]
					if !ok {
						r = extreme{math.Inf(1), 0}
					}
					ratios[name] = extreme{math.Min(r.least, ratio), math.Max(r.most, ratio)}
				})
				if why != "" {
					select {
					case failed <- fmt.Sprintf("case %d: %s", i, why):
					default:
					}
				}
			}
		}()
	}
	wg.Wait()
	select {
	case why := <-failed:
		t.Fatal(why)
	default:
	}
	for _, name := range []string{"pld", "rdp", "zcdp", "basic", "advanced", "optimal"} {
		require.Contains(t, ratios, name)
		t.Logf("%-8s delta claimed / exact delta from 1%+.2g to %.4g in %d cases", name, ratios[name].least-1, ratios[name].most, Cases(enumerated, 500))
	}
}

func enumerate(seed uint64, saw func(accountant string, ratio float64)) string {
	rnd := rand.New(rand.NewPCG(7, seed))
	var events []Event
	rel := AddRemove
	w := worlds{[]float64{0}, []float64{1}}
	for range 1 + rnd.IntN(3) {
		e, one := randomWorld(rnd)
		n := 1 + rnd.Int64N(3)
		switch e.(type) {
		case KaryResponse:
			rel = ReplaceOne
		case DiscreteGaussian, Threshold:
			n = 1
		}
		if len(w.loss)*len(one.loss) > 4000 {
			break
		}
		events = append(events, Repeated{e, n})
		for range n {
			w = w.times(one)
		}
	}
	eps := rnd.Float64() * 0.95 * math.Min(6, w.loss[len(w.loss)-1])
	want := w.delta(eps)
	if want < 1e-8 { // the enumeration has rounding of its own
		return ""
	}
	rdp, _ := NewRDP(RDPConfig{Relation: rel})
	pld, _ := NewPLD(PLDConfig{Relation: rel, Gap: []float64{0.01, 0.05, 0.3}[rnd.IntN(3)], MaxMemory: 8 << 20})
	zcdp, _ := NewZCDP(rel, Improved)
	accounts := map[string]Accountant{"rdp": rdp, "pld": pld, "zcdp": zcdp}
	if seed%8 == 0 { // the theorems search for the best split of delta, which takes longer than all else here
		accounts["basic"], _ = NewBasic(rel)
		accounts["advanced"], _ = NewAdvanced(rel)
		accounts["optimal"], _ = NewOptimal(rel)
	}
	for name, a := range accounts {
		held := true
		for _, e := range events {
			held = held && a.Compose(e, 1) == nil
		}
		if !held {
			continue
		}
		d, err := a.Delta(context.Background(), eps)
		if err != nil {
			return fmt.Sprintf("%s: %v", name, err)
		}
		const merged = 1e-12 // outcomes of one loss to 13 digits were merged
		if !(d.Upper >= want*(1-1e-11)-merged) {
			return fmt.Sprintf("%s of %+v: delta %v at epsilon %v, exactly %v", name, events, d.Upper, eps, want)
		}
		if d.Lower > want*(1+1e-11)+merged {
			return fmt.Sprintf("%s of %+v: delta at least %v at epsilon %v, exactly %v", name, events, d.Lower, eps, want)
		}
		if want > 1e-3 {
			saw(name, d.Upper/want)
		}
		if want < 0.9 && rnd.IntN(3) == 0 {
			b, err := a.Epsilon(context.Background(), want)
			if err != nil {
				return fmt.Sprintf("%s: %v", name, err)
			}
			if !(b.Upper >= eps-1e-9) || b.Lower > eps+1e-9 {
				return fmt.Sprintf("%s of %+v: epsilon [%v, %v] at delta %v, exactly %v", name, events, b.Lower, b.Upper, want, eps)
			}
		}
	}
	return ""
}

var compositions = flag.Int("compositions", 12, "random compositions that TestNoAccountantIsBelowALowerEnd asks every accountant about")

// randomRuns returns events with counts whose composition costs about target, a sum of epsilon^2/2.
func randomRuns(rnd *rand.Rand) (events []Event, counts []int64) {
	log := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + rnd.Float64()*math.Log(hi/lo)) }
	target := log(1e-6, 30)
	for range 1 + rnd.IntN(3) {
		noise, q, s := log(0.3, 1e9), log(1e-6, 0.9), int64(log(1, 300))
		if rnd.IntN(3) == 0 { // moderate
			noise = log(0.3, 300)
		}
		eps := 1 / noise
		var e Event
		cost := eps * eps / 2
		switch rnd.IntN(17) {
		case 0:
			e = Gaussian{noise}
		case 1:
			e = Laplace{noise}
		case 2, 3:
			e, cost = DiscreteLaplace{noise * float64(s), s}, eps*eps/2
		case 4:
			e = PureDP{eps}
		case 5:
			e = RandomizedResponse{eps}
		case 6:
			e, cost = KaryResponse{eps, 2 + s}, eps*eps/float64(2+s)
		case 7:
			e, cost = ExponentialMechanism{eps}, eps*eps/8
		case 8:
			e, cost = LNMax{Scale: noise, Discrete: rnd.IntN(2) == 0}, eps*eps
		case 9:
			e, cost = GNMax{Sigma: noise, Discrete: noise < 2000 && rnd.IntN(2) == 0}, eps*eps
		case 10:
			e = Threshold{Sigma: noise, Discrete: noise < 2000 && rnd.IntN(2) == 0}
		case 11:
			noise = math.Min(noise, 1e6)
			e, cost = PoissonSampled{q, Gaussian{noise}}, math.Min(1/noise/noise/2, q*q*math.Expm1(math.Min(1/noise/noise, 50))/2)
		case 12:
			e, cost = PoissonSampled{q, PureDP{eps}}, q*q*eps*eps/2
		case 13:
			e, cost = DiscreteGaussian{math.Min(noise, 2000), 1}, 1/math.Min(noise, 2000)/math.Min(noise, 2000)/2
		case 14:
			e, cost = PoissonSampled{q, Laplace{noise}}, q*q*eps*eps/2
		case 15:
			e, cost = PoissonSampled{q, DiscreteLaplace{noise * float64(s), s}}, q*q*eps*eps/2
		case 16:
			e, cost = PoissonSampled{q, DiscreteGaussian{math.Min(noise, 2000), 1}}, q*q/math.Min(noise, 2000)/math.Min(noise, 2000)/2
		}
		if rnd.IntN(6) == 0 {
			e = WithFailure{e, log(1e-30, 1e-16)}
		}
		events = append(events, e)
		counts = append(counts, int64(math.Max(1, math.Min(9e15, target/cost))))
	}
	return events, counts
}

func TestNoAccountantIsBelowALowerEnd(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(11, *seed))
	answered, informative := 0, 0
	all := Cases(compositions, 50)
	for i := range all {
		events, counts := randomRuns(rnd)
		relation := AddRemove
		for _, e := range events {
			if w, ok := e.(WithFailure); ok {
				e = w.Event
			}
			if _, ok := e.(KaryResponse); ok {
				relation = ReplaceOne
			}
		}
		delta := math.Exp(math.Log(1e-12) + rnd.Float64()*math.Log(1e10))
		upper := make(map[string]Bound)
		lower := 0.0
		accounts := newAccounts(t, relation)
		accounts["pld"] = newPLD(t, PLDConfig{Relation: relation, Gap: 0.05, MaxMemory: 2 << 20})
		for name, account := range accounts {
			if slow := name != "rdp" && name != "pld" && name != "zcdp" && name != "moments"; slow && (i%4 > 0 || strings.Contains(name, " ")) {
				continue
			}
			refused := false
			for j := range events {
				err := account.Compose(events[j], counts[j])
				if errors.Is(err, ErrUnsupportedEvent) {
					refused = true
					break
				}
				require.NoError(t, err, "%s: %#v x %d", name, events[j], counts[j])
			}
			if refused {
				continue
			}
			b := testkit.Must(account.Epsilon(context.Background(), delta))
			upper[name], lower = b, math.Max(lower, b.Lower)
		}
		if len(upper) > 1 {
			answered++
		}
		if lower > 0 && lower > upper["rdp"].Upper/2 {
			informative++
		}
		for name, b := range upper {
			require.GreaterOrEqual(t, b.Upper, lower, "%s below a lower end: %#v x %v at delta %v", name, events, counts, delta)
		}
	}
	t.Logf("%d of %d compositions had two answers or more, %d a lower end above half of the answer", answered, all, informative)
	require.Greater(t, informative, all/4)
}
