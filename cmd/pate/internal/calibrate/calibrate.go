// Package calibrate is the command `pate calibrate`: the noise, or another parameter, that a budget allows.
package calibrate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/table"
)

const schemaCalibrate = "pate.calibrate/1"

// calibrateReport is the JSON of `pate calibrate`: all parameters, the one that
// was searched for among them. Epsilon is recomputed from them and never above
// the target.
type calibrateReport struct {
	Schema      string   `json:"schema"`
	Mechanism   string   `json:"mechanism"`
	Found       string   `json:"found"`
	Noise       float64  `json:"noise"`
	Probability *float64 `json:"probability,omitempty"`
	Count       *int64   `json:"count,omitempty"` // steps, queries or releases
	Epsilon     float64  `json:"epsilon"`
	Delta       float64  `json:"delta"`
	Relation    string   `json:"relation"`
	Accountant  string   `json:"accountant"`        // whose claim Epsilon is: never auto
	Risk        *found   `json:"risk,omitempty"`    // where --found was the target
	Warning     string   `json:"warning,omitempty"` // of a budget that protects next to nothing
}

// New returns the command.
func New(g *shell.Globals) *cobra.Command {
	children := []*cobra.Command{newCalibrateGaussian(g)}
	for _, m := range calibrations() {
		children = append(children, m.command(g))
	}
	return shell.Parent("calibrate", "calibrate", children...)
}

// calibration is a mechanism of which one parameter is searched for.
type calibration struct {
	name, short, example string
	noise                string // What --noise means
	count                string // Flag of how often it runs
	sampled              bool   // takes --probability
	event                func(noise, probability float64) (accountant.Event, error)
}

func calibrations() []calibration {
	all := []calibration{
		{name: "laplace", short: "Laplace releases: noise scale over sensitivity", noise: "scale over L1 sensitivity", count: "releases",
			example: `  pate calibrate laplace --releases 10 --epsilon 2 --delta 1e-5
  pate calibrate laplace --noise 20 --epsilon 2 --format json`,
			event: func(noise, _ float64) (accountant.Event, error) {
				return accountant.Laplace{NoiseMultiplier: noise}, nil
			}},
		{name: "dpsgd", short: "DP-SGD with Poisson sampling", noise: "multiplier of the summed gradient's clipping norm", count: "steps",
			sampled: true,
			example: `  pate calibrate dpsgd --probability 0.0043 --steps 14000 --epsilon 2
  pate calibrate dpsgd --probability 0.01 --noise 1 --epsilon 2 --accountant rdp`,
			event: func(noise, probability float64) (accountant.Event, error) {
				return accountant.PoissonSampled{Probability: probability, Event: accountant.Gaussian{NoiseMultiplier: noise}}, nil
			}},
	}
	for _, d := range mechanisms.All() {
		if d.Fit == nil && len(d.Parameters) == 1 && len(d.Noise()) == 1 {
			all = append(all, calibrationOf(d))
		}
	}
	return all
}

// calibrationOf returns the calibration of a mechanism that has one noise and pays for
// Queries alone.
func calibrationOf(d aggregate.Description) calibration {
	p := d.Noise()[0]
	return calibration{
		name: d.Name, short: "Votes: " + d.Short, noise: p.Name + ": " + shell.DescribeParameter(p), count: "queries",
		example: fmt.Sprintf(`  pate calibrate %s --queries 500 --epsilon 2 --delta 1e-5
  pate calibrate %s --noise 40 --epsilon 2 --format json`, d.Name, d.Name),
		event: func(noise, _ float64) (accountant.Event, error) {
			s := aggregate.Setting{Mechanism: d.Name, Queries: 1}
			e, err := d.Event(d.WithNoise(s, noise))
			if one, ok := e.(accountant.Repeated); ok && one.Count == 1 {
				e = one.Event
			}
			return e, err
		}}
}

// budgetFlags are common to all calibrations.
type budgetFlags struct {
	epsilon     float64
	found       float64
	falseAlarms float64
	accountant  string
}

func (f *budgetFlags) target(g *shell.Globals) (accountant.Target, error) {
	if !(f.epsilon > 0) || math.IsInf(f.epsilon, 1) {
		return accountant.Target{}, shell.UsageError("calibrate", fmt.Errorf("--epsilon %v: a finite number above 0 is required", f.epsilon))
	}
	return accountant.Target{Epsilon: f.epsilon, Delta: g.Delta}, nil
}

