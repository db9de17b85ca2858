package report

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/dpsgd/typical"
	"github.com/pate-go/pate/internal/figure"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/template"
)

//go:embed page.html
var pageSource string

type page struct {
	*experiments.Result
	Methods       [][]string // cells of Table
	Header        []string
	Advice        []advice
	Use, Protects string          // the first sentences
	Accuracy      template.Markup // for a sweep
	Dots          []dot           // for one target
	Labels        []template.Markup
	Falls         []waterfall
	ClassTables   []classTable
	Gaps          template.Markup // private
	Repeat        string
}

func writePage(w io.Writer, r *experiments.Result, repeat string) error {
	t, err := template.HTML("page", pageSource, template.Funcs{
		"percent":  percent,
		"short":    func(x float64) string { return number.Digits(x, 4) },
		"up":       claim,
		"warning":  Warning,
		"decision": Decision,
		"verdicts": Verdicts,
		"constant": constantWords,
		"share":    share,
		"exact":    number.Exact,
		"join":     func(names []string) string { return strings.Join(names, ", ") },
		"targets":  targetList,
		"at":       targetCell,
		"several":  func(r *experiments.Result) bool { return len(r.EpsilonTargets) > 1 },
	})
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
	text, err := t.Fill("page", p)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func constantWords(r *experiments.Result) string {
	if len(r.Rows) == 0 || r.Rows[0].ConstantAccuracy == 0 { // in results of earlier versions
		return ""
	}
	return fmt.Sprintf(" Always naming the most frequent class of the test rows: %s %%.", percent(r.Rows[0].ConstantAccuracy))
}

// Write writes results.json, results.csv, report.html and the figures as SVG. For each private method, Write
// also writes accounts/METHOD.json for `pate account`. Files go to the subfolders public and private of dir
// (see package results). Running times are in private. Each file is written atomically, and states if it is
// not releasable. In a seeded run, the names of accounts begin with "seeded-". The argument `repeat` is the
// command line that repeats the run.
func Write(dir string, r *experiments.Result, repeat string) error {
	folder, times := results.Folder(dir), make([]float64, len(r.Rows))
	for i, row := range r.Rows {
		times[i] = row.Seconds
	}
	if err := folder.KeepTimes(r.Seconds, times); err != nil {
		return err
	}
	if err := r.Typical().Write(dir); err != nil {
		return err
	}
	r = r.WithoutTimes()
	mark := ""
	if !r.Releasable {
		mark = Warning(r)
	}
	type file struct {
		name  string
		write func(io.Writer) error
	}
	files := []file{
		{"results.csv", func(w io.Writer) error { return Records(r).Write(w, table.CSV) }},
		{"report.html", func(w io.Writer) error { return writePage(w, r, repeat) }},
	}
	figures := map[string]figure.Figure{"accuracy": accuracyFigure(r, mark)}
	if r.Diagnostics != nil {
		figures["vote-gaps"] = gapFigure(r, mark)
	}
	for name, f := range figures {
		files = append(files, file{name + ".svg", func(w io.Writer) error { _, err := w.Write(f.SVG()); return err }})
	}
	for _, row := range r.Rows {
		if row.Account == nil {
			continue
		}
		name := experiments.FileName(row.Method, row.TargetEpsilon, len(r.EpsilonTargets) > 1)
		if err := folder.WriteAccount(name, r.Seeded, row.Account); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := folder.Write(r.Releasable, f.name, f.write); err != nil {
			return fmt.Errorf("report: %s: %w", f.name, err)
		}
	}
	return folder.WriteJSON(r.Releasable, resultsFile, r)
}

const resultsFile = "results.json"

func Read(dir string) (*experiments.Result, error) {
	var r experiments.Result
	if err := results.Folder(dir).ReadJSON(resultsFile, experiments.Schema, &r); err != nil {
		return nil, err
	}
	all, times, err := results.Folder(dir).Times(len(r.Rows))
	if err != nil {
		return nil, err
	}
	r.Seconds = all
	for i := range r.Rows {
		r.Rows[i].Seconds = times[i]
	}
	private, err := typical.Read(dir, len(r.Rows))
	for i := range private {
		r.Rows[i].OfTypical = private[i]
	}
	return &r, err
}
