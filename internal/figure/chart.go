package figure

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// draw writes one size of the plot.
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
		fmt.Fprintf(b, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, class, x, y, anchor, template.HTMLEscapeString(words))
	}
	fmt.Fprintf(b, `<svg class="chart %s" viewBox="0 0 %g %g" width="%g" height="%g" font-size="%g" role="img" aria-label="%s">`,
		s.Class, s.Width, s.Height, s.Width, s.Height, s.Font, template.HTMLEscapeString(f.Title))
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

// draw writes the points of the line and opens its group, which is for its name too.
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

// apart moves the heights of labels apart: in their order, at least a step, and from low to high. Labels
// that do not fit begin below low.
func apart(at []float64, step, low, high float64) []float64 {
	out, rank := slices.Clone(at), make([]int, len(at))
	for i := range rank {
		rank[i] = i
	}
	slices.SortStableFunc(rank, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	room := low
	for _, i := range rank { // downwards, out of each other's way
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
