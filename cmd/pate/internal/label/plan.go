package label

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/teachers/label"
	"github.com/pate-go/pate/teachers/votes"
)

func (f *labelFlags) checkPlanning(cmd *cobra.Command, planned bool) error {
	switch {
	case !(f.minAccuracy >= 0 && f.minAccuracy < 1):
		return shell.Usagef("mechanisms", "--min-accuracy %v: must be in [0, 1)", f.minAccuracy)
	case !planned && f.yes:
		return shell.Usagef("mechanisms", "--yes is for plans, without --mechanism")
	case cmd.Flags().Changed("pilot") && f.pilot == "yes" && !f.piloted:
		return shell.Usagef("mechanisms", "--pilot yes is for plans without --teacher-accuracy: a declared accuracy needs no pilot")
	}
	if err := f.CheckAgreement(cmd); err != nil || f.CalibrateOn == "" || f.force.has(waiveCalibration) {
		return err
	}
	return &shell.CommandError{Code: shell.ExitUsage, What: errors.New("--calibrate-on: the plan would depend on private votes"),
		Why: "the ledger, the labels and the statement would reveal the plan, and epsilon does not cover this leak",
		Fix: "declare --teacher-accuracy from public data; to see only the plan: pate plan --calibrate-on; to continue: " +
			"--force=calibration, and release nothing from the run", Topic: "mechanisms"}
}

type refusalRemedies struct {
	epsilon           float64
	queries, teachers int
	accuracy          float64 // accuracy that epsilon and teachers assume
}

func (f *labelFlags) refuse(g *shell.Globals, why string, would refusalRemedies) error {
	spent := 0.0
	if f.spent != nil {
		spent = f.spent.Epsilon
	}
	if g.ParsedFormat() == table.JSON {
		if err := shell.WriteJSON(g.Stdout, shell.Object{"schema", "pate.refusal/1", "why", why, "spent", spent,
			"pilot?", pilotObject(f.spent), "would_work", shell.Object{
				"epsilon?", would.epsilon, "queries?", would.queries, "teachers?", would.teachers,
				"teacher_accuracy?", would.accuracy}}); err != nil {
			return err
		}
	}
	var ways []string
	if would.epsilon > 0 {
		ways = append(ways, "--epsilon "+number.DigitsUp(would.epsilon, 3))
	}
	if would.teachers > 0 {
		ways = append(ways, fmt.Sprintf("%d teachers as good as these", would.teachers))
	}
	if would.queries > 0 {
		ways = append(ways, fmt.Sprintf("%d queries", would.queries))
	}
	fix := "use more teachers or a larger budget"
	charged := "nothing was charged or written"
	switch {
	case f.piloted && f.spent == nil:
		fix = "give a --teacher-accuracy that is known from public data, use more teachers, or raise --epsilon"
	case f.spent != nil:
		charged = fmt.Sprintf("only the pilot was charged (epsilon %s), no label; the same command does not charge the pilot again",
			shell.FormatUp(spent, false))
	}
	if ways != nil {
		fix = "this would do: " + strings.Join(ways, ", or ")
		if would.accuracy > 0 {
			fix += fmt.Sprintf("; if a teacher is right %.0f %% of the time, which --teacher-accuracy declares", 100*would.accuracy)
		}
	}
	return &shell.CommandError{Code: shell.ExitOverBudget, What: errors.New(why), Why: charged, Fix: fix,
		Topic: "mechanisms"}
}

func (f *labelFlags) public(v *votes.Source) plan.Public {
	p := plan.Public{Teachers: v.Teachers(), Classes: v.Classes(), Queries: v.Queries(), Agreement: f.Agreement}
	if f.spent != nil {
		p.Share, p.LeastShare = f.spent.Share, f.spent.LeastShare
	}
	return p
}

func (f *labelFlags) plan(cmd *cobra.Command, g *shell.Globals, c *label.Config, args []string) error {
	if c.Votes.Teachers() < 2 {
		return shell.Usagef("votes", "--teachers is needed for a plan: the file does not show the number of teachers")
	}
	c.Plan = &label.Planning{Public: f.public(c.Votes), Goal: plan.Goal{MinAccuracy: f.minAccuracy}}
	if !f.force.has(waiveFew) {
		c.Plan.Goal.MinLabels = plan.LeastPerClass * float64(c.Votes.Classes())
	}
	first, _ := c.Votes.Range()
	c.Plan.Accept = func(ctx context.Context, a plan.Alternative) error {
		from := "public numbers alone"
		switch {
		case f.CalibrateOn != "":
			from = "public numbers and the three private numbers above"
		case f.spent != nil:
			from = "public numbers and the pilot"
		case f.Accuracy == 0:
			g.Warn(fmt.Sprintf("the plan assumes that teachers are right %.0f %% of the time, which nobody declared or measured",
				100*plan.UsualAccuracy))
		}
		g.Logf("plan for %d teachers, computed from %s: %s", c.Votes.Teachers(), from, f.command(cmd, c, args, a, first))
		g.Logf("the plan spends the rest of the budget on %d of %d queries, for about %s labels, %.0f %% of them equal to the plurality",
			a.Queries, c.Votes.Queries(), shell.FormatExpected(a.ExpectedAnswers, false), 100*a.Accuracy())
		if f.spent != nil {
			g.Logf("at the lower bound of the pilot, and however the votes are split, at least %.0f %% of them would be", 100*a.Least)
		}
		return f.confirm(cmd, "charge all that is left of the budget for it?")
	}
	if f.piloted {
		c.Plan.Pilot = func(p label.Pilot, released bool) error { return f.tellPilot(cmd, g, c, p, released) }
	}
	return nil
}

