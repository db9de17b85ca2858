package testkit

import (
	"os"
	"path/filepath"
)

// Main runs the tests of a package with their own temporary folder and state folder. Tests sync thousands of
// files, so temporary files are in memory if possible. Main returns the exit code.
func Main(m interface{ Run() int }) int {
	dir := Must(os.MkdirTemp(memoryFolder(), "pate-test-"))
	defer os.RemoveAll(dir)
	for name, value := range map[string]string{"TMPDIR": dir, "XDG_STATE_HOME": filepath.Join(dir, "state")} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return m.Run()
}
