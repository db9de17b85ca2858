package statement_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/internal/testkit"
)

// TestAStatementNamesTheLargerOfSealAndProof: a page claims what this version proves where the seal is
// less, and the seal where that is more; the words are about the number that is there.
func TestAStatementNamesTheLargerOfSealAndProof(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	cfg := config
	cfg.Accountant = accountant.ByAuto
	l := testkit.Must(ledger.Open(t.Context(), path, cfg, ledger.VerifyOptions{}))
	charge(t, false, sgd)(l)
	r := testkit.Must(l.Reserve(votes))
	require.NoError(t, r.Begin(votes, ledger.Use{Secret: true}))
	honest := testkit.Must(l.Epsilon())
	require.NoError(t, l.Close())
	file := testkit.Must(os.ReadFile(path))
	for _, c := range []struct {
		seal, claim float64
		words       string
	}{
		{honest - 1e-4, honest, "The claim is the larger: the upper end that this version finds"},
		{honest + 1e-3, honest + 1e-3, "The claim is the larger: the sealed one"},
		{honest, honest, ""},
	} {
		s := testkit.Must(statement.FromReader("run.jsonl", bytes.NewReader(sealedAt(t, file, honest, c.seal))))
		require.Equal(t, c.claim, float64(*s.Claims[0].Epsilon))
		require.Contains(t, s.Seal, c.words)
		require.Equal(t, c.words == "", s.Seal == "")
		require.Contains(t, strings.ReplaceAll(markdown(t, s), `\`, ""), s.Seal)
	}
}

// sealedAt changes the epsilon of a seal in the last line of a file.
func sealedAt(t *testing.T, file []byte, from, to float64) []byte {
	t.Helper()
	text := strings.Replace(string(file), fmt.Sprintf(`"epsilon":%v,"accountant":"pld"`, from), fmt.Sprintf(`"epsilon":%v,"accountant":"pld"`, to), 1)
	start, end := strings.LastIndex(text[:len(text)-1], "\n")+1, strings.LastIndex(text, `,"check":"`)
	require.Contains(t, text[start:], `"seal"`)
	return fmt.Appendf(nil, "%s,\"check\":\"%08x\"}\n", text[:end], crc32.Checksum([]byte(text[start:end]), crc32.MakeTable(crc32.Castagnoli)))
}
