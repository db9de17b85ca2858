package shell

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/teachers/votes"
)

// VotesFlags say what the votes files named in the arguments hold.
type VotesFlags struct {
	Classes   int
	Teachers  int
	counts    bool
	transpose bool
	header    string
	Queries   string
}

func (f *VotesFlags) Add(cmd *cobra.Command) {
	f.AddShape(cmd)
	cmd.Flags().StringVar(&f.Queries, "queries", "", "the queries to use, as FROM:TO, counted from 0, without TO; default all")
}

// AddShape is add for commands that take whole files.
func (f *VotesFlags) AddShape(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.Classes, "classes", 0, "number of classes: public, never guessed from votes (required; with --counts the number of columns)")
	flags.BoolVar(&f.counts, "counts", false, "the file holds vote counts, queries x classes, not labels, queries x teachers")
	flags.IntVar(&f.Teachers, "teachers", 0, "number of teachers, where the file does not show it (with --counts)")
	flags.BoolVar(&f.transpose, "transpose", false, "the file is teachers x queries (with --counts classes x queries)")
	flags.StringVar(&f.header, "header", "auto", "does the first line of a CSV file name the columns: auto|yes|no")
}

// Options turns the flags into what package teachers asks for.
func (f *VotesFlags) Options() (votes.Options, error) {
	opt := votes.Options{Classes: f.Classes, Counts: f.counts, Teachers: f.Teachers, Transpose: f.transpose}
	switch f.header {
	case "auto":
	case "yes", "no":
		opt.Header = votes.Header(f.header)
	default:
		return opt, UsageError("votes", fmt.Errorf("--header %q: must be auto, yes or no", f.header))
	}
	switch {
	case f.Classes == 0 && !f.counts:
		return opt, UsageError("votes", errors.New("--classes is required: how many classes votes may name, 0 to classes-1"))
	case f.Classes != 0 && (f.Classes < 2 || f.Classes > votes.MaxClasses):
		return opt, UsageError("votes", fmt.Errorf("--classes %d: must be 2 to %d", f.Classes, votes.MaxClasses))
	case f.Teachers < 0 || f.Teachers > votes.MaxTeachers:
		return opt, UsageError("votes", fmt.Errorf("--teachers %d: must be 1 to %d", f.Teachers, votes.MaxTeachers))
	}
	var err error
	opt.From, opt.To, err = parseQueries(f.Queries)
	return opt, err
}

// Open opens the votes that the arguments name.
func (f *VotesFlags) Open(ctx context.Context, paths []string) (*votes.Source, error) {
	opt, err := f.Options()
	if err != nil {
		return nil, err
	}
	s, err := votes.Open(ctx, paths, opt)
	if err != nil {
		return nil, Told(err, "votes")
	}
	return s, nil
}

// parseQueries reads FROM:TO; either end may be left out. To 0 means all.
func parseQueries(text string) (from, to int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	bad := UsageError("votes", fmt.Errorf("--queries %q: must be FROM:TO with 0 <= FROM < TO, such as 0:640", text))
	first, last, ok := strings.Cut(text, ":")
	if !ok {
		return 0, 0, bad
	}
	if first != "" {
		if from, err = strconv.Atoi(first); err != nil || from < 0 {
			return 0, 0, bad
		}
	}
	if last != "" {
		if to, err = strconv.Atoi(last); err != nil || to <= from {
			return 0, 0, bad
		}
	}
	return from, to, nil
}
