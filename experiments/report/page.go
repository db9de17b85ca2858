package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/figure"
	"github.com/pate-go/pate/internal/number"
)

//go:embed page.html
var pageSource string

type page struct {
	*experiments.Result
	Methods       [][]string // cells of Table
	Header        []string
	Advice        []advice
	Use, Protects string        // the first sentences
	Accuracy      template.HTML // of a sweep
	Dots          []dot         // of one target
	Labels        []template.HTML
	Falls         []waterfall
	ClassTables   []classTable
	Gaps          template.HTML // private
	Repeat        string
}

// writePage renders the self-contained HTML page, which fetches nothing.
func writePage(w io.Writer, r *experiments.Result, repeat string) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"percent":  percent,
		"short":    func(x float64) string { return number.Digits(x, 4) },
		"up":       claim,
		"warning":  Warning,
		"decision": Decision,
		"share":    share,
		"exact":    number.Exact,
		"join":     func(names []string) string { return strings.Join(names, ", ") },
		"targets":  targetList,
		"at":       targetCell,
		"several":  func(r *experiments.Result) bool { return len(r.EpsilonTargets) > 1 },
	}).Parse(pageSource)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	cells := Table(r)
	p := page{Result: r, Methods: cells.Rows, Header: cells.Header, Repeat: repeat,
		Advice: advise(r), Falls: waterfalls(r), ClassTables: classTables(r)}
	if len(p.Advice) > 0 {
		p.Use, p.Protects = use(p.Advice), protects(r, p.Advice)
	}
	if len(r.EpsilonTargets) > 1 {
		p.Labels = labelCharts(r)
		p.Accuracy = accuracyFigure(r, "").HTML(
			figure.Size{Class: "wide", Width: 860, Height: 400, Left: 52, Right: 190, Font: 14},
			figure.Size{Class: "narrow", Width: 350, Height: 330, Left: 34, Right: 156, Font: 11})
	} else {
		p.Dots = dots(r)
	}
	if r.Diagnostics != nil {
		p.Gaps = gapFigure(r, "").HTML(figure.Size{Width: 640, Height: 390, Left: 52, Right: 12, Font: 14})
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
