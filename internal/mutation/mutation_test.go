package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

const root = "../.."

func TestMutationsApply(t *testing.T) {
	list := testkit.Must(all())
	require.GreaterOrEqual(t, len(list), 250)
	ids := map[string]bool{}
	for _, m := range list {
		require.False(t, ids[m.id], "%s stands twice", m.id)
		ids[m.id] = true
		_, _, err := m.apply(root)
		require.NoError(t, err)
	}
}

func TestMutationsNameTests(t *testing.T) {
	tests := map[string][]string{} // of a package
	for _, m := range testkit.Must(all()) {
		pattern, packages := ".", m.test
		if n := len(m.test); n > 2 && m.test[n-2] == "-run" {
			pattern, packages = m.test[n-1], m.test[:n-2]
		}
		pattern, _, _ = strings.Cut(pattern, "/") // what follows names a subtest
		expression := regexp.MustCompile(pattern)
		found := false
		for _, p := range packages {
			require.True(t, strings.HasPrefix(p, "./"), "%s: %s", m.id, p)
			if _, ok := tests[p]; !ok {
				tests[p] = testsIn(testkit.Must(filepath.Glob(filepath.Join(root, p, "*_test.go")))...)
			}
			found = found || slices.ContainsFunc(tests[p], expression.MatchString)
		}
		require.True(t, found, "%s: no test of %v is named like %q", m.id, packages, pattern)
	}
}

var declaration = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

func testsIn(files ...string) (names []string) {
	for _, f := range files {
		for _, name := range declaration.FindAllSubmatch(testkit.Must(os.ReadFile(f)), -1) {
			names = append(names, string(name[1]))
		}
	}
	return names
}

func TestRun(t *testing.T) {
	m := mutation{id: "mathx/least", dir: "internal/mathx", in: "Least", edit: []edit{{old: "return high", new: "return (high)"}},
		test: []string{"./internal/mathx", "-run", "Least"}}
	o := testkit.Must(run(t.Context(), root, m))
	require.False(t, o.caught, o.output)
	m.edit[0].new = "return high + 1"
	o = testkit.Must(run(t.Context(), root, m))
	require.True(t, o.caught)
	require.Equal(t, "TestLeast", o.by)
	m.edit[0].new = "return nothing"
	require.ErrorIs(t, testkit.Err(run(t.Context(), root, m)), errDoesNotCompile)
}

func TestApply(t *testing.T) {
	root := t.TempDir()
	source := "package p\n\nconst a, b = 1, 2\n\nvar s = T[int]{\n\tx: a, // first\n\ty: f(\n\t\ta,\n\t),\n}\n\n" +
		"func (t *T[V]) f(x int) int {\n\tif x > a {\n\t\tx++\n\t}\n\tx++\n\treturn 2*x + a\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "p.go"), []byte(source), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "p_other.go"), []byte("//go:build never\n\n"+source), 0o600))
	for _, c := range []struct {
		in       string
		edits    []edit
		from, to string // of the text; equal where the mutation is refused with to as the reason
	}{
		{"a", []edit{{"2", 0, "3"}}, "1, 2", "1, 3"},
		{"s", []edit{{"f(a)", 0, "0"}}, "f(\n\t\ta,\n\t)", "0"},
		{"T.f", []edit{{"if x > a { x++ }", 0, ""}}, "if x > a {\n\t\tx++\n\t}", ""},
		{"T.f", []edit{{"x++", 2, "x--"}}, "}\n\tx++", "}\n\tx--"},
		{"T.f", []edit{{"x>a", 0, "x<a"}, {"2 * x", 0, "x"}}, "x > a {\n\t\tx++\n\t}\n\tx++\n\treturn 2*x", "x<a {\n\t\tx++\n\t}\n\tx++\n\treturn x"},
		{"T.f", []edit{{"x++", 0, "x--"}}, "", "has 2 expressions"},
		{"T.f", []edit{{"x++", 3, "x--"}}, "", "has 2 expressions"},
		{"T.f", []edit{{"x + a", 0, "x"}}, "", "has 0 expressions"}, // it is 2*x + a
		{"f", []edit{{"x++", 1, "x--"}}, "", "does not declare f"},
	} {
		file, mutated, err := mutation{id: "m", dir: ".", in: c.in, edit: c.edits}.apply(root)
		if c.from == "" {
			require.ErrorContains(t, err, c.to)
			continue
		}
		require.NoError(t, err, c.in)
		require.Equal(t, "p.go", file)
		require.Equal(t, strings.Replace(source, c.from, c.to, 1), string(mutated))
	}
}

