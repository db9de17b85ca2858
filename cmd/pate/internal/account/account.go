// Package account is the command `pate account`, which prints and plots the privacy cost of events by each
// accountant.
package account

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/accountant/imports"
	"github.com/pate-go/pate/internal/filekind"
)

type accountFlags struct {
	epsilon                                    float64
	accountant, orders, conversion, plot, from string
	rdp, explain, risk                         bool
}

type accountReport struct {
	Schema    string              `json:"schema"`
	Relation  accountant.Relation `json:"relation"`
	Delta     *float64            `json:"delta,omitempty"`
	Epsilon   *float64            `json:"epsilon,omitempty"`
	Results   []accountResult     `json:"results"`
	Warning   string              `json:"warning,omitempty"` // set if the epsilon gives almost no protection
	Explained *explained          `json:"explained,omitempty"`
}

type accountResult struct {
	Accountant   string         `json:"accountant"`
	Epsilon      *shell.Number  `json:"epsilon,omitempty"`
	EpsilonLower *shell.Number  `json:"epsilon_lower,omitempty"`
	Delta        *shell.Number  `json:"delta,omitempty"`
	Order        *float64       `json:"order,omitempty"` // missing if the bound is pure
	Conversion   string         `json:"conversion,omitempty"`
	FailureDelta *float64       `json:"failure_delta,omitempty"`
	Orders       []float64      `json:"orders,omitempty"`
	RDP          []shell.Number `json:"rdp,omitempty"`
	Unsupported  string         `json:"unsupported,omitempty"`
	Estimate     *shell.Number  `json:"estimate,omitempty"` // an epsilon that is no bound; replaces Epsilon
	Flaw         string         `json:"flaw,omitempty"`     // why Estimate is no bound
	Risk         *riskReport    `json:"risk,omitempty"`     // for accountants pld and rdp only
}

func New(g *shell.Globals) *cobra.Command {
	var f accountFlags
	cmd := shell.Command("account FILE|-", "seed", shell.Wants(cobra.ExactArgs(1), nil),
		func(cmd *cobra.Command, args []string) error {
			return runAccount(cmd, g, f, args[0])
		})
	shell.Declare(cmd.Flags(), "account", shell.To{"epsilon": &f.epsilon, "accountant": &f.accountant, "orders": &f.orders,
		"conversion": &f.conversion, "rdp": &f.rdp, "explain": &f.explain, "risk": &f.risk, "from": &f.from, "plot": &f.plot})
	shell.CompleteArgs(cmd, shell.Files("json", "txt", "py"))
	shell.EpsilonIsNoBudget(cmd)
	return cmd
}

func runAccount(cmd *cobra.Command, g *shell.Globals, f accountFlags, path string) error {
	names, err := parseAccountants(f.accountant)
	if err := shell.Refuse("account", err, shell.If(f.plot != "" && !strings.EqualFold(filepath.Ext(f.plot), ".svg"),
		"--plot %s: must end in .svg", f.plot)); err != nil {
		return err
	}
	if f.plot != "" {
		if err := (shell.Target{Flag: "--plot", Path: f.plot, Topic: "account"}).CheckReplaceable(path); err != nil {
			return err
		}
	}
	cfg := accountant.RDPConfig{}
	err = cfg.Conversion.UnmarshalText([]byte(f.conversion))
	orders, wrong := shell.ParseOrders(f.orders)
	cfg.Orders = orders
	byEpsilon := cmd.Flags().Changed("epsilon")
	if err := shell.Refuse("account", err, wrong,
		shell.If(f.rdp && len(orders) == 0, "--rdp needs --orders"),
		shell.If(byEpsilon && cmd.Flags().Changed("delta"), "give --delta or --epsilon, not both: the omitted value is computed"),
		shell.If(byEpsilon && (!(f.epsilon >= 0) || math.IsInf(f.epsilon, 1)),
			"--epsilon %v: must be a finite number, at least 0", f.epsilon)); err != nil {
		return err
	}
	schedule, err := readSchedule(cmd, path, f.from)
	if err != nil {
		return err
	}
	cfg.Relation = schedule.Relation
	report := accountReport{Schema: "pate.account/1", Relation: schedule.Relation}
	if byEpsilon {
		report.Epsilon = &f.epsilon
	} else {
		report.Delta = &g.Delta
	}
	if f.plot != "" && byEpsilon {
		return shell.Usagef("account", "--plot draws epsilon at a given --delta: omit --epsilon")
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
		draw := plotAccount
		if f.risk {
			draw = plotRisk
		}
		if err := draw(cmd.Context(), f.plot, names, cfg, schedule, g.Delta); err != nil {
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

const maxEventsFile = 16 << 20

func readSchedule(cmd *cobra.Command, path, from string) (accountant.Schedule, error) {
	in, err := shell.OpenInput(cmd, path)
	if err != nil {
		return accountant.Schedule{}, shell.InputError(err, "pate account reads the events from this file",
			"check its name, or give - for standard input", "account")
	}
	defer in.Close()
	schedule, err := parseScheduleFrom(in, from)
	if err == nil {
		return schedule, nil
	}
	switch is := filekind.Of(path); {
	case path == "-":
	case is == filekind.Ledger:
		return accountant.Schedule{}, shell.InputError(fmt.Errorf("%s is a ledger, not a list of events", path),
			"a ledger already contains its events and their cost",
			"to see the cost: pate ledger show "+shell.ShellWord(path)+"; to see the events (field \"events\"): "+
				"pate ledger statement "+shell.ShellWord(path)+" --format json", "account")
	default:
		if wrong := shell.WrongKind(path, "a list of events", "account", filekind.Events, filekind.JSON); wrong != nil {
			return accountant.Schedule{}, wrong
		}
	}
	why, fix := "an event must have exactly the fields of its type, and each value must be in its range",
		"pate account --help lists the types of events and their fields"
	switch {
	case errors.Is(err, accountant.ErrUnsupportedEvent):
		why = "pate refuses an event unless one of its own events has exactly the same meaning"
		fix = "write the schedule as pate events"
	case from != "pate":
		fix = "give the text as Python prints it, and the library as --from"
	}
	return accountant.Schedule{}, shell.InputError(fmt.Errorf("%s: %w", path, err), why, fix, "account")
}

func parseScheduleFrom(in io.Reader, from string) (accountant.Schedule, error) {
	switch from {
	case "dp_accounting":
		return imports.DPAccounting(in)
	case "opacus":
		return imports.Opacus(in)
	}
	data, err := io.ReadAll(io.LimitReader(in, maxEventsFile+1))
	if err != nil {
		return accountant.Schedule{}, err
	}
	return accountant.ParseSchedule(data)
}
