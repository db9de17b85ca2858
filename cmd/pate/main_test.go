package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(withState{m}, map[string]func(){"pate": main})
}

// withState runs tests with a state folder of their own: not the user's. They run hundreds of
// commands in one process, of which little stays: it is collected when much has gathered.
type withState struct{ m *testing.M }

func (w withState) Run() int {
	state, err := os.MkdirTemp("", "pate-state-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(state)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(256 << 20)
	if err := os.Setenv("XDG_STATE_HOME", state); err != nil {
		panic(err)
	}
	return w.m.Run()
}

// ownState gives a script a state folder.
func ownState(env *testscript.Env) error {
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
	return nil
}

// TestScripts types what a user types; each file in testdata/script is a
// session.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: ownState, Cmds: scriptCommands})
}
