package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// canvas is a drawing of fixed size, in units of which a panel is about as wide as a phone.
// Colours are classes of the style sheet, so that one drawing serves light and dark.
type canvas struct {
	strings.Builder
	w, h float64
}

const panelWidth = 420

func newCanvas(h float64) *canvas { return &canvas{w: panelWidth, h: h} }

// at prints a coordinate to a tenth.
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

// element writes an element with coordinates, whose names are in one string.
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

// text writes words; anchor is start, middle or end.
func (c *canvas) text(class, anchor string, x, y float64, words string) {
	c.WriteString(`<text class="` + class + `" text-anchor="` + anchor + `" x="` + at(x) + `" y="` + at(y) + `">` + escape(words) + "</text>")
}

// path draws a line through points.
func (c *canvas) path(class string, xs, ys []float64) {
	var d strings.Builder
	for i := range xs {
		d.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + at(xs[i]) + " " + at(ys[i]))
	}
	c.WriteString(`<path class="` + class + `" d="` + d.String() + `"/>`)
}

// attributes writes pairs of names and values.
func attributes(more []string) string {
	var b strings.Builder
	for i := 0; i+1 < len(more); i += 2 {
		b.WriteString(" " + more[i] + `="` + escape(more[i+1]) + `"`)
	}
	return b.String()
}

// panel closes the drawing. The words of alt are its accessible name.
func (c *canvas) panel(id, title, alt string, table *Table) Panel {
	svg := fmt.Sprintf(`<svg viewBox="0 0 %s %s" role="img" aria-label="%s">%s</svg>`, at(c.w), at(c.h), escape(title+": "+alt), c.String())
	return Panel{ID: id, Title: title, SVG: svg, Alt: alt, Table: table}
}