func (f *labelFlags) command(cmd *cobra.Command, c *label.Config, args []string, a plan.Alternative, first int) string {
	words := []string{"pate label", f.Words(cmd, args), shell.LabelFlags(a.Setting, first), "--mode " + c.Account.Mode.String()}
	if force := cmd.Flag("force"); force.Changed { // its value is optional
		words = append(words, "--force="+force.Value.String())
	}
	return shell.Repeats(cmd, words, strings.Fields("accountant failure-delta epsilon delta unit relation pool min-accuracy seed ledger out"),
		shell.Given, nil)
}

func (f *labelFlags) tellPilot(cmd *cobra.Command, g *shell.Globals, c *label.Config, p label.Pilot, released bool) error {
	teachers := c.Votes.Teachers()
	if released {
		f.spent = &p
		g.Logf("pilot: the largest class of a query has the votes of %d of %d teachers in the mean, with noise of %s votes; "+
			"at least %.0f %% of them, with 99 %% confidence", p.Released, teachers, shell.FormatUp(p.Sigma, false), 100*p.LeastShare)
		g.Logf("%s", label.PilotBlind)
		return nil
	}
	g.Logf("no accuracy of the teachers is declared: first a pilot releases the mean of the largest vote counts, with noise of %s of %d votes; "+
		"it takes %.0f %% of what is left of the budget, epsilon %s alone", shell.FormatUp(p.Sigma, false), teachers, 100*p.Part,
		shell.FormatUp(p.Epsilon, false))
	g.Logf("%d teachers who always agree would give about %s right labels after the pilot, and %s if --teacher-accuracy were declared "+
		"from public data", teachers, shell.FormatExpected(p.Most, false), shell.FormatExpected(p.Declared, false))
	return f.confirm(cmd, "charge the pilot?")
}

func pilotObject(p *label.Pilot) shell.Object {
	if p == nil {
		return nil
	}
	return shell.Object{"released", p.Released, "sigma", p.Sigma, "share", p.Share, "least_share", p.LeastShare, "epsilon", p.Epsilon,
		"cannot_see", label.PilotBlind}
}

func (f *labelFlags) noPlan(g *shell.Globals, c *label.Config, none *plan.NoPlanError) error {
	would := refusalRemedies{teachers: none.Teachers}
	if none.Epsilon > 0 && !math.IsInf(none.Epsilon, 1) {
		would.epsilon = none.Epsilon
	}
	if f.Accuracy == 0 && !f.piloted {
		would.accuracy = plan.UsualAccuracy
	}
	why := fmt.Sprintf("no plan gives labels that equal the plurality %.0f %% of the time with %d teachers and the rest of epsilon %g",
		100*f.minAccuracy, c.Votes.Teachers(), none.Goal.Epsilon)
	if none.Best.Queries > 0 {
		why = fmt.Sprintf("the rest of epsilon %g pays for %s labels that equal the plurality %.0f %% of the time with %d "+
			"teachers: that is fewer than %d for each of %d classes",
			none.Goal.Epsilon, shell.FormatExpected(none.Best.ExpectedCorrect,
				false), 100*f.minAccuracy, c.Votes.Teachers(), plan.LeastPerClass, c.Votes.Classes())
	}
	if f.piloted && f.spent == nil {
		why, would = "a pilot of this budget would show too little of so few teachers, even if all always agreed", refusalRemedies{}
	}
	return f.refuse(g, why, would)
}

func (f *labelFlags) confirm(cmd *cobra.Command, question string) error {
	if f.yes {
		return nil
	}
	in, ok := cmd.InOrStdin().(*shell.Input)
	if !ok || !in.Terminal() {
		return shell.Usagef("mechanisms", "--yes is needed, because the charge described above cannot be undone; or give --mechanism")
	}
	fmt.Fprint(cmd.ErrOrStderr(), question+" [y/N] ")
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil { // Ctrl-C or Ctrl-D leaves the line unfinished
		fmt.Fprintln(cmd.ErrOrStderr())
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); err != nil || answer != "y" && answer != "yes" {
		if f.spent != nil {
			return shell.Usagef("mechanisms", "only the pilot was charged")
		}
		return shell.Usagef("mechanisms", "nothing was charged")
	}
	return nil
}

const leastAnswered = 0.1

