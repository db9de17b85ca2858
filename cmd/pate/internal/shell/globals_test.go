package shell

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWarningIsSaidOnce(t *testing.T) {
	var errs bytes.Buffer
	g := Globals{Stderr: &errs, Quiet: true}
	for _, text := range []string{"a", "b", "a"} {
		g.Warn(text)
	}
	require.Equal(t, "pate: warning: a\npate: warning: b\n", errs.String())
}
