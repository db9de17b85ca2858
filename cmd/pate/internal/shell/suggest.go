package shell

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const farthest = 2

func didYouMean(typed string, words []string) string {
	limit := farthest
	if len([]rune(typed)) <= 5 { // two edits are too many for a short word
		limit = 1
	}
	best, found := limit+1, ""
	for _, w := range words {
		d := editDistance(typed, w)
		if len(typed) > 1 && strings.HasPrefix(w, typed) {
			d = min(d, 1)
		}
		if d < best && d < len(w) {
			best, found = d, w
		}
	}
	if found == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", found)
}

func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		for j := range rows[i] {
			if i == 0 || j == 0 {
				rows[i][j] = i + j
				continue
			}
			d := rows[i-1][j-1]
			if x[i-1] != y[j-1] {
				d = 1 + min(d, rows[i-1][j], rows[i][j-1])
			}
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(x)][len(y)]
}

// SuggestFlag adds the nearest flag, or the expected form of the value, to an error of the flag parser.
func SuggestFlag(cmd *cobra.Command, err error) error {
	text := err.Error()
	if typed, unknown := strings.CutPrefix(text, "unknown flag: --"); unknown {
		if typed == "format" || typed == "seed" || typed == "delta" {
			return fmt.Errorf("%s does not use --%s; remove the flag", cmd.CommandPath(), typed)
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return fmt.Errorf("unknown flag --%s of %s%s", typed, cmd.CommandPath(), didYouMean("--"+typed, names))
	}
	if name, empty := strings.CutPrefix(text, "flag needs an argument: "); empty {
		return fmt.Errorf("%s needs a value", name)
	}
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		flag := wrong.GetFlag()
		if must := wanted(flag); must != "" {
			return fmt.Errorf("--%s %q: must be %s", flag.Name, wrong.GetValue(), must)
		}
		return fmt.Errorf("--%s %q: %w", flag.Name, wrong.GetValue(), wrong.Unwrap())
	}
	return err
}

// SuggestCommand returns an error for an unknown subcommand of cmd, with the nearest subcommand.
func SuggestCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s has no command %q%s", cmd.CommandPath(), args[0], didYouMean(args[0], commandNames(cmd)))
}

// Parent returns a command that only groups the subcommands in children. The argument topic names the help
// topic in the error for a missing subcommand.
func Parent(use, topic string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Args: SuggestCommand}
	cmd.AddCommand(children...)
	cmd.RunE = func(*cobra.Command, []string) error {
		return UsageError(topic, fmt.Errorf("%s needs a subcommand: one of %s", cmd.CommandPath(), strings.Join(commandNames(cmd), ", ")))
	}
	Without(cmd, "format", "seed", "delta")
	return cmd
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, child := range cmd.Commands() {
		if !child.Hidden {
			names = append(names, child.Name())
		}
	}
	return names
}

// ArgumentError rewrites cobra's errors about arguments, such as "accepts 1 arg(s), received 0".
func ArgumentError(cmd *cobra.Command, err error) error {
	text := err.Error()
	switch {
	case strings.HasPrefix(text, "unknown command ") && cmd.HasSubCommands():
		return SuggestCommand(cmd, cmd.Flags().Args())
	case strings.HasPrefix(text, "unknown command "):
		return fmt.Errorf("%s takes no arguments, but %q was given", cmd.CommandPath(), strings.Join(cmd.Flags().Args(), " "))
	case !strings.Contains(text, " arg(s), "):
		return err
	}
	given := "no argument was given"
	if n := cmd.Flags().NArg(); n > 0 {
		given = fmt.Sprintf("%d arguments were given: %s", n, strings.Join(cmd.Flags().Args(), " "))
	}
	return fmt.Errorf("usage: %s; %s", strings.TrimSuffix(cmd.UseLine(), " [flags]"), given)
}

// UseOwnHelpCommand adds a help command for commands and topics to root.
func UseOwnHelpCommand(root *cobra.Command) {
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND or TOPIC]",
		Short: "Help about a command or a topic",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			at, _, err := root.Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return commandNames(at), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			at, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 {
				err = SuggestCommand(at, rest)
			}
			if err != nil {
				return &CommandError{Code: ExitUsage, What: err, Fix: "pate --help lists all commands and topics"}
			}
			at.Print(Help(at, true))
			return nil
		},
	})
}

// Wants returns a check of a command's arguments and flags. The call missing(cmd, args) lists missing flags.
// If missing is nil, no flag is required. The check's error lists missing flags and arguments. If some
// arguments are given, but in the wrong number, the error is about arguments alone.
func Wants(arguments cobra.PositionalArgs, missing func(cmd *cobra.Command, args []string) []string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := CheckValues(cmd); err != nil {
			return err
		}
		var absent []string
		if missing != nil {
			absent = missing(cmd, args)
		}
		if err := arguments(cmd, args); err != nil {
			if len(args) > 0 || len(absent) == 0 {
				return err
			}
			_, usage, _ := strings.Cut(cmd.Use, " ")
			absent = append([]string{usage}, absent...)
		}
		return missingError(cmd, absent...)
	}
}

// Unset returns the flags in names that were not given or are empty.
func Unset(cmd *cobra.Command, names ...string) []string {
	var unset []string
	for _, name := range names {
		if flag := cmd.Flags().Lookup(name); flag == nil || !flag.Changed || flag.Value.String() == "" {
			unset = append(unset, "--"+name)
		}
	}
	return unset
}

func missingError(cmd *cobra.Command, absent ...string) error {
	if len(absent) == 0 {
		return nil
	}
	e := &CommandError{Code: ExitUsage, What: fmt.Errorf("%s needs %s", cmd.CommandPath(), and(absent)), Fix: cmd.CommandPath() + " --help"}
	var says []string
	for _, name := range absent {
		if flag := cmd.Flags().Lookup(strings.TrimPrefix(name, "--")); flag != nil && strings.HasPrefix(name, "--") {
			says = append(says, name+": "+shortUsage(flag.Usage))
		}
	}
	e.Why = strings.Join(says, "; ")
	return e
}

func shortUsage(usage string) string {
	if i := strings.IndexAny(usage, "(;"); i > 0 {
		usage = usage[:i]
	}
	return strings.TrimRight(usage, " ,")
}

func and(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

func Needs(arguments cobra.PositionalArgs, names ...string) cobra.PositionalArgs {
	return Wants(arguments, func(cmd *cobra.Command, _ []string) []string { return Unset(cmd, names...) })
}
