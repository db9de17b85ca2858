package site

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPagesAreAlone: pages hold the program and ask for nothing outside of their folder.
func TestPagesAreAlone(t *testing.T) {
	program := Program{Packed: []byte("a program"), Glue: []byte("// glue")}
	file, err := File(program)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, WriteFolder(dir, program))
	script, err := os.ReadFile(filepath.Join(dir, "course.js"))
	require.NoError(t, err)
	served, err := Served()
	require.NoError(t, err)
	for _, holds := range [][]byte{file, script} {
		require.Contains(t, string(holds), "// glue")
		require.Contains(t, string(holds), base64.StdEncoding.EncodeToString(program.Packed))
	}
	chapter, err := os.ReadFile(filepath.Join(dir, "noisy-argmax.html"))
	require.NoError(t, err)
	require.Contains(t, string(chapter), "<svg")
	require.Contains(t, string(chapter), `<script src="course.js">`)
	for _, page := range [][]byte{file, served} {
		require.Contains(t, string(page), "Noisy argmax")
		require.NotContains(t, string(page), "src=")
	}
	for _, page := range [][]byte{file, served, chapter} {
		for _, outside := range []string{"http:", "https:", "//cdn", "@import"} {
			require.NotContains(t, string(page), outside)
		}
	}
}
