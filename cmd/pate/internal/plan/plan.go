// Package plan is the command `pate plan`: it finds mechanisms and noise for a budget.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/rng"
)

type planFlags struct {
	shell.VotesFlags
	shell.AgreementFlags
	shell.ParameterFlags
	epsilon, minAccuracy float64
	queries              int
	accountant           string
	all                  bool
}

func New(g *shell.Globals) *cobra.Command {
	var f planFlags
	cmd := shell.Command("plan [VOTES...]", "", cobra.ArbitraryArgs,
		func(cmd *cobra.Command, args []string) error { return runPlan(cmd, g, f, args) })
	f.AddShape(cmd)
	f.AddAgreement(cmd)
	shell.Declare(cmd.Flags(), "plan", shell.To{"epsilon": &f.epsilon, "queries": &f.queries, "simulate-accuracy": &f.Accuracy,
		"min-accuracy": &f.minAccuracy, "accountant": &f.accountant, "all": &f.all})
	f.AddParameters(cmd, "mechanism whose cost is printed, instead of a plan", plan.Plannable)
	cmd.AddCommand(newRegimeCommand(g), newPlanTableCommand(g))
	return cmd
}

type alternative struct {
	plan.Alternative
	command string
	filter  int
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
			return shell.InputError(err, "", "for the flags: pate plan --help", "mechanisms")
		}
		found = append(found, a)
	} else {
		found, err = plan.Alternatives(cmd.Context(), examples, plan.Goal{Epsilon: f.epsilon, Delta: g.Delta, MinAccuracy: f.minAccuracy,
			Queries: f.queries, Accountant: by})
		if errors.Is(err, plan.ErrNoPlan) {
			return shell.InputError(err, "no mechanism that was tried reaches this accuracy within the budget, at any number of queries",
				"raise --epsilon, lower --min-accuracy, or use more teachers", "privacy")
		}
		if err != nil {
			return err
		}
	}
	var all []alternative
	for _, a := range found {
		budget := f.epsilon
		if reverse { // the budget of the command's ledger
			budget = number.Up(a.Epsilon*(1+1e-9), 6)
		}
		one := alternative{Alternative: a, command: f.labelCommand(f.Words(cmd, args), a, budget, g.Delta)}
		filter := ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: budget, Delta: g.Delta, Mode: ledger.Filter}
		if one.filter, err = plan.MaxQueries(cmd.Context(), a.Setting, filter); err != nil {
			return err
		}
		all = append(all, one)
	}
	return f.write(g, f.source(summary, args), all, reverse)
}

func (f *planFlags) check(cmd *cobra.Command, args []string, reverse bool) error {
	given := cmd.Flags().Changed
	rules := []error{
		shell.If(reverse && given("epsilon"), "give --epsilon for a plan or --mechanism for the cost of a setting, not both"),
		shell.If(!reverse && !(f.epsilon > 0 && !math.IsInf(f.epsilon, 1)),
			"give --epsilon (finite and above 0) to get a plan, or --mechanism to get the epsilon of a mechanism"),
	}
	if err := f.checkVotes(cmd, args, "pate plan needs a votes file; for synthetic votes give "+
		"--teacher-accuracy, --simulate-accuracy or --calibrate-on", rules...); err != nil {
		return err
	}
	if !reverse || given("min-accuracy") {
		for name := range f.Values {
			if given(name) {
				return shell.Usagef("mechanisms", "--%s needs --mechanism, and no --min-accuracy", name)
			}
		}
	}
	if reverse {
		_, _, err := f.Setting(cmd, true)
		return err
	}
	return nil
}

func (f *planFlags) checkVotes(cmd *cobra.Command, args []string, without string, rules ...error) error {
	simulated := cmd.Flags().Changed("simulate-accuracy") || f.AgreementGiven(cmd)
	if err := f.CheckAgreement(cmd); err != nil {
		return err
	}
	return shell.Refuse("mechanisms", append(append([]error{
		shell.If(len(args) == 0 && !simulated, "%s", without),
		shell.If(len(args) > 0 && simulated, "give --simulate-accuracy or a votes file, not both"),
	}, rules...),
		shell.If(f.queries < 0, "--queries %d: must be at least 1", f.queries),
		shell.If(!(f.minAccuracy >= 0 && f.minAccuracy < 1), "--min-accuracy %v: must be in [0, 1)", f.minAccuracy),
	)...)
}

