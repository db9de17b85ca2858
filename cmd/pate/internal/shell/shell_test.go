package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"testing/iotest"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
)

func TestInputReadsWhatIsThere(t *testing.T) {
	want := bytes.Repeat([]byte("votes\n"), 20_000)
	for name, in := range map[string]io.Reader{
		"whole": bytes.NewReader(want), "halves": iotest.HalfReader(bytes.NewReader(want)), "end with data": iotest.DataErrReader(bytes.NewReader(want)),
	} {
		i := NewInput(t.Context(), in)
		got, err := io.ReadAll(i)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
		require.False(t, i.Cut(), name)
		require.False(t, i.Terminal(), name)
	}
}

func TestASilentInputEndsWithTheContext(t *testing.T) {
	silent, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	i := NewInput(ctx, silent)
	time.AfterFunc(10*time.Millisecond, cancel)
	for range 2 {
		n, err := i.Read(make([]byte, 8))
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, n)
		require.True(t, i.Cut())
	}
}

func TestTargetsAreSwept(t *testing.T) {
	dir := t.TempDir()
	litter, other := filepath.Join(dir, ".page.html.17.tmp"), filepath.Join(dir, ".other.html.17.tmp")
	for _, path := range []string{litter, other} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	require.NoError(t, Target{Flag: "--out", Path: filepath.Join(dir, "page.html")}.CheckReplaceable())
	require.NoFileExists(t, litter)
	require.FileExists(t, other)
}

func TestALargeDeltaIsRefusedEarly(t *testing.T) {
	g, cmd := &Globals{}, &cobra.Command{}
	cmd.Flags().Float64Var(&g.Delta, "delta", 0.01, "")
	gate := func(f DataFlags, size int) func(int, bool) error {
		require.NoError(t, f.DeltaGate(g, cmd, "units", size))
		return f.accept
	}
	require.Nil(t, gate(DataFlags{}, 1000), "the default follows from the units")
	require.NoError(t, cmd.Flags().Set("delta", "0.01"))
	require.Nil(t, gate(DataFlags{Quick: true}, 0))
	require.ErrorContains(t, (&DataFlags{}).DeltaGate(g, cmd, "units", 1000), "must be below 1/1000")
	for f, early := range map[*DataFlags]bool{{Split: string(dataset.Literature)}: true, {Split: string(dataset.Development)}: false,
		{OtherLabels: "other"}: true, {OtherLabels: dataset.DropOther}: false} {
		require.NoError(t, gate(*f, 99)(100, true), "a declared number counts")
		gate := gate(*f, 0)
		require.NoError(t, gate(99, true))
		require.NoError(t, gate(99, false))
		require.ErrorContains(t, gate(100, true), "must be below 1/100, where 100 is the number of units")
		if err := gate(100, false); early {
			require.ErrorContains(t, err, "n, the number of units, is at least 1/delta")
		} else {
			require.NoError(t, err)
		}
	}
}

// TestOneStageIsShownAtATime: other stages wait until it ends or stops, and times count from the start of each.
func TestOneStageIsShownAtATime(t *testing.T) {
	f := testkit.Must(os.Create(filepath.Join(t.TempDir(), "screen")))
	p := &progress{out: f, begun: map[string]time.Time{}}
	var read int
	shows := func(want string) {
		t.Helper()
		screen := testkit.Must(os.ReadFile(f.Name()))
		require.Regexp(t, want, string(screen[read:]))
		read = len(screen)
	}
	p.Update("teachers", 0, 10)
	shows("teachers .* 0 %")
	p.Update("student", 0, 4)
	shows("^$")
	p.begun["teachers"], p.begun["student"] = time.Now().Add(-30*time.Second), time.Now().Add(-6*time.Second)
	p.drawn = time.Time{}
	p.Update("teachers", 3, 10)
	shows("teachers .* 30 %  1m10s left")
	p.stepped = time.Now().Add(-patience)
	p.Update("student", 3, 4)
	shows("student .* 75 %  2s left")
	p.Update("teachers", 4, 10)
	shows("^$")
	p.Update("student", 4, 4)
	shows("student .* 100 %")
	p.Update("trees", 0, 1)
	shows("trees \\.\\.\\. +$")
}

func TestAWarningIsSaidOnce(t *testing.T) {
	var errs bytes.Buffer
	g := Globals{Stderr: &errs, Quiet: true}
	for _, text := range []string{"a", "b", "a"} {
		g.Warn(text)
	}
	g.Warn("two\nlines") // programs read one line each
	require.Equal(t, "pate: warning: a\npate: warning: b\npate: warning: two\\nlines\n", errs.String())
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"lable", "label", 1}, {"vrify", "verify", 1}, {"kitten", "sitting", 3}, {"né", "ne", 1}} {
		require.Equal(t, c.want, editDistance(c.a, c.b), "%q %q", c.a, c.b)
		require.Equal(t, c.want, editDistance(c.b, c.a), "%q %q", c.b, c.a)
	}
	require.Empty(t, didYouMean("zzz", []string{"label", "ledger"}))
	require.Empty(t, didYouMean("q", []string{"a", "b"}), "any letter is one edit from any other")
}

func TestTheCacheTellsOfItsFirstTroubleAlone(t *testing.T) {
	var told []string
	c := FeatureCache(func(text string) { told = append(told, text) })
	c.Warn(errors.New("features: damaged"))
	c.Warn(errors.New("features: damaged too"))
	require.Equal(t, []string{"features: damaged; what the cache lacks is computed"}, told)
}

func TestSpareMemory(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	percent := func(task dataset.Task) int {
		SpareMemory(task)
		return debug.SetGCPercent(100)
	}
	many := dataset.Set{X: dense.New(1, manyBytes/4/2)}
	images := dataset.Shape{Rows: 28, Cols: 28}
	require.Equal(t, 5, percent(dataset.Task{Image: images, Private: many, Test: many}))
	require.Equal(t, 100, percent(dataset.Task{Image: images, Private: many}), "few images")
	require.Equal(t, 30, percent(dataset.Task{Private: many, Test: many}), "a table")
}

func TestCollectAtIsUndone(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	restore := CollectAt(30)
	require.Equal(t, 30, debug.SetGCPercent(40))
	restore()
	require.Equal(t, 77, debug.SetGCPercent(77))
}
