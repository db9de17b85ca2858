package dpsgd

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

func TestDPSGDFlagsIdentifyARun(t *testing.T) {
	var f dpsgdFlags
	cmd := New(&shell.Globals{})
	known := map[string]bool{"out": true, "workers": true, "no-cache": true}
	for _, name := range f.flagNames() {
		known[name] = true
	}
	lines := regexp.MustCompile(`(?m)^ *--([a-z-]+)`).FindAllStringSubmatch(cmd.LocalFlags().FlagUsages(), -1)
	require.Greater(t, len(lines), 15)
	for _, line := range lines {
		require.True(t, known[line[1]], line[1])
	}
}
