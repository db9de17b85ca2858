package pld

// compose returns the law of the whole sum on one grid.
func (q *query) compose(c *convolver, gap float64, up bool) (*tilted, error) {
	top, stages := q.plan(gap)
	switch {
	case top > widestCell: // and no first grid is wider
		return nil, errTooCoarse
	case 2*q.spread > top*float64(c.maxLength): // the last window holds some standard deviations
		return nil, errTooLong
	}
	c.accuracy = q.accuracy
	if len(q.parts) == 1 && len(stages[0]) == 1 && stages[0][0].power == q.parts[0].count {
		// One mechanism that has its own lattice stays there.
		step, err := c.law(&q.parts[0], stages[0][0].h, q, up)
		if err != nil {
			return nil, err
		}
		return c.convolve(1, factor{step, q.parts[0].count})
	}
	var factors []factor
	for i := range q.parts {
		fs, err := q.build(c, &q.parts[i], stages[i], top, up)
		if err != nil {
			return nil, err
		}
		factors = append(factors, fs...)
	}
	return c.convolve(1, factors...)
}

// law discretises one step of a part and counts its points.
func (c *convolver) law(part *component, h float64, q *query, up bool) (*tilted, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	t, err := part.law(c.ctx, h, q.lambda, q.reverse, up, c.maxLength)
	if err != nil {
		return nil, err
	}
	return t, c.spend(len(t.p) + t.pieces)
}

// build runs one component through its stages and returns the factors left to convolve on the top grid:
// blocks, and at most one shorter remainder.
func (q *query) build(c *convolver, part *component, stages []stage, top float64, up bool) ([]factor, error) {
	first := top
	if len(stages) > 0 {
		first = stages[0].h
	}
	block, err := c.law(part, first, q, up)
	if err != nil {
		return nil, err
	}
	count := part.count
	var rest *tilted
	for j, s := range stages {
		next := top
		if j+1 < len(stages) {
			next = stages[j+1].h
		}
		left := count % s.power
		count /= s.power
		var pieces []factor
		if left > 0 {
			pieces = append(pieces, factor{block, left})
		}
		if rest != nil {
			pieces = append(pieces, factor{rest, 1})
		}
		full, err := c.convolve(count, factor{block, s.power})
		if err != nil {
			return nil, err
		}
		if len(pieces) > 0 {
			if rest, err = c.convolve(1, pieces...); err != nil {
				return nil, err
			}
			if rest, err = rest.coarsen(next, q.lambda, up, c.maxLength); err != nil {
				return nil, err
			}
		}
		if block, err = full.coarsen(next, q.lambda, up, c.maxLength); err != nil {
			return nil, err
		}
	}
	factors := []factor{{block, count}}
	if rest != nil {
		factors = append(factors, factor{rest, 1})
	}
	return factors, nil
}

// coarsen moves a law to the grid of step h unless it is there already, if so many points suffice.
func (t *tilted) coarsen(h, lambda float64, up bool, most int) (*tilted, error) {
	if t.h == h {
		return t, nil
	}
	if t.h*float64(len(t.p)) > h*float64(most) {
		return nil, errTooLong
	}
	return t.onto(h, lambda, up), nil
}
