package buildinfo

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadNamesThisBuild(t *testing.T) {
	info := Read()
	require.NotEmpty(t, info.Version)
	require.NotEqual(t, "(unknown)", info.Version, "test binaries carry their build information")
	require.Equal(t, runtime.Version(), info.Go)
	require.Equal(t, runtime.GOOS+"/"+runtime.GOARCH, info.Platform)
}

func TestStringShowsTheCommit(t *testing.T) {
	require.Equal(t, "v1.2.3", Info{Version: "v1.2.3"}.String())
	require.Equal(t, "(devel) abc", Info{Version: "(devel)", Commit: "abc"}.String())
	require.Equal(t, "(devel) abc+", Info{Version: "(devel)", Commit: "abc", Modified: true}.String())
}

func TestLinkedVersionsFillInWhatGoDidNotRecord(t *testing.T) {
	version, commit = "v1.2.3", "abc"
	defer func() { version, commit = "", "" }()
	require.Equal(t, Info{Version: "v1.2.3", Commit: "abc"}, linked(Info{Version: "(devel)"}))
	require.Equal(t, Info{Version: "v1.0.0", Commit: "def", Modified: true}, linked(Info{Version: "v1.0.0", Commit: "def", Modified: true}))
}
