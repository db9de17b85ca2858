package pld

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// The privacy loss of a pair of laws (P, Q) at an output y is log P(y)/Q(y), y drawn from P. A pair with a
// density is cut into cells whose ends are multiples of a grid step; all that discretisation needs of a
// half cell are three integrals, each kept with its own relative accuracy:
//
//	mass  = P[half cell]
//	left  = P[half cell] - e^a Q[half cell]   >= 0,   a the loss at the left end of the cell
//	right = P[half cell] - e^b Q[half cell]   <= 0,   b at the right end
//
// Differencing delta(epsilon) instead would lose all digits of a fine grid.
type halfCell struct {
	scale             float64 // log of the unit of the three integrals
	mass, left, right float64
	slack             float64 // relative rounding error of the three
}

// empty reports whether no output is in the half cell.
func (s *halfCell) empty() bool { return math.IsInf(s.scale, -1) || !(s.mass > 0) }

// cells is a pair cut at grid losses off + h*grid[0] < off + h*grid[1] < ...; half cells 2i and 2i+1 fill
// cell i, and meet in its middle.
type cells struct {
	h, off float64
	grid   []int
	halfs  []halfCell
	atoms  []gridAtom // of symmetric pairs only
	// Log masses left and right of the grid, under P and under Q.
	leftP, leftQ, rightP, rightQ float64
	// The point all losses below the next half way are merged at when there is nothing further below to mix
	// with, and likewise above; -1 if none.
	lowest, highest int
	// Grid points that losses left of the cells do not exceed and do not fall below, and likewise right of
	// them; -1 where there is no bound.
	leftHigh, leftLow, rightHigh, rightLow int
	lossError                              float64 // absolute rounding error of any loss
	pieces                                 int     // bounds those that the half cells were integrated in
}

// newCells returns empty cells on a grid, with no mass outside of them.
func newCells(h, off float64, grid []int) *cells {
	none := math.Inf(-1)
	return &cells{h: h, off: off, grid: grid, halfs: make([]halfCell, 2*(len(grid)-1)), lowest: -1, highest: -1,
		leftP: none, leftQ: none, rightP: none, rightQ: none, leftLow: -1, rightHigh: -1}
}

// at returns the loss of grid point i.
func (c *cells) at(i int) float64 { return c.off + c.h*float64(c.grid[i]) }

// first returns the first grid point from i on that is not below a loss, or the last of all.
func (c *cells) first(i int, loss float64) int {
	for i < len(c.grid)-1 && c.at(i) < loss {
		i++
	}
	return i
}

// gridAtom is P-mass whose loss is grid point i.
type gridAtom struct {
	i       int
	logMass float64
}

// width returns the width of cell i.
func (c *cells) width(i int) float64 { return c.h * float64(c.grid[i+1]-c.grid[i]) }

// mirror returns the cells of (Q, P), whose loss is the negative one.
func (c *cells) mirror() *cells {
	n := len(c.grid)
	m := &cells{h: c.h, off: -c.off, lowest: -1, highest: -1, grid: make([]int, n), halfs: make([]halfCell, len(c.halfs)),
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
		// In units of e^-a: Q = P - left, and integrals against (Q, P) from those against (P, Q): Q - e^-c
		// P = -e^-c (P - e^c Q).
		m.halfs[len(c.halfs)-1-i] = halfCell{scale: s.scale - a, slack: s.slack,
			mass: s.mass - s.left, left: -s.right * math.Exp(-d), right: -s.left}
	}
	return m
}

// anchor returns a loss from lo to hi at which all outputs of loss below anchor + h/2, merged into one,
// would lie exactly; merged returns where outputs below a loss would.
func anchor(h, lo, hi float64, merged func(below float64) float64) float64 {
	lo, _ = mathx.Halve(60, func(mid float64) bool { return !(merged(mid+h/2) > mid) }, lo, hi)
	return lo
}

// gridWidths returns how wide the cell that goes from a loss in the direction of step may be, in steps:
// wide where the tilted law has little mass.
type gridWidths func(from, step float64) int

// cut returns grid indices from at or below lo to at or above hi.
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

// cutBetween returns grid indices from one to another.
func cutBetween(first, last int, off, h float64, width gridWidths) []int {
	grid := []int{first}
	for at := first; at < last; {
		at = min(last, at+max(1, width(off+float64(at)*h, h)))
		grid = append(grid, at)
	}
	return grid
}
