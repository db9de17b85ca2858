package votes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers/votes"
)

// What pandas writes with its index is read as the same votes without, and what is no such file is refused.
func TestIndexColumn(t *testing.T) {
	plain := opened(t, votes.Options{Classes: 3}, []byte("0,1,2\n1,,0\n2,2,2\n"))
	for name, text := range map[string]string{
		"pandas":        ",ann,bob,eve\n0,0,1,2\n1,1,,0\n2,2,2,2\n",
		"named":         "index,ann,bob,eve\n17,0,1,2\n3,1,,0\nx,2,2,2\n",
		"no header":     "0,0,1,2\n1,1,,0\n2,2,2,2\n",
		"CR, BOM, tail": "\xef\xbb\xbf;ann;bob;eve\r\n\"a;b\";0;1;2\r\nb;1;;0\r\nc;2;2;2\r\n\r\n\n",
		"open end":      "0,0,1,2\n1,1,,0\n2,2,2,2",
		"missing":       "0,0.0,1.0,2\n1,1.0,,0\n2,2.0,2,2\n",
	} {
		s := opened(t, votes.Options{Classes: 3, IndexColumn: true}, []byte(text))
		require.Equal(t, plain.Hash(), s.Hash(), name)
		require.Contains(t, s.Kind(), "its column 1 left out")
	}
	for name, text := range map[string]string{"one cell": "a\nb\n", "one cell later": "0,1\n1\n", "npy": "\x93NUMPY\x01\x00", "empty": ""} {
		_, err := votes.OpenIn(votes.Options{Classes: 3, IndexColumn: true}, []byte(text))
		require.Error(t, err, name)
	}
	_, err := votes.OpenIn(votes.Options{Classes: 3}, []byte(",ann,bob\n0,1,2\n1,2,0\n"))
	require.ErrorContains(t, err, `column 1 is named "": row numbers`)
}
