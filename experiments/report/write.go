package report

import (
	"fmt"
	"io"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/dpsgd/typical"
	"github.com/pate-go/pate/internal/figure"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/table"
)

// Write writes results.json, results.csv, the figures as SVG, one accounts/METHOD.json per private method
// (for `pate account`) and report.html into dir, each in its place by package results. Each file is written
// whole or not at all. Unless everything was charged it is marked as not releasable, an account of a seeded
// run by a name that begins with "seeded-". Running times go into private/, where [Read] finds them. The
// page shows repeat, the command line that repeats the run.
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

// Read returns the result that Write put into dir.
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
		r.Rows[i].Figures = private[i]
	}
	return &r, err
}
