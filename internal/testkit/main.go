package testkit

import (
	"os"
	"path/filepath"
)

// Main runs the tests of a package in folders of their own. Temporary files lie in memory where the system
// offers it, since tests sync thousands of files. The state folder is not the user's. Main returns the code.
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
