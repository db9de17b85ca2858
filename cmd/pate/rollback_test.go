package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"

	"github.com/pate-go/pate/internal/testkit"
)

type copies map[string]string

func keptFiles(t *testing.T) map[string]string {
	t.Helper()
	marks := testkit.Must(filepath.Glob("state/pate/ledgers/*.head"))
	require.Len(t, marks, 1)
	return map[string]string{"ledger": "run.jsonl", "head": "run.jsonl.head", "id": "run.jsonl.id", "mark": marks[0]}
}

func takeCopies(t *testing.T) copies {
	t.Helper()
	c := copies{}
	for what, path := range keptFiles(t) {
		text := testkit.Must(os.ReadFile(path))
		c[what] = string(text)
	}
	return c
}

type condition struct{ ledger, head, id, mark string }

func conditions() []condition {
	var all []condition
	three := []string{"older", "missing", "present"}
	for _, l := range three {
		for _, h := range three {
			for _, id := range three[1:] {
				for _, mark := range three {
					all = append(all, condition{l, h, id, mark})
				}
			}
		}
	}
	return all
}

func (c condition) put(t *testing.T, paths map[string]string, older, newer copies) {
	t.Helper()
	for what, is := range map[string]string{"ledger": c.ledger, "head": c.head, "id": c.id, "mark": c.mark} {
		switch is {
		case "missing":
			if err := os.Remove(paths[what]); err != nil {
				require.ErrorIs(t, err, fs.ErrNotExist)
			}
		case "older":
			require.NoError(t, os.WriteFile(paths[what], []byte(older[what]), 0o600))
		default:
			require.NoError(t, os.WriteFile(paths[what], []byte(newer[what]), 0o600))
		}
	}
}

// harmless reports whether a release under this condition is none that was charged to
// lines that are lost: all lines are there.
func (c condition) harmless() bool { return c.ledger == "present" }

// undetectable reports whether no file that is left tells that the ledger is not the
// newest: all of them were put back together, or all were removed.
func (c condition) undetectable() bool {
	switch c.ledger {
	case "older":
		return c.head == "older" && c.id == "present" && c.mark != "present"
	case "missing":
		return c.head == "missing" && c.id == "missing"
	}
	return false
}

func (c condition) refused() bool {
	if c.harmless() {
		return c.head == "missing" || c.id == "missing"
	}
	return !c.undetectable()
}

// TestRollback: under every combination of ledger, head, id and second head that are put
// back, missing or present, nothing is released that lines which are lost have charged,
// but where no file can tell; and `verify` and `statement` find what can be found.
func TestRollback(t *testing.T) {
	for i, c := range releasingCommands()[:3] {
		t.Run(c.name, func(t *testing.T) {
			preparedFolder(t)
			var at [2]copies
			for n := range at {
				code, said := command(t.Context(), c.args(n))
				require.Equal(t, shell.ExitDone, code, said)
				at[n] = takeCopies(t)
			}
			paths := keptFiles(t)
			refused, silent := 0, 0
			for k, is := range conditions() {
				if !*long && i > 0 && k%4 != i { // of what charges the same ledger by the same steps
					continue
				}
				is.put(t, paths, at[0], at[1])
				if i == 0 { // what they compare with a head are lines, whoever charged them
					readers(t, is)
				}
				code, said := command(t.Context(), c.args(2))
				if is.refused() {
					require.Equal(t, shell.ExitCheckFailed, code, "%+v: %s", is, said)
					require.Empty(t, files(t, c.out(2)), "%+v", is)
					require.NotContains(t, said, "restore the file from a copy")
					refused++
				} else {
					require.Equal(t, shell.ExitDone, code, "%+v: %s", is, said)
					require.NotEmpty(t, files(t, c.out(2)), "%+v", is)
				}
				if is.undetectable() {
					silent++
				}
				clearRelease(t, paths)
			}
			t.Logf("of %d combinations %d are refused; in %d no file tells", len(conditions()), refused, silent)
			if i == 0 || *long {
				require.Equal(t, 54, refused+silent+6) // in 6 all lines are there, and a head
			}
		})
	}
}

