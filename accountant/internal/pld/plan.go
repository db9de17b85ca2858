package pld

import "math"

// stage is one level of a composition: blocks on a grid of step h, so many (power) convolved into one block
// of the next stage.
type stage struct {
	h     float64
	power int64
}

// ratioPerStage is how many blocks one convolution takes; the best is flat.
const ratioPerStage = 32

// plan chooses grids. Splitting the mass of a cell of width h between its ends raises the variance of a
// loss by h^2/6 on average, merging lowers it by h^2/12, so C steps on a grid of step h put upper and lower
// epsilon apart by (lambda+1) C h^2/8, lambda the slope of -log delta there. Blocks of steps need only
// coarser grids, so a long composition is built in stages: fine grids with narrow windows first (evolving
// discretisation; Ghazi, Kamath, Kumar, Manurangsi 2022).
func (q *query) plan(gap float64) (top float64, stages [][]stage) {
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
			// As long as the window on the own lattice is short, composing there is exact.
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
			// A coarser grid costs more of few outcomes than of many, so it waits until there are many,
			// while the window is not long.
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
	shares := 0.0 // of the rest
	for i := range stages {
		for j := range stages[i] {
			if stages[i][j].h == 0 {
				shares += q.stageShare(j)
			}
		}
	}
	top = math.Sqrt(topBudget / blocks)
	widest := math.Inf(1)
	if q.spread > 0 && gap < 1 {
		around := q.spread
		if q.sparse() {
			around = math.Max(around, q.aimed/100)
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
		// What the rounding of ratios saved or spent is made up for by all grids together.
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

// stageShare weighs what a stage may use up: the window of the first, where the losses of one step span far
// more than most are wide, is by far the longest.
func (q *query) stageShare(stage int) float64 {
	if stage == 0 && q.dense() {
		return 3
	}
	return 1
}

// align shrinks a grid step until the atoms of the pair that runs least often, hence has the heaviest atoms
// left, lie on grid points: off the grid they cost accuracy of first order in the step.
func (q *query) align(h float64) float64 {
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

// niceDivisor returns a divisor of n within a factor 1.7 of m, if there is one, the nearest such; else m
// rounded.
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
