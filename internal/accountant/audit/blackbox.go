package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/pate-go/pate/internal/mathx"
)

// Run runs a mechanism once on a fixed input. The argument run is the number of the run, from 0. Numeric
// outputs must be rounded coarsely, because an output that occurs only once is no evidence.
type Run[O comparable] func(run uint64) (O, error)

// Config holds the claim to audit and the number of runs.
type Config struct {
	Claim Claim
	Alpha float64 // probability that a true claim is refuted; [1e-12, 1/2]
	Runs  int     // per input; [2, 2^31)
	// Progress, if not nil, receives the number of completed runs, summed over both inputs.
	Progress func(done int)
}

func (c Config) validate() error {
	if err := cmp.Or(c.Claim.validate(), validateAlpha(c.Alpha)); err != nil {
		return err
	}
	if c.Runs < 2 || c.Runs >= 1<<31 {
		return fmt.Errorf("audit: Runs must be in [2, 2^31), not %d", c.Runs)
	}
	return nil
}

// BlackBox audits a mechanism on two neighbouring inputs. From the first half of the runs it chooses an event
// and a direction. On the second half it tests this event with false alarm probability Alpha.
//
// The event contains all outputs whose likelihood ratio is above a threshold, because the best event has this
// form (Neyman, Pearson). The threshold is chosen by confidence limits (as in Ding et al. 2018; Bichsel et
// al. 2021, DP-Sniper).
func BlackBox[O comparable](ctx context.Context, one, two Run[O], cfg Config) (Finding, error) {
	if err := cfg.validate(); err != nil {
		return Finding{}, err
	}
	half := cfg.Runs / 2
	seen := map[O]*outcome[O]{}
	var order []*outcome[O] // by first occurrence, so that equal runs give equal findings
	p := progress{cfg.Progress, 0}
	for side, run := range []Run[O]{one, two} {
		err := repeat(ctx, run, 0, half, &p, func(o O) {
			if seen[o] == nil {
				seen[o] = &outcome[O]{output: o}
				order = append(order, seen[o])
			}
			seen[o].counts[side]++
		})
		if err != nil {
			return Finding{}, err
		}
	}
	event, swapped := learn(order, half, cfg)
	if swapped {
		one, two = two, one
	}
	var counts [2]Count
	for side, run := range []Run[O]{one, two} {
		c := &counts[side]
		c.Runs = cfg.Runs - half
		err := repeat(ctx, run, half, cfg.Runs, &p, func(o O) {
			if event[o] {
				c.Hits++
			}
		})
		if err != nil {
			return Finding{}, err
		}
	}
	bound, err := LowerBound(counts[0], counts[1], cfg.Claim.Delta, cfg.Alpha)
	if err != nil {
		return Finding{}, err
	}
	return Finding{
		Claim: cfg.Claim, Epsilon: bound, Alpha: cfg.Alpha, Runs: cfg.Runs,
		Evidence: fmt.Sprintf("%d of %d outputs seen: %d of %d runs against %d of %d", len(event), len(order),
			counts[0].Hits, counts[0].Runs, counts[1].Hits, counts[1].Runs),
	}, nil
}

type progress struct {
	report func(done int)
	done   int
}

func repeat[O comparable](ctx context.Context, run Run[O], from, to int, p *progress, see func(O)) error {
	const every = 512
	for i := from; i < to; i++ {
		if (i-from)%every == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if p.report != nil {
				p.report(p.done)
			}
		}
		o, err := run(uint64(i))
		if err != nil {
			return fmt.Errorf("audit: run %d: %w", i, err)
		}
		p.done++
		see(o)
	}
	if p.report != nil {
		p.report(p.done)
	}
	return nil
}

type outcome[O comparable] struct {
	output O
	counts [2]int
}

// learn chooses the event to test. swapped reports that the event is more probable on the second input. learn
// uses Wilson's confidence limits, because they are fast and the choice need not be optimal.
func learn[O comparable](all []*outcome[O], runs int, cfg Config) (event map[O]bool, swapped bool) {
	z := -mathext.NormalQuantile(cfg.Alpha / 2)
	best := math.Inf(-1)
	for side := range 2 {
		ratio := func(o *outcome[O]) float64 {
			return (float64(o.counts[side]) + 0.5) / (float64(o.counts[1-side]) + 0.5)
		}
		byRatio := slices.Clone(all)
		slices.SortStableFunc(byRatio, func(a, b *outcome[O]) int { return cmp.Compare(ratio(b), ratio(a)) })
		on, beside := 0, 0
		for i, o := range byRatio {
			on, beside = on+o.counts[side], beside+o.counts[1-side]
			low, _ := wilson(on, runs, z)
			_, high := wilson(beside, runs, z)
			// If no event gives a positive bound, the value still ranks the events.
			value := math.Log(math.Max(low-cfg.Claim.Delta, 1e-300) / high)
			if value <= best {
				continue
			}
			best, swapped = value, side == 1
			event = make(map[O]bool, i+1)
			for _, o := range byRatio[:i+1] {
				event[o.output] = true
			}
		}
	}
	return event, swapped
}

