// Package check is the command `pate votes check`: whether votes make sense, and silos are disjoint.
package check

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/teachers/votes"
)

const schemaCheck = "pate.check/1"

type checkFlags struct {
	shell.VotesFlags
	manifests []string
	join      string
	salt      string
}

func New(g *shell.Globals) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:  "check VOTES...",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runCheck(cmd, g, f, args) },
	}
	f.AddShape(cmd)
	cmd.Flags().StringArrayVar(&f.manifests, "manifest", nil, "manifest of record-id hashes, a file or a pattern; may be given more than once")
	cmd.Flags().StringVar(&f.join, "join", "", "write the manifests as one; bound to these votes, if nothing fails")
	cmd.Flags().StringVar(&f.salt, "salt", "", "salt of the manifests; to bind them to votes by hash, or to see that they are")
	shell.Complete(cmd, map[string]shell.Values{"manifest": shell.Files("json"), "join": shell.Files("json"), "salt": shell.Files()})
	shell.Without(cmd, "seed", "delta")
	cmd.AddCommand(newHashIDsCommand(g))
	return cmd
}

// checkReport is the JSON of `pate votes check`.
type checkReport struct {
	Schema   string          `json:"schema"`
	Private  bool            `json:"private"`
	OK       bool            `json:"ok"`
	Votes    *checkVotes     `json:"votes,omitempty"`
	Manifest *checkManifest  `json:"manifest,omitempty"`
	Findings []votes.Finding `json:"findings"`
}

type checkVotes struct {
	Kind             string   `json:"kind"` // how the file holds them, in words
	Queries          int      `json:"queries"`
	Teachers         int      `json:"teachers,omitempty"`
	Classes          int      `json:"classes"`
	ClassNames       []string `json:"class_names,omitempty"`
	ClassVotes       []int64  `json:"class_votes"`
	Pluralities      []int64  `json:"pluralities"`
	Abstentions      int64    `json:"abstentions"`
	LeastVotes       int      `json:"least_votes"`
	MostVotes        int      `json:"most_votes"`
	OutOfRange       int64    `json:"out_of_range"`
	NaN              int64    `json:"nan"`
	NotWhole         int64    `json:"not_whole"`
	NotNumber        int64    `json:"not_number"`
	Names            []string `json:"names,omitempty"`
	Silent           []int    `json:"silent"`
	Constant         []int    `json:"constant"`
	Duplicates       [][]int  `json:"duplicates"`
	ChanceDuplicates float64  `json:"chance_duplicates"`
}

type checkManifest struct {
	Unit     string         `json:"unit"`
	Silos    int            `json:"silos"`
	Units    int64          `json:"units"`
	Shared   int64          `json:"shared"`
	Overlaps []checkOverlap `json:"overlaps"`
}

type checkOverlap struct {
	A     string `json:"a"`
	B     string `json:"b"`
	Units int64  `json:"units"`
}

func runCheck(cmd *cobra.Command, g *shell.Globals, f checkFlags, args []string) error {
	if len(args) == 0 && len(f.manifests) == 0 {
		return shell.UsageError("votes", errors.New("check what? a votes file, or --manifest"))
	}
	for _, flag := range []string{"join", "salt"} {
		if cmd.Flag(flag).Value.String() != "" && (len(args) == 0 || len(f.manifests) == 0) {
			return shell.UsageError("votes", fmt.Errorf("--%s binds manifests to votes: give both", flag))
		}
	}
	var salt manifest.Salt
	if f.salt != "" {
		var err error
		if salt, err = readSalt(f.salt); err != nil {
			return err
		}
	}
	paths, err := expand(f.manifests)
	if err != nil {
		return err
	}
	join := shell.Target{Flag: "--join", Path: f.join, Topic: "votes"}
	if f.join != "" {
		if err := cmp.Or(join.CheckDistinct("one of the votes files", shell.ExpandPaths(args)...),
			join.CheckDistinct("one of the manifests", paths...),
			join.CheckDistinct("the salt", f.salt), join.CheckWritable()); err != nil {
			return err
		}
	}
	out := checkReport{Schema: schemaCheck, Private: true}
	var checked *votes.Report
	if len(args) > 0 {
		defer f.Close()
		if checked, err = f.Check(cmd.Context(), args); err != nil {
			return err
		}
		out.addVotes(checked)
	}
	var silos *manifest.Report
	if len(f.manifests) > 0 {
		if silos, err = manifest.Check(cmd.Context(), paths); err != nil {
			return shell.FaultError(err, "votes")
		}
		if f.salt != "" && salt.ID() != silos.Head.SaltID {
			return shell.InputError(fmt.Errorf("--salt %s is not that of the manifests", f.salt), "all silos hash with one salt",
				"give the file that they were made with", "votes")
		}
		out.addManifest(silos, checked, salt)
	}
	out.OK = !votes.Failed(out.Findings)
	if out.OK && f.join != "" {
		if err := join.Write(0o600, func(w io.Writer) error {
			return manifest.Join(cmd.Context(), w, paths, silos, checked, salt)
		}); err != nil {
			return shell.FaultError(err, "votes")
		}
		if f.salt == "" {
			g.Logf("%s is bound to numbers of teachers and classes; with --salt it would be to these votes", f.join)
		}
	}
	if err := out.write(g); err != nil {
		return err
	}
	g.Logf("this report is as private as the votes and the records behind them")
	if !out.OK {
		return out.failure(checked)
	}
	if checked != nil {
		g.Logf("labels of them: %s", labelCommand(cmd, args))
	}
	return nil
}

