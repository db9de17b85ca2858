package dpsgd

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/dpsgd/tuned"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/tune"
)

type settingFlags struct {
	file  string
	lists []list
}

type list struct{ flag, values string }

func newSettingFlags() (f settingFlags) {
	for _, name := range []string{"learning-rate", "clip", "optimizer", "momentum", "weight-decay", "ema"} {
		f.lists = append(f.lists, list{flag: name})
	}
	return f
}

func (f *settingFlags) names() []string {
	names := []string{"settings"}
	for _, l := range f.lists {
		names = append(names, l.flag)
	}
	return names
}

func (f *settingFlags) read(cmd *cobra.Command, base recipe.Recipe) ([]tuned.Setting, error) {
	grid := map[string][]string{}
	for _, l := range f.lists {
		if cmd.Flags().Changed(l.flag) {
			grid[strings.ReplaceAll(l.flag, "-", "_")] = strings.Split(l.values, ",")
		}
	}
	switch {
	case f.file != "" && len(grid) > 0:
		return nil, shell.UsageError(tuneTopic, errors.New("--settings already lists all settings: omit flags such as --clip"))
	case f.file != "":
		return readSettings(f.file)
	case len(grid) == 0:
		return tuned.Around(base), nil
	}
	settings, err := tuned.Grid(grid)
	if err != nil {
		return nil, shell.UsageError(tuneTopic, err)
	}
	return settings, nil
}

func readSettings(path string) ([]tuned.Setting, error) {
	in, err := durable.OpenRegular(path)
	if err != nil {
		return nil, shell.InputError(fmt.Errorf("--settings %s: %w", path, err), "", "give a file that can be read", tuneTopic)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, 1<<23))
	if err != nil {
		return nil, fmt.Errorf("--settings %s: %w", path, err)
	}
	settings, err := tuned.ParseSettings(text)
	if err != nil {
		return nil, shell.InputError(fmt.Errorf("%s: %w", path, err), "settings must be a JSON list of objects, or CSV with a header",
			"fix the file", tuneTopic)
	}
	return settings, nil
}

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
