package shell

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
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

//go:embed flags.txt
var flagTexts string

var listed = regexp.MustCompile(`\{\{(\w+)(?:\|(.*?))?\}\}`)

func list(name string) []string {
	switch name {
	case "sets":
		return namedsets.Names()
	case "kinds":
		return dataset.Kinds()
	case "splits":
		return dataset.Protocols()
	case "formats":
		return table.Formats()
	case "accountants":
		return AccountantNames()
	case "correlation":
		return []string{fmt.Sprint(plan.DefaultCorrelation)}
	case "confusion":
		return []string{fmt.Sprint(plan.DefaultConfusion)}
	case "fitted":
		return recipe.FeatureSets()
	case "models":
		return recipe.Models()
	case "learners":
		return training.Learners()
	case "features":
		return features.Names()
	case "rows":
		return []string{fmt.Sprint(dpsgd.MaxRows)}
	case "bayes":
		return []string{fmt.Sprint(typical.DefaultDelta)}
	}
	panic("shell: flags.txt names no list of the program: " + name)
}

type To map[string]any

// Declare adds a flag for each key of the argument `to`, as the section of flags.txt describes. The value
// to[name] is a pointer to the flag's variable. The default is *to[name] unless the section has a default. If
// `flags` already contains another flag of the section, Declare sets only its permitted values. Declare
// panics if the section lacks a key of `to`, or if a variable has an unsupported type.
func Declare(flags *pflag.FlagSet, section string, to To) {
	_, text, _ := strings.Cut(flagTexts, "\n["+section+"]\n")
	text, _, _ = strings.Cut(text, "\n\n")
	text = strings.ReplaceAll(text, "\n  ", " ")
	added := 0
	text = listed.ReplaceAllStringFunc(text, func(placeholder string) string {
		parts := listed.FindStringSubmatch(placeholder)
		if parts[2] == "" {
			parts[2] = " "
		}
		return strings.Join(list(parts[1]), parts[2])
	})
	for line := range strings.Lines(text) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), " | ", 3)
		name, standard, fixed := strings.Cut(part[0], "=")
		if place := to[name]; place != nil {
			add(flags, name, part[2], place)
			added++
			if flag := flags.Lookup(name); fixed && flag.Value.Set(standard) == nil {
				flag.DefValue = flag.Value.String()
			}
		}
		if flag := flags.Lookup(name); flag != nil && part[1] != "" {
			Values(strings.Fields(part[1])).Of(flag)
		}
	}
	if added < len(to) {
		panic("shell: section " + section + " of flags.txt lacks a flag of this command")
	}
}

func Put[T any](given bool, place *T, value T) {
	if given {
		*place = value
	}
}

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
	default:
		panic(fmt.Sprintf("shell: --%s: no flag has the type %T", name, place))
	}
}

// Values holds a kind, then the permitted words or file endings of a flag or argument (see flags.txt). For
// the kinds "one" and "list", CheckValues refuses all other words.
type Values []string

// Take returns kind, such as "one" or "file", followed by words.
func Take(kind string, words ...string) Values { return append(Values{kind}, words...) }

func Files(endings ...string) Values { return Take("file", endings...) }

func (v Values) is(kinds ...string) bool { return len(v) > 0 && slices.Contains(kinds, v[0]) }

