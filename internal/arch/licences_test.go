package arch_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// extraTexts are licences beside LICENSE that cover what a module puts into the
// binary.
var extraTexts = map[string][]string{
	"codeberg.org/go-fonts/liberation": {"LICENSE-SIL"},
	"github.com/golang/freetype":       {"licenses/ftl.txt"},
	"github.com/ajstarks/svgo":         {"LICENSE-link.txt"},
}

func modules(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Dir}}{{end}}", module+"cmd/pate").Output()
	require.NoError(t, err)
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), " "); ok && path+"/" != module {
			found[path] = dir
		}
	}
	return found
}

// TestLicences: NOTICE names every module that is linked into the command, and
// licenses/THIRD-PARTY.txt has the text of its licence. UPDATE_GOLDEN=1 rewrites
// the texts; NOTICE is written by hand.
func TestLicences(t *testing.T) {
	linked := modules(t)
	require.Greater(t, len(linked), 10)
	paths := make([]string, 0, len(linked))
	for path := range linked {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	notice, err := os.ReadFile("../../NOTICE")
	require.NoError(t, err)
	var texts bytes.Buffer
	fmt.Fprintln(&texts, "Licences of the modules that are linked into the command pate; see NOTICE.")
	for _, path := range paths {
		require.Contains(t, string(notice), "\n"+path+" ", "linked into the command, and not in NOTICE")
		fmt.Fprintf(&texts, "\n%s\n%s\n\n", strings.Repeat("=", 78), path)
		texts.WriteString(licenceText(t, path, linked[path]))
	}
	const file = "../../licenses/THIRD-PARTY.txt"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, texts.Bytes(), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, texts.Bytes()), "%s is not up to date: UPDATE_GOLDEN=1 go test ./internal/arch", file)
}

func licenceText(t *testing.T, path, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "LICEN[CS]E*"))
	require.NoError(t, err)
	var text strings.Builder
	for _, f := range files {
		switch filepath.Base(f) {
		case "LICENSE", "LICENSE.md", "LICENSE.txt":
		default:
			continue
		}
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		text.WriteString(clean(b))
	}
	for _, extra := range extraTexts[path] {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(extra)))
		require.NoError(t, err)
		fmt.Fprintf(&text, "\n-- %s --\n\n%s", extra, clean(b))
	}
	if text.Len() == 0 {
		return "This module comes without the text of a licence; its files refer to the BSD-style\nlicence of the Gonum authors, which stands under gonum.org/v1/gonum.\n"
	}
	return text.String()
}

func clean(text []byte) string {
	var out strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\f", "\n")) {
		out.WriteString(strings.TrimRight(line, " \t\r\n") + "\n")
	}
	return out.String()
}
