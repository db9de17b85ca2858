// Package buildinfo describes the build of the running program.
package buildinfo

import (
	"runtime"
	"runtime/debug"
	"slices"
)

// Module is the import path of the project.
const Module = "github.com/pate-go/pate"

// The linker flag -X sets version and commit if a release is built without git.
var version, commit string

type Info struct {
	Version  string `json:"version"`            // a tag, a pseudo-version, or "(devel)"
	Commit   string `json:"commit,omitempty"`   // empty if not recorded
	Modified bool   `json:"modified,omitempty"` // the work tree differed from Commit
	Go       string `json:"go"`
	Platform string `json:"platform"` // GOOS/GOARCH
}

// Read returns the build of the running program, whether the project is the main module or a dependency.
func Read() Info {
	info := Info{Version: "(unknown)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if i := slices.IndexFunc(build.Deps, func(m *debug.Module) bool { return m.Path == Module }); i >= 0 {
		info.Version = build.Deps[i].Version // commit and changes would describe the other module
		return info
	}
	info.Version = build.Main.Version
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Commit = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	return linked(info)
}

func linked(info Info) Info {
	if version != "" && (info.Version == "" || info.Version == "(devel)") {
		info.Version = version
	}
	if info.Commit == "" {
		info.Commit = commit
	}
	return info
}

// String returns "VERSION" or "VERSION COMMIT", with a "+" if the work tree was modified.
func (i Info) String() string {
	if i.Commit == "" {
		return i.Version
	}
	if i.Modified {
		return i.Version + " " + i.Commit + "+"
	}
	return i.Version + " " + i.Commit
}
