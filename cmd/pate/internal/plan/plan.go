// Package plan is the command `pate plan`: a budget in, mechanisms and noise out.
package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/rng"
)

const schemaPlan = "pate.plan/1"

type planFlags struct {
	shell.VotesFlags
	epsilon float64
	shell.AgreementFlags
	queries     int
	minAccuracy float64
	accountant  string
	all         bool
	shell.ParameterFlags
}

// planReport is the JSON of `pate plan`.
type planReport struct {
	Schema        string            `json:"schema"`
	Private       bool              `json:"private"` // made from real votes: itself a use of them
	Releasable    bool              `json:"releasable"`
	TargetEpsilon *float64          `json:"target_epsilon,omitempty"` // absent in the reverse
	Delta         float64           `json:"delta"`
	Votes         planVotes         `json:"votes"`
	Alternatives  []planAlternative `json:"alternatives"` // most correct answers first
}

type planVotes struct {
	Simulated         bool    `json:"simulated"`
	Queries           int     `json:"queries"`
	Classes           int     `json:"classes"`
	Teachers          int     `json:"teachers"`
	TeacherAccuracy   float64 `json:"teacher_accuracy"`
	PluralityAccuracy float64 `json:"plurality_accuracy"`
	MeanGap           float64 `json:"mean_gap"`
}

type planAlternative struct {
	Mechanism string  `json:"mechanism"`
	Threshold float64 `json:"threshold,omitempty"`
	Sigma1    float64 `json:"sigma1,omitempty"`
	Sigma2    float64 `json:"sigma2,omitempty"`
	Sigma     float64 `json:"sigma,omitempty"`
	Scale     float64 `json:"scale,omitempty"`
	// Noise holds every parameter by its name; those above stood alone before.
	Noise            map[string]float64 `json:"noise"`
	Queries          int                `json:"queries"`
	Answers          int                `json:"answers"` // at most
	ExpectedAnswered float64            `json:"expected_answered"`
	ExpectedCorrect  float64            `json:"expected_correct"`
	Accuracy         float64            `json:"accuracy"`
	Epsilon          float64            `json:"epsilon"`    // as the ledger of Command will claim
	Accountant       accountant.Method  `json:"accountant"` // that proves it
	// FilterQueries is the number of these queries that a ledger of mode filter takes.
	FilterQueries int    `json:"filter_queries"`
	Command       string `json:"command"` // that labels so; VOTES stands for the files
}

func New(g *shell.Globals) *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:  "plan [VOTES...]",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runPlan(cmd, g, f, args) },
	}
	f.AddShape(cmd)
	flags := cmd.Flags()
	flags.Float64Var(&f.epsilon, "epsilon", 0, "the budget")
	flags.IntVar(&f.queries, "queries", 0, "queries that can be asked at most (default 1000 simulated, or all of VOTES)")
	f.addSimulation(cmd)
	flags.Float64Var(&f.minAccuracy, "min-accuracy", 0, "how often labels must be right")
	addAccountant(cmd, &f.accountant)
	flags.BoolVar(&f.all, "all", false, "print all plans, not the best alone; JSON and CSV have all")
	f.AddParameters(cmd, "print what this mechanism costs (the reverse)", plan.Plannable)
	cmd.AddCommand(newRegimeCommand(g), newPlanTableCommand(g))
	return cmd
}

// addAccountant adds --accountant.
func addAccountant(cmd *cobra.Command, name *string) {
	all := []string{string(accountant.ByAuto), string(accountant.ByPLD), string(accountant.ByRDP)}
	cmd.Flags().StringVar(name, "accountant", all[0], "of the ledger that the plan is for: "+strings.Join(all, "|"))
	shell.Complete(cmd, map[string]shell.Values{"accountant": shell.Words(all...)})
}

// addSimulation adds the flags of synthetic votes.
func (f *planFlags) addSimulation(cmd *cobra.Command) {
	cmd.Flags().Float64Var(&f.Accuracy, "simulate-accuracy", 0, "the same as --teacher-accuracy: plan on synthetic votes")
	f.AddAgreement(cmd)
}

