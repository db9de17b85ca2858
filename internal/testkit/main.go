package testkit

import (
	"os"
	"path/filepath"
)

// Main runs the tests of a package and returns the exit code. Tests sync thousands of files, so temporary
// files and state are in a new folder, in memory if possible.
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
