package run

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

func FuzzIdentity(f *testing.F) {
	id := testkit.Must(newIdentity("label", map[string]any{"pool": "p", "queries": []int{0, 5}}))
	id.Inputs, id.Key = "v", "k"
	f.Add(testkit.Must(id.encode()))
	f.Add(`{"run":1}`)
	f.Add(`{"run":2,"kind":"label"}`)
	f.Add("run")
	f.Fuzz(func(t *testing.T, name string) {
		id, ok, err := parseIdentity(name)
		if !ok || err != nil {
			return
		}
		text := testkit.Must(id.encode())
		again, ok, err := parseIdentity(text)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, text, testkit.Must(again.encode()))
		require.Equal(t, testkit.Must(id.tag()), testkit.Must(again.tag()))
	})
}
