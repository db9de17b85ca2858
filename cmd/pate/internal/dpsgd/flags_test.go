package dpsgd

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

func TestFlagsIdentifyARun(t *testing.T) {
	var f dpsgdFlags
	search := tuneFlags{settings: newSettingFlags()}
	cmd := New(&shell.Globals{})
	for c, names := range map[*cobra.Command][]string{cmd: f.flagNames(), cmd.Commands()[0]: append(search.names(), "plan")} {
		c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			require.Contains(t, append(names, "out", "workers", "no-cache"), flag.Name)
		})
		require.Greater(t, len(names), 15)
	}
}
