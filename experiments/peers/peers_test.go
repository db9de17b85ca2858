// Package peers_test checks the scripts that compare this module with others, as
// far as that needs Python and nothing else. They are not run: see README.md.
package peers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine: the scripts are not checked")
	}
	return path
}

func TestScriptsParse(t *testing.T) {
	interpreter := python(t)
	scripts, err := filepath.Glob("*.py")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(scripts), 2)
	for _, script := range scripts {
		out, err := exec.Command(interpreter, "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())", script).CombinedOutput()
		require.NoError(t, err, "%s: %s", script, out)
	}
}

// TestJoin: medians of repeated benchmarks, the batch of the timing and no other,
// and a dash where there is no number.
func TestJoin(t *testing.T) {
	interpreter := python(t)
	want, err := os.ReadFile("testdata/joined.md")
	require.NoError(t, err)
	got, err := exec.Command(interpreter, "join.py", "testdata/opacus.json", "testdata/bench.txt").Output()
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))

	require.Error(t, exec.Command(interpreter, "join.py", "testdata/opacus.json", "testdata/README.md").Run(), "a file without benchmarks")
}
