package pld

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// Discretisation of a pair needs three integrals of each half cell, each with high relative accuracy:
//
//	mass  = P[half cell]
//	left  = P[half cell] - e^a Q[half cell]   >= 0,   a the loss at the left end of the cell
//	right = P[half cell] - e^b Q[half cell]   <= 0,   b at the right end
//
// On a fine grid, differences of delta(epsilon) would lose all digits.

// A halfCell is the left or right half of a cell. A cell is an interval of losses between two grid points.
type halfCell struct {
	scale             float64 // log of the unit of the three integrals
	mass, left, right float64
	slack             float64 // relative rounding error of the three integrals
}

func (s *halfCell) empty() bool { return math.IsInf(s.scale, -1) || !(s.mass > 0) }

// cells is a pair of distributions, divided at the losses h*grid[i] + off. Cell i consists of halfs[2*i] and
// halfs[2*i+1].
type cells struct {
	h, off float64
	grid   []int
	halfs  []halfCell
	atoms  []gridAtom // of symmetric pairs only
	// leftP, leftQ, rightP and rightQ are the log masses left and right of the grid.
	leftP, leftQ, rightP, rightQ float64
	// lowest is the index of the grid point that absorbs all smaller losses, and highest the same for larger
	// losses. -1 means none.
	lowest, highest int
	whole           bool // all losses of the cell beside lowest or highest are merged there
	// leftLow and leftHigh are the indices of grid points below and above all losses left of the cells.
	// rightLow and rightHigh are the same for losses right of the cells. leftLow and rightHigh are -1 if
	// there is no such point.
	leftHigh, leftLow, rightHigh, rightLow int
	lossError                              float64 // absolute rounding error of any loss
	pieces                                 int     // bound of the number of pieces of integration
}

func newCells(h, off float64, grid []int) *cells {
	none := math.Inf(-1)
	return &cells{h: h, off: off, grid: grid, halfs: make([]halfCell, 2*(len(grid)-1)), lowest: -1, highest: -1,
		leftP: none, leftQ: none, rightP: none, rightQ: none, leftLow: -1, rightHigh: -1}
}

func (c *cells) at(i int) float64 { return c.off + c.h*float64(c.grid[i]) }

func (c *cells) first(i int, loss float64) int {
	for i < len(c.grid)-1 && c.at(i) < loss {
		i++
	}
	return i
}

type gridAtom struct {
	i       int
	logMass float64
}

func (c *cells) width(i int) float64 { return c.h * float64(c.grid[i+1]-c.grid[i]) }

func (c *cells) mirror() *cells {
	n := len(c.grid)
	m := &cells{h: c.h, off: -c.off, lowest: -1, highest: -1, whole: c.whole, grid: make([]int, n), halfs: make([]halfCell, len(c.halfs)),
		leftP: c.rightQ, leftQ: c.rightP, rightP: c.leftQ, rightQ: c.leftP,
		leftHigh: n - 1 - c.rightLow, rightLow: n - 1 - c.leftHigh, leftLow: -1, rightHigh: -1, lossError: c.lossError, pieces: c.pieces}
	if c.rightHigh >= 0 {
		m.leftLow = n - 1 - c.rightHigh
	}
	if c.leftLow >= 0 {
		m.rightHigh = n - 1 - c.leftLow
	}
	for i, g := range c.grid {
		m.grid[n-1-i] = -g
	}
	if c.lowest >= 0 {
		m.highest = n - 1 - c.lowest
	}
	if c.highest >= 0 {
		m.lowest = n - 1 - c.highest
	}
	for _, a := range c.atoms {
		m.atoms = append(m.atoms, gridAtom{n - 1 - a.i, a.logMass - c.at(a.i)})
	}
	for i, s := range c.halfs {
		a, d := c.at(i/2), c.width(i/2)
		// In units of e^-a: Q = P - left. Integrals against (Q, P) follow from integrals against (P, Q): Q -
		// e^-c P = -e^-c (P - e^c Q).
		m.halfs[len(c.halfs)-1-i] = halfCell{scale: s.scale - a, slack: s.slack,
			mass: s.mass - s.left, left: -s.right * math.Exp(-d), right: -s.left}
	}
	return m
}

// anchor returns x in [lo, hi] with merged(x + reach) = x. Here merged(y) is the privacy loss of one output
// that replaces all outputs with a loss < y.
func anchor(reach, lo, hi float64, merged func(below float64) float64) float64 {
	lo, _ = mathx.Halve(60, func(mid float64) bool { return !(merged(mid+reach) > mid) }, lo, hi)
	return lo
}

// gridWidths returns the largest allowed width w of the cell [from, from + w*step].
type gridWidths func(from, step float64) int

func cut(lo, hi, off, h float64, width gridWidths) []int {
	grid := []int{int(math.Floor((lo - off) / h))}
	for last := grid[0]; off+float64(last)*h < hi; {
		last += max(1, width(off+float64(last)*h, h))
		grid = append(grid, last)
	}
	if len(grid) == 1 {
		grid = append(grid, grid[0]+1)
	}
	return grid
}

func cutBetween(first, last int, off, h float64, width gridWidths) []int {
	grid := []int{first}
	for at := first; at < last; {
		at = min(last, at+max(1, width(off+float64(at)*h, h)))
		grid = append(grid, at)
	}
	return grid
}
