package pld

import "math"

func (q *query) compose(c *convolver, gap float64, up bool) (*tilted, error) {
	top, stages := q.plan(gap)
	switch {
	case top > widestCell: // no first grid is wider
		return nil, errTooCoarse
	case 2*q.spread > top*float64(c.maxLength): // the last window holds some standard deviations
		return nil, errTooLong
	}
	c.accuracy = q.accuracy
	if len(q.parts) == 1 && len(stages[0]) == 1 && stages[0][0].power == q.parts[0].count {
		// A single mechanism with its own lattice stays on this lattice.
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

func (t *tilted) coarsen(h, lambda float64, up bool, most int) (*tilted, error) {
	if t.h == h {
		return t, nil
	}
	if t.h*float64(len(t.p)) > h*float64(most) {
		return nil, errTooLong
	}
	return t.onto(h, lambda, up), nil
}

type stage struct {
	h     float64
	power int64
}

const ratioPerStage = 128

func (q *query) plan(gap float64) (top float64, stages [][]stage) {
	// Splitting the mass of a cell of width h between its ends raises the variance of a loss by h^2/6 on
	// average. Merging lowers the variance by h^2/12. So C steps on a grid of step h separate upper and lower
	// epsilon by (lambda+1) C h^2/8, where lambda is the slope of -log delta. Blocks of many steps may use
	// coarser grids. So a long composition starts on fine grids with short windows (evolving discretisation;
	// Ghazi et al. 2022).
	budget := 8 * gap / (math.Max(q.lambda, q.steep) + 1)
	free := q.steep > 0
	stages = make([][]stage, len(q.parts))
	units, blocks := 0, 0.0
	for i := range q.parts {
		c := &q.parts[i]
		count := c.count
		topCount := math.Max(1, ratioPerStage/float64(len(q.parts)))
		if c.atoms != nil {
			_, _, v := c.roughLaw.moments(q.lambda)
			// While the window is short, the composition stays on the exact lattice of the atoms.
			most := math.Pow(16000*c.atoms.h/20, 2) / math.Max(v, 1e-300)
			m := min(count, max(1, int64(math.Min(most, 1e18))))
			stages[i] = append(stages[i], stage{c.atoms.h, m})
			count /= m
		}
		c.aligned = c.ownGrid()
		if c.aligned {
			topCount = 1
		}
		if h := math.Sqrt(budget / 2 / float64(count)); c.outcomes != nil && c.outcomes.few(h, q.lambda, q.reverse) != nil {
			// A coarse grid is inaccurate for few outcomes. So the first blocks use a fine grid until their
			// sum has many outcomes or the window is long.
			_, _, v := c.roughLaw.moments(q.lambda)
			m := min(count, max(1, int64(math.Min(math.Pow(300000*h/20, 2)/math.Max(v, 1e-300), 1e18))))
			stages[i] = append(stages[i], stage{0, m})
			units++
			count /= m
			c.aligned = true
		}
		n := float64(count) / topCount
		levels := int(math.Round(math.Log(math.Max(n, 1)) / math.Log(ratioPerStage)))
		if n >= 6 || c.aligned && len(stages[i]) == 0 {
			levels = max(levels, 1)
		}
		for l := levels; l > 0; l-- {
			m := niceDivisor(count, math.Pow(math.Max(1, float64(count)/topCount), 1/float64(l)))
			stages[i] = append(stages[i], stage{0, m})
			units++
			count /= m
		}
		blocks += float64(count) + 1
	}
	topBudget := budget / (1 + math.Min(float64(units), 2))
	shares := 0.0 // of the remaining budget
	for i := range stages {
		for j := range stages[i] {
			if stages[i][j].h == 0 {
				shares += q.stageShare(j)
			}
		}
	}
	top = math.Sqrt(topBudget / blocks)
	widest := math.Inf(1)
	q.used = 1
	if q.spread > 0 && gap < 1 {
		around := q.spread
		if q.sparse() {
			around = math.Max(around, q.aimed/100)
			q.used = math.Min(1, math.Pow(around/4/top, 2))
		}
		widest = around / 4
	}
	top = q.align(math.Min(top, widest))
	used := blocks * top * top
	for i := range q.parts {
		count := float64(q.parts[i].count)
		steps := make([]float64, len(stages[i]))
		for j, s := range stages[i] {
			steps[j] = math.Sqrt((budget - topBudget) * q.stageShare(j) / shares / count)
			count /= float64(s.power)
		}
		above := top
		for j := len(stages[i]) - 1; j >= 0; j-- {
			if stages[i][j].h > 0 { // own lattice
				continue
			}
			ratio := math.Max(1, math.Ceil(above/steps[j]))
			if math.Mod(ratio, 2) == 0 { // odd, so that no point is halfway
				ratio++
			}
			if less := ratio - 2; free && less > 0 && less*ratio > math.Pow(above/steps[j], 2) {
				ratio = less
			}
			above /= ratio
			if c := &q.parts[i]; j == 0 && (c.key.kind == pairLaplace || c.key.kind == pairRange) {
				above = c.key.a / math.Max(1, math.Ceil(c.key.a/above-1e-9))
			}
			stages[i][j].h = above
		}
		if free {
			count = float64(q.parts[i].count)
			for _, s := range stages[i] {
				used += count * s.h * s.h
				count /= float64(s.power)
			}
		}
	}
	if free {
		// Rounding the ratios of grid steps has changed the error. Scaling all grids restores the budget.
		scale := math.Min(math.Sqrt(budget/used), widest/top)
		top *= scale
		for i := range stages {
			for j := range stages[i] {
				stages[i][j].h *= scale
			}
		}
	}
	return top, stages
}

func (q *query) stageShare(stage int) float64 {
	if stage == 0 && q.dense() {
		return 3
	}
	return 1
}

// align shrinks a grid step until the atoms of one pair are grid points, if the step is fine enough.
func (q *query) align(h float64) float64 {
	// The pair has the smallest count, so its atoms are heaviest. An atom between grid points would cause an
	// error of first order in the step.
	unit, least := 0.0, int64(math.MaxInt64)
	for i := range q.parts {
		c := &q.parts[i]
		if c.count > least {
			continue
		}
		switch {
		case c.key.kind == pairLaplace:
			unit, least = c.key.a, c.count
		case c.atoms != nil && c.key.kind != pairDiscreteGaussian:
			unit, least = c.atoms.h, c.count
		}
	}
	switch {
	case unit > h:
		return unit / math.Ceil(unit/h-1e-9)
	case unit > 0:
		return unit * math.Floor(h/unit*(1+1e-12))
	}
	return h
}

func niceDivisor(n int64, m float64) int64 {
	if m >= float64(n) {
		return n
	}
	best, cost := max(2, int64(math.Round(m))), math.Inf(1)
	for d := max(2, int64(m/1.7)); float64(d) <= m*1.7; d++ {
		if n%d == 0 {
			if c := math.Abs(math.Log(float64(d) / m)); c < cost {
				best, cost = d, c
			}
		}
	}
	return min(best, n)
}
