package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Run runs a mechanism once on a fixed input. It is called with 0, 1, 2, ...; runs must be independent. A
// number as output should be rounded coarsely: outputs seen once teach nothing.
type Run[O comparable] func(run uint64) (O, error)

// Config is the claim to audit, and the effort.
type Config struct {
	Claim Claim
	Alpha float64 // chance that a true claim is refuted; [1e-12, 1/2]
	Runs  int     // on each of the two inputs; [2, 2^31)
	// Progress, if set, is called with the number of runs done, of both inputs.
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

// BlackBox runs a mechanism on two neighbouring inputs. The first half of the runs chooses an event, in the
// better direction; the second half tests that one event, with the whole Alpha.
//
// The event is a set of outputs by likelihood ratio, as the best event is (Neyman, Pearson); which of these
// sets is best depends on the confidence limits. Ding et al. 2018 and Bichsel et al. 2021 (DP-Sniper) learn
// events likewise.
func BlackBox[O comparable](ctx context.Context, one, two Run[O], cfg Config) (Finding, error) {
	if err := cfg.validate(); err != nil {
		return Finding{}, err
	}
	half := cfg.Runs / 2
	seen := map[O]*outcome[O]{}
	var order []*outcome[O] // of first sight, so that equal runs give equal findings
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

// repeat calls see with the outputs of runs from, from+1, ... until to.
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

// outcome is an output with its count on each input.
type outcome[O comparable] struct {
	output O
	counts [2]int
}

// learn chooses the event, and whether it belongs to the second input. It uses Wilson's limits, which are
// quick: the choice need not be best, only made before the test.
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
			// where no bound is above 0 yet, the smallest loss at the claim leads there
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

// wilson returns the limits of a probability by Wilson's score interval.
func wilson(hits, runs int, z float64) (lower, upper float64) {
	n, p := float64(runs), float64(hits)/float64(runs)
	centre := p + z*z/(2*n)
	width := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return (centre - width) / (1 + z*z/n), (centre + width) / (1 + z*z/n)
}
