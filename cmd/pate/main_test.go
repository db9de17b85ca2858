package main

import (
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pate-go/pate/internal/testkit"
)

func TestMain(m *testing.M) {
	testscript.Main(ownFolders{m}, map[string]func(){"pate": main})
}

// ownFolders runs hundreds of commands in one process, of which little stays: garbage is collected when
// much has gathered.
type ownFolders struct{ m *testing.M }

func (o ownFolders) Run() int {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(256 << 20)
	return testkit.Main(o.m)
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
