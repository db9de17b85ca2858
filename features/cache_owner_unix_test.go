//go:build unix

package features

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/testkit"
)

func TestCacheOfOthers(t *testing.T) {
	ctx := context.Background()
	set := randomSet(4, dataset.Shape{Rows: 2, Cols: 3})
	var calls atomic.Int64
	e := counting{calls: &calls}
	want := testkit.Must(Apply(ctx, set, e, 1))
	planted := matrixOf(want.Rows, want.Cols, want.Stride)
	for i := range planted.Data {
		planted.Data[i] = 42
	}
	key := keyOf(t, set, e)

	for _, c := range []struct {
		name         string
		folder, file fs.FileMode
		warning      string // "" if the file is believed
		replaced     bool
	}{
		{"the user's", 0o700, 0o600, "", false},
		{"readable", 0o755, 0o644, "", false},
		{"a file of the group", 0o700, 0o620, "the cache was not read", true},
		{"everybody's file", 0o700, 0o606, "the cache was not read", true},
		{"a folder of the group", 0o770, 0o600, "the cache is not used", false},
		{"everybody's folder", 0o777, 0o600, "the cache is not used", false},
		{"a folder as for temporary files", 0o777 | fs.ModeSticky, 0o600, "the cache is not used", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "c")
			require.NoError(t, os.Mkdir(dir, 0o700))
			path := filepath.Join(dir, cacheFile{key: key}.name())
			f := testkit.Must(os.Create(path))
			require.NoError(t, cacheFile{key: key}.write(f, floatRows{planted}))
			require.NoError(t, f.Close())
			require.NoError(t, os.Chmod(path, c.file))
			require.NoError(t, os.Chmod(dir, c.folder))
			was := testkit.Must(os.ReadFile(path))

			var warned []error
			cache := Cache{Dir: dir, Warn: func(err error) { warned = append(warned, err) }}
			got := testkit.Must(cache.Apply(ctx, set, e, 1))
			if c.warning == "" {
				require.Equal(t, planted, got)
				require.Empty(t, warned)
			} else {
				require.Equal(t, want, got)
				require.Len(t, warned, 1)
				require.ErrorContains(t, warned[0], c.warning)
				require.ErrorContains(t, warned[0], "can be written by other users")
			}
			require.Equal(t, !c.replaced, string(was) == string(testkit.Must(os.ReadFile(path))))
			require.Len(t, testkit.Must(os.ReadDir(dir)), 1)
			if c.replaced {
				require.Equal(t, fs.FileMode(0o600), testkit.Must(os.Stat(path)).Mode().Perm())
			}
		})
	}
}