func runPlan(cmd *cobra.Command, g *shell.Globals, f planFlags, args []string) error {
	defer f.Close()
	reverse := f.Mechanism != ""
	if err := f.check(cmd, args, reverse); err != nil {
		return err
	}
	by, err := accountant.ParseMethod(f.accountant)
	if err != nil {
		return err
	}
	examples, err := f.examples(cmd.Context(), g, args, simulatedQueries)
	if err != nil {
		return err
	}
	summary, err := plan.Summarize(examples)
	if err != nil {
		return shell.InputError(err, "", "", "mechanisms")
	}
	report := planReport{Schema: schemaPlan, Private: len(args) > 0 || f.CalibrateOn != "", Delta: g.Delta, Votes: newPlanVotes(summary,
		len(args) == 0)}
	report.Releasable = !report.Private && !g.Seeded
	var found []plan.Alternative
	if reverse {
		_, s, err := f.Setting(cmd, true)
		if err != nil {
			return err
		}
		s.Queries = summary.Queries
		if f.queries > 0 {
			s.Queries = min(s.Queries, f.queries)
		}
		a, err := plan.Evaluate(cmd.Context(), examples, s, by, g.Delta)
		if errors.Is(err, accountant.ErrUnsupportedEvent) {
			return shell.InputError(fmt.Errorf("--accountant %s: %w", by, err), "", "use --accountant auto", "mechanisms")
		}
		if err != nil {
			return shell.InputError(err, "", "see pate plan --help", "mechanisms")
		}
		found = append(found, a)
	} else {
		report.TargetEpsilon = &f.epsilon
		found, err = plan.Alternatives(cmd.Context(), examples, plan.Goal{Epsilon: f.epsilon, Delta: g.Delta, MinAccuracy: f.minAccuracy,
			Queries: f.queries, Accountant: by})
		if errors.Is(err, plan.ErrNoPlan) {
			return shell.InputError(err, "no mechanism and no number of queries tried is that accurate within that budget",
				"raise --epsilon, lower --min-accuracy, or have more teachers", "privacy")
		}
		if err != nil {
			return err
		}
	}
	for _, a := range found {
		row := alternativeJSON(a)
		budget := f.epsilon
		if reverse { // what the ledger of the command is given
			budget = number.Up(a.Epsilon*(1+1e-9), 6)
		}
		row.Command = f.labelCommand(a, budget, g.Delta)
		filter := ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: budget, Delta: g.Delta, Mode: ledger.Filter}
		if row.FilterQueries, err = plan.MaxQueries(cmd.Context(), a.Setting, filter); err != nil {
			return err
		}
		report.Alternatives = append(report.Alternatives, row)
	}
	return writePlan(g, report, f.all)
}

// check refuses flags that do not go together.
func (f *planFlags) check(cmd *cobra.Command, args []string, reverse bool) error {
	simulated := cmd.Flags().Changed("simulate-accuracy") || f.AgreementGiven(cmd)
	if err := f.CheckAgreement(cmd); err != nil {
		return err
	}
	switch {
	case len(args) == 0 && !simulated:
		return shell.UsageError("mechanisms", errors.New("plan on what? --teacher-accuracy (or --simulate-accuracy) or --calibrate-on for "+
			"synthetic votes, or a votes file"))
	case len(args) > 0 && simulated:
		return shell.UsageError("mechanisms", errors.New("--simulate-accuracy or a votes file, not both"))
	case reverse && cmd.Flags().Changed("epsilon"):
		return shell.UsageError("mechanisms", errors.New("--epsilon asks for a plan, --mechanism for what a setting costs: give one"))
	case !reverse && !(f.epsilon > 0 && !math.IsInf(f.epsilon, 1)):
		return shell.UsageError("mechanisms", fmt.Errorf("--epsilon %v: a finite number above 0 is required, or --mechanism for "+
			"the reverse", f.epsilon))
	case f.queries < 0:
		return shell.UsageError("mechanisms", fmt.Errorf("--queries %d: must be at least 1", f.queries))
	case !(f.minAccuracy >= 0 && f.minAccuracy < 1):
		return shell.UsageError("mechanisms", fmt.Errorf("--min-accuracy %v: must be in [0, 1)", f.minAccuracy))
	case !reverse || cmd.Flags().Changed("min-accuracy"):
		for name := range f.Values {
			if cmd.Flags().Changed(name) {
				return shell.UsageError("mechanisms", fmt.Errorf("--%s belongs to --mechanism, without --min-accuracy", name))
			}
		}
	}
	if reverse {
		_, _, err := f.Setting(cmd, true)
		return err
	}
	return nil
}

// simulatedQueries is the least number of simulated queries: fewer vary by chance.
const simulatedQueries = 1000