// claimants are the values of --accountant.
func claimants() []string {
	return append([]string{string(accountant.ByAuto)}, shell.AccountantNames()...)
}

// start returns what starts the accounts that claim.
func (f *budgetFlags) start() (accountant.NewAccount, error) {
	if f.accountant == string(accountant.ByAuto) {
		return accountant.AutoConfig{Relation: accountant.AddRemove}.NewAccount, nil
	}
	entry, known := shell.FindAccountant(f.accountant)
	if !known {
		return nil, shell.UsageError("calibrate", fmt.Errorf("--accountant %s: no such accountant; there are %s", f.accountant,
			strings.Join(claimants(), ", ")))
	}
	return func() (accountant.Accountant, error) {
		return entry.Start(accountant.RDPConfig{Relation: accountant.AddRemove})
	}, nil
}

func newCalibrateGaussian(g *shell.Globals) *cobra.Command {
	var f budgetFlags
	cmd := &cobra.Command{
		Use:   "gaussian",
		Short: "One Gaussian release: noise over sensitivity, exact",
		Example: `  pate calibrate gaussian --epsilon 1 --delta 1e-5
  pate calibrate gaussian --epsilon 0.1 --delta 1e-9 --format json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			target, err := f.target(g)
			if err != nil {
				return err
			}
			noise, b, err := accountant.CalibrateGaussian(target)
			if err != nil {
				return err
			}
			return writeCalibrate(g, calibrateReport{Mechanism: "gaussian", Found: "noise", Noise: noise, Epsilon: b.Upper, Accountant: "gaussian"})
		},
	}
	cmd.Flags().Float64Var(&f.epsilon, "epsilon", 0, "the epsilon to stay within (required)")
	cmd.Args = shell.Wants(cobra.NoArgs, func(cmd *cobra.Command, _ []string) []string { return shell.Unset(cmd, "epsilon") })
	shell.Without(cmd, "seed")
	return cmd
}

// parameters are what a calibration was given; zero values are not given.
type parameters struct {
	noise, probability float64
	count              int64
}

func (m calibration) command(g *shell.Globals) *cobra.Command {
	var f budgetFlags
	var p parameters
	missing := func(cmd *cobra.Command, _ []string) []string {
		var absent []string
		if !f.byRisk(cmd) {
			absent = shell.Unset(cmd, "epsilon")
		}
		if left := shell.Unset(cmd, m.searched()...); len(absent) > 0 && len(left) > 1 {
			absent = append(absent, "all but one of "+strings.Join(left, ", "))
		}
		return absent
	}
	cmd := &cobra.Command{
		Use: m.name, Short: m.short, Example: m.example, Args: shell.Wants(cobra.NoArgs, missing),
		RunE: func(cmd *cobra.Command, _ []string) error {
			missing, err := m.missing(cmd, p)
			if err != nil {
				return err
			}
			if f.byRisk(cmd) {
				return m.runRisk(cmd.Context(), g, f, p, missing)
			}
			return m.run(cmd.Context(), g, f, p, missing)
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&f.epsilon, "epsilon", 0, "the epsilon to stay within (this or --found)")
	f.riskFlags(cmd)
	flags.StringVar(&f.accountant, "accountant", string(accountant.ByAuto), strings.Join(claimants(), "|"))
	flags.Lookup("accountant").DefValue = "" // the first word; a line has 80 columns
	shell.Complete(cmd, map[string]shell.Values{"accountant": shell.Words(claimants()...)})
	shell.Without(cmd, "seed")
	flags.Float64Var(&p.noise, "noise", 0, m.noise)
	flags.Int64Var(&p.count, m.count, 0, "how often it runs")
	if m.sampled {
		flags.Float64Var(&p.probability, "probability", 0, "chance of each record to be in a batch")
	}
	return cmd
}

// searched lists the parameters of which one is left out.
func (m calibration) searched() []string {
	names := []string{"noise", m.count}
	if m.sampled {
		names = append(names, "probability")
	}
	return names
}

// missing returns the one parameter that was left out.
func (m calibration) missing(cmd *cobra.Command, p parameters) (string, error) {
	names := m.searched()
	var left []string
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			left = append(left, name)
		}
	}
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	switch {
	case given("noise") && (!(p.noise > 0) || math.IsInf(p.noise, 1)):
		return "", shell.UsageError("calibrate", fmt.Errorf("--noise %v: a finite number above 0", p.noise))
	case given(m.count) && p.count < 1:
		return "", shell.UsageError("calibrate", fmt.Errorf("--%s %d: at least 1", m.count, p.count))
	case m.sampled && given("probability") && !(p.probability > 0 && p.probability <= 1):
		return "", shell.UsageError("calibrate", fmt.Errorf("--probability %v: above 0 and at most 1", p.probability))
	case len(left) == 0:
		return "", shell.UsageError("calibrate", fmt.Errorf("leave out one of --%s: it is what is searched for", strings.Join(names, ", --")))
	case len(left) > 1:
		return "", shell.UsageError("calibrate", fmt.Errorf("--%s: give all but one of --%s", left[0], strings.Join(names, ", --")))
	}
	return left[0], nil
}

func (m calibration) run(ctx context.Context, g *shell.Globals, f budgetFlags, p parameters, missing string) error {
	start, err := f.start()
	if err != nil {
		return err
	}
	target, err := f.target(g)
	if err != nil {
		return err
	}
	event := m.repeated
	var b accountant.Bound
	switch missing {
	case "noise":
		p.noise, b, err = accountant.CalibrateNoise(ctx, start, target, func(x float64) (accountant.Event, error) {
			return event(x, p.probability, p.count)
		})
	case "probability":
		p.probability, b, err = accountant.CalibrateProbability(ctx, start, target, func(x float64) (accountant.Event, error) {
			return event(p.noise, x, p.count)
		})
	default:
		p.count, b, err = accountant.CalibrateCount(ctx, start, target, func(n int64) (accountant.Event,
			error) {
			return event(p.noise, p.probability, n)
		})
	}
	switch {
	case errors.Is(err, accountant.ErrUnsupportedEvent):
		return shell.InputError(fmt.Errorf("--accountant %s: %w", f.accountant, err), "", "use --accountant auto", "calibrate")
	case errors.Is(err, accountant.ErrNoBracket):
		return shell.InputError(err, "no usable value lands on this budget", "ask for another --epsilon", "calibrate")
	case err != nil:
		return err
	}
	r := calibrateReport{Mechanism: m.name, Found: missing, Noise: p.noise, Count: &p.count, Epsilon: b.Upper, Accountant: f.accountant}
	if f.accountant == string(accountant.ByAuto) {
		found, err := event(p.noise, p.probability, p.count)
		if err != nil {
			return err
		}
		claim, err := accountant.Epsilon(ctx, accountant.ByAuto, accountant.AddRemove, target.Delta, found)
		if err != nil {
			return err
		}
		r.Epsilon, r.Accountant = claim.Upper, string(claim.By)
	}
	if m.sampled {
		r.Probability = &p.probability
	}
	return writeCalibrate(g, r)
}

// repeated returns all releases of one setting.
func (m calibration) repeated(noise, probability float64, count int64) (accountant.Event, error) {
	e, err := m.event(noise, probability)
	if err != nil {
		return nil, shell.InputError(err, "", "see pate calibrate "+m.name+" --help", "calibrate")
	}
	return accountant.Repeated{Event: e, Count: count}, nil
}

func writeCalibrate(g *shell.Globals, r calibrateReport) error {
	r.Schema, r.Delta, r.Relation = schemaCalibrate, g.Delta, accountant.AddRemove.String()
	r.Warning = statement.Warning(r.Epsilon)
	format := g.ParsedFormat()
	if format == table.JSON {
		return shell.WriteJSON(g.Stdout, r)
	}
	exact := format == table.CSV
	t := table.Table{Header: []string{"mechanism", "noise"}, Left: []bool{true, false},
		Rows: [][]string{{r.Mechanism, shell.FormatUp(r.Noise, exact)}}}
	add := func(name, value string) {
		t.Header, t.Left, t.Rows[0] = append(t.Header, name), append(t.Left, false), append(t.Rows[0], value)
	}
	if r.Probability != nil {
		add("probability", strconv.FormatFloat(*r.Probability, 'g', -1, 64))
	}
	if r.Count != nil {
		add("count", strconv.FormatInt(*r.Count, 10))
	}
	if r.Risk != nil {
		add("found", shell.FormatUp(r.Risk.Upper, exact))
		add("false alarms", strconv.FormatFloat(r.Risk.FalseAlarms, 'g', -1, 64))
	}
	add("epsilon", shell.FormatUp(r.Epsilon, exact))
	add("delta", strconv.FormatFloat(r.Delta, 'g', -1, 64))
	add("accountant", r.Accountant)
	t.Left[len(t.Left)-1] = true
	return t.Write(g.Stdout, format)
}
