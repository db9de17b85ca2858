package shell

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Wants checks the arguments of a command together with everything else that it needs: the error lists all
// that is missing. missing may be nil; it is called after the flags are read, and lists flags and arguments.
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
			absent = append([]string{argumentsOf(cmd)}, absent...)
		}
		return missingError(cmd, absent...)
	}
}

// argumentsOf returns the arguments in the usage of a command.
func argumentsOf(cmd *cobra.Command) string {
	_, arguments, _ := strings.Cut(cmd.Use, " ")
	return arguments
}

// Unset lists the flags that were not given, or given as nothing.
func Unset(cmd *cobra.Command, names ...string) []string {
	var unset []string
	for _, name := range names {
		if flag := cmd.Flags().Lookup(name); flag == nil || !flag.Changed || flag.Value.String() == "" {
			unset = append(unset, "--"+name)
		}
	}
	return unset
}

// UnsetBudget lists --epsilon if it was not given and the ledger is not there yet.
func UnsetBudget(cmd *cobra.Command, ledger string) []string {
	if ledger != "" {
		if _, err := os.Lstat(ledger); err == nil {
			return nil
		}
	}
	return Unset(cmd, "epsilon")
}

// missingError lists what a command needs; nil for nothing.
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

// shortUsage returns the usage of a flag up to its first remark.
func shortUsage(usage string) string {
	if i := strings.IndexAny(usage, "(;"); i > 0 {
		usage = usage[:i]
	}
	return strings.TrimRight(usage, " ,")
}

// and writes "a", "a and b", "a, b and c".
func and(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Needs checks the arguments of a command and that flags are given.
func Needs(arguments cobra.PositionalArgs, names ...string) cobra.PositionalArgs {
	return Wants(arguments, func(cmd *cobra.Command, _ []string) []string { return Unset(cmd, names...) })
}
