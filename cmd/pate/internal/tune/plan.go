package tune

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/tuned"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/tune"
)

// printPlan prints the cost of the search, beside the other laws with as many runs.
func printPlan(ctx context.Context, g *shell.Globals, cfg tuned.Config, runs float64) error {
	laws := []tune.Law{cfg.Law}
	for _, name := range []string{"poisson", "logarithmic", "geometric"} {
		if law, err := parseLaw(name, runs); err == nil && law.String() != cfg.Law.String() { // a law of at least one run is not for one
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
	var asked tune.Price // for the law that was asked for
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
		// Not more runs than most in 99 of 100 searches. missed is the chance that a given setting is not run, and none
		// that nothing is.
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

// advice compares the choice with a run without one, from public numbers.
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
