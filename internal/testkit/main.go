package testkit

import (
	"os"
	"path/filepath"
)

// Main runs the tests of a package in separate folders. Temporary files are in memory if the system supports
// it, since tests sync thousands of files. The state folder is not the user's. Main returns the exit code.
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
