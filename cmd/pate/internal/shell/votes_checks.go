package shell

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/teachers/votes"
)

// FailedFindings returns the findings that fail a check of votes. Notes go to stderr; they are private.
func FailedFindings(g *Globals, report *votes.Report) (failed []votes.Finding) {
	for _, finding := range report.Findings() {
		switch finding.Level {
		case votes.LevelNote:
			g.Logf("note on the votes, private: %s: %s", finding.Check, finding.Detail)
		case votes.LevelFail:
			failed = append(failed, finding)
		}
	}
	return failed
}

// FailedVotes returns the error of a command that takes no votes with such a finding.
func FailedVotes(finding votes.Finding, fix string) error {
	return &CommandError{Code: ExitCheckFailed, What: fmt.Errorf("the votes fail a check, %s: %s", finding.Check, finding.Detail),
		Why: "one teacher must be one share of the private data and vote once on a query, or epsilon is not what it says; this message " +
			"tells of private votes and is for their owner alone", Fix: fix, Topic: "votes"}
}

// CountedTeachers compares the number of teachers of votes with a manifest beside them, and
// asks for it where the file does not show it, or may be transposed and nobody confirmed it.
func CountedTeachers(report *votes.Report, manifest Stated, confirmed bool) (err error) {
	stated, where := manifest.Teachers, manifest.Where
	switch has := report.Teachers; {
	case has == 0:
		what := "--teachers is needed: counts do not show how many teachers there are"
		if stated > 0 {
			what += fmt.Sprintf("; %s says %d", where, stated)
		}
		err = UsageError("votes", errors.New(what))
	case stated > 0 && stated != has:
		err = transposed(ExitInvalidInput, fmt.Errorf("the votes are of %d teachers, and %s says %d: is the file transposed?", has, where,
			stated), "give --transpose, or the manifest of these votes")
	case stated == 0 && !confirmed && !report.Counts && has > report.Queries:
		err = transposed(ExitCheckFailed, fmt.Errorf("%d teachers and %d queries: is the file transposed?", has, report.Queries),
			fmt.Sprintf("give --transpose, or confirm with --teachers %d", has))
	}
	return err
}

func transposed(code int, what error, fix string) error {
	return &CommandError{Code: code, What: what,
		Why: "a row is a query and a column a teacher; if rows were teachers, epsilon would not be true", Fix: fix, Topic: "votes"}
}

// Stated is what a manifest beside votes, FILE.manifest.json, as pate train writes it, states of
// them; without one all is zero.
type Stated struct {
	manifest.Head
	Where string // the manifest
}

// StatedBeside reads the first manifest beside votes.
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
		if head.Teachers == 0 { // each silo is one
			head.Teachers = len(silos)
		}
		return Stated{head, where}, nil
	}
	return Stated{}, nil
}

// Settle returns the value of a flag that describes the votes: the stated one where the flag was not given.
// It refuses a value that the manifest contradicts.
func (s Stated) Settle(cmd *cobra.Command, flag, value, stated string) (string, error) {
	switch given := cmd.Flags().Changed(flag); {
	case stated == "" || value == stated:
		return value, nil
	case !given:
		return stated, nil
	}
	return "", InputError(fmt.Errorf("--%s %s: %s has %q", flag, value, s.Where, stated),
		"the teachers were made so that one changed "+s.Unit+" moves one vote a query; the claim would be about something else, and not be true",
		"leave out --"+flag+", or give the votes of teachers that were made for it", "votes")
}
