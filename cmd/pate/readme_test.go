package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/npy"

	"github.com/pate-go/pate/internal/testkit"
)

// TestReadme runs what README tells those to type who come with votes of their own, on
// such votes.
func TestReadme(t *testing.T) {
	page := testkit.Must(os.ReadFile(filepath.Join("..", "..", "README.md")))
	_, section, found := strings.Cut(string(page), "\n## Your own votes\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	script := strings.Replace(docScript(section), "twins\n", "grep '^query,label$' labels.csv\ngrep '^0,(asthma|flu|gout|none)?$' labels.csv\nexists statement.html\n", 1)
	require.Equal(t, 3, strings.Count(script, "exec "), "the commands of the section")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "readme.txtar"), []byte(script), 0o644))
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			if err := ownState(env); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(env.WorkDir, "votes.npy"), namedVotes(t), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"shows": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(shows(ts.ReadFile("stdout"), ts.ReadFile(args[0])))
			},
		},
	})
}

// namedVotes is what numpy.save writes of 60 teachers' votes on 3,000 rows, by name. Each
// is right 87 % of the time.
func namedVotes(t *testing.T) []byte {
	classes, rnd := []string{"asthma", "flu", "gout", "none"}, rand.New(rand.NewPCG(1, 1))
	const rows, teachers, width = 3000, 60, 6
	var file bytes.Buffer
	require.NoError(t, npy.WriteHeader(&file, npy.Header{Type: fmt.Sprintf("<U%d", width), Shape: []int{rows, teachers}}))
	for range rows {
		right := rnd.IntN(len(classes))
		for range teachers {
			class := right
			if rnd.Float64() > 0.87 {
				class = rnd.IntN(len(classes))
			}
			var letters [4 * width]byte
			for i, letter := range classes[class] {
				binary.LittleEndian.PutUint32(letters[4*i:], uint32(letter))
			}
			file.Write(letters[:])
		}
	}
	return file.Bytes()
}
