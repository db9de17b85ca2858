//go:build course

package site

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/learn/page"
	"github.com/pate-go/pate/internal/testkit"
)

// TestInABrowser opens the file from disk with the network off, turns every knob of every
// chapter, and compares the numbers with native ones. Of the chapter that trains models one
// picture is drawn. AXE may name axe.min.js, of the npm package axe-core: then no chapter may
// have a serious finding, in light or dark.
func TestInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("skipped: no chromium on this machine")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("skipped: no node on this machine to drive chromium with")
	}
	course := testkit.Must(File(embedded))
	path := filepath.Join(t.TempDir(), "course.html")
	require.NoError(t, os.WriteFile(path, course, 0o644))
	out, err := exec.CommandContext(t.Context(), node, "testdata/browser.js", browser, testkit.Folder(t), "file://"+path+"#selftest", os.Getenv("AXE")).Output()
	require.NoError(t, err)
	var told struct {
		Seen []struct {
			Chapter   string
			Situation page.Situation
			MS        float64
			Error     string
			Numbers   []page.Number
		}
		Errors []string
	}
	require.NoError(t, json.Unmarshal(out, &told))
	require.Empty(t, told.Errors)
	chapters := make(map[string]bool)
	var times []float64
	for _, s := range told.Seen {
		require.Empty(t, s.Error, "%s %v", s.Chapter, s.Situation)
		chapters[s.Chapter] = true
		times = append(times, s.MS)
		native := testkit.Must(testkit.Must(page.Find(s.Chapter)).Draw(s.Situation))
		same(t, native.Numbers, &page.View{Numbers: s.Numbers}, page.Request{Chapter: s.Chapter, Situation: s.Situation})
	}
	require.Len(t, chapters, len(page.Chapters()))
	slices.Sort(times)
	t.Logf("%d knobs turned, median %.0f ms", len(times), times[len(times)/2])
}
