package imports

import (
	"fmt"
	"io"

	"github.com/pate-go/pate/accountant"
)

// Opacus reads the history of an Opacus accountant, as printed by Python or written as JSON: a list of
// (noise_multiplier, sample_rate, steps), as in
//
//	[(1.1, 0.004, 14062), (0.9, 0.004, 100)]
//
// Each is that many Poisson sampled Gaussian steps, under add_remove. The history looks the same when
// Poisson sampling was switched off (poisson_sampling=False); then the schedule is not what ran.
func Opacus(r io.Reader) (accountant.Schedule, error) {
	v, err := readValue(r)
	if err != nil {
		return accountant.Schedule{}, err
	}
	history, ok := v.(list)
	if !ok {
		return accountant.Schedule{}, fmt.Errorf("%w: a history is a list, not %s", ErrSyntax, v.kind())
	}
	out := accountant.Schedule{Relation: accountant.AddRemove, Events: make([]accountant.Event, len(history))}
	for i, v := range history {
		if out.Events[i], err = phase(v); err != nil {
			return accountant.Schedule{}, fmt.Errorf("history[%d]: %w", i, err)
		}
	}
	return out, nil
}

// phase reads (noise_multiplier, sample_rate, steps).
func phase(v value) (accountant.Event, error) {
	l, ok := v.(list)
	if !ok || len(l) != 3 {
		return nil, fmt.Errorf("%w: expected (noise_multiplier, sample_rate, steps)", ErrSyntax)
	}
	var numbers [3]number
	for i, name := range []string{"noise_multiplier", "sample_rate", "steps"} {
		if numbers[i], ok = l[i].(number); !ok {
			return nil, fmt.Errorf("%w: %s must be a number, not %s", ErrSyntax, name, l[i].kind())
		}
	}
	if !numbers[2].whole {
		return nil, fmt.Errorf("%w: steps must be a whole number, got %v", ErrSyntax, numbers[2].x)
	}
	e := accountant.Repeated{
		Event: accountant.PoissonSampled{Probability: numbers[1].x, Event: gaussian(numbers[0].x)},
		Count: numbers[2].n,
	}
	if err := accountant.Validate(e); err != nil {
		return nil, fmt.Errorf("imports: %w", err)
	}
	return e, nil
}
