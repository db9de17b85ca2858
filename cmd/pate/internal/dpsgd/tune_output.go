package dpsgd

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/tuned"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/tune"
)

func printTuned(g *shell.Globals, r *tuned.Result) error {
	heading := fmt.Sprintf("%s: %d private records; %s\nprivacy of one %s, %s, δ = %s\n\n", table.Printable(r.Data), r.Private, scoredOn(r.Score),
		table.Printable(r.Unit), r.Relation, number.Exact(r.Delta))
	return g.PrintRun(r, tunedRecords(r), tunedTable(r), heading, g.Below(tunedFootnotes(r)))
}

func scoredOn(s tuned.ScoreJSON) string {
	if s.On == "private" {
		return fmt.Sprintf("%s %% of them choose, σ %s", number.Digits(100*s.Share, 3), number.Exact(s.Sigma))
	}
	return fmt.Sprintf("%d public rows choose", s.Rows)
}

func tunedTable(r *tuned.Result) table.Table {
	t := table.Table{Header: []string{"ε", "test %", "±", "noise", "untuned", "setting", "model", "rate", "clip"}}
	cells := []string{shell.FormatUp(r.Epsilon, false), "", "", fmt.Sprintf("×%.4g", r.Noise), fmt.Sprintf("×%.4g", r.OneNoise), "none", "", "", ""}
	if c := r.Chosen; c != nil {
		cells[1], cells[2] = strconv.FormatFloat(100*c.Accuracy, 'f', 2, 64), strconv.FormatFloat(100*c.StandardError, 'f', 2, 64)
		cells[5], cells[6] = fmt.Sprintf("%d of %d", c.Index, r.Settings), c.Model
		cells[7], cells[8] = fmt.Sprintf("%.3g", *c.LearningRate), fmt.Sprintf("%.3g", *c.Clip)
	}
	t.Rows = [][]string{cells}
	return t
}

func tunedRecords(r *tuned.Result) table.Table {
	t := table.Table{Header: []string{"epsilon", "delta", "law", "expected_runs", "settings", "noise_multiplier",
		"untuned_noise_multiplier", "untuned_epsilon",
		"setting", "score", "accuracy", "standard_error", "features", "model", "optimizer", "learning_rate", "clip", "momentum",
		"weight_decay", "ema", "releasable"}}
	x := number.Exact
	cells := []string{x(r.Epsilon), x(r.Delta), r.Law.Name, x(r.Law.Expected), strconv.Itoa(r.Settings), x(r.Noise), x(r.OneNoise), x(r.OneEpsilon)}
	if c := r.Chosen; c != nil {
		cells = append(cells, strconv.Itoa(c.Index), x(c.Score), x(c.Accuracy), x(c.StandardError), c.Features, c.Model, c.Optimizer,
			x(*c.LearningRate), x(*c.Clip), x(*c.Momentum), x(*c.WeightDecay), x(*c.EMA))
	} else {
		cells = append(cells, make([]string, 12)...)
	}
	t.Rows = [][]string{append(cells, strconv.FormatBool(r.Releasable))}
	return t
}

func tunedFootnotes(r *tuned.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "ε is a certified upper bound for the model, its setting and its score together. %s runs were expected, by the %s law; "+
		"how many there were is not released. ",
		number.Digits(r.Law.Expected, 4), r.Law.Name)
	fmt.Fprintf(&b, "The noise is %s times that of one model at the same ε (untuned); one model with this noise costs ε = %s, and the "+
		"choice the rest. ",
		number.Digits(r.Noise/r.OneNoise, 3), shell.FormatUp(r.OneEpsilon, false))
	if r.Chosen != nil {
		b.WriteString("Test rows chose nothing. ")
	}
	switch {
	case r.Seeded:
		b.WriteString("Seeded run: not releasable, whoever knows the seed can remove the noise.")
	case r.Withheld != "":
		b.WriteString("Not releasable: " + r.Withheld + ".")
	default:
		b.WriteString("Releasable, but not when the search began and ended.")
	}
	return b.String()
}

func writeTuned(dir string, r *tuned.Result) error {
	folder := results.Folder(dir)
	if err := folder.WriteAccount("tuned", r.Seeded, &r.Account); err != nil {
		return err
	}
	return folder.WriteJSON(r.Releasable, resultsFile, r)
}

