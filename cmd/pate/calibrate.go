package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/table"
)

const schemaCalibrate = "pate.calibrate/1"

// calibrateReport is the JSON of `pate calibrate`. Epsilon is recomputed from
// Noise and never above the target.
type calibrateReport struct {
	Schema     string  `json:"schema"`
	Mechanism  string  `json:"mechanism"`
	Noise      float64 `json:"noise"`
	Epsilon    float64 `json:"epsilon"`
	Delta      float64 `json:"delta"`
	Relation   string  `json:"relation"`
	Accountant string  `json:"accountant"`
}

func newCalibrateCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "calibrate",
		Short: "How much noise a budget asks for",
		Long: `How much noise a budget asks for: the least noise whose epsilon, recomputed from
the noise returned, is at most --epsilon at --delta, for records added or removed.`,
		Example: `  pate calibrate gnmax --queries 500 --epsilon 2 --delta 1e-5
  pate calibrate dpsgd --probability 0.0043 --steps 14000 --epsilon 2 --delta 1e-5`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usageError("calibrate", errors.New("calibrate what? gaussian, dpsgd or gnmax"))
		},
	}
	cmd.AddCommand(newCalibrateGaussian(g), newCalibrateDPSGD(g), newCalibrateGNMax(g))
	return cmd
}

// budgetFlags are common to all calibrations.
type budgetFlags struct {
	epsilon    float64
	accountant string
}

func (f *budgetFlags) add(cmd *cobra.Command, accountants bool) {
	cmd.Flags().Float64Var(&f.epsilon, "epsilon", 0, "the epsilon to stay within (required)")
	if accountants {
		cmd.Flags().StringVar(&f.accountant, "accountant", "rdp", strings.Join(accountantNames(), "|"))
	}
}

func (f *budgetFlags) target(g *globals) (accountant.Target, error) {
	if !(f.epsilon > 0) || math.IsInf(f.epsilon, 1) {
		return accountant.Target{}, usageError("calibrate", fmt.Errorf("--epsilon %v: a finite number above 0 is required", f.epsilon))
	}
	return accountant.Target{Epsilon: f.epsilon, Delta: g.delta}, nil
}

func newCalibrateGaussian(g *globals) *cobra.Command {
	var f budgetFlags
	cmd := &cobra.Command{
		Use:   "gaussian",
		Short: "One Gaussian release: noise standard deviation over sensitivity, exact",
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
			return writeCalibrate(g, calibrateReport{Mechanism: "gaussian", Noise: noise, Epsilon: b.Upper, Accountant: "gaussian"})
		},
	}
	f.add(cmd, false)
	return cmd
}

func newCalibrateDPSGD(g *globals) *cobra.Command {
	var f budgetFlags
	var probability float64
	var steps int64
	cmd := &cobra.Command{
		Use:   "dpsgd",
		Short: "DP-SGD with Poisson sampling: noise multiplier of the summed gradient",
		Example: `  pate calibrate dpsgd --probability 0.0043 --steps 14000 --epsilon 2 --delta 1e-5
  pate calibrate dpsgd --probability 0.01 --steps 1000 --epsilon 0.5 --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(probability > 0 && probability <= 1) {
				return usageError("calibrate", fmt.Errorf("--probability %v: the sampling probability is required, in (0, 1]", probability))
			}
			if steps < 1 {
				return usageError("calibrate", fmt.Errorf("--steps %d: at least 1 is required", steps))
			}
			return runCalibrate(cmd, g, f, "dpsgd", func(noise float64) accountant.Event {
				return accountant.Repeated{Count: steps, Event: accountant.PoissonSampled{
					Probability: probability, Event: accountant.Gaussian{NoiseMultiplier: noise}}}
			})
		},
	}
	f.add(cmd, true)
	cmd.Flags().Float64Var(&probability, "probability", 0, "chance of each record to be in a batch (required)")
	cmd.Flags().Int64Var(&steps, "steps", 0, "number of steps (required)")
	return cmd
}

func newCalibrateGNMax(g *globals) *cobra.Command {
	var f budgetFlags
	var queries int64
	cmd := &cobra.Command{
		Use:   "gnmax",
		Short: "Noisy argmax of teacher votes: sigma per vote count",
		Example: `  pate calibrate gnmax --queries 500 --epsilon 2 --delta 1e-5
  pate calibrate gnmax --queries 1000 --epsilon 1 --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if queries < 1 {
				return usageError("calibrate", fmt.Errorf("--queries %d: at least 1 is required", queries))
			}
			return runCalibrate(cmd, g, f, "gnmax", func(noise float64) accountant.Event {
				return accountant.Repeated{Count: queries, Event: accountant.GNMax{Sigma: noise}}
			})
		},
	}
	f.add(cmd, true)
	cmd.Flags().Int64Var(&queries, "queries", 0, "number of questions answered (required)")
	return cmd
}

func runCalibrate(cmd *cobra.Command, g *globals, f budgetFlags, mechanism string, event func(noise float64) accountant.Event) error {
	if err := checkAccountant(f.accountant); err != nil {
		return usageError("calibrate", err)
	}
	entry, _ := findAccountant(f.accountant)
	target, err := f.target(g)
	if err != nil {
		return err
	}
	cfg := accountant.Config{Relation: accountant.AddRemove}
	newAccount := func() (accountant.Accountant, error) { return entry.start(cfg) }
	noise, b, err := accountant.CalibrateNoise(cmd.Context(), newAccount, target, event)
	if errors.Is(err, accountant.ErrUnsupportedEvent) {
		return inputError(fmt.Errorf("--accountant %s: %w", f.accountant, err), "", "use --accountant rdp", "calibrate")
	}
	if errors.Is(err, accountant.ErrNoBracket) {
		return inputError(err, "no usable amount of noise lands on this budget", "ask for another --epsilon", "calibrate")
	}
	if err != nil {
		return err
	}
	return writeCalibrate(g, calibrateReport{Mechanism: mechanism, Noise: noise, Epsilon: b.Upper, Accountant: f.accountant})
}

func writeCalibrate(g *globals, r calibrateReport) error {
	r.Schema, r.Delta, r.Relation = schemaCalibrate, g.delta, accountant.AddRemove.String()
	format := g.parsedFormat()
	if format == table.JSON {
		return writeJSON(g.stdout, r)
	}
	exact := format == table.CSV
	return table.Table{
		Header: []string{"mechanism", "noise", "epsilon", "delta", "accountant"},
		Left:   []bool{true, false, false, false, true},
		Rows: [][]string{{r.Mechanism, formatUp(r.Noise, exact), formatUp(r.Epsilon, exact),
			strconv.FormatFloat(r.Delta, 'g', -1, 64), r.Accountant}},
	}.Write(g.stdout, format)
}
