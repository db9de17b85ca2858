package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/testkit"
)

// leaving is a row of the table of commands.
type leaving struct {
	name   string
	steps  [][]string // commands, one after the other, in a folder of their own
	files  map[string][]byte
	inputs []neighbour // private, an ordinary one first
	// private are patterns of names that do not leave. All else does that is no input, unless
	// it lies in a folder called private.
	private []string
	units   bool // their number is public, so that one fewer is not compared
	// secret says that the last command marks what it prints as not releasable; code is that
	// of one that refuses what is asked, whatever the input.
	secret bool
	code   int
	slow   bool // left out where a command sees one odd unit alone
	// charged are the files that hold what was charged. Where they are equal, all must be.
	charged []string
}

// left is what a run leaves for others, by the names of files; exit codes, standard output and
// messages too. The text of a file begins with its mode.
type left map[string]string

// leave runs the commands on files and returns what they leave.
func (c leaving) leave(t *testing.T, n neighbour) left {
	t.Helper()
	dir := testkit.Must(os.MkdirTemp("", "pate-neighbour-"))
	dir = testkit.Must(filepath.EvalSymlinks(dir))
	defer os.RemoveAll(dir)
	given := maps.Clone(n.files)
	maps.Copy(given, c.files)
	for name, text := range given {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	t.Chdir(dir)
	out := left{}
	here := func(text []byte) string { return strings.ReplaceAll(string(text), dir, "DIR") }
	for i, step := range c.steps {
		args := []string{}
		for _, word := range step { // as a shell does
			if found, _ := filepath.Glob(word); strings.Contains(word, "*") {
				args = append(args, found...)
			} else {
				args = append(args, word)
			}
		}
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), args, strings.NewReader(""), &stdout, &stderr)
		name := c.step(i)
		out[name+"stdout"], out[name+"stderr"], out[name+"code"] = here(stdout.Bytes()), messages(here(stderr.Bytes())), fmt.Sprint(code)
		if notReleasable.Match(stdout.Bytes()) {
			out[name+"stdout"] = "not releasable"
		}
		if code != 0 {
			break
		}
	}
	require.NoError(t, filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		path = filepath.ToSlash(path)
		info := testkit.Must(e.Info())
		switch {
		case path == ".":
			return nil
		case e.IsDir() && (e.Name() == "private" || c.holds(path)):
			return filepath.SkipDir
		case e.IsDir():
			out[path] = info.Mode().String()
			return nil
		case given[path] != nil || c.holds(path):
			return nil
		}
		text := testkit.Must(os.ReadFile(path))
		require.NotContains(t, string(text), dir, "%s has a path of this machine", path)
		out[path] = info.Mode().String() + "\n" + string(text)
		return nil
	}))
	return out
}

// expected fails unless the commands end as they should, and the last marks what it prints so.
func (c leaving) expected(t *testing.T, l left) {
	t.Helper()
	for i := range c.steps {
		code, secret := 0, false
		if i == len(c.steps)-1 {
			code, secret = c.code, c.secret
		}
		require.Equal(t, fmt.Sprint(code), l[c.step(i)+"code"], "%s", l[c.step(i)+"stderr"])
		require.Equal(t, secret, l[c.step(i)+"stdout"] == "not releasable", c.step(i))
	}
}

// refused fails unless a command stopped, said whom that is for, and left at most files that are
// the same for every input.
func (c leaving) refused(t *testing.T, want, l left, name string) {
	t.Helper()
	require.Equal(t, fmt.Sprint(shell.ExitInvalidInput), l[c.step(0)+"code"], name)
	require.Contains(t, l[c.step(0)+"stderr"], "to the data owner alone", name)
	require.Empty(t, l[c.step(0)+"stdout"], name)
	for file, text := range l {
		if strings.HasPrefix(text, "-") {
			require.Equal(t, want[file], text, "%s: %s", name, file)
		}
	}
}

// step is what a command is called among the things that a run leaves.
func (c leaving) step(i int) string {
	return fmt.Sprintf("%d %s ", i+1, strings.Join(c.steps[i][:2], " "))
}

// notReleasable is what JSON says on its first level.
var notReleasable = regexp.MustCompile(`(?m)^  "releasable": false`)

// odd returns the neighbours that the command is compared on.
func (c leaving) odd() []neighbour {
	return slices.DeleteFunc(slices.Clone(c.inputs[1:]), func(n neighbour) bool { return n.removed && c.units })
}

// holds reports whether a file is one that does not leave.
func (c leaving) holds(path string) bool {
	return slices.ContainsFunc(c.private, func(pattern string) bool { ok, err := filepath.Match(pattern, path); return ok && err == nil })
}

