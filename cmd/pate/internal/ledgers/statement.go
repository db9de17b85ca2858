package ledgers

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/filekind"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/table"
)

type statementFlags struct {
	out, about     string
	audit          string
	labels, models []string
}

func newStatement(g *shell.Globals) *cobra.Command {
	var f statementFlags
	cmd := shell.Command("statement LEDGER...", "seed delta", shell.Wants(cobra.MinimumNArgs(1), nil),
		func(_ *cobra.Command, args []string) error { return f.run(g, args) })
	shell.Declare(cmd.Flags(), "statement", shell.To{"out": &f.out, "about": &f.about, "audit": &f.audit, "labels": &f.labels, "model": &f.models})
	shell.CompleteArgs(cmd, shell.Files("jsonl"))
	return cmd
}

func (f *statementFlags) run(g *shell.Globals, paths []string) error {
	write, err := statementWriter(g, f.out)
	if err != nil {
		return shell.UsageError("statement", err)
	}
	inputs := slices.Concat(paths, f.labels, f.models)
	for _, path := range []string{f.about, f.audit} {
		if path != "" {
			inputs = append(inputs, path)
		}
	}
	target := shell.Target{Flag: "--out", Path: f.out, Topic: "ledger"}
	if f.out != "" {
		if err := target.CheckReplaceable(inputs...); err != nil {
			return err
		}
	}
	opt, err := f.options(paths[0])
	if err != nil {
		return err
	}
	var sources []statement.Source
	for _, path := range paths {
		file, known, err := shell.OpenLedgerFile(path)
		if err != nil {
			return err
		}
		defer file.Close()
		sources = append(sources, statement.Source{Name: filepath.Base(path), Ledger: file, Heads: known.Of,
			Compared: func() bool { return len(shell.HeadNames(known)) > 0 }})
	}
	s, err := statement.New(opt, sources...)
	if err != nil {
		return shell.FaultError(err, "statement")
	}
	if s.Warning != "" {
		g.Warn(s.Warning)
	}
	if f.about != "" {
		f.keep(g, paths[0], opt.About)
	}
	if f.out == "" {
		return write(s, g.Stdout)
	}
	if err := durable.WriteFile(f.out, 0o644, func(w io.Writer) error { return write(s, w) }); err != nil {
		return err
	}
	g.Logf("pate: wrote %s", f.out)
	if missing := s.MissingForTier3(); strings.EqualFold(filepath.Ext(f.out), ".yaml") && len(missing) > 0 {
		g.Logf("pate: the entry has tier 2; for tier 3 add to --about: %s", strings.Join(missing, ", "))
	}
	return nil
}

func (f *statementFlags) options(ledgerPath string) (statement.Options, error) {
	opt := statement.Options{Facts: factsBeside(ledgerPath)}
	for _, path := range slices.Concat(f.labels, f.models) {
		sum, err := shell.HashFile(path)
		if err != nil {
			return opt, shell.InputError(err, "the statement lists the entry that released this file", "check its name", "ledger")
		}
		if m, err := published.Open(path); err == nil && m.Labels.SHA256 != "" {
			one := statement.Derived{Name: filepath.Base(path), SHA256: hex.EncodeToString(sum[:]), From: m.Labels.SHA256}
			if !slices.Contains(opt.Derived, one) {
				opt.Derived = append(opt.Derived, one)
			}
			continue
		}
		opt.Files = append(opt.Files, statement.File{Name: filepath.Base(path), SHA256: sum})
	}
	if f.audit != "" {
		in := struct {
			Schema  string `json:"schema"`
			Results any    `json:"results"`
		}{Results: &opt.Audit}
		text, err := shell.ReadStart(f.audit, 1<<20)
		if err == nil {
			err = json.Unmarshal(text, &in)
		}
		if err == nil && strings.HasPrefix(in.Schema, "pate.audit-outside/") { // one result, without a list
			in.Schema, err = "pate.audit/", json.Unmarshal(slices.Concat([]byte(`{"results":[`), text, []byte("]}")), &in)
		}
		if err != nil || !strings.HasPrefix(in.Schema, "pate.audit/") {
			return opt, shell.InputError(fmt.Errorf("--audit %s: is not a JSON file of pate audit", f.audit), "the statement lists its lower bounds",
				"pate audit --format json > audit.json", "statement")
		}
	}
	if f.about == "" {
		opt.About = aboutBeside(ledgerPath)
		return opt, nil
	}
	text, err := shell.ReadStart(f.about, 1<<17)
	if err == nil {
		var about statement.About
		if about, err = statement.ParseAbout(text); err == nil {
			opt.About = &about
			return opt, nil
		}
	}
	if wrong := shell.WrongKind(f.about, "a JSON file that says what the data are", "statement", filekind.JSON); wrong != nil &&
		!errors.Is(err, os.ErrNotExist) {
		return opt, wrong
	}
	return opt, shell.InputError(fmt.Errorf("--about %s: %s", f.about, strings.TrimPrefix(err.Error(), "statement: ")),
		"the file must be a JSON object whose fields are strings",
		`for example {"data_set": "admissions 2019-2024", "date": "2026-03-01"}`, "statement")
}

const aboutName = "about.json"

func aboutBeside(ledgerPath string) *statement.About {
	text, err := shell.ReadStart(filepath.Join(filepath.Dir(ledgerPath), aboutName), 1<<17)
	if err != nil {
		return nil
	}
	about, err := statement.ParseAbout(text)
	if err != nil || about == (statement.About{}) { // another program may use the same name
		return nil
	}
	return &about
}

func factsBeside(ledgerPath string) (f statement.Facts) {
	path, err := filepath.Abs(ledgerPath)
	half := filepath.Base(filepath.Dir(path))
	if err != nil || half != "public" && half != "private" {
		return f
	}
	folder := results.Folder(filepath.Dir(filepath.Dir(path)))
	if page, err := durable.OpenRegular(folder.Public("statement.html")); err == nil {
		defer page.Close()
		if found, err := statement.Check(page, func() (io.ReadCloser, error) { return durable.OpenRegular(path) }); err == nil {
			f = found.Facts
		}
	}
	f.Destroyed = folder.Removed()
	return f
}

// keep does not overwrite an about.json of another program.
func (f *statementFlags) keep(g *shell.Globals, ledgerPath string, about *statement.About) {
	path := filepath.Join(filepath.Dir(ledgerPath), aboutName)
	there, err := durable.Exists(path)
	if held := aboutBeside(ledgerPath); err == nil && there && (held == nil || *held == *about) {
		return
	}
	if err == nil {
		err = durable.WriteFile(path, 0o644, about.Write)
	}
	if err != nil {
		g.Warn(fmt.Sprintf("%s was not written, so later statements need --about again: %v", path, err))
	}
}

func statementWriter(g *shell.Globals, out string) (func(*statement.Statement, io.Writer) error, error) {
	ending := strings.ToLower(filepath.Ext(out))
	switch format := g.ParsedFormat(); {
	case out == "" && g.Prose(), ending == ".md":
		return (*statement.Statement).WriteMarkdown, nil
	case ending == ".html":
		return (*statement.Statement).WriteHTML, nil
	case ending == ".yaml":
		return (*statement.Statement).WriteRegistry, nil
	case out == "" && format == table.JSON, ending == ".json":
		return (*statement.Statement).WriteJSON, nil
	case out == "":
		return nil, errors.New("the --format of a statement must be md or json; for HTML give an --out that ends in .html")
	}
	return nil, fmt.Errorf("--out %s: must end in .md, .html, .json or .yaml", out)
}
