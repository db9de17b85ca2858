package explain

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	lesson "github.com/pate-go/pate/internal/learn" // Explain is what errors do here
)

func New(g *shell.Globals) *cobra.Command {
	mechanisms := lesson.Mechanisms()
	var names []string
	for _, m := range mechanisms {
		names = append(names, m.Name)
	}
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "A mechanism step by step, with every number",
		Long: `A mechanism step by step: the data, the noise, the exact probability of what came
out with and without one record, what is released, what it cost, and what would go
wrong if a common misconception were followed: the wrong formula, and what it leads
to in numbers. Every number can be checked by hand or with pate learn law and pate
account.

The same --seed gives the same trace; without it the seed is 0. A trace shows
private data and noise and is never releasable. --format md and latex give lecture
notes; a lecture for them is in docs/lecture.`,
		Example: `  pate learn explain noisy-argmax --seed 7
  pate learn explain stability --counts 45,12,3 --format md`,
		Args: shell.SuggestCommand,
		RunE: func(*cobra.Command, []string) error {
			return shell.UsageError("mechanisms", fmt.Errorf("explain what? one of %s", strings.Join(names, ", ")))
		},
	}
	for _, m := range mechanisms {
		cmd.AddCommand(newExplainOf(g, m))
	}
	return cmd
}

func newExplainOf(g *shell.Globals, m lesson.Mechanism) *cobra.Command {
	values := make([]string, len(m.Inputs))
	cmd := &cobra.Command{
		Use:   m.Name,
		Short: m.Short,
		Long:  m.Long + "\n\nThe same --seed gives the same trace; without it the seed is 0.",
		Example: fmt.Sprintf(`  pate learn explain %s --seed 7
  pate learn explain %s --%s %s --format latex`, m.Name, m.Name, m.Inputs[0].Name, m.Inputs[0].Default),
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
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
		},
	}
	shell.EpsilonIsNoBudget(cmd)
	for i, in := range m.Inputs {
		cmd.Flags().StringVar(&values[i], in.Name, in.Default, in.Usage)
		shell.Complete(cmd, map[string]shell.Values{in.Name: shell.Anything()})
	}
	return cmd
}