func (f *labelFlags) worthIt(g *shell.Globals, c *label.Config) func(aggregate.Setting) error {
	return func(s aggregate.Setting) error {
		d, err := mechanisms.Find(s.Mechanism)
		if err != nil || f.force.has(waiveNoise) || c.Votes.Teachers() < 1 {
			return err
		}
		if d.Predicts { // the mechanism that answers if the votes are far from the prediction
			s = aggregate.Setting{Mechanism: plan.GNMax, Queries: s.Queries}.With("sigma", s.Values["sigma2"])
		} else if !plan.Plannable(d) { // package label checks what these mechanisms need
			return nil
		}
		teachers, classes := c.Votes.Teachers(), c.Votes.Classes()
		clear, err := plan.Clearly(s, teachers, classes)
		if err != nil {
			return err
		}
		least := 0.5
		if classes == 2 {
			least = 0.75 // a guess is right half of the time
		}
		chosen := f.Mechanism != "" && !d.Settled(c.Setting)
		switch {
		case clear.Unanimous < least:
			return f.refuse(g, fmt.Sprintf("with %s, even if all %d teachers agree, the answer would be right only %.0f %% of the time",
				describeChosen(s), teachers, 100*clear.Unanimous), f.wouldWork(s, c))
		case clear.Answered < leastAnswered:
			return f.refuse(g, fmt.Sprintf("with %s, even if all %d teachers agree, the query would be answered only %.0f %% of the time",
				describeChosen(s), teachers, 100*clear.Answered), f.wouldWork(s, c))
		case chosen && clear.Right < f.minAccuracy:
			return f.refuse(g, fmt.Sprintf(
				"with %s, even if %.0f %% of %d teachers agree, the answer would be right only %.0f %% of the time",
				describeChosen(s), 100*plan.ClearVote, teachers, 100*clear.Right), f.wouldWork(s, c))
		}
		return nil
	}
}

func (f *labelFlags) wouldWork(s aggregate.Setting, c *label.Config) refusalRemedies {
	d, err := mechanisms.Find(s.Mechanism)
	if err != nil {
		return refusalRemedies{}
	}
	right := func(noise float64) bool { // with the noise multiplied by this factor
		less := s
		for _, p := range d.Noise() {
			less = less.With(p.Name, max(p.Min, s.Values[p.Name]*noise))
		}
		clear, err := plan.Clearly(less, c.Votes.Teachers(), c.Votes.Classes())
		return err == nil && clear.Right >= f.minAccuracy && clear.Unanimous >= 0.75
	}
	share := 1.0
	for share > 1e-4 && !right(share) {
		share *= 0.97
	}
	if share <= 1e-4 || f.Mechanism == "" || d.Settled(c.Setting) {
		return refusalRemedies{}
	}
	return refusalRemedies{queries: int(float64(s.Queries) * share * share)}
}

// Each value of --force waives one reason to refuse a run. With "duplicates", "checks" or "calibration",
// epsilon may be wrong, so no result is releasable.
const (
	waiveNoise       = "noise"       // labels would rarely be right
	waiveFew         = "few"         // the budget carries too few labels
	waiveDuplicates  = "duplicates"  // two teachers vote alike everywhere
	waiveChecks      = "checks"      // anything else that fails in pate votes check
	waiveCalibration = "calibration" // the plan follows from private votes
)

var waivable = []string{waiveNoise, waiveFew, waiveDuplicates, waiveChecks, waiveCalibration}

type waivers []string

func (w *waivers) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(w, "force", "skip refusals by name (see above; without a LIST: noise): noise, few, duplicates, checks, calibration")
	flags.Lookup("force").NoOptDefVal = waiveNoise
	shell.Take("some", waivable...).Of(flags.Lookup("force"))
}

func (w *waivers) String() string { return strings.Join(*w, ",") }
func (w *waivers) Type() string   { return "LIST" }

func (w *waivers) Set(list string) error {
	for _, word := range strings.Split(list, ",") {
		switch {
		case slices.Contains(waivable, word):
			*w = append(*w, word)
		case word == "shape" || word == "transposed":
			return errors.New("--force does not skip this check: confirm the number of teachers with --teachers N, or give --transpose")
		case word == "true" || word == "false" || word == "all":
			return fmt.Errorf("name the checks to skip: %s", strings.Join(waivable, ", "))
		default:
			return shell.Take("one", waivable...).Check(word)
		}
	}
	return nil
}

func (w waivers) has(what string) bool { return slices.Contains(w, what) }

func (w waivers) withheld() []string {
	names := slices.DeleteFunc(slices.Clone(w), func(name string) bool { return name == waiveNoise || name == waiveFew })
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return nil
	}
	return names
}

func (w waivers) misplaced(args []string) error {
	for _, arg := range args {
		if len(w) > 0 && slices.Contains(waivable, arg) {
			return shell.Usagef("votes", "%q is not a file of votes: write --force=%s with an equals sign", arg, arg)
		}
	}
	return nil
}
