// Package check is the command `pate votes check`, which checks votes and the disjointness of silos.
package check

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/teachers/votes"
)

type checkFlags struct {
	shell.VotesFlags
	manifests  []string
	join, salt string
}

func New(g *shell.Globals) *cobra.Command {
	var f checkFlags
	cmd := shell.Command("check VOTES...", "seed delta", cobra.ArbitraryArgs,
		func(cmd *cobra.Command, args []string) error { return runCheck(cmd, g, f, args) })
	f.AddShape(cmd)
	shell.Declare(cmd.Flags(), "check", shell.To{"manifest": &f.manifests, "join": &f.join, "salt": &f.salt})
	cmd.AddCommand(newHashIDsCommand(g))
	return cmd
}

type report struct {
	votes    *votes.Report
	silos    *manifest.Report
	findings []votes.Finding
}

func runCheck(cmd *cobra.Command, g *shell.Globals, f checkFlags, args []string) error {
	if len(args) == 0 && len(f.manifests) == 0 {
		return shell.Usagef("votes", "pate votes check needs a votes file or --manifest")
	}
	for _, flag := range []string{"join", "salt"} {
		if cmd.Flag(flag).Value.String() != "" && (len(args) == 0 || len(f.manifests) == 0) {
			return shell.Usagef("votes", "--%s needs VOTES and --manifest: it binds the manifest to the votes", flag)
		}
	}
	var salt manifest.Salt
	if f.salt != "" {
		var err error
		if salt, err = shell.ReadSalt(f.salt); err != nil {
			return err
		}
	}
	paths, err := shell.Matches("--manifest", f.manifests)
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
	var r report
	if len(args) > 0 {
		defer f.Close()
		if r.votes, err = f.Check(cmd.Context(), args); err != nil {
			return err
		}
		r.findings = r.votes.Findings()
	}
	if len(f.manifests) > 0 {
		if r.silos, err = manifest.Check(cmd.Context(), paths); err != nil {
			return shell.FaultError(err, "votes")
		}
		if f.salt != "" && salt.ID() != r.silos.Head.SaltID {
			return shell.InputError(fmt.Errorf("--salt %s is not the salt of the manifests", f.salt), "all silos must hash with the same salt",
				"give the salt with which the manifests were made", "votes")
		}
		r.findings = append(r.findings, r.silos.Findings(r.votes, salt)...)
	}
	ok := !votes.Failed(r.findings)
	if ok && f.join != "" {
		if err := join.Write(0o600, func(w io.Writer) error {
			return manifest.Join(cmd.Context(), w, paths, r.silos, r.votes, salt)
		}); err != nil {
			return shell.FaultError(err, "votes")
		}
		if f.salt == "" {
			g.Logf("%s holds for all votes with these numbers of teachers and classes; with --salt it holds only for these votes", f.join)
		}
	}
	if err := r.write(g, ok); err != nil {
		return err
	}
	g.Logf("this report is as private as the votes and the records behind them")
	if !ok {
		return r.failure()
	}
	if r.votes != nil {
		g.Logf("to label with these votes: %s", labelCommand(cmd, args))
	}
	return nil
}

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

func (r *report) write(g *shell.Globals, ok bool) error {
	out := shell.Object{"schema", "pate.check/1", "private", true, "ok", ok}
	if v := r.votes; v != nil {
		out = append(out, "votes", shell.Object{"kind", v.Kind, "queries", v.Queries, "teachers?", v.Teachers, "classes", v.Classes,
			"class_names?", v.ClassNames, "class_votes", v.ClassVotes, "pluralities", v.Pluralities, "abstentions", v.Abstentions,
			"least_votes", v.LeastVotes, "most_votes", v.MostVotes, "out_of_range", v.OutOfRange, "nan", v.NaN, "not_whole", v.NotWhole,
			"not_number", v.NotNumber, "names?", v.Names, "silent", list(v.Silent), "constant", list(v.Constant),
			"duplicates", list(v.Duplicates), "chance_duplicates", v.ChanceDuplicates})
	}
	if m := r.silos; m != nil {
		overlaps := []shell.Object{}
		for _, o := range m.Overlaps {
			overlaps = append(overlaps, shell.Object{"a", o.A, "b", o.B, "units", o.Units})
		}
		out = append(out, "manifest", shell.Object{"unit", m.Head.Unit, "silos", len(m.Silos), "units", m.Units, "shared", m.Shared,
			"overlaps", overlaps})
	}
	return g.Print(append(out, "findings", r.findings), func(table.Format) table.Table {
		t := shell.TableOf("<check", "<result", "<detail")
		for _, f := range r.findings {
			t.Rows = append(t.Rows, []string{f.Check, string(f.Level), f.Detail})
		}
		return t
	})
}

