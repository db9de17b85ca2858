package label

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/teachers/votes"
)

// checkVotes looks at what a check of the files found, as pate votes check does. What fails stops
// the label, unless it is waived by its name. Invalid votes are refused where they are read.
func (f *labelFlags) checkVotes(cmd *cobra.Command, g *shell.Globals, report *votes.Report) error {
	for _, finding := range shell.FailedFindings(g, report) {
		waiver := waiveChecks
		if finding.Check == "duplicates" {
			waiver = waiveDuplicates
		}
		switch {
		case f.force.has(waiver):
			g.Warn(fmt.Sprintf("waived, so that epsilon may not be true: %s: %s", finding.Check, finding.Detail))
		default:
			return shell.FailedVotes(finding, "see pate votes check; --force="+waiver+" charges nevertheless, and nothing of it may be released")
		}
	}
	given := cmd.Flags().Changed("teachers") // and opening the votes compared it
	if err := shell.CountedTeachers(report, f.stated, given); err != nil {
		return err
	}
	switch {
	case f.stated.Teachers > 0:
		g.Logf("%d teachers, as %s says", f.stated.Teachers, f.stated.Where)
	case !given && !report.Counts:
		g.Logf("%d teachers and %d queries, as the file has columns and rows: --teachers %d confirms it", report.Teachers, report.Queries,
			report.Teachers)
	}
	return nil
}
