// Package account is the command `pate account`: the cost of events by every accountant, and plots.
package account

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

const schemaAccount = "pate.account/1"

type accountFlags struct {
	epsilon    float64
	accountant string
	orders     string
	conversion string
	rdp        bool
	explain    bool
	risk       bool
	plot       string
	from       string
}

// accountReport is the JSON of `pate account`. One of Delta and Epsilon was asked for; the results have the
// other.
type accountReport struct {
	Schema   string              `json:"schema"`
	Relation accountant.Relation `json:"relation"`
	Delta    *float64            `json:"delta,omitempty"`
	Epsilon  *float64            `json:"epsilon,omitempty"`
	Results  []accountResult     `json:"results"`
	Warning  string              `json:"warning,omitempty"` // of a claim that protects next to nothing
	// Explained compares the accountants, with --explain at a delta.
	Explained *explained `json:"explained,omitempty"`
}

type accountResult struct {
	Accountant   string         `json:"accountant"`
	Epsilon      *shell.Number  `json:"epsilon,omitempty"`
	EpsilonLower *shell.Number  `json:"epsilon_lower,omitempty"`
	Delta        *shell.Number  `json:"delta,omitempty"`
	Order        *float64       `json:"order,omitempty"` // absent for the pure bound
	Conversion   string         `json:"conversion,omitempty"`
	FailureDelta *float64       `json:"failure_delta,omitempty"`
	Orders       []float64      `json:"orders,omitempty"`
	RDP          []shell.Number `json:"rdp,omitempty"`
	Unsupported  string         `json:"unsupported,omitempty"`
	Estimate     *shell.Number  `json:"estimate,omitempty"` // an epsilon that is no bound, instead of Epsilon
	Flaw         string         `json:"flaw,omitempty"`     // Why it is none
	Risk         *riskReport    `json:"risk,omitempty"`     // of pld and rdp
}

func New(g *shell.Globals) *cobra.Command {
	var f accountFlags
	cmd := &cobra.Command{
		Use:  "account FILE|-",
		Args: shell.Wants(cobra.ExactArgs(1), nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAccount(cmd, g, f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&f.epsilon, "epsilon", 0, "print the delta at this epsilon; instead of an epsilon at --delta")
	flags.StringVar(&f.accountant, "accountant", "all", "accountants, with commas; "+strings.Join(append(shell.AccountantNames(), "strong",
		"clt"), ", ")+", or all")
	flags.StringVar(&f.orders, "orders", "", "Rényi orders to use, as 1.5,2:64 or 1.1:10.9:0.1 (default: a wide grid, refined)")
	flags.StringVar(&f.conversion, "conversion", "improved", "improved|classic")
	flags.BoolVar(&f.rdp, "rdp", false, "also print the Rényi divergence at each of --orders")
	flags.BoolVar(&f.explain, "explain", false, "explain how and why the accountants differ; what each way to state the result leaves out, "+
		"and why other tools differ")
	flags.BoolVar(&f.risk, "risk", false, "also what an attacker can do; from the whole trade-off curve, of pld and rdp")
	flags.StringVar(&f.from, "from", "pate", "what wrote FILE: "+strings.Join(scheduleFormats(), "|"))
	flags.StringVar(&f.plot, "plot", "", "draw the curve into this .svg; epsilon against steps, or with --risk the trade-off")
	shell.Complete(cmd, map[string]shell.Values{
		"accountant": shell.WordList(append(shell.AccountantNames(), "strong", "clt", "all")...), "orders": shell.Anything(),
		"conversion": shell.Words("improved", "classic"), "from": shell.Words(scheduleFormats()...), "plot": shell.Files("svg", "png"),
	})
	shell.CompleteArgs(cmd, shell.Files("json", "txt", "py"))
	shell.Without(cmd, "seed")
	shell.EpsilonIsNoBudget(cmd)
	return cmd
}

func runAccount(cmd *cobra.Command, g *shell.Globals, f accountFlags, path string) error {
	names, err := parseAccountants(f.accountant)
	if err != nil {
		return shell.UsageError("account", err)
	}
	if f.plot != "" && !isPlotFile(f.plot) {
		return shell.UsageError("account", fmt.Errorf("--plot %s: must end in .svg", f.plot))
	}
	if f.plot != "" {
		if err := (shell.Target{Flag: "--plot", Path: f.plot, Topic: "account"}).CheckReplaceable(path); err != nil {
			return err
		}
	}
	cfg := accountant.RDPConfig{}
	if err := cfg.Conversion.UnmarshalText([]byte(f.conversion)); err != nil {
		return shell.UsageError("account", err)
	}
	orders, err := shell.ParseOrders(f.orders)
	if err != nil {
		return shell.UsageError("account", err)
	}
	cfg.Orders = orders
	if f.rdp && len(orders) == 0 {
		return shell.UsageError("account", errors.New("--rdp needs --orders"))
	}
	byEpsilon := cmd.Flags().Changed("epsilon")
	if byEpsilon && cmd.Flags().Changed("delta") {
		return shell.UsageError("account", errors.New("--delta and --epsilon: give one, the other is the answer"))
	}
	if byEpsilon && (!(f.epsilon >= 0) || math.IsInf(f.epsilon, 1)) {
		return shell.UsageError("account", fmt.Errorf("--epsilon %v: must be a finite number, at least 0", f.epsilon))
	}
	schedule, err := readSchedule(cmd.InOrStdin(), path, f.from)
	if err != nil {
		return err
	}
	cfg.Relation = schedule.Relation
	report := accountReport{Schema: schemaAccount, Relation: schedule.Relation}
	if byEpsilon {
		report.Epsilon = &f.epsilon
	} else {
		report.Delta = &g.Delta
	}
	if f.plot != "" && byEpsilon {
		return shell.UsageError("account", errors.New("--plot draws epsilon at a --delta, not the other way"))
	}
	for _, name := range names {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		result, err := accountBy(cmd.Context(), g, name, cfg, schedule, report, f.rdp)
		if err != nil {
			return err
		}
		if f.risk && (name == string(accountant.ByPLD) || name == string(accountant.ByRDP)) && result.Unsupported == "" {
			if result.Risk, err = riskBy(cmd.Context(), name, schedule); err != nil {
				return err
			}
		}
		report.Results = append(report.Results, result)
	}
	if f.plot != "" {
		draw := func() error { return plotAccount(cmd.Context(), f.plot, names, cfg, schedule, g.Delta) }
		if f.risk {
			draw = func() error { return plotRisk(cmd.Context(), f.plot, names, schedule, g.Delta) }
		}
		if err := draw(); err != nil {
			return err
		}
	}
	if !byEpsilon {
		report.warn(g)
	}
	if f.explain && !byEpsilon {
		if report.Explained, err = explain(cmd.Context(), cfg, schedule, g.Delta); err != nil {
			return err
		}
	}
	if err := writeAccount(g, report); err != nil {
		return err
	}
	if f.explain {
		return explainAccount(cmd.Context(), g, cfg, schedule, report)
	}
	return nil
}

// warn warns if even the smallest bound protects next to nothing.
func (r *accountReport) warn(g *shell.Globals) {
	least, found := math.Inf(1), false
	for _, one := range r.Results {
		if one.Epsilon != nil {
			least, found = math.Min(least, float64(*one.Epsilon)), true
		}
	}
	if found {
		g.WarnBudget(least)
		r.Warning = statement.Warning(least)
	}
}
