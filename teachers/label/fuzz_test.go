package label

import (
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/pate-go/pate/fault"
	"github.com/stretchr/testify/require"
)

func FuzzPredictions(f *testing.F) {
	f.Add([]byte("a,b\n0.5,0.5\n1,0\n"))
	f.Add([]byte("0.5, 0.5\r\n1,0"))
	f.Add([]byte("NaN,1e400\n,\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := write(t, filepath.Join(t.TempDir(), "p.csv"), string(text))
		r, err := openPredictions(path, 2)
		require.NoError(t, err)
		defer r.close()
		for q := range 5 {
			p, err := r.of(q)
			if err != nil {
				var in *fault.Error
				require.True(t, errors.As(err, &in))
				return
			}
			require.Len(t, p, 2)
		}
	})
}

// What is read as the name of a run is written the same again.
func FuzzIdentity(f *testing.F) {
	text, err := identity{Label: identityVersion, Pool: "p", Queries: [2]int{0, 5}, Mechanism: "gnmax", Parameters: map[string]float64{"sigma": math.Pi}, Classes: 3, Votes: "v", Key: "k"}.encode()
	require.NoError(f, err)
	f.Add(text)
	f.Add(`{"label":2}`)
	f.Add(`{"label":3}`)
	f.Add(`{"label":1,"pool":"p","queries":[0,5],"mechanism":"gnmax","sigma":2,"classes":3,"votes":"v","key":"k"}`)
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
		require.Equal(t, id, again)
		require.Equal(t, id.tag(), again.tag())
	})
}
