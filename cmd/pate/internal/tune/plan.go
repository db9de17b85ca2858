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

// plan is the JSON form of what a search would cost under several laws.
type plan struct {
	Schema   string          `json:"schema"`
	Settings []tuned.Setting `json:"settings"`
	Epsilon  float64         `json:"epsilon"`
	Delta    float64         `json:"delta"`
	Laws     []planned       `json:"laws"` // the one that was asked for first
	OneNoise float64         `json:"untuned_noise_multiplier"`
	Advice   string          `json:"advice"`
}

// planned is one law of a plan.
type planned struct {
	Law      string  `json:"law"`
	Expected float64 `json:"expected_runs"`
	Epsilon  float64 `json:"epsilon"`
	Noise    float64 `json:"noise_multiplier"`
	Ratio    float64 `json:"noise_ratio"`
	// Most is how many runs 99 searches of 100 do not exceed.
	Most int64 `json:"runs_99"`
	// OneEpsilon is what one run with this noise costs.
	OneEpsilon float64 `json:"untuned_epsilon"`
	// Missed is the chance that a given setting is not run, and None that nothing is.
	Missed float64 `json:"missed"`
	None   float64 `json:"none"`
}

const schemaPlan = "pate.tune-plan/1"

// printPlan prints the cost of the search, beside the other laws with as many runs.
func printPlan(ctx context.Context, g *shell.Globals, cfg tuned.Config, runs float64) error {
	p := plan{Schema: schemaPlan, Settings: cfg.Settings, Epsilon: cfg.Epsilon, Delta: cfg.Delta}
	laws := []tune.Law{cfg.Law}
	for _, name := range []string{"poisson", "logarithmic", "geometric"} {
		if law, err := parseLaw(name, runs); err == nil && law.String() != cfg.Law.String() { // a law of at least one run is not for one
			laws = append(laws, law)
		}
	}
	for i, law := range laws {
		cfg.Law = law
		price, err := cfg.Quote(ctx)
		if err != nil {
			return err
		}
		if i == 0 {
			p.OneNoise, p.Advice = price.OneNoise, advice(price, len(cfg.Settings))
		}
		p.Laws = append(p.Laws, planned{
			Law: law.String(), Expected: law.Expected(), Epsilon: price.Epsilon, Noise: price.Noise, Ratio: price.Ratio(), Most: law.Quantile(0.99),
			OneEpsilon: price.OneEpsilon, Missed: law.Missed(1 / float64(len(cfg.Settings))), None: law.Missed(1),
		})
	}
	return p.print(g)
}

func (p plan) print(g *shell.Globals) error {
	exact := g.ParsedFormat() == table.CSV
	digits := func(x float64, n int) string {
		if exact {
			return number.Exact(x)
		}
		return number.Digits(x, n)
	}
	t := table.Table{Header: []string{"law", "runs", "99 %", "noise", "× untuned", "ε of one run", "missed", "none"}, Left: []bool{true}}
	if exact {
		t.Header = []string{"law", "expected_runs", "runs_99", "noise_multiplier", "noise_ratio", "untuned_epsilon", "missed", "none", "epsilon"}
	}
	for _, l := range p.Laws {
		cells := []string{l.Law, digits(l.Expected, 4), strconv.FormatInt(l.Most, 10), digits(l.Noise, 4), digits(l.Ratio, 3),
			shell.FormatUp(l.OneEpsilon, exact), digits(l.Missed, 2), digits(l.None, 2)}
		if exact {
			cells = append(cells, number.Exact(l.Epsilon))
		}
		t.Rows = append(t.Rows, cells)
	}
	heading := fmt.Sprintf("%d settings, ε = %s, δ = %s; one run without a choice has noise ×%s\n\n",
		len(p.Settings), number.Exact(p.Epsilon), number.Exact(p.Delta), number.Digits(p.OneNoise, 4))
	return g.PrintRun(p, t, t, heading, g.Below(p.Advice))
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
