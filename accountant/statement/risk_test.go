package statement

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
)

// Votes that cost (2, 1e-5): one point of the curve would say 88 %.
func TestOddsComeFromTheWholeCurve(t *testing.T) {
	t.Parallel()
	e := accountant.Repeated{Event: accountant.GNMax{Sigma: 49.9, Discrete: true}, Count: 312}
	for _, mode := range []ledger.Mode{ledger.Reserved, ledger.Filter} {
		path := filepath.Join(t.TempDir(), "run.jsonl")
		cfg := ledger.Config{Unit: "patient", Relation: accountant.AddRemove, Epsilon: 2.2, Delta: 1e-5, Mode: mode, Accountant: accountant.ByAuto}
		l := testkit.Must(ledger.Open(t.Context(), path, cfg, ledger.VerifyOptions{}))
		require.NoError(t, l.Commit(testkit.Must(l.Reserve(e)), []byte("labels")))
		require.NoError(t, l.Close())
		f := testkit.Must(os.Open(path))
		s := testkit.Must(FromReader("run.jsonl", f))
		require.NoError(t, f.Close())
		if mode == ledger.Filter {
			assert.False(t, s.Attacker.Curve, "of a filter only the budget is known")
			assert.Greater(t, s.Attacker.Right, 0.85)
			continue
		}
		assert.InDelta(t, 2, s.epsilon(), 0.01)
		assert.True(t, s.Attacker.Curve)
		assert.LessOrEqual(t, s.Attacker.Right, 0.6)
		assert.Greater(t, s.Attacker.Right, 0.59)
		require.Equal(t, 0.01, s.Attacker.Rates[1].FPR)
		assert.LessOrEqual(t, s.Attacker.Rates[1].TPR, 0.035)
		assert.Contains(t, testkit.Must(s.sections())[2].Text[0], "at most 599 are right")
		assert.Contains(t, testkit.Must(s.sections())[3].After[0], "privacy loss distributions")
	}
}
