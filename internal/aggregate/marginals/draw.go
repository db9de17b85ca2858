package marginals

import (
	"math"
	"math/rand/v2"
)

// Counts holds the released counts, from which rows are drawn.
type Counts struct {
	Columns [][]int64 // noisy counts of each column
	Pairs   []Pair    // noisy tables of the edges of a tree; nil if columns are independent
	layout            // of the columns, for the pairs
}

// The small counts of a column are set to 0 if together they are at most the fraction mostTrimmed of the
// column. Otherwise noise in wide bins without units would stretch the scale of numbers.

// A count is small if it is below fewestOfBin standard deviations of the noise.
const (
	fewestOfBin = 2
	mostTrimmed = 0.02
)

func (c *Counts) trim(sigma float64) {
	for _, column := range c.Columns {
		all, small := 0.0, 0.0
		for _, n := range column {
			all += math.Max(0, float64(n))
			if float64(n) < fewestOfBin*sigma {
				small += math.Max(0, float64(n))
			}
		}
		for b, n := range column {
			if small <= mostTrimmed*all && float64(n) < fewestOfBin*sigma {
				column[b] = 0
			}
		}
	}
}

// Weights returns a relative weight for each bin, or 0 if the noisy count is negative.
func (c *Counts) Weights() [][]float64 {
	if c == nil {
		return nil
	}
	weights := make([][]float64, len(c.Columns))
	for j, column := range c.Columns {
		weights[j] = make([]float64, len(column))
		for b, n := range column {
			weights[j][b] = math.Max(0, float64(n))
		}
	}
	return weights
}

// Draw returns random rows, each as one bin per column. If there is no tree of column pairs, Draw returns
// nil. The first column is drawn from its noisy counts. Each further column is paired with a column that is
// already drawn. First, a group of bins is drawn from the noisy table of the pair. Then a bin of this group
// is drawn from the noisy counts of the new column. The result is a public function of the counts and the
// number of rows.
func (c *Counts) Draw(rows int) [][]int {
	if c == nil || c.Pairs == nil {
		return nil
	}
	rnd := rand.New(rand.NewPCG(0x74726565, 0))
	bins, groups := make([][]int, rows), make([][]int, rows)
	for i := range bins {
		bins[i], groups[i] = make([]int, len(c.Columns)), make([]int, len(c.Columns))
	}
	place := func(row, column, group int) {
		groups[row][column] = group
		within := make([]float64, len(c.bins[column]))
		for b, mass := range c.bins[column] {
			if c.groups[column][b] == group {
				within[b] = mass + math.SmallestNonzeroFloat32
			}
		}
		bins[row][column] = pick(within, rnd)
	}
	for i := range rows {
		place(i, 0, pick(c.masses[0], rnd))
	}
	drawn := map[int]bool{0: true}
	for range c.Pairs {
		for _, p := range c.Pairs {
			from, to := p.Columns[0], p.Columns[1]
			if drawn[from] == drawn[to] {
				continue
			}
			masses, reversed := project(p.Counts, c.total), drawn[to]
			if reversed {
				from, to = to, from
			}
			drawn[to] = true
			given := make([][]float64, c.sizes[from])
			for a := range given {
				given[a] = make([]float64, c.sizes[to])
				for b := range given[a] {
					if given[a][b] = masses[a*len(given[a])+b]; reversed {
						given[a][b] = masses[b*len(given)+a]
					}
				}
				if total(given[a]) == 0 { // no counts: ignore the drawn column
					given[a] = c.masses[to]
				}
			}
			for i := range rows {
				place(i, to, pick(given[groups[i][from]], rnd))
			}
		}
	}
	return bins
}

func total(masses []float64) (sum float64) {
	for _, m := range masses {
		sum += m
	}
	return sum
}

func pick(masses []float64, rnd *rand.Rand) int {
	u := rnd.Float64() * total(masses)
	last := 0
	for i, m := range masses {
		if m > 0 {
			last = i
		}
		if u -= m; u < 0 {
			return i
		}
	}
	return last
}