// labelCommand returns the command that releases labels of votes that were read by these
// arguments and flags.
func labelCommand(cmd *cobra.Command, args []string) string {
	words := []string{"pate", "label"}
	for _, a := range args {
		words = append(words, shell.ShellWord(a))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if own := cmd.Flags().Lookup(f.Name); own == nil || cmd.InheritedFlags().Lookup(f.Name) != nil ||
			slices.Contains([]string{"manifest", "join", "salt"}, f.Name) {
			return
		}
		words = append(words, "--"+f.Name+"="+shell.ShellWord(f.Value.String()))
	})
	return strings.Join(append(words, "--epsilon 2 --ledger run.jsonl --out labels.csv"), " ")
}

// expand resolves patterns; a path without a match stays, to be missed when it
// is opened.
func expand(patterns []string) ([]string, error) {
	var paths []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, shell.UsageError("votes", fmt.Errorf("--manifest %q: %w", p, err))
		}
		if len(found) == 0 {
			found = []string{p}
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

func (r *checkReport) addVotes(v *votes.Report) {
	r.Votes = &checkVotes{
		Kind: v.Kind, Queries: v.Queries, Teachers: v.Teachers, Classes: v.Classes, ClassNames: v.ClassNames, ClassVotes: v.ClassVotes,
		Pluralities: v.Pluralities,
		Abstentions: v.Abstentions, LeastVotes: v.LeastVotes, MostVotes: v.MostVotes,
		OutOfRange: v.OutOfRange, NaN: v.NaN, NotWhole: v.NotWhole, NotNumber: v.NotNumber,
		Names: v.Names, Silent: notNil(v.Silent), Constant: notNil(v.Constant), Duplicates: notNil(v.Duplicates),
		ChanceDuplicates: v.ChanceDuplicates,
	}
	r.Findings = append(r.Findings, v.Findings()...)
}

func (r *checkReport) addManifest(m *manifest.Report, votes *votes.Report, salt manifest.Salt) {
	r.Manifest = &checkManifest{Unit: m.Head.Unit, Silos: len(m.Silos), Units: m.Units, Shared: m.Shared, Overlaps: []checkOverlap{}}
	for _, o := range m.Overlaps {
		r.Manifest.Overlaps = append(r.Manifest.Overlaps, checkOverlap(o))
	}
	r.Findings = append(r.Findings, m.Findings(votes, salt)...)
}

// notNil returns an empty list for nil, so that JSON has [] and not null.
func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func (r *checkReport) write(g *shell.Globals) error {
	return g.Print(r, func(table.Format) table.Table {
		t := table.Table{Header: []string{"check", "result", "detail"}, Left: []bool{true, true, true}}
		for _, f := range r.Findings {
			t.Rows = append(t.Rows, []string{f.Check, string(f.Level), f.Detail})
		}
		return t
	})
}

// failure returns the error after the report.
func (r *checkReport) failure(v *votes.Report) error {
	var names []string
	for _, f := range r.Findings {
		if f.Level == votes.LevelFail {
			names = append(names, f.Check)
		}
	}
	e := &shell.CommandError{Code: shell.ExitCheckFailed, What: fmt.Errorf("failed: %s", strings.Join(names, ", ")), Topic: "votes",
		Why: "what a release of these votes is said to cost may not be true", Fix: "mend what the report names before anything is released"}
	if slices.Contains(names, "range") || slices.Contains(names, "numbers") || slices.Contains(names, "sums") {
		e.Why = "labels cannot be released from votes like these"
		var first *fault.Error
		if errors.As(v.FirstInvalid, &first) && first.Fix != "" {
			e.Fix = first.Fix
		}
	}
	return e
}