func TestParse(t *testing.T) {
	list, err := parse("g", []byte("# words\nin: a\ntest: ./a -run B\n\none (f): why: w\n\tx: y =>\n\nin: b\ntwo (T.f): w\n\tx #2 => z\n\ty => x => 1\n\ttest: ./b\n"))
	require.NoError(t, err)
	require.Equal(t, []mutation{
		{"g/one", "a", "f", []edit{{"x: y", 0, ""}}, "why: w", []string{"./a", "-run", "B"}},
		{"g/two", "b", "T.f", []edit{{"x", 2, "z"}, {"y", 0, "x => 1"}}, "w", []string{"./b"}},
	}, list)
	for _, bad := range []string{"one (f): w\n\tx => y", "in: a\ntest: ./a\none (f): w", "in: a\ntest: ./a\n\tx => y",
		"in: a\ntest: ./a\none (f): w\n\tx => x", "ID: a"} {
		require.Error(t, testkit.Err(parse("g", []byte(bad))), bad)
	}
}

// TestClaimsNameWhatThereIs: every test, mutation and file that docs/claims.md names
// is there.
func TestClaimsNameWhatThereIs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "claims.md"))
	require.NoError(t, err)
	tests := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, name := range testsIn(path) {
			tests[name] = true
		}
		return nil
	}))
	list := testkit.Must(all())
	ids, groups := map[string]bool{}, map[string]bool{}
	for _, m := range list {
		group, _, _ := strings.Cut(m.id, "/")
		ids[m.id], groups[group] = true, true
	}
	named := map[string]int{}
	for line := range strings.Lines(string(page)) {
		folder := "" // of the file named last in the line
		for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
			word := span[1]
			group, _, slash := strings.Cut(word, "/")
			switch {
			case strings.HasPrefix(word, "Test"):
				require.True(t, tests[word], "there is no %s", word)
				named["tests"]++
			case strings.HasSuffix(word, ".go"):
				if filepath.Dir(word) == "." {
					word = folder + "/" + word
				}
				folder = filepath.ToSlash(filepath.Dir(word))
				require.FileExists(t, filepath.Join(root, filepath.FromSlash(word)))
				named["files"]++
			case slash && !strings.ContainsAny(word, " "):
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(word))); err == nil {
					continue // a package
				}
				require.True(t, groups[group], "%s is neither a package nor a mutation", word)
				require.True(t, ids[word], "there is no mutation %s", word)
				named["mutations"]++
			}
		}
	}
	require.Greater(t, named["tests"], 60)
	require.Greater(t, named["mutations"], 60)
	require.Greater(t, named["files"], 30)
}

// TestSamplesTakeTurns: a sample is as large as asked for, and every mutation is in that
// of some day.
func TestSamplesTakeTurns(t *testing.T) {
	list := testkit.Must(all())
	seen := map[string]bool{}
	const sample = 8
	for day := range int64(2 * len(list) / sample) {
		chosen := choose(list, false, sample, day, nil)
		require.Len(t, chosen, sample)
		require.Equal(t, chosen, choose(list, false, sample, day, nil))
		for _, m := range chosen {
			seen[m.id] = true
		}
	}
	require.GreaterOrEqual(t, len(seen), len(list)-len(list)%sample)
	require.Equal(t, list, choose(list, true, 0, 0, nil))
	for _, m := range choose(list, false, 0, 0, []string{"svt/"}) {
		require.Contains(t, m.id, "svt/")
	}
	require.Empty(t, choose(list, false, 0, 0, nil))
}
