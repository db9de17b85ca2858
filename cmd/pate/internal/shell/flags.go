package shell

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/dpsgd/typical"
	"github.com/pate-go/pate/internal/namedsets"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/teachers/training"
)

// flagTexts has a section for each command and group of flags; its first lines describe its form.
//
//go:embed flags.txt
var flagTexts string

// listed is a list of the program in flagTexts, and what stands between its words.
var listed = regexp.MustCompile(`\{\{(\w+)(?:\|(.*?))?\}\}`)

func lists() map[string][]string {
	return map[string][]string{
		"sets": namedsets.Names(), "kinds": dataset.Kinds(), "splits": dataset.Protocols(), "formats": table.Formats(),
		"accountants": AccountantNames(), "accuracy": {fmt.Sprint(plan.UsualAccuracy)},
		"correlation": {fmt.Sprint(plan.DefaultCorrelation)}, "confusion": {fmt.Sprint(plan.DefaultConfusion)},
		"fitted": recipe.FeatureSets(), "models": recipe.Models(), "learners": training.Learners(), "features": features.Names(),
		"rows": {fmt.Sprint(dpsgd.MaxRows)}, "bayes": {fmt.Sprint(typical.DefaultDelta)},
	}
}

// To is where the values of flags go, by the names of the flags.
type To map[string]any

// Declare adds those flags of a section of flagTexts that have a place in to. What stands there is the default
// where the section has none. Flags that are there already get the values of the section.
func Declare(flags *pflag.FlagSet, section string, to To) {
	_, text, _ := strings.Cut(flagTexts, "\n["+section+"]\n")
	text, _, _ = strings.Cut(text, "\n\n")
	known := lists()
	text = listed.ReplaceAllStringFunc(text, func(list string) string {
		parts := listed.FindStringSubmatch(list)
		if parts[2] == "" {
			parts[2] = " "
		}
		return strings.Join(known[parts[1]], parts[2])
	})
	for line := range strings.Lines(text) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), " | ", 3)
		name, standard, fixed := strings.Cut(part[0], "=")
		if place := to[name]; place != nil {
			add(flags, name, part[2], place)
			if flag := flags.Lookup(name); fixed && flag.Value.Set(standard) == nil {
				flag.DefValue = flag.Value.String()
			}
		}
		if flag := flags.Lookup(name); flag != nil && part[1] != "" {
			Values(strings.Fields(part[1])).annotate(flag)
		}
	}
}

// add adds a flag of the type of its place. A list of texts takes one each time that the flag is given.
func add(flags *pflag.FlagSet, name, usage string, place any) {
	switch p := place.(type) {
	case *string:
		flags.StringVar(p, name, *p, usage)
	case *bool:
		flags.BoolVar(p, name, *p, usage)
	case *int:
		flags.IntVar(p, name, *p, usage)
	case *int64:
		flags.Int64Var(p, name, *p, usage)
	case *uint64:
		flags.Uint64Var(p, name, *p, usage)
	case *float64:
		flags.Float64Var(p, name, *p, usage)
	case *time.Duration:
		flags.DurationVar(p, name, *p, usage)
	case *[]float64:
		flags.Float64SliceVar(p, name, *p, usage)
	case *[]string:
		flags.StringArrayVar(p, name, *p, usage)
	}
}

// ChoiceVar adds a flag that takes one of allowed; usage is followed by the list.
func ChoiceVar(cmd *cobra.Command, value *string, name, standard string, allowed []string, usage string) {
	list := strings.Join(allowed, "|")
	if len(list) > 50 {
		list = strings.Join(allowed, ", ") // which help can fold
	}
	cmd.Flags().StringVar(value, name, standard, usage+": "+list)
	Complete(cmd, map[string]Values{name: Words(allowed...)})
}
