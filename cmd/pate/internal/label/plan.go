package label

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/ledger/release"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/mechanisms"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/teachers/label"
	"github.com/pate-go/pate/teachers/votes"
)

const schemaRefusal = "pate.refusal/1"

// planningFlags say how a label plans, and how right its labels must be.
type planningFlags struct {
	minAccuracy float64
	accuracy    float64
	correlation float64
	confusion   float64
	yes, force  bool
}

func (f *planningFlags) addPlanning(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Float64Var(&f.minAccuracy, "min-accuracy", 0.9, "how often a clear vote, 80 % for one class, must get its class")
	flags.Float64Var(&f.accuracy, "teacher-accuracy", 0, fmt.Sprintf("without --mechanism: how often one teacher is right, from public data (default %g)", plan.CautiousAccuracy))
	flags.Float64Var(&f.correlation, "correlation", 0, "without --mechanism: of two teachers being right (default: the plan holds for small and large)")
	flags.Float64Var(&f.confusion, "confusion", plan.DefaultConfusion, "without --mechanism: share of wrong votes on one class")
	flags.BoolVar(&f.yes, "yes", false, "without --mechanism: charge the plan without asking")
	flags.BoolVar(&f.force, "force", false, "charge even if labels would rarely be right")
}

func (f *planningFlags) checkPlanning(planned bool) error {
	switch {
	case !(f.minAccuracy >= 0 && f.minAccuracy < 1):
		return shell.UsageError("mechanisms", fmt.Errorf("--min-accuracy %v: must be in [0, 1)", f.minAccuracy))
	case !(f.accuracy >= 0 && f.accuracy < 1):
		return shell.UsageError("mechanisms", fmt.Errorf("--teacher-accuracy %v: must be in (0, 1)", f.accuracy))
	case !planned && f.yes:
		return shell.UsageError("mechanisms", errors.New("--yes is for plans, without --mechanism"))
	}
	return nil
}

// refusalReport is the JSON of a label that would waste its budget.
type refusalReport struct {
	Schema    string          `json:"schema"`
	Why       string          `json:"why"`
	WouldWork refusalRemedies `json:"would_work"`
}

type refusalRemedies struct {
	Epsilon  float64 `json:"epsilon,omitempty"`
	Queries  int     `json:"queries,omitempty"`
	Teachers int     `json:"teachers,omitempty"`
}

// refuse says why nothing was charged, and what would work.
func refuse(g *shell.Globals, why string, would refusalRemedies) error {
	if g.ParsedFormat() == table.JSON {
		if err := shell.WriteJSON(g.Stdout, refusalReport{Schema: schemaRefusal, Why: why, WouldWork: would}); err != nil {
			return err
		}
	}
	var ways []string
	if would.Epsilon > 0 {
		ways = append(ways, "--epsilon "+number.DigitsUp(would.Epsilon, 3))
	}
	if would.Teachers > 0 {
		ways = append(ways, fmt.Sprintf("%d teachers as good as these", would.Teachers))
	}
	if would.Queries > 0 {
		ways = append(ways, fmt.Sprintf("%d queries", would.Queries))
	}
	fix := "have more teachers, or raise --epsilon"
	if ways != nil {
		fix = "this would do: " + strings.Join(ways, ", or ")
	}
	return &shell.CommandError{Code: shell.ExitOverBudget, What: errors.New(why), Why: "nothing was charged or written", Fix: fix, Topic: "mechanisms"}
}

// public returns what is public about votes.
func (f *planningFlags) public(v *votes.Source) plan.Public {
	return plan.Public{Teachers: v.Teachers(), Classes: v.Classes(), Queries: v.Queries(), Accuracy: f.accuracy, Correlation: f.correlation, Confusion: f.confusion}
}

// planned chooses mechanism, noise and queries from public numbers, or finds what was
// chosen before, and narrows the votes to the queries.
func (f *labelFlags) planned(cmd *cobra.Command, g *shell.Globals, c *label.Config, args []string) error {
	from, _ := c.Votes.Range()
	s, from, to, found, err := label.Recorded(f.ledger, f.pool, from)
	if err != nil {
		return labelError(err, s)
	}
	if !found {
		a, err := f.plan(cmd.Context(), g, c)
		if err != nil {
			return err
		}
		s = a.Setting
		from, _ = c.Votes.Range()
		to = from + s.Queries
		command := planCommand(s, from)
		g.Logf("plan for %d teachers, from public numbers alone: pate label %s %s", c.Votes.Teachers(), strings.Join(args, " "), command)
		g.Logf("it asks %d of %d queries and expects %s labels, %.0f %% of them what the plurality says, for epsilon %s",
			s.Queries, c.Votes.Queries(), shell.FormatExpected(a.ExpectedAnswers, false), 100*a.Accuracy(), shell.FormatEpsilon(a.Epsilon, false))
		if f.accuracy == 0 {
			g.Logf("it holds for teachers who are right %.0f %% of the time; --teacher-accuracy, measured on public rows, may give more labels", 100*plan.CautiousAccuracy)
		}
		if err := f.confirm(cmd, a); err != nil {
			return err
		}
	}
	c.Setting = aggregate.Setting{Mechanism: s.Mechanism, Values: s.Values}
	f.Queries = fmt.Sprintf("%d:%d", from, to)
	c.Votes, err = f.Open(cmd.Context(), args)
	return err
}

