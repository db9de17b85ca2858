package report

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/testkit"
)

// TestInABrowser opens the pages of a sweep and of one target from disk, without a network, on a phone and
// on a desk, light and dark. What makes it fail is shown by a page that is too wide.
func TestInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("skipped: no chromium on this machine")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("skipped: no node on this machine to drive chromium with")
	}
	dir := t.TempDir()
	var addresses []string
	for name, r := range map[string]*experiments.Result{"sweep": measured(t), "single": full()} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		require.NoError(t, Write(filepath.Join(dir, name), r, "pate compare --seed 1 --data "+strings.Repeat("folder/", 30)))
		addresses = append(addresses, "file://"+filepath.Join(dir, name, "private", "results", "report.html"))
	}
	wide := filepath.Join(dir, "wide.html")
	require.NoError(t, os.WriteFile(wide, []byte(`<!doctype html><meta name="viewport" content="width=device-width"><pre style="width:2000px">wide</pre><script>throw "up"</script>`), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	look := func(addresses ...string) (told struct {
		Seen []struct {
			Address, Scheme, Ink, Paper string
			Width, Charts               int
			Overflow, Decision          float64
			Clash                       []string
		}
		Errors []string
	}) {
		args := append([]string{"testdata/browser.js", browser, testkit.Folder(t)}, addresses...)
		require.NoError(t, json.Unmarshal(testkit.Must(exec.CommandContext(ctx, node, args...).Output()), &told))
		return told
	}
	told := look(append(addresses, "file://"+wide)...)
	require.Len(t, told.Errors, 1, "that of the page which shall fail: %v", told.Errors)
	require.Len(t, told.Seen, 12)
	colours := map[string]string{}
	for _, s := range told.Seen {
		if strings.HasSuffix(s.Address, "wide.html") {
			require.Positive(t, s.Overflow)
			continue
		}
		require.Zero(t, s.Overflow, "%s at %d", s.Address, s.Width)
		require.Empty(t, s.Clash, "%s at %d", s.Address, s.Width)
		require.Positive(t, s.Decision)
		require.Less(t, s.Decision, 844.0, "on the first screen")
		colours[s.Scheme] = s.Ink + " on " + s.Paper
		if charts := 4; strings.Contains(s.Address, "sweep") {
			require.Equal(t, charts, s.Charts, "one drawing of each for this width, and the gap histogram")
		}
	}
	require.NotEqual(t, colours["light"], colours["dark"])
}

func full() *experiments.Result {
	r := sample()
	r.ClassNames, r.ClassRows = []string{"a class with a rather long name", "b"}, []int{600, 400}
	for i := range r.Rows {
		r.Rows[i].Recall = []float64{0.9, 1}
	}
	r.Rows = append(r.Rows, experiments.Row{Method: experiments.Plurality, Accuracy: 0.95}, experiments.Row{Method: experiments.TrueLabels, Accuracy: 0.987})
	return r
}

func measured(t *testing.T) *experiments.Result {
	var r experiments.Result
	testkit.ReadJSON(t, filepath.Join("..", "..", "docs", "results", "optdigits.json"), &r)
	return &r
}