func list[T any](s []T) []T { return append([]T{}, s...) }

func (r *report) failure() error {
	var names []string
	for _, f := range r.findings {
		if f.Level == votes.LevelFail {
			names = append(names, f.Check)
		}
	}
	e := &shell.CommandError{Code: shell.ExitCheckFailed, What: fmt.Errorf("failed: %s", strings.Join(names, ", ")), Topic: "votes",
		Why: "the cost charged for a release of these votes may be wrong", Fix: "fix what the report lists before any release"}
	if slices.Contains(names, "range") || slices.Contains(names, "numbers") || slices.Contains(names, "sums") {
		e.Why = "no labels can be released from these votes"
		var first *fault.Error
		if errors.As(r.votes.FirstInvalid, &first) && first.Fix != "" {
			e.Fix = first.Fix
		}
	}
	return e
}

type hashIDsFlags struct {
	salt, silo, unit, out string
	newSalt               bool
	teachers, classes     int
}

func newHashIDsCommand(g *shell.Globals) *cobra.Command {
	var f hashIDsFlags
	cmd := shell.Command("hash-ids [IDS]", "seed delta format", shell.Wants(cobra.MaximumNArgs(1), f.missing),
		func(cmd *cobra.Command, args []string) error { return runHashIDs(cmd, g, f, args) })
	shell.Declare(cmd.Flags(), "hash-ids", shell.To{"salt": &f.salt, "new-salt": &f.newSalt, "silo": &f.silo, "unit": &f.unit,
		"teachers": &f.teachers, "classes": &f.classes, "out": &f.out})
	shell.CompleteArgs(cmd, shell.Files("txt", "csv"))
	return cmd
}

func (f *hashIDsFlags) missing(cmd *cobra.Command, args []string) []string {
	missing := shell.Unset(cmd, "salt")
	if !f.newSalt || len(args) > 0 {
		missing = append(missing, shell.Unset(cmd, "silo")...)
	}
	if len(args) == 0 && !f.newSalt {
		missing = append(missing, "IDS (or only --salt and --new-salt)")
	}
	return missing
}

func runHashIDs(cmd *cobra.Command, g *shell.Globals, f hashIDsFlags, args []string) error {
	out := shell.Target{Flag: "--out", Path: f.out, Topic: "votes"}
	if f.out != "" {
		if err := cmp.Or(out.CheckDistinct("the salt", f.salt), out.CheckDistinct("the file of ids", args...), out.CheckWritable()); err != nil {
			return err
		}
	}
	salt, err := f.openSalt(g)
	if err != nil || len(args) == 0 {
		return err
	}
	in, err := shell.OpenInput(cmd, args[0])
	if err != nil {
		return shell.InputError(err, "", "", "votes")
	}
	defer in.Close()
	silo, err := manifest.HashIDs(in, f.silo, salt)
	if err != nil {
		return shell.InputError(fmt.Errorf("%s: %w", args[0], err), "the file has one id on each line", "", "votes")
	}
	write := func(w io.Writer) error {
		return manifest.Write(w, manifest.Head{Unit: f.unit, SaltID: salt.ID(), Teachers: f.teachers, Classes: f.classes}, silo)
	}
	if f.out == "" {
		err = write(g.Stdout)
	} else {
		err = out.Write(0o600, write)
	}
	if err != nil {
		return err
	}
	g.Logf("%d units of silo %s", len(silo.Hashes), f.silo)
	return nil
}

func (f hashIDsFlags) openSalt(g *shell.Globals) (manifest.Salt, error) {
	if !f.newSalt {
		return shell.ReadSalt(f.salt)
	}
	if _, err := os.Lstat(f.salt); !errors.Is(err, fs.ErrNotExist) {
		return manifest.Salt{}, shell.InputError(fmt.Errorf("--new-salt: %s exists", f.salt),
			"manifests made with the old salt could no longer be compared", "choose another file, or omit --new-salt", "votes")
	}
	salt, err := manifest.NewSalt()
	if err != nil {
		return salt, err
	}
	text, err := salt.MarshalText()
	if err != nil {
		return salt, err
	}
	if err := durable.WriteBytes(f.salt, 0o600, append(text, '\n')); err != nil {
		return salt, err
	}
	g.Logf("%s holds a new salt: give the file only to the silos", f.salt)
	return salt, nil
}
