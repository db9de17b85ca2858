// Package explain is the command `pate learn explain`, which shows mechanisms step by step.
package explain

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	lesson "github.com/pate-go/pate/internal/learn"
)

func New(g *shell.Globals) *cobra.Command {
	var children []*cobra.Command
	for _, m := range lesson.Mechanisms() {
		children = append(children, newExplainOf(g, m))
	}
	return shell.Parent("explain", "mechanisms", children...)
}

func newExplainOf(g *shell.Globals, m lesson.Mechanism) *cobra.Command {
	values := make([]string, len(m.Inputs))
	cmd := shell.Command(m.Name, "", cobra.NoArgs, func(*cobra.Command, []string) error {
		inputs := make(map[string]string, len(values))
		for i, in := range m.Inputs {
			inputs[in.Name] = values[i]
		}
		trace, err := m.Run(inputs, lesson.Options{Seed: g.Seed, Delta: g.Delta})
		if errors.Is(err, lesson.ErrInput) {
			return shell.InputError(err, "", "see pate learn explain "+m.Name+" --help", "mechanisms")
		}
		if err != nil {
			return err
		}
		return trace.Write(g.Stdout, g.ParsedFormat())
	})
	cmd.Short, cmd.Long = m.Short, m.Long+"\n\nThe same --seed gives the same trace; without it the seed is 0."
	cmd.Example = fmt.Sprintf(`  pate learn explain %s --seed 7
  pate learn explain %s --%s %s --format latex`, m.Name, m.Name, m.Inputs[0].Name, m.Inputs[0].Default)
	shell.EpsilonIsNoBudget(cmd)
	for i, in := range m.Inputs {
		cmd.Flags().StringVar(&values[i], in.Name, in.Default, in.Usage)
		shell.Take("any").Of(cmd.Flag(in.Name))
	}
	return cmd
}
