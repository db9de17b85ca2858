package marginals

import (
	"cmp"
	"math"
	"slices"
)

// layout depends only on public numbers and noisy columns.
type layout struct {
	groups [][]int     // group of each bin, by column
	sizes  []int       // number of groups, by column
	bins   [][]float64 // noisy mass of each bin; every column has the same total
	masses [][]float64 // noisy mass of each group
	total  float64     // noisy number of units
}

// If columns are independent, a cell should hold about noisePerCell times the noise of a cell. noisePerCell
// was chosen on abalone, digits, satellite and waveform.

const (
	noisePerCell = 3
	mostGroups   = 32
	fewestGroups = 2
)

func (t *Tree) layout(columns [][]int64) layout {
	l := layout{}
	weight := 0.0
	for _, column := range columns {
		for _, n := range column {
			l.total += float64(n) / float64(len(column))
		}
		weight += 1 / float64(len(column))
	}
	l.total = math.Max(1, l.total/weight)
	groups := math.Sqrt(l.total / (noisePerCell * t.cfg.Sigma))
	least := l.total / math.Max(fewestGroups, math.Min(groups, mostGroups))
	for j, column := range columns {
		ordered := 0
		if t.cfg.Ordered != nil {
			ordered = t.cfg.Ordered[j]
		}
		masses := project(column, l.total)
		of, size := merge(masses, ordered, least)
		sums := make([]float64, size)
		for b, group := range of {
			sums[group] += masses[b]
		}
		l.groups, l.sizes = append(l.groups, of), append(l.sizes, size)
		l.bins, l.masses = append(l.bins, masses), append(l.masses, sums)
	}
	return l
}

func merge(masses []float64, ordered int, least float64) (of []int, groups int) {
	of = make([]int, len(masses))
	mass := 0.0
	for b, m := range masses[:ordered] {
		if mass >= least || mass > 0 && m >= least { // a bin that is large alone stays apart
			groups, mass = groups+1, 0
		}
		of[b], mass = groups, mass+m
	}
	if ordered > 0 {
		groups++
	}
	rest := -1
	for b, m := range masses[ordered:] {
		if b += ordered; m < least/2 && rest >= 0 {
			of[b] = rest
			continue
		}
		if of[b] = groups; m < least/2 {
			rest = groups
		}
		groups++
	}
	return of, groups
}

// project returns the L2 projection of counts onto the nonnegative vectors with sum total.
func project(counts []int64, total float64) []float64 {
	sorted := slices.SortedFunc(slices.Values(counts), func(a, b int64) int { return cmp.Compare(b, a) })
	sum, off := 0.0, 0.0
	for i, n := range sorted {
		sum += float64(n)
		if excess := (sum - total) / float64(i+1); i == 0 || float64(n) > excess {
			off = excess
		}
	}
	masses := make([]float64, len(counts))
	for i, n := range counts {
		masses[i] = math.Max(0, float64(n)-off)
	}
	return masses
}

func (l layout) expected(a, b, cell int) float64 {
	return l.masses[a][cell/l.sizes[b]] * l.masses[b][cell%l.sizes[b]] / l.total
}

func (l layout) group(cells [][]int) [][]int16 {
	of := make([][]int16, len(l.groups))
	for j, groups := range l.groups {
		of[j] = make([]int16, len(cells))
		for i, unit := range cells {
			if of[j][i] = None; unit[j] != None {
				of[j][i] = int16(groups[unit[j]])
			}
		}
	}
	return of
}
