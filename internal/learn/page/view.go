package page

import (
	"fmt"
	"math"
	"strconv"

	"github.com/pate-go/pate/internal/number"
)

// View is the picture for one [Situation].
type View struct {
	Panels  []Panel  `json:"panels"`
	Says    []string `json:"says"`              // sentences that describe the picture
	Command string   `json:"command,omitempty"` // command that prints the same numbers
	Verdict Verdict  `json:"verdict"`
	Numbers []Number `json:"numbers"`
}

type Verdict struct {
	Holds bool   `json:"holds"`
	Words string `json:"words"`
}

type Panel struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	SVG   string `json:"svg"`
	Alt   string `json:"alt"`             // description in one or two sentences
	Table *Table `json:"table,omitempty"` // numbers of the drawing, or nil
	Wide  bool   `json:"wide,omitempty"`  // needs the full width of the page
}

type Table struct {
	Head []string   `json:"head"`
	Rows [][]string `json:"rows"`
}

type Number struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Text  string  `json:"text"`
}

func (v *View) number(name string, x float64) { v.add(name, x, short(x)) }

func (v *View) claim(name string, epsilon float64) { v.add(name, epsilon, up(epsilon)) }

// add replaces an infinite x by ±MaxFloat64, because JSON has no infinity.
func (v *View) add(name string, x float64, text string) {
	if math.IsInf(x, 0) {
		x = math.Copysign(math.MaxFloat64, x)
	}
	v.Numbers = append(v.Numbers, Number{Name: name, Value: x, Text: text})
}

func (v *View) say(format string, args ...any) {
	v.Says = append(v.Says, fmt.Sprintf(format, args...))
}

func (v View) Number(name string) (float64, bool) {
	for _, n := range v.Numbers {
		if n.Name == name {
			return n.Value, true
		}
	}
	return 0, false
}

func (v View) check() error {
	for _, n := range v.Numbers {
		if math.IsNaN(n.Value) {
			return fmt.Errorf("page: %s is not a number", n.Name)
		}
	}
	return nil
}

func short(x float64) string {
	switch {
	case math.IsInf(x, 0):
		return map[bool]string{true: "∞", false: "−∞"}[x > 0]
	case x == math.Trunc(x) && math.Abs(x) < 1e9:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// up formats an epsilon with four digits, rounded up. Rounding errors below 2^-40 of x do not raise the last
// digit.
func up(x float64) string {
	if math.IsInf(x, 1) {
		return "∞"
	}
	return short(number.Up(x-math.Abs(x)*0x1p-40, 4))
}

func percent(p float64) string {
	switch {
	case p == 0 || p == 1:
		return strconv.FormatFloat(100*p, 'f', 0, 64) + " %"
	case p < 0.0995 || p > 0.995 && p < 1:
		return strconv.FormatFloat(100*p, 'g', 3, 64) + " %"
	}
	return strconv.FormatFloat(100*p, 'f', 1, 64) + " %"
}
