package label

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// A waiver lets a label through that would be refused for one reason. Those under which
// epsilon may not be true have to be named, and nothing may be released then; --force by itself
// is noise.
const (
	waiveNoise       = "noise"       // labels would rarely be right
	waiveFew         = "few"         // the budget carries too few labels
	waiveDuplicates  = "duplicates"  // two teachers vote alike everywhere
	waiveChecks      = "checks"      // whatever else pate votes check fails on
	waiveCalibration = "calibration" // the plan follows from private votes
)

// waivable lists all waivers.
var waivable = []string{waiveNoise, waiveFew, waiveDuplicates, waiveChecks, waiveCalibration}

// waivers are those that were named.
type waivers []string

func (w *waivers) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(w, "force", "charge although labels would rarely be right; --force=few,duplicates,checks,calibration waives these, and only "+
		"what is named; of the last three nothing may be released")
	flags.Lookup("force").NoOptDefVal = waiveNoise
	shell.Complete(cmd, map[string]shell.Values{"force": shell.Suggested(waivable...)})
}

func (w *waivers) String() string { return strings.Join(*w, ",") }
func (w *waivers) Type() string   { return "what" }

// Set adds the waivers of a list with commas.
func (w *waivers) Set(list string) error {
	for _, word := range strings.Split(list, ",") {
		switch {
		case slices.Contains(waivable, word):
			*w = append(*w, word)
		case word == "shape" || word == "transposed":
			return errors.New("the shape is not waived: confirm it with --teachers N, or give --transpose")
		case word == "true" || word == "false" || word == "all":
			return fmt.Errorf("name what is waived: %s", strings.Join(waivable, ", "))
		default:
			return shell.Words(waivable...).Check(word)
		}
	}
	return nil
}

// has reports whether a refusal is waived.
func (w waivers) has(what string) bool { return slices.Contains(w, what) }

// withheld returns, in order and each once, those for which nothing may be released: all that are
// not about labels that are of little use.
func (w waivers) withheld() []string {
	names := slices.DeleteFunc(slices.Clone(w), func(name string) bool { return name == waiveNoise || name == waiveFew })
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return nil
	}
	return names
}

// misplaced refuses `--force duplicates`, which would be a file of votes.
func (w waivers) misplaced(args []string) error {
	for _, arg := range args {
		if len(w) > 0 && slices.Contains(waivable, arg) {
			return shell.Usagef("votes", "%q is no file of votes: waivers stand behind an equals sign, --force=%s", arg, arg)
		}
	}
	return nil
}
