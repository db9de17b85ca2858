// Package peers_test checks the scripts that compare this module with others, as far as that needs Python
// and nothing else, and that README.md shows what was measured. Nothing is measured here: see README.md.
package peers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

func run(t *testing.T, args ...string) string {
	t.Helper()
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine: the scripts are not checked")
	}
	cmd := exec.Command(interpreter, append([]string{"-B", "-X", "utf8"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%q", args)
	return string(out)
}

func read(t *testing.T, path string) string {
	return string(testkit.Must(os.ReadFile(path)))
}

func TestScriptsParse(t *testing.T) {
	scripts := testkit.Must(filepath.Glob("*.py"))
	require.GreaterOrEqual(t, len(scripts), 2)
	for _, script := range scripts {
		run(t, "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())", script)
	}
}

// TestReadmeShowsMeasuredNumbers: the tables of README.md are what table.py prints of all table*.json.
func TestReadmeShowsMeasuredNumbers(t *testing.T) {
	_, shown, found := strings.Cut(read(t, "README.md"), "<!-- table.py writes from here -->\n")
	require.True(t, found)
	shown, _, found = strings.Cut(shown, "<!-- to here -->\n")
	require.True(t, found)
	kept := testkit.Must(filepath.Glob("table*.json"))
	require.Equal(t, run(t, append([]string{"table.py", "--from"}, kept...)...), shown, "write it by table.py --from table.json --readme")
}

// TestTables: medians and ranges over turns, time on the wall where training has several threads, the faster
// PyTorch, no ratio beside busy neighbours, dashes, and limits that were met.
func TestTables(t *testing.T) {
	require.Equal(t, read(t, "testdata/invented.md"), run(t, "table.py", "--from", "testdata/invented.json"))
}

// TestTurns: answers are kept in order, engines that are too slow, fail or refuse are said, and the others
// go on without them.
func TestTurns(t *testing.T) { run(t, "testdata/turns_check.py") }
