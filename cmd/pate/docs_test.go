package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/npy"
	"github.com/pate-go/pate/internal/testkit"
)

// TestDocs runs what the pages in docs tell readers to type. In a block fenced as
// console, a line that begins with "$ " is a command and the lines below are what it
// prints, "..." for any number of lines or the end of one; in a block fenced as sh every line is a
// command. Commands are pate's, or pipes into pate. Files that they write must be
// those beside the page, if there are such; UPDATE_GOLDEN=1 rewrites these.
func TestDocs(t *testing.T) {
	docs := testkit.Must(filepath.Abs(filepath.Join("..", "..", "docs")))
	scripts, pages := t.TempDir(), make(map[string]string)
	require.NoError(t, filepath.WalkDir(docs, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		script := docScript(string(text))
		if script == "" {
			return nil
		}
		inside, err := filepath.Rel(docs, path)
		if err != nil {
			return err
		}
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.ToSlash(inside), ".md"), "/", "-")
		pages[name] = filepath.Dir(path)
		return os.WriteFile(filepath.Join(scripts, name+".txtar"), []byte(script), 0o644)
	}))
	require.Contains(t, pages, "lecture-README", "the lecture has commands")
	testscript.Run(t, testscript.Params{
		Dir: scripts, Setup: ownState,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"shows": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(shows(ts.ReadFile("stdout"), ts.ReadFile(args[0])))
			},
			"twins": func(ts *testscript.TestScript, _ bool, _ []string) {
				require.Contains(t, pages, ts.Name())
				ts.Check(twins(ts.MkAbs("."), pages[ts.Name()]))
			},
		},
	})
}

// docScript is the session of a page.
func docScript(page string) string {
	var script, files strings.Builder
	var fence string
	var shown []string
	command := func(line string) {
		if strings.Contains(line, "pate compare") { // takes minutes
			return
		}
		fmt.Fprintf(&script, "exec sh -c '%s'\n", strings.ReplaceAll(line, "'", "''"))
	}
	end := func() {
		if len(shown) > 0 {
			name := fmt.Sprintf("shown%d", strings.Count(script.String(), "\n"))
			fmt.Fprintf(&script, "shows %s\n", name)
			fmt.Fprintf(&files, "-- %s --\n%s\n", name, strings.Join(shown, "\n"))
		}
		shown = nil
	}
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, " \r\n")
		switch {
		case strings.HasPrefix(line, "```") && fence == "":
			fence = strings.TrimPrefix(line, "```")
		case strings.HasPrefix(line, "```"):
			end()
			fence = ""
		case fence == "sh" && strings.Contains(line, "pate "):
			command(line)
		case fence == "console" && strings.HasPrefix(line, "$ "):
			end()
			command(strings.TrimPrefix(line, "$ "))
		case fence == "console":
			shown = append(shown, line)
		}
	}
	if script.Len() == 0 {
		return ""
	}
	return script.String() + "twins\n" + files.String()
}

// shows reports how output differs from what a page shows of it. A line of the page
// that ends in " ..." is the beginning of one.
func shows(output, page string) error {
	got := strings.Split(strings.TrimRight(output, "\n"), "\n")
	is := func(line, want string) bool {
		if begin, cut := strings.CutSuffix(want, " ..."); cut {
			return strings.HasPrefix(line, begin)
		}
		return strings.TrimRight(line, " ") == strings.TrimRight(want, " ")
	}
	at, anywhere := 0, false
	for _, want := range strings.Split(strings.TrimRight(page, "\n"), "\n") {
		if want == "..." {
			anywhere = true
			continue
		}
		for anywhere && at < len(got) && !is(got[at], want) {
			at++
		}
		if at >= len(got) || !is(got[at], want) {
			return fmt.Errorf("the page shows %q, which is not there in:\n%s", want, output)
		}
		at, anywhere = at+1, false
	}
	if at < len(got) && !anywhere {
		return fmt.Errorf("the page does not show %q", got[at])
	}
	return nil
}

// twins compares the files in dir with those of the same name beside a page.
func twins(dir, page string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		beside := filepath.Join(page, f.Name())
		want, err := os.ReadFile(beside)
		if os.IsNotExist(err) || f.IsDir() {
			continue
		}
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(beside, got, 0o644); err != nil {
				return err
			}
		} else if string(got) != string(want) {
			return fmt.Errorf("%s is not what its command makes", beside)
		}
	}
	return nil
}

// TestDocsCanFail: the comparison of pages with output finds what differs.
func TestDocsCanFail(t *testing.T) {
	const output = "a\nb  \nc\n\nd\n"
	for _, page := range []string{output, "...\nd", "a\n...", "a\nb\n...\nd", "...\nb\nc\n...", "a\nb ...\nc ...\n\nd"} {
		require.NoError(t, shows(output, page), page)
	}
	for _, page := range []string{"a", "b\n...", "...\nc", "a\nc\n...", "...\nx\n...", "...\nd\nc\n...", "a\nbc ...\n..."} {
		require.Error(t, shows(output, page), page)
	}
	require.Equal(t, "exec sh -c 'echo ''x'' | pate account -'\nshows shown1\nexec sh -c 'pate learn law'\ntwins\n-- shown1 --\n1\n2\n",
		docScript("# t\n```console\n$ echo 'x' | pate account -\n1\n2\n```\n```sh\npate learn law\npate compare\n```\n```go\npate x\n```\n"))
}

func TestMain(m *testing.M) {
	testscript.Main(ownFolders{m}, map[string]func(){"pate": main})
}

// ownFolders runs hundreds of commands in one process, of which little stays: garbage is collected when
// much has gathered.
type ownFolders struct{ m *testing.M }

func (o ownFolders) Run() int {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(256 << 20)
	return testkit.Main(o.m)
}

// ownState gives a script a state folder.
func ownState(env *testscript.Env) error {
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
	return nil
}

// TestScripts types what a user types; each file in testdata/script is a
// session.
func TestScripts(t *testing.T) {
	testscript.RunT(oneByOne{t}, testscript.Params{Dir: "testdata/script", Setup: ownState, Cmds: scriptCommands})
}

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
