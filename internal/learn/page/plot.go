package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

type axis struct {
	label     string
	low, high float64
	log       bool
}

func (a axis) share(x float64) float64 {
	low, high := a.low, a.high
	if a.log {
		x, low, high = math.Log(math.Max(x, 1e-300)), math.Log(low), math.Log(high)
	}
	return min(max((x-low)/(high-low), -0.02), 1.04)
}

func (a axis) ticks() []float64 {
	var out []float64
	if a.label == "" {
		return nil
	}
	if a.log {
		step := max(1, int(math.Ceil(math.Log10(a.high/a.low)/5)))
		for e := math.Ceil(math.Log10(a.low) - 1e-9); e <= math.Log10(a.high)+1e-9; e += float64(step) {
			out = append(out, math.Pow(10, e))
		}
		return out
	}
	step := math.Pow(10, math.Floor(math.Log10((a.high-a.low)/2)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (a.high-a.low)/(step*m) <= 5 {
			step *= m
			break
		}
	}
	for i := math.Ceil(a.low/step - 1e-9); i*step <= a.high+step*1e-9; i++ {
		out = append(out, i*step+0)
	}
	return out
}

func nice(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return 1
	}
	step := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8, 10} {
		if m*step >= x*1.04 {
			return m * step
		}
	}
	return 10 * step
}

type plot struct {
	*canvas
	x, y                     axis
	left, right, top, bottom float64 // edges of the plot area
}

const plotHeight = 270

func newPlot(x, y axis) *plot {
	p := &plot{canvas: newCanvas(plotHeight), x: x, y: y, left: 50, right: panelWidth - 12, top: 14, bottom: plotHeight - 42}
	for _, t := range y.ticks() {
		p.line("grid", p.left, p.py(t), p.right, p.py(t))
		p.text("tick", "end", p.left-6, p.py(t)+4, tickText(t, y))
	}
	for _, t := range x.ticks() {
		p.line("grid", p.px(t), p.bottom, p.px(t), p.bottom+4)
		p.text("tick", "middle", p.px(t), p.bottom+17, tickText(t, x))
	}
	p.line("axis", p.left, p.bottom, p.right, p.bottom)
	p.text("label", "end", p.right, p.h-6, x.label)
	p.text("label", "start", 4, 10, y.label)
	p.top += 4
	return p
}

func tickText(t float64, a axis) string {
	if a.log && (t >= 1e4 || t < 1e-3) {
		return "1e" + strconv.Itoa(int(math.Round(math.Log10(t))))
	}
	return strconv.FormatFloat(t, 'g', 3, 64)
}

func (p *plot) px(x float64) float64 { return p.left + (p.right-p.left)*p.x.share(x) }
func (p *plot) py(y float64) float64 { return p.bottom - (p.bottom-p.top-6)*p.y.share(y) }

func (p *plot) curve(class string, xs, ys []float64) {
	a, b := make([]float64, len(xs)), make([]float64, len(xs))
	for i := range xs {
		a[i], b[i] = p.px(xs[i]), p.py(ys[i])
	}
	p.path(class, a, b)
}

func (p *plot) area(class string, xs, low, high []float64) {
	var a, b []float64
	for i := range xs {
		a, b = append(a, p.px(xs[i])), append(b, p.py(high[i]))
	}
	for i := len(xs) - 1; i >= 0; i-- {
		a, b = append(a, p.px(xs[i])), append(b, p.py(low[i]))
	}
	p.path(class, a, b)
}

func (p *plot) key(class string, x float64, place int, words string) {
	y := p.top + 14 + 17*float64(place)
	if place < 0 {
		y = p.bottom + 6 + 17*float64(place)
	}
	p.path(class+" key", []float64{x, x + 22}, []float64{y - 4, y - 4})
	p.text("name", "start", x+28, y, words)
}

type canvas struct {
	strings.Builder
	w, h float64
}

const panelWidth = 420

func newCanvas(h float64) *canvas { return &canvas{w: panelWidth, h: h} }

func at(x float64) string {
	if math.IsNaN(x) {
		x = 0
	}
	tenths := int(math.Round(min(max(x, -9999), 9999) * 10))
	if tenths%10 == 0 {
		return strconv.Itoa(tenths / 10)
	}
	sign := ""
	if tenths < 0 {
		sign, tenths = "-", -tenths
	}
	return sign + strconv.Itoa(tenths/10) + "." + strconv.Itoa(tenths%10)
}

func (c *canvas) element(name, class string, more []string, names string, values ...float64) {
	c.WriteString("<" + name + ` class="` + class + `"`)
	for _, x := range values {
		var n string
		n, names, _ = strings.Cut(names, " ")
		c.WriteString(" " + n + `="` + at(x) + `"`)
	}
	c.WriteString(attributes(more) + "/>")
}

func escape(s string) string {
	if !strings.ContainsAny(s, `&<>"`) {
		return s
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

func (c *canvas) rect(class string, x, y, w, h float64, more ...string) {
	if h < 0 {
		y, h = y+h, -h
	}
	if w < 0 {
		x, w = x+w, -w
	}
	c.element("rect", class, more, "x y width height", x, y, w, h)
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.element("line", class, nil, "x1 y1 x2 y2", x1, y1, x2, y2)
}

func (c *canvas) circle(class string, x, y, r float64, more ...string) {
	c.element("circle", class, more, "cx cy r", x, y, r)
}

func (c *canvas) text(class, anchor string, x, y float64, words string) {
	c.WriteString(`<text class="` + class + `" text-anchor="` + anchor + `" x="` + at(x) + `" y="` + at(y) + `">` + escape(words) + "</text>")
}

func (c *canvas) path(class string, xs, ys []float64) {
	var d strings.Builder
	for i := range xs {
		d.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + at(xs[i]) + " " + at(ys[i]))
	}
	c.WriteString(`<path class="` + class + `" d="` + d.String() + `"/>`)
}

func attributes(more []string) string {
	var b strings.Builder
	for i := 0; i+1 < len(more); i += 2 {
		b.WriteString(" " + more[i] + `="` + escape(more[i+1]) + `"`)
	}
	return b.String()
}

func (c *canvas) panel(id, title, alt string, table *Table) Panel {
	svg := fmt.Sprintf(`<svg viewBox="0 0 %s %s" role="img" aria-label="%s">%s</svg>`, at(c.w), at(c.h), escape(title+": "+alt), c.String())
	return Panel{ID: id, Title: title, SVG: svg, Alt: alt, Table: table}
}
