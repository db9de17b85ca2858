package pld

import (
	"context"
	"math"
)

const (
	curveGap  = 2e-5  // of the grids
	curveTail = 1e-10 // mass that windows and truncated losses may leave outside
)

// Curve returns delta of a sum, as a function of epsilon >= 0, for one order of its pairs. One convolution
// that is not tilted holds all epsilons at once, to an absolute error far below a share of people.
func (m *Composer) Curve(ctx context.Context, s *Sum, reverse bool) (func(epsilon float64) Interval, error) {
	switch {
	case s.reveals:
		return func(float64) Interval { return Interval{Lower: 1, Upper: 1} }, nil
	case math.IsInf(s.mu2, 1):
		return func(float64) Interval { return Interval{Upper: 1} }, nil
	case len(s.pairs.Keys) == 0:
		return func(epsilon float64) Interval { return gaussianDelta(s.mu2, epsilon) }, nil
	}
	parts, err := m.components(ctx, s, reverse)
	if err != nil {
		return nil, err
	}
	q := &query{parts: parts, reverse: reverse}
	if law := q.enumerate(); law != nil {
		return func(epsilon float64) Interval {
			lower, upper := enumeratedDelta(law, epsilon)
			return Interval{Lower: lower, Upper: upper}
		}, nil
	}
	q.truncate(math.Log(curveTail))
	q.set(0)
	q.accuracy = curveTail
	c := m.newConvolver(ctx)
	var ends [2]*profile
	for i, up := range []bool{false, true} {
		budget := curveGap
		if ends[i], err = q.fit(c, &budget, up); err != nil {
			return nil, err
		}
	}
	return func(epsilon float64) Interval {
		v := Interval{Upper: 1}
		if ends[0] != nil {
			v.Lower = ends[0].delta(epsilon)
		}
		if ends[1] != nil {
			v.Upper = ends[1].delta(epsilon)
		}
		return v
	}, nil
}
