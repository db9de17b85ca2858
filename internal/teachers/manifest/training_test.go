package manifest

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A manifest of a training comes back as it was written, names, quotes and all.
func TestManifestOfATraining(t *testing.T) {
	salt := newSalt(t)
	head := Head{Unit: "patient", SaltID: salt.ID(), Teachers: 50, Classes: 2, Votes: salt.Votes([32]byte{1}), ClassNames: []string{`a "quoted" one`, "ü"},
		Queries: 7, Relation: "add_remove", Training: &Training{Program: "v1", Learner: "forest", Features: "raw", Command: "pate train 'x y'",
			Public: strings.Repeat("0a", 32)}}
	path := save(t, t.TempDir(), "m.json", head)
	got, silos, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, head, got)
	require.Empty(t, silos)
	require.NotEqual(t, salt.Votes([32]byte{1}), salt.Data([32]byte{1}))
	report, err := Check(t.Context(), []string{path})
	require.NoError(t, err)
	require.Contains(t, report.Findings(nil, Salt{})[0].Detail, "keyed hash")

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, broken := range []string{
		strings.Replace(string(text), `"learner":"forest",`, "", 1),
		strings.Replace(string(text), `"learner"`, `"teacher"`, 1),
		strings.Replace(string(text), `"add_remove"`, `"any"`, 1),
		strings.Replace(string(text), `"ü"`, `""`, 1),
		strings.Replace(string(text), `"classes":2`, `"classes":3`, 1),
		strings.Replace(string(text), "0a0a", "0A0A", 1),
	} {
		require.NotEqual(t, string(text), broken)
		_, _, err := Read(bytes.NewReader([]byte(broken)), func(SiloInfo, Hash) error { return nil })
		require.Error(t, err, broken)
	}
}
