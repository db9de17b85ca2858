package ledger

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// What was waived stands in the first line, is read back, and is opened by those alone who waive the same.
// Nothing of such a ledger may leave.
func TestWhatWasWaivedStandsInTheLedger(t *testing.T) {
	cfg := testConfig
	cfg.Noise = SecretNoise
	require.True(t, cfg.Releasable())
	require.Empty(t, cfg.Withheld())
	clean := &memory{}
	_, err := openStore(clean, cfg, VerifyOptions{})
	require.NoError(t, err)

	waived := cfg
	waived.Waived = []string{"checks", "duplicates"}
	m := &memory{}
	testkit.Must(openStore(m, waived, VerifyOptions{}))
	s := testkit.Must(verify(m.data))
	require.Equal(t, waived, s.Config)
	require.False(t, s.Config.Releasable())
	require.Contains(t, s.Config.Withheld(), "(checks, duplicates)")
	testkit.Must(openStore(m, waived, VerifyOptions{}))
	for _, opened := range []struct {
		file *memory
		cfg  Config
	}{{m, cfg}, {clean, waived}} {
		_, err = openStore(opened.file, opened.cfg, VerifyOptions{})
		require.ErrorIs(t, err, ErrOtherConfig)
		require.ErrorContains(t, err, "Waived")
	}

	for _, names := range [][]string{{""}, {"Checks"}, {"b", "a"}, {"a", "a"}, {"a b"}, {strings.Repeat("a", maxWaiver+1)}} {
		cfg.Waived = names
		require.ErrorContains(t, testkit.Err(New(cfg)), "Config.Waived", "%q", names)
		forged := strings.Replace(string(m.data), `["checks","duplicates"]`, `["`+strings.Join(names, `","`)+`"]`, 1)
		require.ErrorIs(t, testkit.Err(verify(relink(t, []byte(forged)))), ErrCorrupt, "%q", names)
	}
	_, err = verify(relink(t, []byte(strings.Replace(string(m.data), `["checks","duplicates"]`, `[]`, 1))))
	require.ErrorIs(t, err, ErrCorrupt)
}

// A seed and an unknown source of noise withhold as before.
func TestWhyOutcomesAreWithheld(t *testing.T) {
	for _, c := range []struct {
		noise      Noise
		waived     []string
		releasable bool
		withheld   []string
	}{
		{SecretNoise, nil, true, nil},
		{"", nil, false, nil},
		{SeededNoise, nil, false, []string{"seed"}},
		{"", []string{"checks"}, false, []string{"checks"}},
		{SeededNoise, []string{"checks"}, false, []string{"checks", "seed"}},
	} {
		cfg := Config{Noise: c.noise, Waived: c.waived}
		require.Equal(t, c.releasable, cfg.Releasable(), "%+v", c)
		require.Equal(t, c.withheld == nil, cfg.Withheld() == "", "%+v", c)
		for _, word := range c.withheld {
			require.Contains(t, cfg.Withheld(), word)
		}
	}
}
