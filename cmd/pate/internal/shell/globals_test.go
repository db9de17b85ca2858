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
	g.Warn("two\nlines") // programs read one line each
	require.Equal(t, "pate: warning: a\npate: warning: b\npate: warning: two\\nlines\n", errs.String())
}
