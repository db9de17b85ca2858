package kernel

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAssemblyIsGenerated checks that the assembly in the repository is what the generator writes. Go
// generate writes it anew.
func TestAssemblyIsGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the generator")
	}
	dir := t.TempDir()
	generate := exec.Command("go", "run", ".", "-out", filepath.Join(dir, "fma_amd64.s"), "-stubs", filepath.Join(dir, "fma_amd64.go"),
		"-other", filepath.Join(dir, "fma_other.go"), "-pkg", "kernel")
	generate.Dir = "gen"
	generate.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly", "GOARCH=", "GOOS=")
	if out, err := generate.CombinedOutput(); err != nil {
		require.Contains(t, string(out), "module lookup disabled", "%s", out)
		t.Skip("the modules of the generator are not here: go -C internal/kernel/gen mod download")
	}
	for _, name := range []string{"fma_amd64.s", "fma_amd64.go", "fma_other.go"} {
		code := func(path string) string {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			_, rest, _ := strings.Cut(string(text), "\n") // the command
			return rest
		}
		require.True(t, code(filepath.Join(dir, name)) == code(name), "%s is not what gen writes: run go generate", name)
	}
}
