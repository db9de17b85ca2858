package pld

import (
	"math"
	"slices"
	"sync"
)

// sides composes the upper and the lower law of one answer, with the given budget, which it enlarges until
// memory and rounding allow, as [query.fit] does. Either is nil where nothing can be certified. The two
// share nothing, so they are composed at the same time where both fit in memory together; the answer is the
// same as one after the other.
func (q *query) sides(c *convolver, budget *float64) (up, low *profile, err error) {
	half := c.maxLength / 2
	if q.foreseen(*budget) <= float64(half) && !q.allocates() {
		below := *q
		below.parts = slices.Clone(q.parts) // which a plan writes to
		a, b := c.fork(half), c.fork(half)
		var lower *tilted
		var errLow error
		var wait sync.WaitGroup
		wait.Go(func() { lower, errLow = below.compose(b, *budget, false) })
		upper, errUp := q.compose(a, *budget, true)
		wait.Wait()
		if errUp == nil && errLow == nil && upper.sound() && lower.sound() {
			c.largest = max(c.largest, a.largest, b.largest)
			err := c.spend(a.work + b.work)
			return newProfile(upper, q.lambda, true), newProfile(lower, q.lambda, false), err
		}
	}
	if up, err = q.fit(c, budget, true); err != nil {
		return nil, nil, err
	}
	low, err = q.fit(c, budget, false)
	return up, low, err
}

// foreseen returns about how many points the first windows and the last have.
func (q *query) foreseen(budget float64) float64 {
	top, stages := q.plan(budget)
	most := 20 * q.spread / top // the last is about twenty standard deviations wide
	for i, s := range stages {
		if loss := q.parts[i].roughLaw.loss; len(s) > 0 && q.parts[i].atoms == nil {
			least, largest := loss[0], loss[len(loss)-1]
			most = math.Max(most, (largest+math.Min(largest, -least))/s[0].h)
		}
	}
	return most
}

// allocates reports whether a part keeps tables that both sides would write to.
func (q *query) allocates() bool {
	return slices.ContainsFunc(q.parts, func(c component) bool { return c.spread != nil })
}

// fork returns a convolver for another goroutine, with windows of at most so many points, that counts its
// own work from zero and may do the rest.
func (c *convolver) fork(most int) *convolver {
	f := *c
	f.maxLength, f.work = most, 0
	if c.maxWork > 0 {
		f.maxWork = max(1, c.maxWork-c.work)
	}
	return &f
}
