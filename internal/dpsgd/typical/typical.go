// Package typical computes the privacy cost of a training in Bayesian differential privacy, with
// internal/accountant/bayes. This cost is reported beside epsilon. The Bayesian figures are functions of
// private gradients and are not charged. They are no guarantee for every record, and do not affect the
// training.
package typical

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/accountant/bayes"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/table"
)

type Config struct {
	Delta   float64       // delta_mu; default [DefaultDelta]
	Between dpsgd.Between // the sums whose distances are measured
	Most    int           // distances per step; default as in dpsgd.Distances
}

// DefaultDelta is the default of Config.Delta, which bounds the average of delta over records. By Markov's
// inequality, an average of 1e-10 implies delta > 1e-5 for at most a fraction 1e-5 of records.
const DefaultDelta = 1e-10

// Account computes the [Figures] of one training.
type Account struct {
	accounts []*bayes.Account
	step     bayes.Step // the same for all steps
	steps    int
	err      error
}

// Follow returns an Account. Follow sets cfg.Distances, so that the Account receives the distances of every
// step. The Account is nil if c is nil or the training has no noise. If Bayesian accounting does not support
// the training, Follow returns an error.
func (c *Config) Follow(cfg *dpsgd.Config) (*Account, error) {
	if c == nil {
		return nil, nil
	}
	switch {
	case !(c.Delta >= 0 && c.Delta < 1):
		return nil, fmt.Errorf("delta_mu %v must be above 0 and below 1", c.Delta)
	case c.Most < 0:
		return nil, fmt.Errorf("%d distances of a step: must be positive", c.Most)
	case cfg.NonPrivate:
		return nil, nil
	case len(cfg.Phases) > 0 || cfg.Clipping.Adaptive.Quantile != 0:
		return nil, errors.New("the Bayesian accounting needs one phase and a fixed clip norm")
	case cfg.Sampling.Scheme != "" && cfg.Sampling.Scheme != dpsgd.Poisson:
		return nil, errors.New("the Bayesian accounting needs Poisson sampling")
	}
	clip := cfg.ClipNorm
	if len(cfg.Clipping.GroupNorms) > 0 {
		clip = dpsgd.Clip{Norms: cfg.Clipping.GroupNorms}.Norm()
	}
	bound := clip
	if c.Between == dpsgd.Records {
		bound *= 2
	}
	a := &Account{
		step:  bayes.Step{SamplingProbability: cfg.SamplingProbability, Noise: cfg.NoiseMultiplier * clip},
		steps: cfg.TotalSteps(),
	}
	for _, e := range estimators() {
		account, err := bayes.New(bayes.Config{Steps: a.steps, Delta: cmp.Or(c.Delta, DefaultDelta), Estimator: e, Bound: bound})
		if err != nil {
			return nil, err
		}
		a.accounts = append(a.accounts, account)
	}
	cfg.Distances = dpsgd.Distances{Observe: a.observe, Between: c.Between, Most: c.Most}
	return a, nil
}

func estimators() []bayes.Estimator { return []bayes.Estimator{bayes.Bernstein, bayes.StudentT} }

func (a *Account) observe(s dpsgd.StepDistances) {
	for _, account := range a.accounts {
		a.err = errors.Join(a.err, account.Add(a.step, s.Values))
	}
}

// Figures returns the Bayesian privacy costs after the last step. If a step has no observed distances, its
// distances count as their upper bound. A nil Account has no figures.
func (a *Account) Figures() (f Figures, err error) {
	if a == nil {
		return f, nil
	}
	for _, account := range a.accounts {
		for account.Steps() < a.steps && a.err == nil {
			a.err = account.AddUnseen(a.step)
		}
	}
	if a.err != nil {
		return f, fmt.Errorf("typical: %w", a.err)
	}
	for _, account := range a.accounts {
		f.OfTypical = append(f.OfTypical, account.Figure())
	}
	return f, nil
}

// Figures holds the Bayesian figures of the first seed. The figures are private and not charged.
type Figures struct {
	OfTypical []bayes.Figure `json:"bayes,omitempty"`
}

// Rows holds the Bayesian figures of each row of a result, or is nil without figures.
type Rows [][]bayes.Figure

// Of calls the function `of` for every row and returns the figures, or nil if no row has figures.
func Of[R any](rows []R, of func(R) Figures) (all Rows) {
	some := false
	for _, row := range rows {
		all = append(all, of(row).OfTypical)
		some = some || len(of(row).OfTypical) > 0
	}
	if !some {
		return nil
	}
	return all
}

const file = "bayes.json"

// Write stores r in dir/private, in a file that only its owner can read. A nil r is not stored.
func (r Rows) Write(dir string) error {
	if r == nil {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = results.Folder(dir).Keep(file, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("typical: %w", err)
	}
	return nil
}

// Read returns the Bayesian privacy costs that Write stored in dir, or nil if Write stored none. The number
// of stored rows must equal the argument `rows`.
func Read(dir string, rows int) (Rows, error) {
	text, err := os.ReadFile(results.Folder(dir).Private(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	all := Rows{}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("typical: Bayesian figures: %w", err)
	}
	if len(all) != rows {
		return nil, fmt.Errorf("typical: Bayesian figures of %d rows, not %d", len(all), rows)
	}
	return all, nil
}

// Section returns the Bayesian privacy costs as text, or "" if there are none. Row i has the name names[i].
func (r Rows) Section(names []string) string {
	var b strings.Builder
	for i, f := range r {
		if len(f) > 0 {
			fmt.Fprintf(&b, "\n%s: %s", table.Printable(names[i]), bayes.Report(f...))
		}
	}
	return b.String()
}

// AddTo adds one column per estimator to t. Row i of t must describe the same result as row i of r.
func (r Rows) AddTo(t *table.Table) {
	r.addColumns(t, func(e bayes.Estimator) string { return fmt.Sprintf("%s, %v", bayes.Column, e) })
}

// AddRecordsTo adds one column per estimator to t, a table for CSV. AddRecordsTo sets the column "releasable"
// of every row to false.
func (r Rows) AddRecordsTo(t *table.Table) {
	r.addColumns(t, func(e bayes.Estimator) string {
		return "private_bayes_mu_" + strings.ReplaceAll(e.String(), "-", "_")
	})
	if at := slices.Index(t.Header, "releasable"); r != nil && at >= 0 {
		for _, row := range t.Rows {
			row[at] = "false"
		}
	}
}

func (r Rows) addColumns(t *table.Table, name func(bayes.Estimator) string) {
	if r == nil {
		return
	}
	for _, e := range estimators() {
		t.Header = append(t.Header, name(e))
		for i := range t.Rows {
			text := ""
			for _, f := range r[i] {
				if f.Estimator == e {
					text = f.Cell()
				}
			}
			t.Rows[i] = append(t.Rows[i], text)
		}
	}
}
