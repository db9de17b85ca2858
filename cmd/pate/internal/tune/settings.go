package tune

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/dpsgd/tuned"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/tune"
)

// settingFlags name the settings that are tried.
type settingFlags struct {
	file  string
	lists []list
}

// list is one flag with several values.
type list struct {
	flag, help, values string
}

func (f *settingFlags) add(flags *pflag.FlagSet) {
	f.lists = []list{
		{flag: "learning-rate", help: "factors of an update that are tried, with commas"},
		{flag: "clip", help: "clip norms that are tried, with commas"},
		{flag: "optimizer", help: "optimisers that are tried, with commas: sgd, adagrad, adam, adamw"},
		{flag: "momentum", help: "shares of earlier updates that are tried, with commas"},
		{flag: "weight-decay", help: "pulls of parameters to zero that are tried, with commas"},
		{flag: "ema", help: "decays of a moving average of the model that are tried, with commas"},
	}
	flags.StringVar(&f.file, "settings", "", "file of settings; a JSON list of objects, or CSV with a header")
	for i := range f.lists {
		flags.StringVar(&f.lists[i].values, f.lists[i].flag, "", f.lists[i].help)
	}
}

func (f *settingFlags) complete(cmd *cobra.Command) {
	values := map[string]shell.Values{"settings": shell.Files("json", "csv")}
	for _, l := range f.lists {
		values[l.flag] = shell.Anything()
	}
	values["optimizer"] = shell.WordList("sgd", "adagrad", "adam", "adamw")
	shell.Complete(cmd, values)
}

func (f *settingFlags) names() []string {
	names := []string{"settings"}
	for _, l := range f.lists {
		names = append(names, l.flag)
	}
	return names
}

// read returns the settings that are tried.
func (f *settingFlags) read(cmd *cobra.Command, base recipe.Recipe) ([]tuned.Setting, error) {
	grid := map[string][]string{}
	for _, l := range f.lists {
		if cmd.Flags().Changed(l.flag) {
			grid[strings.ReplaceAll(l.flag, "-", "_")] = strings.Split(l.values, ",")
		}
	}
	switch {
	case f.file != "" && len(grid) > 0:
		return nil, shell.UsageError("tune", errors.New("--settings has all settings: leave out the lists"))
	case f.file != "":
		return readSettings(f.file)
	case len(grid) == 0:
		return tuned.Around(base), nil
	}
	settings, err := tuned.Grid(grid)
	if err != nil {
		return nil, shell.UsageError("tune", err)
	}
	return settings, nil
}

func readSettings(path string) ([]tuned.Setting, error) {
	in, err := durable.OpenRegular(path)
	if err != nil {
		return nil, shell.InputError(fmt.Errorf("--settings %s: %w", path, err), "", "name a file that can be read", "tune")
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, 1<<23))
	if err != nil {
		return nil, fmt.Errorf("--settings %s: %w", path, err)
	}
	settings, err := tuned.ParseSettings(text)
	if err != nil {
		return nil, shell.InputError(fmt.Errorf("%s: %w", path, err), "settings are a JSON list of objects, or CSV with a header",
			"mend the file", "tune")
	}
	return settings, nil
}

// parseLaw reads --law for a number of runs that is expected.
func parseLaw(name string, runs float64) (tune.Law, error) {
	switch name {
	case "poisson":
		return tune.Poisson(runs)
	case "geometric":
		return tune.NegativeBinomial(1, runs)
	case "logarithmic":
		return tune.NegativeBinomial(0, runs)
	}
	if eta, ok := strings.CutPrefix(name, "negative-binomial:"); ok {
		if x, err := strconv.ParseFloat(eta, 64); err == nil {
			return tune.NegativeBinomial(x, runs)
		}
	}
	return tune.Law{}, errors.New("the law must be logarithmic, geometric, poisson or negative-binomial:ETA")
}