func readTuned(dir string) (*tuned.Result, error) {
	var r tuned.Result
	if err := results.Folder(dir).ReadJSON(resultsFile, tuned.Schema, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

func printPlan(ctx context.Context, g *shell.Globals, cfg tuned.Config, runs float64) error {
	laws := []tune.Law{cfg.Law}
	for _, name := range []string{"poisson", "logarithmic", "geometric"} {
		if law, err := parseLaw(name, runs); err == nil && law.String() != cfg.Law.String() { // some distributions need a mean above one run
			laws = append(laws, law)
		}
	}
	exact := g.ParsedFormat() == table.CSV
	digits := func(x float64, n int) string {
		if exact {
			return number.Exact(x)
		}
		return number.Digits(x, n)
	}
	t := shell.TableOf("<law", "runs", "99 %", "noise", "× untuned", "ε of one run", "missed", "none")
	if exact {
		t = shell.TableOf("<law", "expected_runs", "runs_99", "noise_multiplier", "noise_ratio", "untuned_epsilon", "missed", "none", "epsilon")
	}
	var planned []shell.Object
	var asked tune.Price // for the requested law
	settings := len(cfg.Settings)
	for i, law := range laws {
		cfg.Law = law
		price, err := cfg.Quote(ctx)
		if err != nil {
			return err
		}
		if i == 0 {
			asked = price
		}
		// In 99 % of searches, the number of runs does not exceed most. The values missed and none are the
		// probabilities that a particular setting is not run, and that no setting is run.
		most, missed, none := law.Quantile(0.99), law.Missed(1/float64(settings)), law.Missed(1)
		planned = append(planned, shell.Object{"law", law.String(), "expected_runs", law.Expected(), "epsilon", price.Epsilon,
			"noise_multiplier", price.Noise, "noise_ratio", price.Ratio(), "runs_99", most, "untuned_epsilon", price.OneEpsilon,
			"missed", missed, "none", none})
		cells := []string{law.String(), digits(law.Expected(), 4), strconv.FormatInt(most, 10), digits(price.Noise, 4),
			digits(price.Ratio(), 3), shell.FormatUp(price.OneEpsilon, exact), digits(missed, 2), digits(none, 2)}
		if exact {
			cells = append(cells, number.Exact(price.Epsilon))
		}
		t.Rows = append(t.Rows, cells)
	}
	advised := advice(asked, settings)
	heading := fmt.Sprintf("%d settings, ε = %s, δ = %s; one run without a choice has noise ×%s\n\n",
		settings, number.Exact(cfg.Epsilon), number.Exact(cfg.Delta), number.Digits(asked.OneNoise, 4))
	return g.PrintRun(shell.Object{"schema", "pate.tune-plan/1", "settings", cfg.Settings, "epsilon", cfg.Epsilon, "delta", cfg.Delta,
		"laws", planned, "untuned_noise_multiplier", asked.OneNoise, "advice", advised}, t, t, heading, g.Below(advised))
}

// advice depends only on public values.
func advice(p tune.Price, settings int) string {
	one := shell.FormatUp(p.OneEpsilon, false)
	var b strings.Builder
	switch {
	case settings == 1:
		b.WriteString("With one setting there is nothing to choose: pate dpsgd has less noise at the same ε. ")
	case p.OneEpsilon < p.Epsilon/2:
		fmt.Fprintf(&b, "More than half of ε pays for the choice: a model with this noise alone costs ε = %s. It pays only where the best "+
			"setting is much better than the recipe's own; else take pate dpsgd, or fewer --runs. ", one)
	default:
		fmt.Fprintf(&b, "A model with this noise alone costs ε = %s; the choice costs the rest. It pays where the best setting gains more "+
			"than pate dpsgd gains from that ε to the whole. ", one)
	}
	if missed := p.Law.Missed(1 / float64(settings)); settings > 1 && missed > 0.5 {
		fmt.Fprintf(&b, "A given setting is not even tried with a chance of %s: name fewer settings, or more --runs. ", number.Digits(missed, 2))
	}
	b.WriteString("runs: expected; 99 %: not exceeded in 99 of 100 searches. missed, none: chances that a given setting, or nothing, is " +
		"run. Nothing was spent.")
	return b.String()
}
