package shell

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dpsgd/typical"
)

// TypicalFlags ask for Bayesian figures beside epsilon.
type TypicalFlags struct {
	on      bool
	delta   float64
	between string
	most    int
}

// Add adds the flags to a command.
func (f *TypicalFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.on, "bayes", false, "also bound what is learned of a typical record: private, and no differential privacy")
	flags.Float64Var(&f.delta, "bayes-delta", typical.DefaultDelta, "with --bayes, the delta of that bound")
	flags.StringVar(&f.between, "bayes-distances", dpsgd.Batches.String(), "with --bayes: batches, with and without a record; or records, one in place of another, as published")
	flags.IntVar(&f.most, "bayes-samples", 0, "with --bayes, distances measured at a step (default: what takes less than a tenth of its time)")
	Complete(cmd, map[string]Values{"bayes-distances": Words(dpsgd.Batches.String(), dpsgd.Records.String())})
}

// TypicalNames returns the names of the flags.
func TypicalNames() []string {
	return []string{"bayes", "bayes-delta", "bayes-distances", "bayes-samples"}
}

// Words returns the flags as on a command line, none without --bayes.
func (f *TypicalFlags) Words() []string {
	if !f.on {
		return nil
	}
	words := []string{"--bayes"}
	if f.delta != typical.DefaultDelta {
		words = append(words, fmt.Sprintf("--bayes-delta %v", f.delta))
	}
	if f.between != dpsgd.Batches.String() {
		words = append(words, "--bayes-distances "+f.between)
	}
	if f.most != 0 {
		words = append(words, fmt.Sprintf("--bayes-samples %d", f.most))
	}
	return words
}

// Read returns what was asked for, nil if nothing was.
func (f *TypicalFlags) Read(cmd *cobra.Command) (*typical.Config, error) {
	c, err := f.read(cmd.Flags().Changed)
	if err != nil {
		return nil, UsageError("bayes", err)
	}
	return c, nil
}

func (f *TypicalFlags) read(given func(string) bool) (*typical.Config, error) {
	if !f.on {
		for _, name := range TypicalNames()[1:] {
			if given(name) {
				return nil, fmt.Errorf("--%s is for --bayes", name)
			}
		}
		return nil, nil
	}
	c := &typical.Config{Delta: f.delta, Most: f.most}
	switch f.between {
	case dpsgd.Batches.String():
	case dpsgd.Records.String():
		c.Between = dpsgd.Records
	default:
		return nil, fmt.Errorf("--bayes-distances %q: must be batches or records", f.between)
	}
	if !(f.delta > 0 && f.delta < 1) {
		return nil, fmt.Errorf("--bayes-delta %v: must lie between 0 and 1", f.delta)
	}
	if f.most < 0 || f.most == 1 {
		return nil, errors.New("--bayes-samples: at least 2")
	}
	return c, nil
}

// TypicalHelp is the paragraph about --bayes in the help of commands.
const TypicalHelp = `With --bayes the same run is also accounted by Bayesian differential privacy (Triastcyn
and Faltings 2020). That is not differential privacy. It bounds what is learned of a
typical record, drawn like the others, and says nothing of outliers, whom attacks aim at.
The figure is computed from private gradients, so it is private: it is printed, kept in
the folder private of --out, and in no file that may be released. pate explain bayes.`
