// Package arch holds one test: who may import whom.
package arch_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/pate-go/pate/"

var rank = map[string]int{
	"internal/buildinfo": 0, "internal/crash": 0, "internal/durable": 0, "fault": 0, "internal/filekind": 0, "internal/figure": 1, "internal/template": 0, "internal/kernel": 0, "internal/mathx": -1, "internal/npy": 0, "internal/opaque": 0, "internal/number": 0, "internal/parquet": 1, "internal/scores": 0, "internal/unpack": 0, "internal/parallel": 0, "internal/testkit": 0, "internal/texts": 1, "internal/testledger": 3, "internal/dense": 1, "internal/results": 1, "rng": 1, "internal/sealed": 1, "internal/table": 0, "internal/keyfile": 2, "internal/mutation": 0,
	"accountant/internal/pld": 0, "accountant": 1, "internal/accountant/audit": 2, "internal/museum": 0, "internal/accountant/bayes": 2, "accountant/theorems": 2, "internal/accountant/imports": 2, "accountant/ledger": 2, "run": 3, "accountant/statement": 3,
	"dpsgd/optim": 2, "aggregate": 3, "dpsgd": 3, "stability": 3, "svt": 3, "internal/tune": 4, "internal/tokens": 4,
	"internal/aggregate/acceptance": 2, "internal/aggregate/analysis": 4, "internal/aggregate/marginals": 4, "aggregate/neighbours": 4, "internal/aggregate/stable": 4, "internal/dpsgd/moments": 4, "dpsgd/nn": 4, "internal/aggregate/mechanisms": 5, "internal/aggregate/nearby": 5, "internal/quota": 5, "aggregate/plan": 6, "internal/aggregate/regime": 7, "dpsgd/nn/nntest": 5,
	"teachers/votes": 4, "teachers": 5, "dataset": 6, "internal/namedsets": 7, "features": 7, "internal/dpsgd/typical": 4, "internal/dpsgd/charged": 8, "internal/dpsgd/recipe": 9, "internal/dpsgd/tuned": 10,
	"internal/teachers/training": 8, "teachers/golearn": 6, "teachers/label": 7, "internal/teachers/manifest": 6, "teachers/teachertest": 6, "teachers/trees": 6,
	"student": 7, "internal/learn": 8, "internal/learn/page": 9, "internal/learn/page/wasm": 10, "internal/learn/site": 10,
	"internal/plain": 2, "internal/student/published": 9,
	"internal/publish": 10, "internal/silos": 10, "internal/online": 8, "experiments": 11, "internal/controls": 12, "internal/outside": 3, "experiments/peers": 12, "experiments/report": 12,
	"examples/channel": 12, "examples/mixed": 12, "examples/online": 12, "examples/privatecnn": 12,
	".": 11, "cmd/pate/internal/shell": 12, "cmd/pate": 14,
}

func rankOf(pkg string) (int, bool) {
	r, ok := rank[pkg]
	if !ok && strings.HasPrefix(pkg, "cmd/pate/internal/") {
		return rank["cmd/pate/internal/shell"] + 1, true
	}
	return r, ok
}

func local(path string) (string, bool) {
	if path+"/" == module {
		return ".", true
	}
	return strings.CutPrefix(path, module)
}

func TestImportsKeepTheDirection(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", module+"...").Output()
	require.NoError(t, err)
	seen := 0
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Fields(line)
		importer, _ := local(fields[0])
		if importer == "internal/arch" {
			continue
		}
		seen++
		from, ok := rankOf(importer)
		require.True(t, ok, "package %s has no rank: add it to this test and to the README", importer)
		for _, path := range fields[1:] {
			imported, ours := local(path)
			if !ours {
				continue
			}
			to, ok := rankOf(imported)
			require.True(t, ok, "package %s has no rank", imported)
			require.Less(t, to, from, "%s may not import %s", importer, imported)
		}
	}
	require.Greater(t, seen, 3, "the list of packages is suspiciously short:\n%s", out)
}

// TestAnAuditorNeedsTheAccountantAlone: a ledger can be re-checked by code that
// links no mechanism, no model and no data.
func TestAnAuditorNeedsTheAccountantAlone(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"accountant").Output()
	require.NoError(t, err)
	for _, path := range strings.Fields(string(out)) {
		if ours, ok := strings.CutPrefix(path, module); ok {
			require.Contains(t, []string{"accountant", "accountant/internal/pld", "internal/mathx"}, ours)
		}
	}
}

// TestOpaqueNumbersAreOpenedToBeDrawn: an opaque number is opened where it is made, and where
// it is drawn, and by nothing that charges, states or prints an epsilon.
func TestOpaqueNumbersAreOpenedToBeDrawn(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", module+"...").Output()
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		importer, imports, _ := strings.Cut(line, " ")
		for _, path := range strings.Fields(imports) {
			if path == module+"internal/opaque" {
				require.Contains(t, []string{"internal/accountant/bayes", "internal/learn"}, strings.TrimPrefix(importer, module))
			}
		}
	}
}
