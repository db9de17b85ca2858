package label

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/teachers/votes"
)

// checkVotes checks the files as pate check does. What fails stops the label, unless it is
// waived by its name. Notes go to stderr: they tell of the votes and must not leave.
func (f *labelFlags) checkVotes(cmd *cobra.Command, g *shell.Globals, args []string, source *votes.Source) error {
	report, err := f.Check(cmd.Context(), args)
	if err != nil {
		return err
	}
	for _, finding := range report.Findings() {
		waiver := waiveChecks
		if finding.Check == "duplicates" {
			waiver = waiveDuplicates
		}
		switch {
		case finding.Level == votes.LevelNote:
			g.Logf("note on the votes, private: %s: %s", finding.Check, finding.Detail)
		case finding.Level == votes.LevelFail && f.force.has(waiver):
			g.Warn(fmt.Sprintf("waived, so that epsilon may not be true: %s: %s", finding.Check, finding.Detail))
		case finding.Level == votes.LevelFail && report.FirstInvalid == nil: // invalid votes are refused where they are read
			return &shell.CommandError{Code: shell.ExitCheckFailed, What: fmt.Errorf("the votes fail a check, %s: %s", finding.Check, finding.Detail),
				Why: "one teacher must be one share of the private data, or epsilon is not what it says", Fix: "see pate check; --force=" + waiver + " charges nevertheless", Topic: "votes"}
		}
	}
	return f.checkTeachers(cmd, g, args, report, source)
}

// checkTeachers compares the number of teachers with a manifest beside the votes, and asks
// for it where the file does not show it or may be transposed.
func (f *labelFlags) checkTeachers(cmd *cobra.Command, g *shell.Globals, args []string, report *votes.Report, source *votes.Source) error {
	given := cmd.Flags().Changed("teachers") // and opening the votes compared it
	stated, where, err := shell.StatedTeachers(args)
	if err != nil {
		return shell.FaultError(err, "votes")
	}
	has := source.Teachers()
	switch {
	case stated > 0 && report.Counts && !given:
		return shell.UsageError("votes", fmt.Errorf("--teachers is needed: counts do not show how many teachers there are; %s says %d", where, stated))
	case stated > 0 && has > 0 && stated != has:
		return &shell.CommandError{Code: shell.ExitCheckFailed, What: fmt.Errorf("the votes are of %d teachers, and %s says %d: is the file transposed?", has, where, stated),
			Why: "a row is a query and a column a teacher; if rows were teachers, epsilon would not be true", Fix: "give --transpose, or the manifest of these votes", Topic: "votes"}
	case stated > 0:
		g.Logf("%d teachers, as %s says", has, where)
	case report.Counts && !given:
		return shell.UsageError("votes", errors.New("--teachers is needed: counts do not show how many teachers there are"))
	case report.Teachers > report.Queries && !report.Counts && !given:
		return &shell.CommandError{Code: shell.ExitCheckFailed, What: fmt.Errorf("%d teachers and %d queries: is the file transposed?", report.Teachers, report.Queries),
			Why: "a row is a query and a column a teacher; if rows were teachers, epsilon would not be true", Fix: "give --transpose, or confirm with --teachers " + fmt.Sprint(report.Teachers), Topic: "votes"}
	case !given && !report.Counts:
		g.Logf("%d teachers and %d queries, as the file has columns and rows: --teachers %d confirms it", report.Teachers, report.Queries, report.Teachers)
	}
	return nil
}