// messages are those that are not marked as the owner's alone.
func messages(stderr string) string {
	var kept strings.Builder
	for line := range strings.Lines(stderr) {
		if !strings.Contains(line, "private note on the votes (") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// equal reports whether two runs released the same charged files.
func (c leaving) equal(a, b left) bool {
	for _, name := range c.charged {
		if a[name] == "" || a[name] != b[name] {
			return false
		}
	}
	return len(c.charged) > 0
}

// between returns the masks that hold for two neighbours.
func (c leaving) between(a, b left) []mask {
	return slices.DeleteFunc(masks(), func(m mask) bool { return m.follows && c.equal(a, b) || !regexp.MustCompile(m.of).MatchString(c.name) })
}

// without returns masks but one.
func without(masks []mask, i int) []mask { return slices.Delete(slices.Clone(masks), i, i+1) }

// plainHashes returns hashes that are no file's, equal in two runs on one input, and others on a
// neighbour, where the charged files are the same.
func (c leaving) plainHashes(want, again, got left) (found []string) {
	if maps.Equal(want, again) || len(c.charged) > 0 && !(c.equal(want, again) && c.equal(want, got)) {
		return nil
	}
	names := [3]map[string]string{hashesOf(want), hashesOf(again), hashesOf(got)}
	for name := range want {
		var words [3][]string
		for i, l := range []left{want, again, got} {
			words[i] = hexadecimal.FindAllString(named(l[name], names[i]), -1)
		}
		for i := range min(len(words[0]), len(words[1]), len(words[2])) {
			if words[0][i] == words[1][i] && words[0][i] != words[2][i] {
				found = append(found, name+": "+words[0][i])
			}
		}
	}
	return found
}

// differences returns what differs between two runs beside what masks hide, a line for each
// file.
func differences(a, b left, masks []mask) (found []string) {
	names := maps.Clone(a)
	maps.Copy(names, b)
	hashes := [2]map[string]string{hashesOf(a), hashesOf(b)}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, before := a[name]
		is, after := b[name]
		switch {
		case !before || !after:
			found = append(found, name+" is there once")
		case was != is:
			if was, is = hidden(name, named(was, hashes[0]), masks), hidden(name, named(is, hashes[1]), masks); was != is {
				found = append(found, name+": "+firstDifference(was, is))
			}
		}
	}
	return found
}

// hashesOf returns the names of released files by their SHA-256.
func hashesOf(l left) map[string]string {
	names := map[string]string{}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(l))) {
		if mode, body, ok := strings.Cut(l[name], "\n"); ok && strings.HasPrefix(mode, "-") {
			hash := sha256.Sum256([]byte(body))
			names[hex.EncodeToString(hash[:])] = name
		}
	}
	return names
}

var hash64 = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// named writes the names of released files for their hashes.
func named(text string, names map[string]string) string {
	return hash64.ReplaceAllStringFunc(text, func(hash string) string {
		if name, ok := names[hash]; ok {
			return "SHA-256 of " + name
		}
		return hash
	})
}

// firstDifference quotes two texts where they part.
func firstDifference(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(0, at-60)
	return fmt.Sprintf("%q, %q", a[from:min(len(a), at+60)], b[from:min(len(b), at+60)])
}

var cases = flag.Int("cases", 1, "odd units that every command of TestNothingReleasedDependsOnOneUnit sees; 50 for all of them, which commands that are named see anyway")

// A neighbour has one unit more, one fewer or another one. Every command that releases is run
// on a private input, on the same once more, and on neighbours of it, each with one odd unit
// alone, since effects of two may cancel. What leaves is the same, byte for byte, but for masks;
// see [masks]. A mask that hides nothing is an error too, and so is a hash that is the same in
// two runs on one input and another one on its neighbour: nobody needs a key to compute it.
func TestNothingReleasedDependsOnOneUnit(t *testing.T) {
	all, number := commands(), *cases
	if strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		number = math.MaxInt // of commands that are named
	}
	needed, ran, slow := map[string]bool{}, 0, 0
	compare := func(t *testing.T, c leaving, n neighbour, want, again left) {
		got := c.leave(t, n)
		if n.refused && c.code != shell.ExitUsage {
			c.refused(t, want, got, n.name)
			return
		}
		hidden := c.between(want, got)
		require.Empty(t, differences(want, got, hidden), n.name)
		require.Empty(t, c.plainHashes(want, again, got), n.name)
		for i, m := range hidden {
			if !needed[m.name] && len(differences(want, got, without(hidden, i))) > 0 {
				needed[m.name] = true
			}
		}
	}
	for i, c := range all {
		if c.slow && number == 1 {
			slow++
		}
		t.Run(c.name, func(t *testing.T) {
			if number == 1 && (c.slow || !*long && i%5 != 1) {
				t.Skip("-long runs all commands")
			}
			ran++
			want := c.leave(t, c.inputs[0])
			c.expected(t, want)
			again := want
			if i%4 == 0 || number > 1 {
				again = c.leave(t, c.inputs[0])
				require.Empty(t, differences(want, again, c.between(want, again)), "on the same input")
			}
			odd := c.odd()
			for k := range min(number, len(odd)) {
				compare(t, c, odd[(i*11+k)%len(odd)], want, again) // every kind is some command's first
			}
		})
	}
	if ran < len(all)-slow {
		return // not all commands ran
	}
	for _, m := range masks() {
		if m.seldom {
			continue
		}
		for _, c := range all { // what is charged is equal on two inputs now and then
			if of := regexp.MustCompile(m.of); needed[m.name] || c.slow || !of.MatchString(c.name) {
				continue
			}
			t.Log("more of", c.name, "for the mask", m.name)
			want := c.leave(t, c.inputs[0])
			for _, n := range c.odd()[:8] {
				if !needed[m.name] {
					compare(t, c, n, want, want)
				}
			}
		}
		require.True(t, needed[m.name], "the mask %q hides nothing that moves: remove it", m.name)
	}
}
