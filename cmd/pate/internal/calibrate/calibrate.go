// Package calibrate is the command `pate calibrate`, which finds the noise or another parameter for a budget.
package calibrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/run"
)

type result struct {
	mechanism, found string
	parameters
	epsilon    float64
	accountant string
	risk       *share // set if --found is the target
}

type parameters struct {
	noise, probability float64
	count              int64
}

// share bounds the fraction of participants that an attacker finds at the false alarm rate falseAlarms.
type share struct {
	falseAlarms float64
	accountant.Interval
	by accountant.Method
}

func New(g *shell.Globals) *cobra.Command {
	children := []*cobra.Command{newCalibrateGaussian(g)}
	for _, m := range calibrations() {
		children = append(children, m.command(g))
	}
	return shell.Parent("calibrate", "calibrate", children...)
}

type calibration struct {
	name, short, example string
	noise                string // usage text of --noise
	count                string // flag for the number of runs
	sampled              bool   // has --probability
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
		{name: "dpsgd", short: "DP-SGD with Poisson sampling", noise: "standard deviation of the noise, divided by the clip norm", count: "steps",
			sampled: true,
			example: `  pate calibrate dpsgd --probability 0.0043 --steps 14000 --epsilon 2
  pate calibrate dpsgd --records 60000 --batch 256 --epochs 60 --epsilon 2`,
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

func calibrationOf(d aggregate.Description) calibration {
	p := d.Noise()[0]
	return calibration{
		name: d.Name, short: "Votes: " + d.Short, noise: p.Name + ": " + shell.DescribeParameter(p), count: "queries",
		example: fmt.Sprintf(`  pate calibrate %s --queries 500 --epsilon 2 --delta 1e-5
  pate calibrate %s --noise 40 --epsilon 2 --format json`, d.Name, d.Name),
		event: func(noise, _ float64) (accountant.Event, error) {
			e, err := d.Event(d.WithNoise(aggregate.Setting{Mechanism: d.Name, Queries: 1}, noise))
			if one, ok := e.(accountant.Repeated); ok && one.Count == 1 {
				e = one.Event
			}
			return e, err
		}}
}

type budgetFlags struct {
	epsilon, found, falseAlarms float64
	accountant                  string
}

func (f *budgetFlags) target(g *shell.Globals) (accountant.Target, error) {
	return accountant.Target{Epsilon: f.epsilon, Delta: g.Delta}, shell.Refuse("calibrate",
		shell.Positive(true, "epsilon", f.epsilon))
}

func (f *budgetFlags) byRisk(cmd *cobra.Command) bool { return cmd.Flags().Changed("found") }

func (f *budgetFlags) start() (accountant.NewAccount, error) {
	if f.accountant == string(accountant.ByAuto) {
		return accountant.AutoConfig{Relation: accountant.AddRemove}.NewAccount, nil
	}
	entry, known := shell.FindAccountant(f.accountant)
	start := func() (accountant.Accountant, error) {
		return entry.Start(accountant.RDPConfig{Relation: accountant.AddRemove})
	}
	return start, shell.Refuse("calibrate", shell.If(!known, "--accountant %s: no such accountant; there are auto, %s", f.accountant,
		strings.Join(shell.AccountantNames(), ", ")))
}

func newCalibrateGaussian(g *shell.Globals) *cobra.Command {
	var f budgetFlags
	cmd := shell.Command("gaussian", "seed", shell.Needs(cobra.NoArgs, "epsilon"), func(*cobra.Command, []string) error {
		target, err := f.target(g)
		if err != nil {
			return err
		}
		noise, b, err := accountant.CalibrateGaussian(target)
		if err != nil {
			return err
		}
		return result{mechanism: "gaussian", found: "noise", parameters: parameters{noise: noise}, epsilon: b.Upper,
			accountant: "gaussian"}.write(g)
	})
	cmd.Short = "One Gaussian release: noise divided by sensitivity"
	cmd.Example = `  pate calibrate gaussian --epsilon 1 --delta 1e-5
  pate calibrate gaussian --epsilon 0.1 --delta 1e-9 --format json`
	shell.Declare(cmd.Flags(), "gaussian", shell.To{"epsilon": &f.epsilon})
	return cmd
}

type schedule struct {
	records       int64
	batch, epochs float64
	wrong         error
}

func (s *schedule) fill(flags *pflag.FlagSet) {
	given := flags.Changed
	if !given("records") && !given("batch") && !given("epochs") {
		return
	}
	s.wrong = shell.Refuse("calibrate",
		shell.If(!given("records") || !given("batch"), "give both --records and --batch: --probability is --batch divided by --records"),
		shell.If(given("probability") || given("epochs") && given("steps"),
			"omit --probability and --steps: --records, --batch and --epochs determine both"),
		shell.If(s.records < 1 || !(s.batch > 0 && s.batch <= float64(s.records)), "--batch %v: must be above 0 and at most --records", s.batch),
		shell.If(given("epochs") && !(s.epochs > 0 && s.epochs < 1e9), "--epochs %v: must be above 0 and below 1e9", s.epochs))
	if s.wrong != nil {
		return
	}
	s.wrong = flags.Set("probability", fmt.Sprint(s.batch/float64(s.records)))
	if given("epochs") {
		s.wrong = errors.Join(s.wrong, flags.Set("steps", fmt.Sprintf("%.0f", math.Ceil(s.epochs*float64(s.records)/s.batch))))
	}
}

func (m calibration) command(g *shell.Globals) *cobra.Command {
	var f budgetFlags
	var p parameters
	var s schedule
	missing := func(cmd *cobra.Command, _ []string) []string {
		if m.sampled {
			if s.fill(cmd.Flags()); s.wrong != nil {
				return nil
			}
		}
		var absent []string
		if !f.byRisk(cmd) {
			absent = shell.Unset(cmd, "epsilon")
		}
		switch left := shell.Unset(cmd, m.searched()...); {
		case len(absent) > 0 && len(left) == 2:
			absent = append(absent, "either "+strings.Join(left, " or "))
		case len(absent) > 0 && len(left) == 3:
			absent = append(absent, "two of "+strings.Join(left, ", "))
		}
		return absent
	}
	cmd := shell.Command(m.name, "seed", shell.Wants(cobra.NoArgs, missing), func(cmd *cobra.Command, _ []string) error {
		missing, err := m.missing(cmd, p)
		if err := cmp.Or(s.wrong, err); err != nil {
			return err
		}
		if s.records > 0 {
			g.DefaultDelta(cmd.Flags().Changed, int(s.records), "")
			if err := (run.Units{N: int(s.records), Noun: "records"}).Check(g.Delta); err != nil {
				return shell.FaultError(err, "calibrate")
			}
		}
		search := m.run
		if f.byRisk(cmd) {
			search = m.runRisk
		}
		r, err := search(cmd.Context(), g, f, p, missing)
		if err != nil {
			return m.refused(err, f)
		}
		return r.write(g)
	})
	cmd.Short, cmd.Example = m.short, m.example
	to := shell.To{"epsilon": &f.epsilon, "found": &f.found, "false-alarms": &f.falseAlarms, "accountant": &f.accountant}
	if m.sampled {
		to["probability"], to["records"], to["batch"], to["epochs"] = &p.probability, &s.records, &s.batch, &s.epochs
	}
	flags := cmd.Flags()
	shell.Declare(flags, "calibrate", to)
	flags.Lookup("accountant").DefValue = "" // the usage lists the default first, to keep lines within 80 columns
	flags.Float64Var(&p.noise, "noise", 0, m.noise)
	flags.Int64Var(&p.count, m.count, 0, "number of "+m.count)
	return cmd
}

func (m calibration) searched() []string {
	if m.sampled {
		return []string{"noise", m.count, "probability"}
	}
	return []string{"noise", m.count}
}

func (m calibration) missing(cmd *cobra.Command, p parameters) (string, error) {
	given := cmd.Flags().Changed
	names := strings.Join(m.searched(), ", --")
	left := append(slices.DeleteFunc(m.searched(), given), "")
	return left[0], shell.Refuse("calibrate",
		shell.If(given("noise") && (!(p.noise > 0) || math.IsInf(p.noise, 1)), "--noise %v: must be a finite number above 0", p.noise),
		shell.If(given(m.count) && p.count < 1, "--%s %d: must be at least 1", m.count, p.count),
		shell.If(m.sampled && given("probability") && !(p.probability > 0 && p.probability <= 1),
			"--probability %v: must be above 0 and at most 1", p.probability),
		shell.If(len(left) == 1, "omit one of --%s: the omitted value is computed", names),
		shell.If(len(left) == 3, "give either --%s: the other value is computed", strings.Join(left[:len(left)-1], " or --")),
		shell.If(len(left) > 3, "give two of --%s: the third value is computed", names))
}

func (m calibration) refused(err error, f budgetFlags) error {
	why, fix := "all usable values cost more than this budget, or all cost less", "choose another --epsilon"
	if f.found > 0 {
		why, fix = "no usable noise limits an attacker to this share", "choose another --found"
	}
	switch {
	case errors.Is(err, accountant.ErrUnsupportedEvent):
		return shell.InputError(fmt.Errorf("--accountant %s: %w", f.accountant, err), "", "use --accountant auto", "calibrate")
	case errors.Is(err, accountant.ErrNoBracket):
		return shell.InputError(err, why, fix, "calibrate")
	}
	return err
}

func (m calibration) run(ctx context.Context, g *shell.Globals, f budgetFlags, p parameters,
	missing string) (r result, err error) {
	start, err := f.start()
	if err != nil {
		return r, err
	}
	target, err := f.target(g)
	if err != nil {
		return r, err
	}
	var b accountant.Bound
	switch missing {
	case "noise":
		p.noise, b, err = accountant.CalibrateNoise(ctx, start, target, func(x float64) (accountant.Event, error) {
			return m.repeated(x, p.probability, p.count)
		})
	case "probability":
		p.probability, b, err = accountant.CalibrateProbability(ctx, start, target, func(x float64) (accountant.Event, error) {
			return m.repeated(p.noise, x, p.count)
		})
	default:
		p.count, b, err = accountant.CalibrateCount(ctx, start, target, func(n int64) (accountant.Event, error) {
			return m.repeated(p.noise, p.probability, n)
		})
	}
	r = result{m.name, missing, p, b.Upper, f.accountant, nil}
	if err == nil && f.accountant == string(accountant.ByAuto) {
		_, err = m.claim(ctx, accountant.ByAuto, target.Delta, &r)
	}
	return r, err
}

func (m calibration) runRisk(ctx context.Context, g *shell.Globals, f budgetFlags, p parameters,
	missing string) (r result, err error) {
	method, unknown := accountant.ParseMethod(f.accountant)
	if err := shell.Refuse("calibrate",
		shell.If(f.epsilon != 0, "give --epsilon or --found, not both: each is a target"),
		shell.If(unknown != nil, "--accountant %s: --found needs a trade-off curve, which auto, pld and rdp have", f.accountant),
		shell.If(!(f.falseAlarms > 0 && f.falseAlarms < 1), "--false-alarms %v: must be above 0 and below 1", f.falseAlarms),
		shell.If(!(f.found > f.falseAlarms && f.found < 1),
			"--found %v: must be below 1 and above --false-alarms (%v), the share that random accusations find", f.found, f.falseAlarms),
		shell.If(missing != "noise",
			"--%s is missing: --found computes only the noise, so give --%s and omit --noise", missing, missing)); err != nil {
		return r, err
	}
	cfg := accountant.AutoConfig{Relation: accountant.AddRemove, Method: method}
	noise, found, err := accountant.CalibrateRisk(ctx, cfg, accountant.RiskTarget{Found: f.found, FalseAlarms: f.falseAlarms},
		func(noise float64) (accountant.Event, error) { return m.repeated(noise, p.probability, p.count) })
	if err != nil {
		return r, err
	}
	p.noise = noise
	r = result{mechanism: m.name, found: missing, parameters: p}
	all, err := m.claim(ctx, method, g.Delta, &r)
	if err != nil {
		return r, err
	}
	account, err := accountant.NewAuto(cfg)
	if err != nil {
		return r, err
	}
	if err := account.Compose(all, 1); err != nil {
		return r, err
	}
	risk, err := account.Risk(ctx)
	if err != nil {
		return r, err
	}
	r.risk = &share{f.falseAlarms, found, risk.By}
	return r, nil
}

func (m calibration) claim(ctx context.Context, by accountant.Method, delta float64, r *result) (accountant.Event, error) {
	all, err := m.repeated(r.noise, r.probability, r.count)
	if err != nil {
		return nil, err
	}
	claim, err := accountant.Epsilon(ctx, by, accountant.AddRemove, delta, all)
	r.epsilon, r.accountant = claim.Upper, string(claim.By)
	return all, err
}

func (m calibration) repeated(noise, probability float64, count int64) (accountant.Event, error) {
	e, err := m.event(noise, probability)
	if err != nil {
		return nil, shell.InputError(err, "", "see pate calibrate "+m.name+" --help", "calibrate")
	}
	return accountant.Repeated{Event: e, Count: count}, nil
}

func (r result) write(g *shell.Globals) error {
	var risk shell.Object
	if r.risk != nil {
		risk = shell.Object{"false_alarms", r.risk.falseAlarms, "lower", r.risk.Lower, "upper", r.risk.Upper, "accountant", r.risk.by}
	}
	report := shell.Object{"schema", "pate.calibrate/1", "mechanism", r.mechanism, "found", r.found, "noise", r.noise,
		"probability?", r.probability, "count?", r.count, "epsilon", r.epsilon, "delta", g.Delta, "relation",
		accountant.AddRemove.String(),
		"accountant", r.accountant, "risk?", risk, "warning?", statement.Warning(r.epsilon)}
	return g.Print(report, func(format table.Format) table.Table {
		exact := format == table.CSV
		t := table.Table{Left: []bool{true}, Rows: [][]string{nil}}
		add := func(name, value string) { t.Header, t.Rows[0] = append(t.Header, name), append(t.Rows[0], value) }
		add("mechanism", r.mechanism)
		add("noise", shell.FormatUp(r.noise, exact))
		if r.probability > 0 {
			add("probability", number.Exact(r.probability))
		}
		if r.count > 0 {
			add("count", strconv.FormatInt(r.count, 10))
		}
		if r.risk != nil {
			add("found", shell.FormatUp(r.risk.Upper, exact))
			add("false alarms", number.Exact(r.risk.falseAlarms))
		}
		add("epsilon", shell.FormatUp(r.epsilon, exact))
		add("delta", number.Exact(g.Delta))
		t.Left = append(t.Left, make([]bool, len(t.Header)-1)...)
		add("accountant", r.accountant)
		t.Left = append(t.Left, true)
		return t
	})
}
