package analyze

import (
	"github.com/spf13/cobra"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/analysis"
)

// analyzedFlags describe the mechanism that answered the queries.
type analyzedFlags struct{ shell.ParameterFlags }

// addMechanism adds the mechanisms that can be analysed, and their noise.
func (f *analyzedFlags) addMechanism(cmd *cobra.Command) {
	f.Uncapped = true // caps change no cost of a query
	f.AddParameters(cmd, "what answered the queries (required)", func(d aggregate.Description) bool { return analysis.Published(d.Name) })
}

// analysed returns the mechanism that the flags describe.
func (f *analyzedFlags) analysed(cmd *cobra.Command) (analysis.Mechanism, error) {
	d, s, err := f.Setting(cmd, true)
	if err != nil {
		return analysis.Mechanism{}, err
	}
	m, err := analysis.Of(d.Name, s.Values)
	if err != nil {
		return m, shell.UsageError("mechanisms", err)
	}
	return m, nil
}
