package audit

import (
	"cmp"
	"context"
	"fmt"
)

// Run runs a mechanism once on a fixed input. Runs are numbered from 0. Numeric outputs must be rounded
// coarsely, because an output that occurs only once is no evidence.
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

// BlackBox runs a mechanism on two neighbouring inputs. It tests cfg.Claim on a set of outputs (see [Trial]).
// The first quarter of the runs serves only to choose this set.
func BlackBox[O comparable](ctx context.Context, one, two Run[O], cfg Config) (Finding, error) {
	if err := cfg.validate(); err != nil {
		return Finding{}, err
	}
	t := Trial[O]{Claim: cfg.Claim, Alpha: cfg.Alpha, Most: cfg.Runs}
	more := func(n int, _ float64) error {
		for from := len(t.Runs[0]); n > 0 && len(t.Runs[0]) < cfg.Runs; n-- {
			i := len(t.Runs[0])
			if err := ctx.Err(); err != nil {
				return err
			}
			if cfg.Progress != nil && (i-from)%256 == 0 {
				cfg.Progress(2 * i)
			}
			first, err := one(uint64(i))
			second, err2 := two(uint64(i))
			if err := cmp.Or(err, err2); err != nil {
				return fmt.Errorf("audit: run %d: %w", i, err)
			}
			t.Add(Outcome[O]{Labels: []O{first}}, Outcome[O]{Labels: []O{second}})
		}
		return nil
	}
	if err := more(max(1, cfg.Runs/4), 0); err != nil {
		return Finding{}, err
	}
	f, err := t.Test(more)
	f.Evidence = fmt.Sprintf("an event of %d of %d runs against %d of %d", t.Pairs.First+t.Pairs.Both, t.Pairs.total(),
		t.Pairs.Second+t.Pairs.Both, t.Pairs.total())
	return f, err
}
