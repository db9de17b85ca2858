package shell

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// choice is a flag that takes one of a list of words. A word that is not in the list
// is refused with the nearest one, and shells complete the list.
type choice struct {
	value   *string
	allowed []string
}

// foldedList is the length from which on a list of words is written with spaces.
const foldedList = 50

// ChoiceVar adds a flag to flags that takes one of allowed; usage is followed by the
// list.
func ChoiceVar(flags *pflag.FlagSet, value *string, name, standard string, allowed []string, usage string) {
	*value = standard
	list := strings.Join(allowed, "|")
	if len(list) > foldedList {
		list = strings.Join(allowed, ", ") // which help can fold
	}
	flags.Var(&choice{value: value, allowed: allowed}, name, usage+": "+list)
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return "string" }

// Set stores a word that is allowed.
func (c *choice) Set(word string) error {
	if err := OneOf(word, c.allowed); err != nil {
		return err
	}
	*c.value = word
	return nil
}

// OneOf refuses a word that is not in a list, with the nearest one that is.
func OneOf(word string, allowed []string) error {
	if slices.Contains(allowed, word) {
		return nil
	}
	return fmt.Errorf("must be one of %s%s", strings.Join(allowed, ", "), didYouMean(word, allowed))
}
