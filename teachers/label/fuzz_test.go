package label

import (
	"errors"
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
