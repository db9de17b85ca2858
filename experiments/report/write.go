package report

import (
	"encoding/json"
	"fmt"
	"github.com/pate-go/pate/internal/dpsgd/typical"
	"io"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/figure"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/table"
)

// Write puts results.json, results.csv, the figures as SVG, one
// accounts/METHOD.json per private method (what `pate account` reads) and
// report.html into dir, each where package results has its place. Each file is wholly there or
// not there. Unless all in it was charged it is marked as not releasable, an account of a seeded
// run by a name that begins with "seeded-". Running times go into private/, where [Read] finds
// them. repeat is the command line that repeats the run; the page shows it.
func Write(dir string, r *experiments.Result, repeat string) error {
	times := []float64{r.Seconds}
	for _, row := range r.Rows {
		times = append(times, row.Seconds)
	}
	if err := WriteTimes(dir, times); err != nil {
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
		{"results.json", func(w io.Writer) error { return WriteJSON(w, r) }},
	}
	figures := map[string]figure.Figure{"accuracy": accuracyFigure(r, mark)}
	if r.Diagnostics != nil {
		figures["vote-gaps"] = gapFigure(r, mark)
	}
	for name, f := range figures {
		files = append(files, file{name + ".svg", func(w io.Writer) error { _, err := w.Write(f.SVG()); return err }})
	}
	if err := writeAccounts(dir, r); err != nil {
		return err
	}
	for _, f := range files {
		if err := results.Folder(dir).Write(r.Releasable, f.name, f.write); err != nil {
			return fmt.Errorf("report: %s: %w", f.name, err)
		}
	}
	return nil
}

// WriteJSON writes the contract form, schema pate.compare/1.
func WriteJSON(w io.Writer, r *experiments.Result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Read returns the result that Write put into dir.
func Read(dir string) (*experiments.Result, error) {
	path, err := results.Folder(dir).Find("results.json")
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var r experiments.Result
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("report: %s: %w", path, err)
	}
	if r.Schema != experiments.Schema {
		return nil, fmt.Errorf("report: %s has schema %q, not %q", path, r.Schema, experiments.Schema)
	}
	times, err := ReadTimes(dir)
	if err != nil {
		return nil, err
	}
	if len(times) == 1+len(r.Rows) {
		r.Seconds = times[0]
		for i := range r.Rows {
			r.Rows[i].Seconds = times[i+1]
		}
	}
	private, err := typical.Read(dir, len(r.Rows))
	for i := range private {
		r.Rows[i].Figures = private[i]
	}
	return &r, err
}

func writeAccounts(dir string, r *experiments.Result) error {
	for _, row := range r.Rows {
		if row.Account == nil {
			continue
		}
		name := experiments.FileName(row.Method, row.TargetEpsilon, len(r.EpsilonTargets) > 1)
		if err := WriteAccount(dir, name, row.Account, r.Seeded); err != nil {
			return err
		}
	}
	return nil
}

// WriteAccount writes what was charged for a row into dir. An account has no room for a mark that
// the run was seeded, so its name has it.
func WriteAccount(dir, name string, account *accountant.Schedule, seeded bool) error {
	if seeded {
		name = "seeded-" + name
	}
	err := results.Folder(dir).Write(!seeded, filepath.Join("accounts", name+".json"), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(account)
	})
	if err != nil {
		return fmt.Errorf("report: %s: %w", name, err)
	}
	return nil
}
