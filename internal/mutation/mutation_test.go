package mutation

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// TestMutationsApply: the list cannot rot. Whoever rewords a line finds its entry.
func TestMutationsApply(t *testing.T) {
	all, err := All()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 250)
	ids := map[string]bool{}
	for _, m := range all {
		require.False(t, ids[m.ID], "%s stands twice", m.ID)
		ids[m.ID] = true
		_, err := m.Source(root)
		require.NoError(t, err)
		require.NotContains(t, m.File, "_test.go")
	}
}

// TestMutationsNameTests: the tests that should notice are there.
func TestMutationsNameTests(t *testing.T) {
	all, err := All()
	require.NoError(t, err)
	tests := map[string]string{} // sources of the tests of a package
	for _, m := range all {
		pattern, packages := ".", m.Test
		if n := len(m.Test); n > 2 && m.Test[n-2] == "-run" {
			pattern, packages = m.Test[n-1], m.Test[:n-2]
		}
		pattern, _, _ = strings.Cut(pattern, "/") // what follows names a subtest
		expression, err := regexp.Compile(pattern)
		require.NoError(t, err, m.ID)
		found := false
		for _, p := range packages {
			require.True(t, strings.HasPrefix(p, "./"), "%s: %s", m.ID, p)
			if _, ok := tests[p]; !ok {
				files, err := filepath.Glob(filepath.Join(root, p, "*_test.go"))
				require.NoError(t, err)
				for _, f := range files {
					text, err := os.ReadFile(f)
					require.NoError(t, err)
					tests[p] += string(text)
				}
			}
			for _, name := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`).FindAllStringSubmatch(tests[p], -1) {
				found = found || expression.MatchString(name[1])
			}
		}
		require.True(t, found, "%s: no test of %v is named like %q", m.ID, packages, pattern)
	}
}

// TestRun: a mistake is caught, and one that changes nothing survives.
func TestRun(t *testing.T) {
	m := Mutation{ID: "mathx/least", File: "internal/mathx/search.go", Old: "package mathx", New: "package mathx // harmless",
		Test: []string{"./internal/mathx", "-run", "Least"}}
	o, err := Run(t.Context(), root, m)
	require.NoError(t, err)
	require.False(t, o.Caught, o.Output)
	m.Old, m.New = "return high", "return high + 1"
	o, err = Run(t.Context(), root, m)
	require.NoError(t, err)
	require.True(t, o.Caught)
	require.Equal(t, "TestLeast", o.By)
	m.Old, m.New = "package mathx", "package mathx\n\nfunc broken() { return 1 }"
	_, err = Run(t.Context(), root, m)
	require.ErrorIs(t, err, ErrDoesNotCompile)
	m.Old = "no such text"
	_, err = Run(t.Context(), root, m)
	require.ErrorContains(t, err, "occurs 0 times")
}

func TestParse(t *testing.T) {
	list, err := parse("g", []byte("# words\ntest: ./a -run B\nfile: a/a.go\n\nid: one\nold: x\nnew:\nwhy: w\n\nid: two\nfile: b/b.go\nold: x: y\nnew: z\nwhy: w\ntest: ./b\n"))
	require.NoError(t, err)
	require.Equal(t, []Mutation{
		{"g/one", "a/a.go", "x", "", "w", []string{"./a", "-run", "B"}},
		{"g/two", "b/b.go", "x: y", "z", "w", []string{"./b"}},
	}, list)
	for _, bad := range []string{"id: a\nold: x\nnew: y\nwhy: w", "old: x", "ID: a", "id: a\nfile: f\nold: x\nnew: x\nwhy: w\ntest: ./a"} {
		_, err := parse("g", []byte(bad))
		require.Error(t, err, bad)
	}
}
