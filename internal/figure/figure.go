// Package figure draws lines in one plot as SVG, with the name of each line at its end. Colours are classes
// of a style sheet: a page brings its own, and a file has one for light and dark.
package figure

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"unicode/utf8"
)

// Figure is a plot of lines.
type Figure struct {
	Title string // the accessible name
	Mark  string // a warning above the plot; empty for none
	X, Y  Axis
	Lines []Line
	Zero  bool // draws the level zero
}

// Line is a line with a name, which may be empty.
type Line struct {
	Name   string
	Colour int  // of [Colours]; negative for grey
	Dashed bool // grey lines of a page are dashed anyway
	Dots   bool // draws each point
	Level  bool // draws a level line at the last point, from side to side
	Points []Point
}

// Point is a point of a line, with an error bar from Low to High where High is above Low.
type Point struct{ X, Y, Low, High float64 }

// Colours is the number of colours: classes s0 to s7.
const Colours = 8

// Size is a size of a drawing, in pixels. Left is the space for the ticks, Right for the names.
type Size struct {
	Class                            string
	Width, Height, Left, Right, Font float64
}

// HTML returns the plot in each size, for a page whose style sheet has the classes.
func (f Figure) HTML(sizes ...Size) template.HTML {
	var b strings.Builder
	for _, s := range sizes {
		f.draw(&b, s)
	}
	return template.HTML(b.String())
}

// SVG returns a file that needs no style sheet, with space for the longest name.
func (f Figure) SVG() []byte {
	names := 0
	for _, l := range f.Lines {
		names = max(names, utf8.RuneCountInString(l.Name))
	}
	const font = 14
	s := Size{Class: "alone", Left: 62, Right: math.Round(26 + 0.55*font*float64(names)), Height: 420, Font: font}
	s.Width = 580 + s.Right
	var b strings.Builder
	f.draw(&b, s)
	head, rest, _ := strings.Cut(b.String(), ">")
	return fmt.Appendf(nil, "<svg xmlns=%q%s>%s%s", "http://www.w3.org/2000/svg", strings.TrimPrefix(head, "<svg"), style, rest)
}

// style is the style sheet of a file.
const style = `<style>
svg { font-family: system-ui, sans-serif; background: #fff; color: #1b1b1b; } path { fill: none; } .grid { stroke: #ddd; } .zero { stroke: #777; } .tick { fill: #5a5a58; } .mark { fill: #a63f00; }
.line { stroke: currentColor; stroke-width: 2; } .dashed { stroke-dasharray: 5 4; } .hair { stroke: currentColor; stroke-width: .7; } .bar { stroke: currentColor; stroke-width: 1.2; opacity: .7; } circle, .name { fill: currentColor; }
.level { color: #6b7480; } .s0 { color: #0072b2; } .s1 { color: #c9530a; } .s2 { color: #00805e; } .s3 { color: #b0508a; } .s4 { color: #8a6500; } .s5 { color: #2f8fc4; } .s6 { color: #1b1b1b; } .s7 { color: #7a4fc0; }
@media (prefers-color-scheme: dark) { svg { background: #17181a; } .grid { stroke: #3a3c40; } .tick { fill: #a8a8a4; } .mark { fill: #ff9d5c; } .level { color: #8f99a6; }
.s0 { color: #56b4e9; } .s1 { color: #ff8f4d; } .s2 { color: #3fc79a; } .s3 { color: #e796c4; } .s4 { color: #f0c04a; } .s5 { color: #9ad0f5; } .s6 { color: #f2f2f2; } .s7 { color: #b79cf0; } }
</style>`
