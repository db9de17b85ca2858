package outside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/parallel"
)

// Options controls an audit.
type Options struct {
	Claim    audit.Claim // its Epsilon may be +Inf: then the audit only measures
	Alpha    float64
	Samples  int // largest number of pairs of runs, at least 16
	Parallel int // runs at the same time; 0 means GOMAXPROCS
	Rand     *rand.Rand
	Progress func(done int, bound float64) // may be nil
}

// Result is the finding of [Audit] with facts about its runs.
type Result struct {
	audit.Finding
	Input       string // name of the tested pair
	Event       string
	Pairs       audit.Pairs // the tests alone
	Failures    int         // failed runs of the labeller
	Interrupted bool        // by the context

	failed Answer // of the last failed run
}

// ErrNoAnswer is the error of an audit in which every run fails.
var ErrNoAnswer = errors.New("outside: every run failed")

type trial struct {
	Pair
	audit.Trial[string]
}

// Audit tests a claim about a labeller. It first selects a pair of inputs, with about a quarter of the
// samples. Each round of the selection runs all remaining pairs equally often, and keeps the better half. All
// further runs test the selected pair.
//
// Audit stops when the claim is refuted, when all samples are used, or when ctx ends. If no run depends on
// what another run left behind, the bound is correct in each case (see [audit.Pairs]).
func Audit(ctx context.Context, label Labeller, inputs []Pair, opt Options) (Result, error) {
	r := Result{Finding: audit.Finding{Claim: opt.Claim, Alpha: opt.Alpha}}
	var trials []*trial
	for i, step := 0, 1+len(inputs)*32/opt.Samples; i < len(inputs); i += step {
		trials = append(trials, &trial{inputs[i], audit.Trial[string]{Claim: opt.Claim, Alpha: opt.Alpha, Most: opt.Samples}})
	}
	for rounds := max(1, bits.Len(uint(len(trials)-1))); ; trials = trials[:(len(trials)+1)/2] {
		for _, t := range trials {
			if err := r.run(ctx, label, t, max(4, opt.Samples/4/rounds/len(trials)), opt); err != nil || r.Interrupted {
				return r, err
			}
			t.Learn()
		}
		slices.SortStableFunc(trials, func(s, t *trial) int { return cmp.Compare(t.Event.Value, s.Event.Value) })
		if r.Failures == 2*r.Runs && trials[0].Event.Value <= 0 {
			return r, fmt.Errorf("%w: %s: %s", ErrNoAnswer, r.failed.Failure, r.failed.Stderr)
		}
		if len(trials) <= 2 {
			break
		}
	}
	t := trials[0]
	f, err := t.Test(func(n int, bound float64) error {
		r.Epsilon = bound
		if n = min(n, opt.Samples-r.Runs); n <= 0 || r.Interrupted || r.Refuted() {
			return nil
		}
		return r.run(ctx, label, t, n, opt)
	})
	r.Epsilon, r.Input, r.Event, r.Pairs = f.Epsilon, t.Name, t.Event.String(), t.Pairs
	return r, err
}

// run orders the two runs of a pair by a coin. So a change in the labeller's environment affects both inputs
// alike. If ctx is cancelled, run adds only the pairs before the first unfinished pair.
func (r *Result) run(ctx context.Context, label Labeller, t *trial, n int, opt Options) error {
	coins := make([]int, n)
	for i := range coins {
		coins[i] = opt.Rand.IntN(2)
	}
	outcomes, errs := make([]audit.Outcome[string], 2*n), make([]error, 2*n)
	done := 0
	var lock sync.Mutex
	parallel.Each(opt.Parallel, 2*n, func(_, i int) {
		i ^= coins[i/2]
		if errs[i] = ctx.Err(); errs[i] != nil {
			return
		}
		answer, err := label(ctx, []Input{t.First, t.Second}[i%2])
		outcomes[i], errs[i] = answer.Outcome(t.Groups), err
		lock.Lock()
		defer lock.Unlock()
		if answer.Failure != "" && err == nil {
			r.Failures++
			r.failed = answer
		}
		if done++; opt.Progress != nil {
			opt.Progress(r.Runs+done/2, r.Epsilon)
		}
	})
	for i := 0; i < 2*n; i += 2 {
		if err := cmp.Or(errs[i], errs[i+1]); errors.Is(err, context.Canceled) {
			r.Interrupted = true
			return nil
		} else if err != nil {
			return err
		}
		t.Add(outcomes[i], outcomes[i+1])
		r.Runs++
	}
	return nil
}