func wilson(hits, runs int, z float64) (lower, upper float64) {
	n, p := float64(runs), float64(hits)/float64(runs)
	centre := p + z*z/(2*n)
	width := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return (centre - width) / (1 + z*z/n), (centre + width) / (1 + z*z/n)
}

// Guesses is the outcome of an audit with one run. For each canary record, a fair coin decided whether the
// record was in the data. Canaries is the number of canary records, Made the number of guesses, and Right the
// number of correct guesses. The guesses must depend only on the release. Canaries and Made must be fixed
// before the run.
type Guesses struct {
	Canaries, Made, Right int
}

func (g Guesses) validate() error {
	if g.Right < 0 || g.Right > g.Made || g.Made > g.Canaries || g.Canaries < 1 || g.Canaries > 1<<24 {
		return fmt.Errorf("audit: %d right of %d guesses about %d canaries", g.Right, g.Made, g.Canaries)
	}
	return nil
}

// PValue bounds the probability of at least Right correct guesses if claim is true for add/remove of one
// record (Steinke, Nasr, Jagielski 2023). With B ~ Bin(Made, e^epsilon/(1 + e^epsilon)) the bound is
//
//	P[B >= Right] + 2 Canaries delta max over 1 <= i <= Right of P[Right > B >= Right - i]/i
//
// The canary records may depend on each other in any way.
func (g Guesses) PValue(claim Claim) float64 {
	if g.Right == 0 {
		return 1
	}
	v, r := float64(g.Right), float64(g.Made)
	q := 1 / (1 + math.Exp(-claim.Epsilon))
	p := mathext.RegIncBeta(v, r-v+1, q)
	if claim.Delta == 0 {
		return p
	}
	// log P[B = k], for k from v-1 down to 0.
	lg := func(x float64) float64 { l, _ := math.Lgamma(x); return l }
	odds := claim.Epsilon // log(q/(1-q))
	k := v - 1
	log := lg(r+1) - lg(k+1) - lg(r-k+1) + k*math.Log(q) - (r-k)*(odds+math.Log1p(math.Exp(-odds)))
	sum, worst := 0.0, 0.0
	for i := 1.0; i <= v; i++ {
		sum += math.Exp(log)
		worst = math.Max(worst, sum/i)
		log += math.Log(k) - math.Log(r-k+1) - odds
		k--
	}
	return math.Min(1, p+2*float64(g.Canaries)*claim.Delta*worst)
}

// OneRun returns the largest epsilon that the guesses refute at claim.Delta, with false alarm probability
// alpha.
func OneRun(g Guesses, claim Claim, alpha float64) (Finding, error) {
	if err := cmp.Or(g.validate(), claim.validate(), validateAlpha(alpha)); err != nil {
		return Finding{}, err
	}
	f := Finding{
		Claim: claim, Alpha: alpha, Runs: g.Made,
		Evidence: fmt.Sprintf("%d of %d guesses right, about %d canaries", g.Right, g.Made, g.Canaries),
	}
	holds := func(epsilon float64) bool { return g.PValue(Claim{epsilon, claim.Delta}) > alpha }
	if holds(0) {
		return f, nil
	}
	high := 1.0
	for !holds(high) && high < 64 {
		high *= 2
	}
	f.Epsilon = math.Nextafter(mathx.Bisect(holds, 0, high), 0)
	return f, nil
}

// Guess makes guesses from scores, which should be large for records in the data. It guesses "in" for the
// records with the largest scores, and "out" for as many records with the smallest scores. It uses the
// argument in only to count the correct guesses.
func Guess(scores []float64, in []bool, guesses int) (Guesses, error) {
	g := Guesses{Canaries: len(scores), Made: guesses}
	if len(in) != len(scores) || guesses%2 != 0 {
		return Guesses{}, fmt.Errorf("audit: %d scores, %d coins and %d guesses, which must be even", len(scores), len(in), guesses)
	}
	if err := g.validate(); err != nil {
		return Guesses{}, err
	}
	order := make([]int, len(scores))
	for i, s := range scores {
		if math.IsNaN(s) {
			return Guesses{}, fmt.Errorf("audit: score %d is NaN", i)
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[i], scores[j]) })
	for k := range guesses / 2 {
		if !in[order[k]] {
			g.Right++
		}
		if in[order[len(order)-1-k]] {
			g.Right++
		}
	}
	return g, nil
}
