package shell

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
)

// BayesFlags ask for Bayesian figures beside epsilon.
type BayesFlags struct {
	on      bool
	delta   float64
	between string
	most    int
}

// Add adds the flags.
func (f *BayesFlags) Add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "bayes", false, "also bound what is learned of a typical record: private, and no differential privacy")
	flags.Float64Var(&f.delta, "bayes-delta", recipe.DefaultDeltaMu, "with --bayes, the delta of that bound")
	flags.StringVar(&f.between, "bayes-distances", dpsgd.Batches.String(), "with --bayes: batches, with and without a record; or records, one in place of another, as published")
	flags.IntVar(&f.most, "bayes-samples", 0, "with --bayes, distances measured at a step (default: what takes less than a tenth of its time)")
}

// BayesNames returns the names of the flags.
func BayesNames() []string {
	return []string{"bayes", "bayes-delta", "bayes-distances", "bayes-samples"}
}

// Words returns the flags as on a command line, none without --bayes.
func (f *BayesFlags) Words() []string {
	if !f.on {
		return nil
	}
	words := []string{"--bayes"}
	if f.delta != recipe.DefaultDeltaMu {
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
func (f *BayesFlags) Read(flags *pflag.FlagSet) (*recipe.Bayes, error) {
	if !f.on {
		for _, name := range BayesNames()[1:] {
			if flags.Changed(name) {
				return nil, fmt.Errorf("--%s is for --bayes", name)
			}
		}
		return nil, nil
	}
	b := &recipe.Bayes{Delta: f.delta, Most: f.most}
	switch f.between {
	case dpsgd.Batches.String():
	case dpsgd.Records.String():
		b.Between = dpsgd.Records
	default:
		return nil, fmt.Errorf("--bayes-distances %q: must be batches or records", f.between)
	}
	if !(f.delta > 0 && f.delta < 1) {
		return nil, fmt.Errorf("--bayes-delta %v: must lie between 0 and 1", f.delta)
	}
	if f.most < 0 || f.most == 1 {
		return nil, errors.New("--bayes-samples: at least 2")
	}
	return b, nil
}

// BayesHelp is the paragraph about --bayes in the help of commands.
const BayesHelp = `With --bayes the same run is also accounted by Bayesian differential privacy (Triastcyn
and Faltings 2020). That is not differential privacy. It bounds what is learned of a
typical record, drawn like the others, and says nothing of outliers, whom attacks aim at.
The figure is computed from private gradients, so it is private: it is printed, kept in
the folder private of --out, and in no file that may be released. pate explain bayes.`
