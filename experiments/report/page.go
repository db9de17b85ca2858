package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/number"
)

//go:embed page.html
var pageSource string

type page struct {
	*experiments.Result
	Methods        [][]string // cells of Table
	Header         []string
	Advice         []advice
	Use, Protects  string        // the first sentences
	Accuracy       template.HTML // of a sweep
	Dots           []dot         // of one target
	Labels         []template.HTML
	Falls          []waterfall
	ClassTables    []classTable
	PrivateFigures []picture
	Repeat         string
}

type picture struct {
	Name, Caption string
	SVG           template.HTML
}

// writePage renders the self-contained HTML page: no script, no font and no
// picture is fetched from anywhere.
func writePage(w io.Writer, r *experiments.Result, private []drawn, repeat string) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"percent":  percent,
		"short":    trim,
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
		Advice: advise(r), Falls: waterfalls(r), ClassTables: classTables(r), PrivateFigures: pictures(private)}
	if len(p.Advice) > 0 {
		p.Use, p.Protects = use(p.Advice), protects(r, p.Advice)
	}
	if len(r.EpsilonTargets) > 1 {
		p.Accuracy, p.Labels = accuracyChart(r), labelCharts(r)
	} else {
		p.Dots = dots(r)
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func pictures(figures []drawn) []picture {
	out := make([]picture, len(figures))
	for i, f := range figures {
		svg := string(f.svg)
		if at := strings.Index(svg, "<svg"); at > 0 {
			svg = svg[at:] // the XML prologue has no place inside HTML
		}
		out[i] = picture{Name: f.name, Caption: f.caption, SVG: template.HTML(svg)}
	}
	return out
}
