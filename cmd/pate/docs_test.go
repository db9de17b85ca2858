package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
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

func ownState(env *testscript.Env) error {
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, ".state"))
	examples, err := filepath.Abs("../../examples")
	env.Setenv("EXAMPLES", examples)
	return err
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

// TestOwnData types what docs/own-data.md tells readers to type, on a small table of
// invented patients in place of the real one. The number of teachers, which follows from
// --size, is cut with the table.
func TestOwnData(t *testing.T) {
	page := testkit.Must(os.ReadFile(filepath.Join("..", "..", "docs", "own-data.md")))
	var script strings.Builder
	fence := ""
	commands := 0
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```") && fence == "":
			fence = strings.TrimPrefix(line, "```")
		case strings.HasPrefix(line, "```"):
			fence = ""
		case fence == "bash":
			require.True(t, strings.HasPrefix(line, "pate "), line)
			commands++
			if strings.Contains(line, "--method dpsgd") {
				line = strings.ReplaceAll(line, "--size 60000", "--size 780")
			}
			line = strings.ReplaceAll(line, "--size 60000", "--teachers 60")
			line = strings.ReplaceAll(line, "--epsilon 2", "--epsilon 8")
			fmt.Fprintf(&script, "exec %s\n", line)
		}
	}
	require.Equal(t, 11, commands)
	for _, file := range []string{"release/public/labelled.csv", "release/public/student.model", "release/public/statement.html", "release/public/report.html", "predictions.csv", "student.json", "student.model", "statement.html", "model/public/labels.csv", "model/public/student.model"} {
		fmt.Fprintf(&script, "exists %s\n", file)
	}
	fmt.Fprintf(&script, "-- patients.csv --\n%s-- survey.csv --\n%s", patients(1800, 1), patients(120, 2))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "own-data.txtar"), []byte(script.String()), 0o600))
	testscript.Run(t, testscript.Params{Dir: dir, Setup: ownState})
}

func patients(n int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	b := strings.Builder{}
	b.WriteString("encounter_id,patient_nbr,age,time_in_hospital,number_inpatient,insulin,readmitted\n")
	for i := range n {
		stay, before, age := r.IntN(14), r.IntN(6), 10*r.IntN(10)
		outcome := "NO"
		if stay+2*before+r.IntN(3) > 12 {
			outcome = "YES"
		}
		fmt.Fprintf(&b, "%d,%d,%d,%d,%d,%s,%s\n", int(seed)*100_000+i, int(seed)*10_000+r.IntN(n/2), age, stay, before, []string{"No", "Up", "Steady"}[r.IntN(3)], outcome)
	}
	return b.String()
}

// commandLines returns the command lines of pate in the fenced blocks of a page,
// Split into words. Comments, what follows a pipe and what is printed are left out.
func commandLines(page string) (lines [][]string) {
	fence, joined := false, ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			fence = !fence
			continue
		}
		if !fence {
			continue
		}
		line = joined + strings.TrimPrefix(line, "$ ")
		if before, more := strings.CutSuffix(line, "\\"); more {
			joined = before
			continue
		}
		joined = ""
		command, ok := strings.CutPrefix(strings.TrimPrefix(line, "go run ./cmd/"), "pate ")
		if !ok {
			continue
		}
		command, _, _ = strings.Cut(command, " #")
		command, _, _ = strings.Cut(command, " |")
		command, _, _ = strings.Cut(command, " >")
		lines = append(lines, strings.Fields(strings.ReplaceAll(command, "'", "")))
	}
	return lines
}

// inlineCommands returns the commands within the sentences of a page, which may leave
// arguments out.
func inlineCommands(page string) (lines [][]string) {
	for _, span := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(page, -1) {
		if command, ok := strings.CutPrefix(strings.TrimPrefix(span[1], "go run ./cmd/"), "pate "); ok {
			lines = append(lines, strings.Fields(command))
		}
	}
	return lines
}

func parsed(words []string) (*cobra.Command, error) {
	root := newRootCommand(&shell.Globals{Stdout: io.Discard, Stderr: io.Discard})
	cmd, rest, err := root.Find(words)
	if err != nil {
		return nil, err
	}
	return cmd, cmd.ParseFlags(rest)
}

// TestPagesNameWhatThereIs: every command line on a page of the repository has a
// command that exists, flags that it takes and as many arguments as it wants.
func TestPagesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	checked := 0
	require.NoError(t, filepath.WalkDir(filepath.Join("..", ".."), func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || e.Name() == ".git"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md" || e.Name() == "CHANGELOG.md": // which names what is gone
			return nil
		}
		text := testkit.Must(os.ReadFile(path))
		for _, words := range commandLines(string(text)) {
			if words[0] == "help" {
				continue
			}
			cmd, err := parsed(words)
			require.NoError(t, err, "%s: pate %s", path, strings.Join(words, " "))
			require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), "%s: pate %s", path, strings.Join(words, " "))
			checked++
		}
		for _, words := range inlineCommands(string(text)) {
			if words[0] != "help" && words[0] != "..." {
				_, err := parsed(words)
				require.NoError(t, err, "%s: pate %s", path, strings.Join(words, " "))
			}
		}
		return nil
	}))
	require.Greater(t, checked, 40)
}
