// Package figure draws plots of lines as SVG. The name of each line is printed at the line's end. Colours
// are classes of a style sheet.
package figure

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pate-go/pate/internal/template"
)

type Figure struct {
	Title string // accessible name
	Mark  string // warning above the plot; may be empty
	X, Y  Axis
	Lines []Line
	Zero  bool // draws a horizontal line at zero
}

type Line struct {
	Name   string
	Colour int  // from 0 to Colours-1; negative for grey
	Dashed bool // grey lines on a page are always dashed
	Dots   bool // draws every point
	Level  bool // draws a horizontal line through the last point, across the plot
	Points []Point
}

// Point is a point of a line. If High is above Low, the point has an error bar from Low to High.
type Point struct{ X, Y, Low, High float64 }

// Colours is the number of line colours. Their classes in the style sheet are s0 to s7.
const Colours = 8

// Size is the size of a plot in pixels. Left is the width of tick labels, and Right is the width of the names
// of lines.
type Size struct {
	Class                            string
	Width, Height, Left, Right, Font float64
}

// HTML returns the plot once for each of the given sizes. The style sheet of the page must define the classes
// of colours and sizes.
func (f Figure) HTML(sizes ...Size) template.Markup {
	var b strings.Builder
	for _, s := range sizes {
		f.draw(&b, s)
	}
	return template.Markup(b.String())
}

// SVG returns the plot as an SVG file that includes a style sheet. The plot is wide enough for the longest
// name.
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

//go:embed style.html
var style string

func (f Figure) draw(b *strings.Builder, s Size) {
	var xs, ys []float64
	for _, l := range f.Lines {
		for _, p := range l.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
			if p.High > p.Low {
				ys = append(ys, p.Low, p.High)
			}
		}
	}
	top, bottom, right := 10.0, s.Height-s.Font*3, s.Width-s.Right
	words := func(class, anchor string, x, y float64, words string) {
		fmt.Fprintf(b, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, class, x, y, anchor, html.EscapeString(words))
	}
	fmt.Fprintf(b, `<svg class="chart %s" viewBox="0 0 %g %g" width="%g" height="%g" font-size="%g" role="img" aria-label="%s">`,
		s.Class, s.Width, s.Height, s.Width, s.Height, s.Font, html.EscapeString(f.Title))
	for _, above := range [][2]string{{"mark", f.Mark}, {"tick", f.Y.Label}} {
		if above[1] != "" {
			words(above[0], "start", 4, top+s.Font*0.6, above[1])
			top += s.Font * 1.5
		}
	}
	xAxis, yAxis := f.X.over(xs), f.Y.padded(ys)
	x := func(v float64) float64 { return s.Left + 8 + xAxis.share(v)*(right-s.Left-16) }
	y := func(v float64) float64 { return bottom - yAxis.share(v)*(bottom-top) }
	for _, v := range yAxis.Ticks {
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fH%.1f"/>`, s.Left, y(v), right)
		words("tick", "end", s.Left-7, y(v)+s.Font/3, text(v))
	}
	if f.Zero {
		fmt.Fprintf(b, `<path class="zero" d="M%.1f %.1fH%.1f"/>`, s.Left, y(0), right)
	}
	for _, v := range xAxis.Ticks {
		words("tick", "middle", x(v), bottom+s.Font+6, text(v))
	}
	words("tick", "middle", (s.Left+right)/2, s.Height-4, f.X.Label)
	ends := make([]float64, len(f.Lines))
	for i, l := range f.Lines {
		ends[i] = y(l.end().Y)
	}
	heights := apart(ends, s.Font*1.25, top+s.Font/2, bottom)
	for i, l := range f.Lines {
		l.draw(b, x, y, s.Left, right)
		if l.Name != "" {
			from := right
			if !l.Level {
				from = x(l.end().X) + 5
			}
			fmt.Fprintf(b, `<path class="hair" d="M%.1f %.1fL%.1f %.1f"/>`, from, ends[i], right+14, heights[i])
			words("name", "start", right+17, heights[i]+s.Font/3, l.Name)
		}
		b.WriteString("</g>")
	}
	b.WriteString("</svg>\n")
}

