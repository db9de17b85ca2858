package serve

import (
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/online"
	"github.com/pate-go/pate/internal/quota"
)

type quotaFlags struct {
	rows         online.Rows
	votes, size  int
	radius, lead float64
}

func (q *quotaFlags) declare(flags *pflag.FlagSet) {
	shell.Declare(flags, "quota", shell.To{"private": &q.rows.Private, "public": &q.rows.Public, "label": &q.rows.Label, "text": &q.rows.Text,
		"other-labels": &q.rows.Other,
		"votes":        &q.votes, "size": &q.size, "radius": &q.radius, "lead": &q.lead})
}

func (f *serveFlags) checkQuota(cmd *cobra.Command) error {
	given, other := cmd.Flags().Changed, ""
	if f.Mechanism != online.Quota {
		for _, name := range []string{"public", "label", "text", "other-labels", "votes", "size", "radius", "lead", "private"} {
			if given(name) {
				other = name
			}
		}
		return shell.Refuse("serve", shell.If(other != "", "--%s is only for --mechanism %s", other, online.Quota))
	}
	for name := range f.Values {
		if given(name) && name != "sigma" {
			other = name
		}
	}
	if absent := shell.Unset(cmd, "private", "public", "size", "classes"); len(absent) > 0 {
		return shell.Usagef("serve", "--mechanism %s needs %s", online.Quota, absent[0])
	}
	return shell.Refuse("serve",
		shell.If(other != "" || given("vocabulary"), "--mechanism %s has no noise but --sigma, and no vocabulary", online.Quota),
		shell.If(f.relation != accountant.AddRemove.String(), "--relation %s: a quota of votes needs add_remove", f.relation),
		shell.Positive(given("sigma"), "sigma", f.Value("sigma")), shell.Positive(given("radius"), "radius", f.quota.radius),
		shell.If(given("votes") && f.quota.votes < 1, "--votes %d: must be at least 1", f.quota.votes))
}

func (f *serveFlags) quotaTerms(cmd *cobra.Command, t online.Terms) (online.Terms, error) {
	q := f.quota
	if cmd.Flags().Changed("unit") {
		q.rows.Unit = f.unit
	}
	t.Unit = shell.UnitWord("", q.rows.Unit)
	if other := q.rows.Other; other != "" && other != dataset.DropOther && !slices.Contains(t.Classes, other) {
		t.Classes = append(t.Classes, other)
	}
	for _, path := range []*string{&q.rows.Private, &q.rows.Public} {
		full, err := filepath.Abs(*path)
		if err != nil {
			return t, err
		}
		*path = full
	}
	t.Rows, t.Quota = &q.rows, &quota.Terms{Units: q.size, Questions: int(t.Queries), Radius: q.radius,
		Config: quota.Config{Votes: q.votes, Sigma: f.Value("sigma"), Classes: len(t.Classes), Lead: q.lead}}
	return t, nil
}

func (f *serveFlags) voters(t online.Terms) (*online.Voters, error) {
	private := t.Rows.Private
	if f.quota.rows.Private != "" {
		private = f.quota.rows.Private
	}
	if err := (&shell.PairFlags{Public: t.Rows.Public}).CheckApart(private); err != nil {
		return nil, err
	}
	csv := dataset.CSVOptions{Label: t.Rows.Label, AskLabel: true, Unit: t.Rows.Unit, Text: t.Rows.Text}
	if shell.UnitWord("", csv.Unit) != csv.Unit { // --unit none
		csv.Unit, csv.RowUnits = "", csv.Unit != ""
	}
	return online.ReadVoters(dataset.Source{Path: t.Rows.Public}, dataset.Source{Path: private},
		dataset.Reading{CSV: csv, Rule: dataset.ClassRule{Names: t.Classes, Other: t.Rows.Other}})
}