func readers(t *testing.T, is condition) {
	t.Helper()
	want := shell.ExitDone
	switch {
	case is.ledger == "missing":
		want = shell.ExitInvalidInput
	case is.ledger == "older" && (is.head == "present" || is.mark == "present"):
		want = shell.ExitCheckFailed
	}
	for _, args := range [][]string{{"verify", "run.jsonl"}, {"ledger", "show", "run.jsonl"}, {"ledger", "statement", "run.jsonl"}} {
		code, said := command(t.Context(), args)
		require.Equal(t, want, code, "%v %+v: %s", args, is, said)
	}
}

func clearRelease(t *testing.T, paths map[string]string) {
	t.Helper()
	left := testkit.Must(filepath.Glob("out2*"))
	keys := testkit.Must(filepath.Glob("run.jsonl*"))
	marks := testkit.Must(filepath.Glob("state/pate/ledgers/*"))
	for _, path := range append(append(left, keys...), marks...) {
		require.NoError(t, os.RemoveAll(path))
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(paths["mark"]), 0o700))
}

// TestRollbackOfARunsOwnLedger: the ledger of a run, put back or removed with its head or
// without, is refused, or the run ends with what it had released: its noise comes from the
// key that is beside it until the run is complete.
func TestRollbackOfARunsOwnLedger(t *testing.T) {
	for _, c := range releasingCommands() {
		if c.book(0) == sharedLedger {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			preparedFolder(t)
			one := func() string {
				paths := slices.Sorted(maps.Keys(files(t, c.book(0))))
				require.Len(t, paths, 1, "of the first method")
				return paths[0]
			}
			read := func() copies {
				text := testkit.Must(os.ReadFile(one()))
				head := testkit.Must(os.ReadFile(one() + ".head"))
				return copies{"ledger": string(text), "head": string(head)}
			}
			put := func(path, is, older, newer string) {
				switch is {
				case "missing":
					require.NoError(t, os.Remove(path))
				case "older":
					require.NoError(t, os.WriteFile(path, []byte(older), 0o600))
				default:
					require.NoError(t, os.WriteFile(path, []byte(newer), 0o600))
				}
			}
			refused, same := 0, 0
			for _, l := range []string{"older", "missing", "present"} {
				for _, h := range []string{"older", "missing", "present"} {
					require.NoError(t, os.RemoveAll("out0"))
					crashAt(t, c.args(0), "reserved", 1, true)
					older := read()
					crashAt(t, c.args(0), "named", 1, true)
					newer, path := read(), one()
					left := files(t, c.out(0))
					require.Len(t, left, 1)
					put(path, l, older["ledger"], newer["ledger"])
					put(path+".head", h, older["head"], newer["head"])
					code, said := command(t.Context(), c.args(0))
					if code != shell.ExitDone {
						require.NotContains(t, []int{shell.ExitFailure, shell.ExitUsage}, code, said)
						refused++
						continue
					}
					now := files(t, c.out(0))
					for path, text := range left {
						require.Equal(t, text, now[path], "ledger %s, head %s", l, h)
					}
					same++
				}
			}
			t.Logf("of 9 combinations %d are refused, %d end with the same", refused, same)
			require.Positive(t, refused)
			require.Positive(t, same)
		})
	}
}

// TestANewLedgerInThePlaceOfAnother: where all files of a ledger were removed a new one
// begins with the whole budget, and not in silence.
func TestANewLedgerInThePlaceOfAnother(t *testing.T) {
	preparedFolder(t)
	for n, c := range releasingCommands()[:3] {
		_, said := command(t.Context(), c.args(0))
		require.Equal(t, n > 0, strings.Contains(said, "an older ledger of this name"), said)
		all := testkit.Must(filepath.Glob("run.jsonl*"))
		for _, path := range append(all, c.out(0)) {
			require.NoError(t, os.RemoveAll(path))
		}
	}
}
