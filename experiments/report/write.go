package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/table"
)

// Write puts results.json, results.csv, the figures as SVG and PNG, one
// accounts/METHOD.json per private method (what `pate account` reads) and
// report.html into dir, which must exist. Each file is wholly there or not there. Unless
// all in it was charged it is readable by its owner alone, and it says that it is not
// releasable, an account of a seeded run by a name that begins with "seeded-". Running
// times go into private/, where [Read] finds them. repeat is the command line that repeats
// the run; the page shows it.
func Write(dir string, r *experiments.Result, repeat string) error {
	times := []float64{r.Seconds}
	for _, row := range r.Rows {
		times = append(times, row.Seconds)
	}
	if err := WriteTimes(dir, times); err != nil {
		return err
	}
	if err := WriteFigures(dir, r.Figures()); err != nil {
		return err
	}
	r = r.WithoutTimes()
	public, private, err := figures(r)
	if err != nil {
		return err
	}
	mode := os.FileMode(0o600)
	if r.Releasable {
		mode = 0o644
	}
	for _, f := range append(public[:len(public):len(public)], private...) {
		if err := durable.WriteBytes(filepath.Join(dir, f.name+".svg"), mode, f.svg); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		if err := durable.WriteBytes(filepath.Join(dir, f.name+".png"), mode, f.png); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	if err := writeAccounts(filepath.Join(dir, "accounts"), r); err != nil {
		return err
	}
	files := []struct {
		name  string
		write func(io.Writer) error
	}{
		{"results.csv", func(w io.Writer) error { return Records(r).Write(w, table.CSV) }},
		{"report.html", func(w io.Writer) error { return writePage(w, r, private, repeat) }},
		{"results.json", func(w io.Writer) error { return WriteJSON(w, r) }},
	}
	for _, f := range files {
		if err := durable.WriteFile(filepath.Join(dir, f.name), mode, f.write); err != nil {
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
	data, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var r experiments.Result
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("report: %s: %w", filepath.Join(dir, "results.json"), err)
	}
	if r.Schema != experiments.Schema {
		return nil, fmt.Errorf("report: %s has schema %q, not %q", filepath.Join(dir, "results.json"), r.Schema, experiments.Schema)
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
	private, err := ReadFigures(dir, len(r.Rows))
	for i := range private {
		r.Rows[i].Bayes = private[i]
	}
	return &r, err
}

func writeAccounts(dir string, r *experiments.Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	for _, row := range r.Rows {
		if row.Account == nil {
			continue
		}
		data, err := json.MarshalIndent(row.Account, "", "  ")
		if err != nil {
			return fmt.Errorf("report: %s: %w", row.Method, err)
		}
		name, mode := AccountFile(experiments.FileName(row.Method, row.TargetEpsilon, len(r.EpsilonTargets) > 1), r.Seeded)
		if err := durable.WriteBytes(filepath.Join(dir, name), mode, append(data, '\n')); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return nil
}

// AccountFile returns the name and mode of the file with a row's account. An account has
// no room for a mark that the run was seeded, so its name has it.
func AccountFile(name string, seeded bool) (string, os.FileMode) {
	if seeded {
		return "seeded-" + name + ".json", 0o600
	}
	return name + ".json", 0o644
}

// figures draws what can be published and what cannot.
func figures(r *experiments.Result) (public, private []drawn, err error) {
	mark := ""
	if !r.Releasable {
		mark = Warning(r)
	}
	add := func(to *[]drawn, f drawn, err error) error {
		*to = append(*to, f)
		return err
	}
	draw := []func(*experiments.Result, string) (drawn, error){accuracyFigure, chargedFigure}
	if len(r.EpsilonTargets) > 1 { // how a cost divides is in a table: many bars tell nothing
		draw = []func(*experiments.Result, string) (drawn, error){sweepFigure}
	}
	for _, figure := range draw {
		f, err := figure(r, mark)
		if err := add(&public, f, err); err != nil {
			return nil, nil, err
		}
	}
	if r.Diagnostics != nil {
		f, err := gapFigure(r.Diagnostics, r.Teachers, mark)
		if err := add(&private, f, err); err != nil {
			return nil, nil, err
		}
	}
	return public, private, nil
}