// planCommand writes a plan as the flags of pate label.
func planCommand(s aggregate.Setting, from int) string {
	d, err := mechanisms.Find(s.Mechanism)
	if err != nil { // as for no mechanism that was planned
		return ""
	}
	return fmt.Sprintf("--mechanism %s %s --queries %d:%d", s.Mechanism, shell.FlagsOf(d, s, func(aggregate.Parameter) bool { return true }), from, from+s.Queries)
}

// plan plans a new run.
func (f *labelFlags) plan(ctx context.Context, g *shell.Globals, c *label.Config) (plan.Alternative, error) {
	if c.Votes.Teachers() < 2 {
		return plan.Alternative{}, shell.UsageError("votes", errors.New("--teachers is needed for a plan: the file does not show how many there are"))
	}
	file := release.File{Path: c.Ledger, New: c.Account, Expect: c.Expect}
	if c.Seed != nil {
		file.New.Noise = ledger.SeededNoise
	} else {
		file.New.Noise = ledger.SecretNoise
	}
	account, fresh, err := file.Look()
	if err != nil {
		return plan.Alternative{}, labelError(err, c.Setting)
	}
	var book *ledger.Ledger
	if fresh {
		book, err = ledger.Open("", account)
	} else {
		var open *release.Book
		if open, err = file.Open(ctx, account); err == nil {
			book = open.Ledger
		}
	}
	if err != nil {
		return plan.Alternative{}, labelError(err, c.Setting)
	}
	defer book.Close()
	fits := func(s aggregate.Setting) (bool, error) {
		d, err := mechanisms.Find(s.Mechanism)
		if err != nil {
			return false, err
		}
		e, err := d.Event(s)
		if err != nil {
			return false, err
		}
		switch err := book.Try(e); {
		case errors.Is(err, ledger.ErrBudgetExceeded):
			return false, nil
		case err != nil:
			return false, labelError(err, c.Setting)
		}
		return true, nil
	}
	goal := plan.Goal{Epsilon: account.Epsilon, Delta: account.Delta, MinAccuracy: f.minAccuracy}
	a, err := plan.ForLabels(ctx, f.public(c.Votes), goal, fits)
	var none *plan.NoPlanError
	if errors.As(err, &none) {
		would := refusalRemedies{Teachers: none.Teachers}
		if !math.IsInf(none.Epsilon, 1) {
			would.Epsilon = none.Epsilon
		}
		return a, refuse(g, fmt.Sprintf("no plan gives labels that are what the plurality says %.0f %% of the time, with %d teachers and what is left of epsilon %g",
			100*f.minAccuracy, c.Votes.Teachers(), account.Epsilon), would)
	}
	return a, err
}

// confirm asks before a budget goes that cannot be had back.
func (f *labelFlags) confirm(cmd *cobra.Command, a plan.Alternative) error {
	if f.yes {
		return nil
	}
	in, terminal := cmd.InOrStdin().(*os.File)
	if !terminal || !term.IsTerminal(int(in.Fd())) {
		return shell.UsageError("mechanisms", errors.New("--yes is needed: the plan above spends budget that cannot be had back; or give its --mechanism"))
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "charge epsilon %s for it? [y/N] ", shell.FormatEpsilon(a.Epsilon, false))
	line, err := bufio.NewReader(in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err != nil || answer != "y" && answer != "yes" {
		return shell.UsageError("mechanisms", errors.New("nothing was charged"))
	}
	return nil
}

// worthIt refuses noise at which labels would rarely be right, whatever the votes are.
func (f *labelFlags) worthIt(g *shell.Globals, c *label.Config) func(aggregate.Setting) error {
	return func(s aggregate.Setting) error {
		d, err := mechanisms.Find(s.Mechanism)
		if err != nil || f.force || !plan.Plannable(d) || c.Votes.Teachers() < 1 {
			return err
		}
		teachers, classes := c.Votes.Teachers(), c.Votes.Classes()
		clear, unanimous, err := plan.ClearlyRight(s, teachers, classes)
		if err != nil {
			return err
		}
		least := 0.5
		if classes == 2 {
			least = 0.75 // guessing is right half of the time
		}
		chosen := !d.Settled(c.Setting)
		switch {
		case unanimous < least:
			return refuse(g, fmt.Sprintf("with %s even a unanimous vote of %d teachers would be answered right %.0f %% of the time", describeChosen(s), teachers, 100*unanimous), f.wouldWork(s, c))
		case chosen && clear < f.minAccuracy:
			return refuse(g, fmt.Sprintf("with %s a clear vote, %.0f %% of %d teachers for one class, would be right %.0f %% of the time", describeChosen(s), 100*plan.ClearVote, teachers, 100*clear), f.wouldWork(s, c))
		}
		return nil
	}
}

// wouldWork estimates the queries and the epsilon at which the mechanism would be right
// often enough: noise goes with the root of the queries, and falls with epsilon.
func (f *labelFlags) wouldWork(s aggregate.Setting, c *label.Config) refusalRemedies {
	d, err := mechanisms.Find(s.Mechanism)
	if err != nil {
		return refusalRemedies{}
	}
	right := func(noise float64) bool { // at a share of the noise
		less := s
		for _, p := range d.Noise() {
			less = less.With(p.Name, max(p.Min, s.Values[p.Name]*noise))
		}
		clear, unanimous, err := plan.ClearlyRight(less, c.Votes.Teachers(), c.Votes.Classes())
		return err == nil && clear >= f.minAccuracy && unanimous >= 0.75
	}
	share := 1.0
	for share > 1e-4 && !right(share) {
		share *= 0.97
	}
	if share <= 1e-4 || d.Settled(c.Setting) {
		return refusalRemedies{}
	}
	return refusalRemedies{Queries: int(float64(s.Queries) * share * share)}
}
