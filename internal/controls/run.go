package controls

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/rng"
)

type Options struct {
	Key rng.Key // source of all randomness; rng.SeedKey makes an audit repeatable
	// Alpha bounds the probability that at least one true claim is refuted. The random audits share Alpha
	// equally.
	Alpha float64
	// Delta is the delta for privacy profiles. The default is 0.01 for [ByRuns], 1e-5 for [ByLaw] and 1e-8
	// for [ByCanaries].
	Delta float64
	// Runs, if not 0, replaces the number of runs on each input.
	Runs int
	// Workers is the number of concurrent audits, or 0 for GOMAXPROCS.
	Workers int
	// Progress, if not nil, receives the amounts of finished work and of all work. Calls may be concurrent.
	Progress func(done, total int)
}

type Result struct {
	Target  Target
	Finding audit.Finding
	Seconds float64
}

// Run audits all targets, and returns the results in the order of the targets.
func Run(ctx context.Context, targets []Target, opt Options) ([]Result, error) {
	if opt.Key.IsZero() {
		return nil, errors.New("controls: Key is missing")
	}
	if opt.Runs != 0 && (opt.Runs < 2 || opt.Runs > 1<<30) {
		return nil, fmt.Errorf("controls: Runs must be in [2, 2^30], not %d", opt.Runs)
	}
	if !(opt.Delta >= 0 && opt.Delta < 1) {
		return nil, fmt.Errorf("controls: Delta must be in [0, 1), not %g", opt.Delta)
	}
	byChance, total := 0, 0
	for _, t := range targets {
		if t.Method != ByLaw {
			byChance++
		}
		total += weight(t, opt.Runs)
	}
	if opt.Workers == 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results, errs := make([]Result, len(targets)), make([]error, len(targets))
	var next, done atomic.Int64
	var group sync.WaitGroup
	for range min(opt.Workers, len(targets)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(targets)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				t := targets[i]
				report := func(int) {}
				if opt.Progress != nil {
					before := 0 // done for this target
					report = func(now int) {
						opt.Progress(int(done.Add(int64(now-before))), total)
						before = now
					}
				}
				if results[i], errs[i] = t.run(ctx, opt, byChance, report); errs[i] != nil {
					cancel()
					return
				}
				report(weight(t, opt.Runs))
			}
		})
	}
	group.Wait()
	for i, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, fmt.Errorf("controls: %s by %s: %w", targets[i].Name, targets[i].Method, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return results, nil
}

func (t Target) run(ctx context.Context, opt Options, byChance int, report func(int)) (Result, error) {
	started := time.Now()
	mistake := uint64(0)
	if t.Mistake != "" {
		mistake = 1
	}
	e := effort{
		key:      opt.Key.Derive("audit "+t.Name+" by "+string(t.Method), mistake),
		alpha:    opt.Alpha / float64(max(byChance, 1)),
		delta:    opt.Delta,
		runs:     t.runs(opt.Runs),
		progress: report,
	}
	if e.delta == 0 {
		e.delta = t.Method.delta()
	}
	f, err := t.audit(ctx, e)
	return Result{Target: t, Finding: f, Seconds: time.Since(started).Seconds()}, err
}

// delta returns the delta at which audits by method m detect violations best.
func (m Method) delta() float64 {
	switch m {
	case ByRuns:
		return 0.01
	case ByCanaries:
		return 1e-8
	}
	return 1e-5
}

func (t Target) runs(asked int) int {
	if asked != 0 && t.Method == ByRuns {
		return asked
	}
	return t.Runs
}

func weight(t Target, asked int) int {
	if t.Method == ByRuns {
		return 2 * t.runs(asked)
	}
	return weightOfOthers
}

const weightOfOthers = 20_000
