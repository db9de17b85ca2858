package label

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

// A ledger that was lost, wholly or in part, is not begun anew.
func TestALostLedgerIsRefused(t *testing.T) {
	first := func(text string) string { line, _, _ := strings.Cut(text, "\n"); return line }
	for name, c := range map[string]struct {
		left func(whole string) string
		says string
	}{
		"removed":        {nil, "is gone or cut off"},
		"emptied":        {func(string) string { return "" }, "is gone or cut off"},
		"in its header":  {func(s string) string { return first(s)[:40] }, "is gone or cut off"},
		"its newline":    {first, "is gone or cut off"},
		"after the head": {func(s string) string { return first(s) + "\n" }, "the file once had"},
		"the last line":  {func(s string) string { return s[:strings.LastIndex(strings.TrimSuffix(s, "\n"), "\n")+1] }, "the file once had"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := standard(t)
			release1(t, asked)
			if c.left == nil {
				require.NoError(t, os.Remove(asked.Ledger))
			} else {
				write(t, asked.Ledger, c.left(read(t, asked.Ledger)))
			}
			before := contents(t, filepath.Dir(asked.Ledger))
			for _, out := range []string{asked.Out, asked.Out + "2"} {
				asked.Out = out
				_, err := Run(context.Background(), asked)
				require.ErrorContains(t, err, c.says)
				require.Equal(t, before, contents(t, filepath.Dir(asked.Ledger)), "nothing is written")
			}
		})
	}
	t.Run("a copy from before", func(t *testing.T) {
		asked := standard(t)
		asked.Setting = asked.Setting.With("sigma", 40)
		release1(t, asked)
		old := read(t, asked.Ledger)
		again := asked
		again.Out += "2"
		again.Votes = open(t, write(t, filepath.Join(t.TempDir(), "more.csv"),
			voteRows(2, 2*testQueries, testTeachers)), votes.Options{From: testQueries})
		release1(t, again)
		write(t, asked.Ledger, old)
		again.Out += "3"
		_, err := Run(context.Background(), again)
		require.ErrorIs(t, err, ledger.ErrCorrupt)
		require.NoFileExists(t, again.Out)
	})
	t.Run("a head that is none", func(t *testing.T) {
		asked := standard(t)
		release1(t, asked)
		write(t, run.HeadFile(asked.Ledger), "7\n")
		_, err := Run(context.Background(), asked)
		require.ErrorContains(t, err, "is not the head of a ledger")
	})
}
