package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/internal/filekind"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/teachers/votes"
)

type VotesFlags struct {
	Classes, Teachers, first         int
	counts, shares, transpose, index bool
	header, Queries, names           string
	Named                            func() bool // reports whether the files name their classes; may be nil
	stdin                            *votesStdin
}

type votesStdin struct {
	in    io.Reader
	spool *votes.Spool
}

const maxStdin = 4 << 30

func (f *VotesFlags) Add(cmd *cobra.Command) {
	f.AddShape(cmd)
	Declare(cmd.Flags(), "votes", To{"queries": &f.Queries})
}

// AddShape adds the flags that describe the format of votes files, but not --queries.
func (f *VotesFlags) AddShape(cmd *cobra.Command) {
	f.stdin = &votesStdin{in: lazyStdin{cmd}}
	Declare(cmd.Flags(), "votes", To{"classes": &f.Classes, "class-names": &f.names, "first-class": &f.first, "counts": &f.counts,
		"probabilities": &f.shares, "teachers": &f.Teachers, "transpose": &f.transpose, "header": &f.header, "index-column": &f.index})
	CompleteArgs(cmd, Files("npy", "csv", "parquet", "tsv", "txt", "gz", "zst"))
}

// Needs returns a check for votes files and the flags in names. The flag --classes is also required, unless
// --class-names or --counts is given or f.Named returns true. If the file *ledger does not exist, --epsilon
// is required.
func (f *VotesFlags) Needs(ledger *string, names ...string) cobra.PositionalArgs {
	return Wants(cobra.MinimumNArgs(1), func(cmd *cobra.Command, _ []string) []string {
		needed := slices.Clone(names)
		if !f.counts && f.names == "" && (f.Named == nil || !f.Named()) {
			needed = slices.Insert(needed, 0, "classes")
		}
		if ledger != nil {
			if _, err := os.Lstat(*ledger); err != nil {
				needed = append(needed, "epsilon")
			}
		}
		return Unset(cmd, needed...)
	})
}

// Words returns part of a command line: the paths and the given flags for votes files. If paths is empty,
// VOTES stands for the paths, and --teachers is omitted.
func (f *VotesFlags) Words(cmd *cobra.Command, paths []string) string {
	words, values := []string{"VOTES"}, map[string]string{"teachers": ""}
	if len(paths) > 0 {
		words, values = nil, nil
		for _, path := range paths {
			words = append(words, ShellWord(path))
		}
	}
	return Repeats(cmd, words, strings.Fields("classes class-names first-class counts probabilities teachers transpose header index-column"),
		Given, values)
}

// Options converts the flags to options of package votes.
func (f *VotesFlags) Options() (votes.Options, error) {
	opt := votes.Options{Classes: f.Classes, FirstClass: f.first, Counts: f.counts, Probabilities: f.shares, Teachers: f.Teachers,
		Transpose: f.transpose, IndexColumn: f.index}
	if f.stdin != nil {
		opt.Spool = f.stdin.spool
	}
	if err := f.nameClasses(&opt); err != nil {
		return opt, err
	}
	if f.header != "auto" {
		opt.Header = votes.Header(f.header)
	}
	if err := Refuse("votes",
		If(f.Classes == 0 && !f.counts, "--classes (the number of classes) or --class-names is required"),
		If(f.first < 0 || f.first > votes.MaxClasses,
			"--first-class %d: must be the number of the first class, such as 0 or 1", f.first),
		If(f.index && f.transpose, "--index-column needs a file with a row for each query, so omit --transpose"),
		If(f.counts && f.shares, "give --counts or --probabilities, not both"),
		If(f.counts && f.first != 0, "--first-class is for labels: omit it, because counts have a column for each class"),
		If(f.Classes != 0 && (f.Classes < 2 || f.Classes > votes.MaxClasses), "--classes %d: must be from 2 to %d", f.Classes,
			votes.MaxClasses),
		If(f.Teachers < 0 || f.Teachers > votes.MaxTeachers, "--teachers %d: must be from 1 to %d", f.Teachers, votes.MaxTeachers),
	); err != nil {
		return opt, err
	}
	var err error
	opt.From, opt.To, err = parseQueries(f.Queries)
	return opt, err
}

