package calibrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// found is the share of those who took part that an attacker finds, of one rate of false
// alarms. Upper is recomputed from the noise and never above the target.
type found struct {
	FalseAlarms float64 `json:"false_alarms"`
	accountant.Interval
	By accountant.Method `json:"accountant"`
}

// riskFlags adds the target that stands for --epsilon.
func (f *budgetFlags) riskFlags(cmd *cobra.Command) {
	cmd.Flags().Float64Var(&f.found, "found", 0, "share that an attacker may find: noise for it")
	cmd.Flags().Float64Var(&f.falseAlarms, "false-alarms", 0.01, "share that is wrongly accused; with --found")
}

// byRisk reports whether the target is a share that is found.
func (f *budgetFlags) byRisk(cmd *cobra.Command) bool { return cmd.Flags().Changed("found") }

// runRisk searches the noise for a share that is found.
func (m calibration) runRisk(ctx context.Context, g *shell.Globals, f budgetFlags, p parameters, missing string) error {
	method, err := accountant.ParseMethod(f.accountant)
	switch {
	case f.epsilon != 0:
		return shell.UsageError("calibrate", errors.New("--epsilon and --found: give one, it is the target"))
	case err != nil:
		return shell.UsageError("calibrate", fmt.Errorf("--accountant %s: --found needs a whole trade-off curve: auto, pld or rdp", f.accountant))
	case !(f.falseAlarms > 0 && f.falseAlarms < 1):
		return shell.UsageError("calibrate", fmt.Errorf("--false-alarms %v: a share above 0 and below 1", f.falseAlarms))
	case !(f.found > f.falseAlarms && f.found < 1):
		return shell.UsageError("calibrate", fmt.Errorf("--found %v: above --false-alarms %v, which accusing at random finds, and below 1",
			f.found, f.falseAlarms))
	case missing != "noise":
		return shell.UsageError("calibrate", fmt.Errorf("--%s: --found searches for the noise alone, so give --%s and leave out --noise",
			missing, missing))
	}
	event := func(noise float64) (accountant.Event, error) { return m.repeated(noise, p.probability, p.count) }
	cfg := accountant.AutoConfig{Relation: accountant.AddRemove, Method: method}
	noise, share, err := accountant.CalibrateRisk(ctx, cfg, accountant.RiskTarget{Found: f.found, FalseAlarms: f.falseAlarms}, event)
	switch {
	case errors.Is(err, accountant.ErrUnsupportedEvent):
		return shell.InputError(fmt.Errorf("--accountant %s: %w", f.accountant, err), "", "use --accountant auto", "calibrate")
	case errors.Is(err, accountant.ErrNoBracket):
		return shell.InputError(err, "no usable noise leaves an attacker as little as that", "ask for another --found", "calibrate")
	case err != nil:
		return err
	}
	all, err := event(noise)
	if err != nil {
		return err
	}
	claim, err := accountant.Epsilon(ctx, method, accountant.AddRemove, g.Delta, all)
	if err != nil {
		return err
	}
	account, err := accountant.NewAuto(cfg)
	if err != nil {
		return err
	}
	if err := account.Compose(all, 1); err != nil {
		return err
	}
	risk, err := account.Risk(ctx)
	if err != nil {
		return err
	}
	r := calibrateReport{Mechanism: m.name, Found: missing, Noise: noise, Count: &p.count, Epsilon: claim.Upper, Accountant: string(claim.By),
		Risk: &found{f.falseAlarms, share, risk.By}}
	if m.sampled {
		r.Probability = &p.probability
	}
	return writeCalibrate(g, r)
}
