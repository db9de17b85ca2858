package publish

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every method is among the choices once, the best first, whatever the public numbers are.
func TestChoose(t *testing.T) {
	for name, c := range map[string]struct {
		Numbers
		want string
	}{
		"numbers, many classes": {Numbers{Units: 14000, Classes: 26, Numeric: 1}, Nearest},
		"few units":             {Numbers{Units: 1500, Classes: 26, Numeric: 1}, DPSGD},
		"categories":            {Numbers{Units: 14000, Classes: 26, Numeric: 0.5}, DPSGD},
		"two classes":           {Numbers{Units: 14000, Classes: 2, Numeric: 1}, DPSGD},
		"images":                {Numbers{Units: 60000, Classes: 10, Numeric: 1, Image: true}, DPSGD},
	} {
		choices := Choose(c.Numbers)
		require.Equal(t, c.want, choices[0].Method, name)
		var methods []string
		for i, choice := range choices {
			methods = append(methods, choice.Method)
			require.NotEmpty(t, choice.Reason)
			require.True(t, i == 0 || choice.Share <= choices[i-1].Share, name)
		}
		slices.Sort(methods)
		require.Equal(t, []string{DPSGD, Nearest, PATE, Sample}, methods)
	}
}