func (f *VotesFlags) nameClasses(opt *votes.Options) error {
	if f.names == "" {
		return nil
	}
	names, err := Names(f.names)
	if err != nil {
		return Usagef("votes", "--class-names %q: must be names with commas between them: %w", f.names, err)
	}
	if err := votes.CheckClassNames(names); err != nil {
		return Usagef("votes", "--class-names: %w", err)
	}
	if f.Classes != 0 && f.Classes != len(names) {
		return Usagef("votes", "--class-names has %d names, but --classes is %d", len(names), f.Classes)
	}
	f.Classes = len(names)
	opt.Classes, opt.ClassNames = f.Classes, names
	return nil
}

// Open opens the votes in these paths. The path - is standard input.
func (f *VotesFlags) Open(ctx context.Context, paths []string) (*votes.Source, error) {
	opt, err := f.spooled(ctx, paths)
	if err != nil {
		return nil, err
	}
	s, err := votes.Open(ctx, paths, opt)
	return s, toldVotes(err, paths)
}

// OpenChecked opens the votes in these paths and checks all queries.
func (f *VotesFlags) OpenChecked(ctx context.Context, paths []string) (*votes.Source, *votes.Report, error) {
	opt, err := f.spooled(ctx, paths)
	if err != nil {
		return nil, nil, err
	}
	s, r, err := votes.OpenChecked(ctx, paths, opt)
	return s, r, toldVotes(err, paths)
}

func toldVotes(err error, paths []string) error {
	if err == nil {
		return nil
	}
	for _, path := range paths {
		if wrong := WrongKind(path, "votes", "votes", filekind.NPY, filekind.Gzip, filekind.Zstandard, filekind.Parquet, filekind.Zip,
			filekind.UTF16, filekind.Empty, filekind.Folder); wrong != nil {
			return wrong
		}
	}
	return FaultError(err, "votes")
}

// Check checks all queries of the votes in these paths.
func (f *VotesFlags) Check(ctx context.Context, paths []string) (*votes.Report, error) {
	opt, err := f.spooled(ctx, paths)
	if err != nil {
		return nil, err
	}
	opt.From, opt.To = 0, 0
	r, err := votes.Check(ctx, paths, opt)
	return r, toldVotes(err, paths)
}

func (f *VotesFlags) spooled(ctx context.Context, paths []string) (votes.Options, error) {
	opt, err := f.Options()
	if err == nil && opt.Spool == nil && slices.Contains(paths, votes.Stdin) {
		if f.stdin.spool, err = votes.NewSpool(ctx, f.stdin.in, maxStdin); err != nil {
			return opt, FaultError(err, "votes")
		}
		opt.Spool = f.stdin.spool
	}
	return opt, err
}

// Close removes the stored copy of votes that were read from standard input.
func (f *VotesFlags) Close() {
	if f.stdin != nil && f.stdin.spool != nil {
		_ = f.stdin.spool.Close() // an error does not matter after reading
		f.stdin.spool = nil
	}
}

type lazyStdin struct{ cmd *cobra.Command }

func (in lazyStdin) Read(p []byte) (int, error) { return in.cmd.InOrStdin().Read(p) }

func parseQueries(text string) (from, to int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	first, last, ok := strings.Cut(text, ":")
	if first != "" {
		from, err = strconv.Atoi(first)
	}
	if last != "" && err == nil {
		to, err = strconv.Atoi(last)
	}
	if !ok || err != nil || from < 0 || last != "" && to <= from {
		return 0, 0, Usagef("votes", "--queries %q: must be FROM:TO with 0 <= FROM < TO, such as 0:640", text)
	}
	return from, to, nil
}

