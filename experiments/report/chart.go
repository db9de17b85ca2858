package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/internal/number"
)

// A chart is a picture of lines over epsilon for a page: its colours are those of the page,
// light or dark, and its text has one size on every screen, as it is drawn for two widths.
// Lines are named at their ends.
type chart struct {
	Title string
	Unit  string // of the vertical axis, such as "%"
	Lines []chartLine
	At    []float64 // ticks of epsilon, > 0, rising
	Log   bool      // the vertical axis
	Zero  bool      // a line at zero
}

type chartLine struct {
	Name   string
	Colour int // of the page; -1 for what protects nothing
	Level  bool
	Points []chartPoint
}

// end returns the last value of a line.
func (l chartLine) end() float64 { return l.Points[len(l.Points)-1].Y }

type chartPoint struct{ X, Y, Low, High float64 }

// size of a drawing, in pixels.
type size struct {
	class                            string
	width, height, left, right, font float64
}

var sizes = []size{
	{class: "wide", width: 860, height: 400, left: 52, right: 190, font: 14},
	{class: "narrow", width: 350, height: 330, left: 34, right: 156, font: 11},
}

var halves = []size{
	{class: "wide", width: 425, height: 280, left: 46, right: 158, font: 12},
	{class: "narrow", width: 350, height: 270, left: 34, right: 156, font: 11},
}

// svg draws the chart in each size; the page shows the one that fits.
func (c chart) svg(all []size) template.HTML {
	var b strings.Builder
	for _, s := range all {
		c.draw(&b, s)
	}
	return template.HTML(b.String())
}

func (c chart) draw(b *strings.Builder, s size) {
	const top, bottom = 10, 42
	low, high := c.span()
	x := func(v float64) float64 {
		first, last := math.Log(c.At[0]), math.Log(c.At[len(c.At)-1])
		if first == last {
			return (s.left + s.width - s.right) / 2
		}
		return s.left + 8 + (math.Log(v)-first)/(last-first)*(s.width-s.left-s.right-16)
	}
	scale := func(v float64) float64 { return v }
	if c.Log {
		scale = math.Log
	}
	y := func(v float64) float64 {
		return s.height - bottom - (scale(min(max(v, low), high))-scale(low))/(scale(high)-scale(low))*(s.height-bottom-top)
	}
	fmt.Fprintf(b, `<svg class="chart %s" viewBox="0 0 %g %g" width="%g" height="%g" font-size="%g" role="img" aria-label="%s">`,
		s.class, s.width, s.height, s.width, s.height, s.font, template.HTMLEscapeString(c.Title))
	for _, v := range c.ticks(low, high) {
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fH%.1f"/><text class="tick" x="%.1f" y="%.1f" text-anchor="end">%s</text>`,
			s.left, y(v), s.width-s.right, s.left-7, y(v)+s.font/3, strconv.FormatFloat(v, 'f', -1, 64))
	}
	if c.Zero {
		fmt.Fprintf(b, `<path class="zero" d="M%.1f %.1fH%.1f"/>`, s.left, y(0), s.width-s.right)
	}
	for _, v := range c.At {
		fmt.Fprintf(b, `<text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x(v), s.height-bottom+s.font+6, number.Exact(v))
	}
	fmt.Fprintf(b, `<text class="tick" x="%.1f" y="%.1f" text-anchor="middle">ε</text>`, (s.left+s.width-s.right)/2, s.height-4)
	heights := c.names(y, s.font*1.25, top+s.font/2, s.height-bottom)
	for i, l := range c.Lines {
		class := "level"
		if l.Colour >= 0 {
			class = "s" + strconv.Itoa(l.Colour%lineColours)
		}
		fmt.Fprintf(b, `<g class="%s">`, class)
		var path []string
		for _, p := range l.Points {
			if p.High > p.Low && l.Colour >= 0 && !l.Level {
				fmt.Fprintf(b, `<path class="bar" d="M%.1f %.1fV%.1f"/>`, x(p.X), y(p.Low), y(p.High))
			}
			path = append(path, fmt.Sprintf("%.1f %.1f", x(p.X), y(p.Y)))
			if l.Colour >= 0 {
				fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.4"/>`, x(p.X), y(p.Y))
			}
		}
		end := y(l.end())
		if l.Level {
			path = []string{fmt.Sprintf("%.1f %.1f", s.left, end), fmt.Sprintf("%.1f %.1f", s.width-s.right, end)}
		}
		from := s.width - s.right
		if !l.Level {
			from = x(l.Points[len(l.Points)-1].X) + 5
		}
		fmt.Fprintf(b, `<path class="line" d="M%s"/><path class="hair" d="M%.1f %.1fL%.1f %.1f"/>`, strings.Join(path, "L"), from, end, s.width-s.right+14, heights[i])
		fmt.Fprintf(b, `<text class="name" x="%.1f" y="%.1f">%s</text></g>`, s.width-s.right+17, heights[i]+s.font/3, template.HTMLEscapeString(l.Name))
	}
	b.WriteString("</svg>\n")
}

// lineColours is how many colours the page has for lines.
const lineColours = 8

// span returns the ends of the vertical axis. What protects nothing may lie far below.
func (c chart) span() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, l := range c.Lines {
		for _, p := range l.Points {
			if l.Colour >= 0 {
				low = min(low, p.Low, p.Y)
			}
			high = max(high, p.High, p.Y)
		}
	}
	if low > high {
		low = 0
	}
	if c.Log {
		return max(0.9, low/1.25), max(2, high*1.25)
	}
	margin := max(0.5, 0.06*(high-low))
	low, high = low-margin, high+margin
	if c.Unit == "%" {
		low, high = max(0, low), min(100, high)
	}
	if c.Zero {
		low, high = min(low, -margin), max(high, margin)
	}
	return low, high
}

// ticks returns round numbers between low and high.
func (c chart) ticks(low, high float64) []float64 {
	var out []float64
	if c.Log {
		steps := []float64{1, 2, 5}
		if high/low > 100 {
			steps = steps[:1]
		}
		for ten := 1.0; ten <= high; ten *= 10 {
			for _, v := range steps {
				if v*ten >= low && v*ten <= high {
					out = append(out, v*ten)
				}
			}
		}
		return out
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*m) <= 6 {
			step *= m
			break
		}
	}
	for v := math.Ceil(low/step) * step; v <= high+1e-9; v += step {
		out = append(out, math.Round(v/step)*step+0) // no -0
	}
	return out
}

// names returns the heights of the names, each beside the end of its line.
func (c chart) names(y func(float64) float64, step, top, bottom float64) []float64 {
	at, order := make([]float64, len(c.Lines)), make([]float64, len(c.Lines))
	for i, l := range c.Lines {
		at[i], order[i] = y(l.end()), -l.end()
	}
	return apart(at, order, step, top, bottom)
}

// apart returns places for labels that should be at the given ones: in the given order,
// a step or more apart, and from low to high. Where they do not fit, they begin below low.
func apart(at, order []float64, step, low, high float64) []float64 {
	out, rank := slices.Clone(at), make([]int, len(at))
	for i := range rank {
		rank[i] = i
	}
	slices.SortStableFunc(rank, func(a, b int) int { return cmp.Compare(order[a], order[b]) })
	room := low
	for _, i := range rank { // upwards, out of each other's way
		out[i] = max(out[i], room)
		room = out[i] + step
	}
	room = high
	for _, i := range slices.Backward(rank) { // and back from high
		out[i] = min(out[i], room)
		room = out[i] - step
	}
	return out
}
