package ledger_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
)

// A file that its name no longer means charges nothing, and nothing leaves under it.
func TestAFileThatLostItsName(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
		"renamed": func(t *testing.T, path string) { require.NoError(t, os.Rename(path, path+".old")) },
		"replaced": func(t *testing.T, path string) {
			text := testkit.Must(os.ReadFile(path))
			require.NoError(t, os.WriteFile(path+".new", text, 0o600))
			require.NoError(t, os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.jsonl")
			cfg := config
			cfg.Mode = ledger.Filter
			l := testkit.Must(ledger.Open(t.Context(), path, cfg, ledger.VerifyOptions{}))
			defer l.Close()
			r := testkit.Must(l.Reserve(queries(1)))
			lose(t, path)
			require.ErrorIs(t, l.Commit(r, []byte("labels")), ledger.ErrBroken)
			require.ErrorIs(t, testkit.Err(l.Reserve(queries(1))), ledger.ErrBroken)
			require.ErrorIs(t, r.Begin(queries(1), ledger.Use{Secret: true}), ledger.ErrBroken)
			if name == "renamed" { // nothing was written under the old name
				f := testkit.Must(os.Open(path + ".old"))
				defer f.Close()
				s := testkit.Must(ledger.Verify(f, ledger.VerifyOptions{}))
				require.EqualValues(t, 1, s.Entries)
				require.Zero(t, s.Commits)
			}
		})
	}
}

func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	_, err := ledger.Open(t.Context(), dir, config, ledger.VerifyOptions{})
	require.ErrorContains(t, err, "no regular file")
	info := testkit.Must(os.Stat(dir))

	path := filepath.Join(dir, "ledger.jsonl")
	l := testkit.Must(ledger.Open(t.Context(), path, config, ledger.VerifyOptions{}))
	require.NoError(t, l.Close())
	made := testkit.Must(os.Stat(path))
	require.Equal(t, os.FileMode(0o600), made.Mode().Perm())
	require.NoError(t, os.Chmod(path, 0o640))
	l = testkit.Must(ledger.Open(t.Context(), path, config, ledger.VerifyOptions{}))
	require.NoError(t, l.Close())
	made = testkit.Must(os.Stat(path))
	require.Equal(t, os.FileMode(0o640), made.Mode().Perm(), "what somebody allowed stays allowed")
	after := testkit.Must(os.Stat(dir))
	require.Equal(t, info.Mode(), after.Mode())
}