func (l Line) draw(b *strings.Builder, x, y func(v float64) float64, left, right float64) {
	class, dashed := "level", ""
	if l.Colour >= 0 {
		class = fmt.Sprintf("s%d", l.Colour%Colours)
	}
	if l.Dashed {
		dashed = " dashed"
	}
	fmt.Fprintf(b, `<g class="%s">`, class)
	path := make([]string, len(l.Points))
	for i, p := range l.Points {
		if p.High > p.Low && l.Colour >= 0 && !l.Level {
			fmt.Fprintf(b, `<path class="bar" d="M%.1f %.1fV%.1f"/>`, x(p.X), y(p.Low), y(p.High))
		}
		if l.Dots {
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.4"/>`, x(p.X), y(p.Y))
		}
		path[i] = fmt.Sprintf("%.1f %.1f", x(p.X), y(p.Y))
	}
	if l.Level {
		end := y(l.end().Y)
		path = []string{fmt.Sprintf("%.1f %.1f", left, end), fmt.Sprintf("%.1f %.1f", right, end)}
	}
	fmt.Fprintf(b, `<path class="line%s" d="M%s"/>`, dashed, strings.Join(path, "L"))
}

func (l Line) end() Point {
	if len(l.Points) == 0 {
		return Point{X: math.NaN(), Y: math.NaN()}
	}
	return l.Points[len(l.Points)-1]
}

func apart(at []float64, step, low, high float64) []float64 {
	out, rank := slices.Clone(at), make([]int, len(at))
	for i := range rank {
		rank[i] = i
	}
	slices.SortStableFunc(rank, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	room := low
	for _, i := range rank { // downwards, without overlaps
		out[i] = max(out[i], room)
		room = out[i] + step
	}
	room = high
	for _, i := range slices.Backward(rank) { // back from high
		out[i] = min(out[i], room)
		room = out[i] - step
	}
	return out
}

// Axis is an axis of a plot. If Low and High are equal, the axis covers the values of all lines.
type Axis struct {
	Label     string
	Low, High float64
	Log       bool
	Ticks     []float64 // nil for round numbers
}

func (a Axis) over(values []float64) Axis {
	if a.Low == a.High {
		a.Low, a.High = math.Inf(1), math.Inf(-1)
		for _, v := range values {
			if !math.IsInf(v, 0) && (!a.Log || v > 0) {
				a.Low, a.High = min(a.Low, v), max(a.High, v)
			}
		}
		if a.Low > a.High {
			a.Low, a.High = 1, 1
		}
	}
	if a.Ticks == nil {
		a.Ticks = a.round()
	}
	return a
}

func (a Axis) padded(values []float64) Axis {
	if a.Low != a.High || a.Log {
		return a.over(values)
	}
	ends := Axis{Low: a.Low, High: a.High, Ticks: []float64{}}.over(values)
	space := 0.04 * (ends.High - ends.Low)
	low := ends.Low - space
	if ends.Low >= 0 {
		low = max(0, low)
	}
	a.Low, a.High = low, ends.High+space
	return a.over(values)
}

func (a Axis) share(v float64) float64 {
	low, high := a.Low, a.High
	if low == high {
		return 0.5
	}
	v = min(max(v, low), high)
	if a.Log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	return (v - low) / (high - low)
}

func (a Axis) round() []float64 {
	var out []float64
	if a.Log {
		mantissas, decades := []float64{1, 2, 5}, math.Log10(a.High/a.Low)
		if decades > 2 {
			mantissas = mantissas[:1]
		}
		skip := max(1, math.Ceil(decades/6))
		for e := math.Floor(math.Log10(a.Low)/skip) * skip; e <= math.Log10(a.High); e += skip {
			for _, m := range mantissas {
				if v := m * math.Pow(10, e); v >= a.Low*(1-1e-9) && v <= a.High*(1+1e-9) {
					out = append(out, v)
				}
			}
		}
		return out
	}
	if !(a.High > a.Low) {
		return []float64{a.Low}
	}
	step := math.Pow(10, math.Floor(math.Log10((a.High-a.Low)/4)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (a.High-a.Low)/(step*m) <= 6 {
			step *= m
			break
		}
	}
	for v := math.Ceil(a.Low/step-1e-9) * step; v <= a.High+step*1e-9; v += step {
		out = append(out, math.Round(v/step)*step+0) // avoids -0
	}
	return out
}

func text(v float64) string {
	if size := math.Abs(v); size >= 1e5 || size < 1e-3 && size > 0 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return strconv.FormatFloat(v, 'f', -1, 64)
}