// examples returns the votes to plan on; at least that number if they are simulated.
func (f *planFlags) examples(ctx context.Context, g *shell.Globals, args []string, least int) ([]plan.Example, error) {
	if len(args) == 0 {
		if _, err := f.Options(); err != nil { // it counts --class-names
			return nil, err
		}
		teachers, err := f.Calibrate(ctx, g, &f.VotesFlags, f.Teachers)
		if err != nil {
			return nil, err
		}
		if teachers == 0 {
			return nil, shell.UsageError("mechanisms", errors.New("--teachers is required: how many teachers vote"))
		}
		if err := shell.CheckDelta(g.Delta, teachers, "teachers"); err != nil {
			return nil, err
		}
		n := f.queries
		if n == 0 {
			n = simulatedQueries
		}
		n = max(n, min(least, plan.MaxExamples(f.Classes)))
		if f.Accuracy == 0 {
			f.Accuracy = plan.UsualAccuracy
		}
		s := plan.Simulation{Teachers: teachers, Classes: f.Classes, Queries: n, Accuracy: f.Accuracy, Correlation: f.Correlation,
			Confusion: f.Confusion}
		examples, err := s.Examples(rng.SeedKey(g.Seed))
		if err != nil {
			return nil, shell.InputError(err, "synthetic votes need --teachers, --classes and --teacher-accuracy", "see pate plan --help",
				"mechanisms")
		}
		return examples, nil
	}
	if f.queries > 0 {
		f.VotesFlags.Queries = fmt.Sprintf("0:%d", f.queries)
	}
	source, err := f.Open(ctx, args)
	if err != nil {
		return nil, err
	}
	if err := shell.CheckDelta(g.Delta, source.Teachers(), "teachers"); err != nil {
		return nil, err
	}
	var votes []aggregate.Histogram
	for b, err := range source.Histograms(ctx) {
		if err != nil {
			return nil, shell.FaultError(err, "votes")
		}
		votes = append(votes, b.Histogram)
	}
	return plan.PluralityExamples(votes), nil
}

func alternativeJSON(a plan.Alternative) planAlternative {
	v := a.Values
	p := planAlternative{Mechanism: a.Mechanism, Threshold: v["threshold"], Sigma1: v["sigma1"], Sigma2: v["sigma2"], Sigma: v["sigma"],
		Scale: v["scale"],
		Noise: v, Queries: a.Queries, Answers: a.Queries, ExpectedAnswered: a.ExpectedAnswers, ExpectedCorrect: a.ExpectedCorrect,
		Accuracy: a.Accuracy(), Epsilon: a.Epsilon, Accountant: a.By}
	if answers, capped := v["answers"]; capped {
		p.Answers = int(answers)
	}
	return p
}

// answerNoise returns the noise of an answer, which a mechanism describes last.
func (a planAlternative) answerNoise() float64 {
	d, err := mechanisms.Find(a.Mechanism)
	if err != nil {
		return math.NaN()
	}
	noise := d.Noise()
	return a.Noise[noise[len(noise)-1].Name]
}

// filterCost describes the first plan under the other mode of a ledger.
func (a planAlternative) filterCost() string {
	if a.FilterQueries == a.Queries {
		return "With --mode filter others may charge the ledger later, by what they have seen.\n" +
			"Plan 1 takes as many queries there."
	}
	return fmt.Sprintf("With --mode filter others may charge the ledger later, by what they have seen.\n"+
		"Privacy loss distributions are no filter: Rényi divergences claim there, and\n"+
		"with the noise of plan 1 it takes %d queries where reserved takes %d\n(%s).",
		a.FilterQueries, a.Queries, fewerBy(a.FilterQueries, a.Queries))
}

// fewerBy prints the share by which a number is less than another.
func fewerBy(n, than int) string {
	return fmt.Sprintf("%.0f %% fewer", 100*(1-float64(n)/float64(than)))
}

// folded breaks a command before flags, into lines of at most 76 columns.
func folded(command string) string {
	parts := strings.Split(command, " --")
	line, lines := parts[0], ""
	for _, flag := range parts[1:] {
		if len(line)+len(flag) > 70 {
			lines, line = lines+line+" \\\n", "    "
		}
		line += " --" + flag
	}
	return lines + line
}

// labelCommand writes a plan as the command that labels so, on a ledger of its own.
func (f *planFlags) labelCommand(a plan.Alternative, budget, delta float64) string {
	claims := ""
	if f.accountant != string(accountant.ByAuto) {
		claims = " --accountant " + f.accountant
	}
	return fmt.Sprintf("pate label VOTES --classes %d %s --epsilon %v --delta %v --mode reserved%s --ledger run.jsonl --out labels.csv",
		f.Classes, shell.LabelFlags(a.Setting, 0), budget, delta, claims)
}

