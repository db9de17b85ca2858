package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/run"
)

// A ledger under which something left, and of which no second head is known, may be an older copy that was
// put back with all that is beside it. That is told once: then the head is known.
func TestASecondHeadThatIsMissingIsToldOnce(t *testing.T) {
	f, warned := book(t)
	b := testkit.Must(f.Open(t.Context(), f.New))
	require.NoError(t, b.Close())
	require.NoError(t, os.RemoveAll(os.Getenv("XDG_STATE_HOME")))
	testkit.Must(do(t.Context(), one(f, "a")))
	require.Empty(t, *warned, "nothing had left")

	require.NoError(t, os.RemoveAll(os.Getenv("XDG_STATE_HOME"))) // as on another machine
	for _, name := range []string{"a", "b", "c"} {
		testkit.Must(do(t.Context(), one(f, name)))
		require.Len(t, *warned, 1)
	}
	require.Contains(t, (*warned)[0], "used from another machine")
	require.Contains(t, (*warned)[0], "older copy")
}

// What a killed process left in the state folder goes when the ledger is opened next.
func TestTheStateFolderIsSwept(t *testing.T) {
	f, _ := book(t)
	testkit.Must(do(t.Context(), one(f, "a")))
	state := filepath.Join(os.Getenv("XDG_STATE_HOME"), "pate", "ledgers")
	kept := testkit.Must(os.ReadDir(state))
	require.Len(t, kept, 2, "a head and an index")
	for _, file := range kept {
		require.NoError(t, os.WriteFile(filepath.Join(state, "."+file.Name()+".17.tmp"), nil, 0o600))
	}
	testkit.Must(do(t.Context(), one(f, "b")))
	left := testkit.Must(os.ReadDir(state))
	require.Len(t, left, 2)
}

// A link to a ledger is not charged: nothing comes to lie beside the link.
func TestALinkToALedger(t *testing.T) {
	f, _ := book(t)
	testkit.Must(do(t.Context(), one(f, "a")))
	link := f
	link.Path = filepath.Join(filepath.Dir(f.Path), "link.jsonl")
	require.NoError(t, os.Symlink(filepath.Base(f.Path), link.Path))
	known := testkit.Must(run.ReadHeads(link.Path))
	require.Positive(t, known.Beside.Lines)
	require.ErrorContains(t, testkit.Err(do(t.Context(), one(link, "b"))), "is a link to ")
	require.NoFileExists(t, run.HeadFile(link.Path))
}

// An error about a ledger that is not whole names its file once.
func TestACorruptLedgerIsNamedOnce(t *testing.T) {
	f, _ := book(t)
	testkit.Must(do(t.Context(), one(f, "a")))
	text := testkit.Must(os.ReadFile(f.Path))
	require.NoError(t, os.WriteFile(f.Path, append(text, "x\n"...), 0o600))
	_, err := f.Open(t.Context(), f.New)
	require.ErrorIs(t, err, ledger.ErrCorrupt)
	require.Equal(t, 1, strings.Count(err.Error(), f.Path), err)
}