// FailedFindings returns the findings of level fail. It writes findings of level note to stderr.
func FailedFindings(g *Globals, report *votes.Report) (failed []votes.Finding) {
	for _, finding := range report.Findings() {
		switch finding.Level {
		case votes.LevelNote:
			g.Logf("private note on the votes (%s): %s", finding.Check, finding.Detail)
		case votes.LevelFail:
			failed = append(failed, finding)
		}
	}
	return failed
}

// FailedVotes returns the error for votes that a command refuses because of a finding.
func FailedVotes(finding votes.Finding, fix string) error {
	return &CommandError{Code: ExitCheckFailed, What: fmt.Errorf("the votes fail the check %s: %s", finding.Check, finding.Detail),
		Why: "one teacher must be one share of the private data and vote once on a query, or epsilon is not what it says; this message " +
			"may reveal private votes: show it to the data owner alone", Fix: fix, Topic: "votes"}
}

// CountedTeachers returns an error if the number of teachers is unknown or differs from the manifest. If
// there is no manifest, votes that may be transposed are an error, unless `confirmed` is true.
func CountedTeachers(report *votes.Report, manifest Stated, confirmed bool) (err error) {
	stated, where := manifest.Teachers, manifest.Where
	switch has := report.Teachers; {
	case has == 0:
		what := "--teachers is required, because counts do not show the number of teachers"
		if stated > 0 {
			what += fmt.Sprintf("; %s says %d", where, stated)
		}
		err = UsageError("votes", errors.New(what))
	case stated > 0 && stated != has:
		err = transposed(ExitInvalidInput, fmt.Errorf("the votes are of %d teachers, but %s declares %d: is the file transposed?", has, where,
			stated), "give --transpose, or the manifest of these votes")
	case stated == 0 && !confirmed && !report.Counts && has > report.Queries:
		err = transposed(ExitCheckFailed, fmt.Errorf("%d teachers and %d queries: is the file transposed?", has, report.Queries),
			fmt.Sprintf("give --transpose, or confirm with --teachers %d", has))
	}
	return err
}

func transposed(code int, what error, fix string) error {
	return &CommandError{Code: code, What: what,
		Why: "each row must be a query and each column a teacher; otherwise epsilon is wrong", Fix: fix, Topic: "votes"}
}

// Stated is the manifest FILE.manifest.json of a votes file FILE. Without a manifest, all fields are zero.
type Stated struct {
	manifest.Head
	Where string // path of the manifest
}

// StatedBeside reads the first manifest found beside the votes files in args.
func StatedBeside(args []string) (Stated, error) {
	for _, path := range ExpandPaths(args) {
		where := manifest.Beside(path)
		head, silos, err := manifest.Load(where)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Stated{}, FaultError(err, "votes")
		}
		if head.Teachers == 0 { // each silo is a teacher
			head.Teachers = len(silos)
		}
		return Stated{head, where}, nil
	}
	return Stated{}, nil
}

// Settle returns the value of a flag. The default is `stated` (from the manifest), unless `stated` is empty.
// A given value that contradicts the manifest is an error.
func (s Stated) Settle(cmd *cobra.Command, flag, value, stated string) (string, error) {
	switch given := cmd.Flags().Changed(flag); {
	case stated == "" || value == stated:
		return value, nil
	case !given:
		return stated, nil
	}
	return "", InputError(fmt.Errorf("--%s %s: %s has %q", flag, value, s.Where, stated),
		"the teachers were trained so that one changed "+s.Unit+" changes at most one vote of each query; for another unit the claim would be wrong",
		"omit --"+flag+", or give votes of teachers that were trained for this value", "votes")
}

// ReadSalt reads the file of --salt.
func ReadSalt(path string) (manifest.Salt, error) {
	var salt manifest.Salt
	text, err := ReadStart(path, 1<<12)
	if err == nil {
		err = salt.UnmarshalText(text)
	}
	if err != nil {
		return salt, InputError(fmt.Errorf("--salt %s: %w", path, err), "all silos must hash with the same salt",
			"get the file from the silo that created it, or create a salt with --new-salt", "votes")
	}
	return salt, nil
}
