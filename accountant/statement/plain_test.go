package statement

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
)

func TestPartsOfAClaimAreRoundedUp(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 2: "2", 0.1: "0.1", 1.000004e-5: "1.0001e-05", 1.23454: "1.2346", 9.99999: "10", math.Inf(1): "+Inf"} {
		require.Equal(t, want, most(x), "%v", x)
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-300, 1e300).Draw(t, "x")
		shown := testkit.Must(strconv.ParseFloat(most(x), 64))
		require.GreaterOrEqual(t, shown, x)
		require.LessOrEqual(t, shown, x*(1+1.1e-4))
	})
}

// ledgerFile is a ledger of one entry, as written.
func ledgerFile(t *testing.T, cfg ledger.Config, e accountant.Event) []byte {
	path := filepath.Join(t.TempDir(), "l")
	l := testkit.Must(ledger.Open(t.Context(), path, cfg, ledger.VerifyOptions{}))
	testkit.Must(l.Reserve(e))
	require.NoError(t, l.Close())
	return testkit.Must(os.ReadFile(path))
}

func markdown(t *testing.T, name string, file []byte) string {
	s := testkit.Must(FromReader(name, bytes.NewReader(file)))
	var b strings.Builder
	require.NoError(t, s.WriteMarkdown(&b))
	return b.String()
}

// A delta and a budget are what a claim is about: all of their digits are shown.
func TestDeltaAndBudgetAreExact(t *testing.T) {
	page := markdown(t, "l", ledgerFile(t, ledger.Config{
		Unit: "record", Relation: accountant.AddRemove, Epsilon: 1.23454, Delta: 1.00004e-5, Mode: ledger.Filter,
	}, accountant.GNMax{Sigma: 400}))
	require.Contains(t, page, "ε = 1.2346 at δ = 1.00004e-05 for one record")
	require.Contains(t, page, "The budget was ε = 1.23454 at δ = 1.00004e-05.")
	require.Contains(t, page, "| 1.00004e-06 | ")
	require.Contains(t, page, "| 1.00004e-08 | ")
}

func TestWordsOfOthersAreMadePlain(t *testing.T) {
	file := ledgerFile(t, ledger.Config{
		Unit: "rec\x1b[31mRED [click](http://evil) ![x](y) \u202e*b*", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5, Data: "line1\nline2",
	}, accountant.GNSS{Beta: 0.01, Sigma: 100, Margin: 2})
	page := markdown(t, "it's; rm -rf x", file)
	require.NotContains(t, page, "\x1b")
	require.NotContains(t, page, "\u202e")
	require.NotContains(t, page, " [click](")
	require.NotContains(t, page, "![x]")
	require.Contains(t, page, `\[click\]`)
	require.NotContains(t, page, "*b*")
	require.Contains(t, page, `pate ledger verify 'it'\''s; rm -rf x' --head 2:`)
	require.Contains(t, page, "| noisy value of smooth sensitivity | Gaussian, σ 100 × sensitivity, β 0.01, margin 2 σ | 1 |")
	s := testkit.Must(FromReader("-x", bytes.NewReader(file)))
	var b strings.Builder
	require.NoError(t, s.WriteHTML(&b))
	require.NotContains(t, b.String(), "\x1b")
	require.Contains(t, b.String(), "pate ledger verify ./-x --head")
}

// A torn header has no line whose head could be kept, and the command does not ask for it.
func TestAStatementOfATornHeader(t *testing.T) {
	file := ledgerFile(t, ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5}, accountant.GNMax{Sigma: 400})
	page := markdown(t, "l", file[:bytes.IndexByte(file, '\n')])
	require.Contains(t, page, "pate ledger verify l\n")
	require.NotContains(t, page, "--head")
}

func TestClaimsAreRoundedUp(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 2: "2", 1.2: "1.2", 1.99999999: "2", math.Nextafter(2, 3): "2.0001", 0.70641: "0.7065", 100: "100",
		0.01234561: "0.01235", 3.00001e-9: "0.000000003001", math.Inf(1): "none known",
	} {
		require.Equal(t, want, up(x), "%v", x)
	}
	require.Equal(t, "88.08 %", percent(0.88079708))
	require.Equal(t, "50 %", percent(0.5))
	require.Equal(t, "50.01 %", percent(0.500000001))
	require.Equal(t, "100 %", percent(1))
}