func newPlanVotes(s plan.Summary, simulated bool) planVotes {
	return planVotes{Simulated: simulated, Queries: s.Queries, Classes: s.Classes, Teachers: s.Teachers,
		TeacherAccuracy: s.TeacherAccuracy, PluralityAccuracy: s.PluralityAccuracy, MeanGap: s.MeanGap}
}

// tellPlanVotes prints the votes of a plan on stderr.
func tellPlanVotes(g *shell.Globals, v planVotes, labelled bool) {
	if v.Simulated {
		g.Logf("simulated votes: %d queries, %d teachers right on %.1f %%, plurality on %.1f %%, mean gap %.0f",
			v.Queries, v.Teachers, 100*v.TeacherAccuracy, 100*v.PluralityAccuracy, v.MeanGap)
	} else {
		right := ""
		if !labelled {
			right = "; without labels the plurality counts as right"
		}
		g.Logf("real votes: %d queries, %d teachers, right on %.1f %%, plurality on %.1f %%, mean gap %.0f%s",
			v.Queries, v.Teachers, 100*v.TeacherAccuracy, 100*v.PluralityAccuracy, v.MeanGap, right)
	}
}

// tellPlanPrivate warns that a plan on real votes is a use of private data.
func tellPlanPrivate(g *shell.Globals, private bool) {
	if !private {
		return
	}
	if format := g.ParsedFormat(); format == table.Text || format == table.Markdown {
		fmt.Fprintf(g.Stdout, "\nPrivate: made from the votes themselves, which no epsilon above covers.\n")
	}
	g.Logf("planning on real votes is itself a use of the private data: keep this output private")
}

func writePlan(g *shell.Globals, r planReport, all bool) error {
	format := g.ParsedFormat()
	tellPlanVotes(g, r.Votes, false)
	if format == table.JSON {
		return shell.WriteJSON(g.Stdout, r)
	}
	exact := format == table.CSV
	others := len(r.Alternatives) - 1
	if !all && !exact {
		r.Alternatives = r.Alternatives[:1]
	}
	t := table.Table{
		Header: []string{"mechanism", "thr", "sigma1", "noise", "asked", "cap", "given", "right", "share", "eps"},
		Left:   []bool{true},
	}
	if exact {
		t.Header = []string{"mechanism", "threshold", "sigma1", "noise", "queries", "answers", "expected_answered", "expected_correct",
			"accuracy", "epsilon", "accountant"}
	}
	for _, a := range r.Alternatives {
		row := []string{a.Mechanism, "", "", shell.FormatUp(a.answerNoise(), exact), strconv.Itoa(a.Queries), strconv.Itoa(a.Answers),
			shell.FormatExpected(a.ExpectedAnswered, exact), shell.FormatExpected(a.ExpectedCorrect, exact), formatShare(a.Accuracy,
				exact), shell.FormatEpsilon(a.Epsilon, exact)}
		if _, tested := a.Noise["threshold"]; tested {
			row[1], row[2] = strconv.FormatFloat(a.Threshold, 'g', -1, 64), shell.FormatUp(a.Sigma1, exact)
		}
		if exact {
			row = append(row, string(a.Accountant))
		}
		t.Rows = append(t.Rows, row)
	}
	if err := t.Write(g.Stdout, format); err != nil {
		return err
	}
	if format == table.Text || format == table.Markdown {
		for i, a := range r.Alternatives {
			fmt.Fprintf(g.Stdout, "\n%s\n", folded(fmt.Sprintf("%d, by %s: %s", i+1, a.Accountant, a.Command)))
		}
		fmt.Fprintf(g.Stdout, "\n%s\n", r.Alternatives[0].filterCost())
	}
	if !all && !exact && others > 0 {
		g.Logf("the best plan of %d: --all prints the others", others+1)
	}
	tellPlanPrivate(g, r.Private)
	if best := r.Alternatives[0]; r.TargetEpsilon != nil && best.Accuracy < 0.8 {
		g.Logf("labels of the first plan are right %.0f %% of the time: --min-accuracy 0.9 plans fewer and better ones", 100*best.Accuracy)
	}
	return nil
}

func formatShare(x float64, exact bool) string {
	if exact {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}