const simulatedQueries = 1000

func (f *planFlags) examples(ctx context.Context, g *shell.Globals, args []string, minimum int) ([]plan.Example, error) {
	if len(args) == 0 {
		if _, err := f.Options(); err != nil { // checks --class-names and their number
			return nil, err
		}
		teachers, err := f.Calibrate(ctx, g, &f.VotesFlags, f.Teachers)
		if err != nil {
			return nil, err
		}
		if teachers == 0 {
			return nil, shell.Usagef("mechanisms", "--teachers is required")
		}
		if err := shell.CheckDelta(g.Delta, teachers, "teachers"); err != nil {
			return nil, err
		}
		n := max(cmp.Or(f.queries, simulatedQueries), min(minimum, plan.MaxExamples(f.Classes)))
		s := plan.Simulation{Teachers: teachers, Classes: f.Classes, Queries: n, Accuracy: cmp.Or(f.Accuracy, plan.UsualAccuracy),
			Correlation: f.Correlation, Confusion: f.Confusion}
		examples, err := s.Examples(rng.SeedKey(g.Seed))
		if err != nil {
			return nil, shell.InputError(err, "synthetic votes depend on --teachers, --classes and --simulate-accuracy",
				"for the flags: pate plan --help", "mechanisms")
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
	return shell.Examples(ctx, source)
}

func (a alternative) answerNoise() float64 {
	d, err := mechanisms.Find(a.Mechanism)
	if err != nil {
		return math.NaN()
	}
	noise := d.Noise()
	return a.Values[noise[len(noise)-1].Name]
}

func (a alternative) most() int {
	if answers, capped := a.Values["answers"]; capped {
		return int(answers)
	}
	return a.Queries
}

func (a alternative) object() shell.Object {
	v := a.Values
	return shell.Object{"mechanism", a.Mechanism, "threshold?", v["threshold"], "sigma1?", v["sigma1"], "sigma2?", v["sigma2"],
		"sigma?", v["sigma"], "scale?", v["scale"], "noise", v, "queries", a.Queries, "answers", a.most(),
		"expected_answered", a.ExpectedAnswers, "expected_correct", a.ExpectedCorrect, "accuracy", a.Accuracy(),
		"epsilon", a.Epsilon, "accountant", a.By, "filter_queries", a.filter, "command", a.command}
}

func (a alternative) filterCost() string {
	const others = "With --mode filter others may charge the ledger later, by what they have seen.\n"
	if a.filter == a.Queries {
		return others + "Plan 1 takes as many queries there."
	}
	return fmt.Sprintf(others+"Privacy loss distributions are no filter: Rényi divergences claim there, and\n"+
		"with the noise of plan 1 it takes %d queries where reserved takes %d\n(%.0f %% fewer).",
		a.filter, a.Queries, 100*(1-float64(a.filter)/float64(a.Queries)))
}

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

func (f *planFlags) labelCommand(votes string, a plan.Alternative, budget, delta float64) string {
	claims := ""
	if f.accountant != string(accountant.ByAuto) {
		claims = " --accountant " + f.accountant
	}
	return fmt.Sprintf("pate label %s %s --epsilon %v --delta %v --mode reserved%s --ledger run.jsonl --out labels.csv",
		votes, shell.LabelFlags(a.Setting, 0), budget, delta, claims)
}

// source describes the votes of a plan. The field private is true if real votes were read.
type source struct {
	plan.Summary
	simulated, private bool
}

func (f *planFlags) source(s plan.Summary, args []string) source {
	return source{s, len(args) == 0, len(args) > 0 || f.CalibrateOn != ""}
}

func (s source) object(g *shell.Globals, schema string, target float64, name string, list any) shell.Object {
	return shell.Object{"schema", schema, "private", s.private, "releasable", !s.private && !g.Seeded, "target_epsilon?", target,
		"delta", g.Delta, "votes", shell.Object{"simulated", s.simulated, "queries", s.Queries, "classes", s.Classes,
			"teachers", s.Teachers, "teacher_accuracy", s.TeacherAccuracy, "plurality_accuracy", s.PluralityAccuracy,
			"mean_gap", s.MeanGap}, name, list}
}

func (s source) report(g *shell.Globals, labelled bool) {
	numbers := fmt.Sprintf("right on %.1f %%, plurality on %.1f %%, mean gap %.0f", 100*s.TeacherAccuracy,
		100*s.PluralityAccuracy, s.MeanGap)
	switch {
	case s.simulated:
		g.Logf("simulated votes: %d queries, %d teachers %s", s.Queries, s.Teachers, numbers)
	case labelled:
		g.Logf("real votes: %d queries, %d teachers, %s", s.Queries, s.Teachers, numbers)
	default:
		g.Logf("real votes: %d queries, %d teachers, %s; without labels the plurality counts as right", s.Queries, s.Teachers, numbers)
	}
}

func (s source) warn(g *shell.Globals) {
	if !s.private {
		return
	}
	if g.Prose() {
		fmt.Fprintf(g.Stdout, "\nPrivate: made from the votes themselves, which no epsilon above covers.\n")
	}
	g.Logf("the plan used private votes, and epsilon does not cover this use: keep this output private")
}

func (f *planFlags) write(g *shell.Globals, votes source, plans []alternative, reverse bool) error {
	votes.report(g, false)
	format := g.ParsedFormat()
	if format == table.JSON {
		target, list := f.epsilon, []shell.Object{}
		if reverse {
			target = 0
		}
		for _, a := range plans {
			list = append(list, a.object())
		}
		return shell.WriteJSON(g.Stdout, votes.object(g, "pate.plan/1", target, "alternatives", list))
	}
	exact := format == table.CSV
	others := len(plans) - 1
	if !f.all && !exact {
		plans = plans[:1]
	}
	t := shell.TableOf("<mechanism", "thr", "sigma1", "noise", "asked", "cap", "given", "right", "share", "eps")
	if exact {
		t = shell.TableOf("<mechanism", "threshold", "sigma1", "noise", "queries", "answers", "expected_answered", "expected_correct",
			"accuracy", "epsilon", "accountant")
	}
	for _, a := range plans {
		row := []string{a.Mechanism, "", "", shell.FormatUp(a.answerNoise(), exact), strconv.Itoa(a.Queries), strconv.Itoa(a.most()),
			shell.FormatExpected(a.ExpectedAnswers, exact), shell.FormatExpected(a.ExpectedCorrect, exact),
			shell.Fixed(a.Accuracy(), 3, exact),
			shell.FormatEpsilon(a.Epsilon, exact), string(a.By)}
		if threshold, tested := a.Values["threshold"]; tested {
			row[1], row[2] = number.Exact(threshold), shell.FormatUp(a.Values["sigma1"], exact)
		}
		t.Rows = append(t.Rows, row[:len(t.Header)])
	}
	if err := t.Write(g.Stdout, format); err != nil {
		return err
	}
	if g.Prose() {
		if len(plans) > 1 {
			fmt.Fprintln(g.Stdout, "\nSorted by right: the labels that are expected to be right, most first.")
		}
		for i, a := range plans {
			fmt.Fprintf(g.Stdout, "\n%s\n", folded(fmt.Sprintf("%d, by %s: %s", i+1, a.By, a.command)))
		}
		fmt.Fprintf(g.Stdout, "\n%s\n", plans[0].filterCost())
	}
	if !f.all && !exact && others > 0 {
		g.Logf("only the best of %d plans is shown: --all prints all of them", others+1)
	}
	votes.warn(g)
	if best := plans[0].Accuracy(); !reverse && best < 0.8 {
		g.Logf("%.0f %% of the labels of the first plan are expected to be right: --min-accuracy 0.9 plans fewer and better labels", 100*best)
	}
	return nil
}