func (v Values) complete(typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch {
	case v.is("dir"):
		return nil, cobra.ShellCompDirectiveFilterDirs
	case v.is("file") && len(v) > 1:
		return slices.Clone(v[1:]), cobra.ShellCompDirectiveFilterFileExt
	}
	var found []cobra.Completion
	before, last := "", typed
	if i := strings.LastIndexByte(typed, ','); v.is("list") && i >= 0 {
		before, last = typed[:i+1], typed[i+1:]
	}
	for _, word := range v[1:] {
		if strings.HasPrefix(word, last) {
			found = append(found, before+word)
		}
	}
	switch {
	case v.is("file", "place"):
		return found, cobra.ShellCompDirectiveDefault
	case v.is("list"):
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func (v Values) Check(value string) error {
	words := []string{value}
	if v.is("list") {
		words = strings.Split(value, ",")
	}
	for _, word := range words {
		if word = strings.TrimSpace(word); word != "" && !slices.Contains(v[1:], word) {
			return fmt.Errorf("%q: must be %s%s", word, v.oneOf(), didYouMean(word, v[1:]))
		}
	}
	return nil
}

func (v Values) oneOf() string {
	if len(v) <= 3 {
		return strings.Join(v[1:], " or ")
	}
	if all := "one of " + strings.Join(v[1:], ", "); len(all) < 2*Columns {
		return all
	}
	return "one of the values in the help"
}

const values = "pate_values"

// Of stores v as the permitted values of a flag.
func (v Values) Of(flag *pflag.Flag) {
	if flag.Annotations == nil {
		flag.Annotations = map[string][]string{}
	}
	flag.Annotations[values] = v
}

type later struct {
	pflag.Value
	pflag.SliceValue
	permitted func() Values
}

// OfLater stores the function v, which computes the permitted values of a slice flag on demand.
func OfLater(flag *pflag.Flag, v func() Values) {
	flag.Value = later{flag.Value, flag.Value.(pflag.SliceValue), v}
	if flag.DefValue == "[]" { // which pflag omits from the help for its own types alone
		flag.DefValue = "<nil>"
	}
}

func told(flag *pflag.Flag) Values {
	if l, ok := flag.Value.(later); ok {
		return l.permitted()
	}
	return flag.Annotations[values]
}

func CompleteArgs(cmd *cobra.Command, v Values) {
	cmd.ValidArgsFunction = func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return v.complete(typed)
	}
}

func CheckValues(cmd *cobra.Command) error {
	var wrong error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		v := told(flag)
		if !v.is("one", "list") || wrong != nil {
			return
		}
		given := []string{flag.Value.String()}
		if several, ok := flag.Value.(pflag.SliceValue); ok {
			given = several.GetSlice()
		}
		for _, value := range given {
			err := v.Check(value)
			if value == "" && flag.DefValue != "" {
				err = fmt.Errorf("is empty: must be %s", v.oneOf())
			}
			if err != nil {
				wrong = &CommandError{Code: ExitUsage, What: fmt.Errorf("--%s %w", flag.Name, err), Fix: cmd.CommandPath() + " --help"}
				return
			}
		}
	})
	return wrong
}

// Declared reports whether the permitted values of a flag follow from its declaration or its type.
func Declared(flag *pflag.Flag) bool { return told(flag) != nil || wanted(flag) != "" }

// CompleteAll registers the completions of cmd and of all subcommands. Call it only if a shell requests
// completions, because cobra keeps completions until the process ends.
func CompleteAll(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		complete := cobra.NoFileCompletions
		if v := told(f); v != nil {
			complete = func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return v.complete(typed)
			}
		} else if wanted(f) == "" || f.Value.Type() == "bool" {
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // an error means that the flag has a completion, for example an inherited flag
	})
	if cmd.Runnable() && cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil && !cmd.HasSubCommands() && !strings.Contains(cmd.Use, " ") {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, child := range cmd.Commands() {
		CompleteAll(child)
	}
}

func wanted(flag *pflag.Flag) string {
	switch flag.Value.Type() {
	case "bool":
		return "true or false"
	case "float64", "float32", "float":
		return "a number"
	case "int", "int64", "int32":
		return "a whole number"
	case "uint", "uint64", "uint32":
		return "a whole number that is not negative"
	case "intSlice", "int64Slice":
		return "whole numbers, separated by commas"
	case "float64Slice", "float32Slice":
		return "numbers, separated by commas"
	case "duration":
		return "a time such as 10s"
	}
	return ""
}
