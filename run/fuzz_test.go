package run

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is read as the name of a run is written the same again.
func FuzzIdentity(f *testing.F) {
	id, err := newIdentity("label", map[string]any{"pool": "p", "queries": []int{0, 5}})
	require.NoError(f, err)
	id.Inputs, id.Key = "v", "k"
	text, err := id.encode()
	require.NoError(f, err)
	f.Add(text)
	f.Add(`{"run":1}`)
	f.Add(`{"run":2,"kind":"label"}`)
	f.Add("run")
	f.Fuzz(func(t *testing.T, name string) {
		id, ok, err := parseIdentity(name)
		if !ok || err != nil {
			return
		}
		text, err := id.encode()
		require.NoError(t, err)
		again, ok, err := parseIdentity(text)
		require.NoError(t, err)
		require.True(t, ok)
		twice, err := again.encode()
		require.NoError(t, err)
		require.Equal(t, text, twice)
		tag, err := id.tag()
		require.NoError(t, err)
		same, err := again.tag()
		require.NoError(t, err)
		require.Equal(t, tag, same)
	})
}
