package analyze

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzAnswers(f *testing.F) {
	f.Add("query,label\n0,1\n1,\n2,0\n")
	f.Add("0,1\n1,\n2,0")
	f.Add("2,1\n0,\n9,0\n1,1\n")
	f.Add("0,1\n0,1\n")
	f.Add("0,7\n")
	f.Add("\"0\",\"\"\n1")
	f.Fuzz(func(t *testing.T, text string) {
		answered, err := parseAnswers(strings.NewReader(text), 0, 3, 2, nil)
		if err != nil {
			require.Nil(t, answered)
			return
		}
		require.Len(t, answered, 3)
		part, err := parseAnswers(strings.NewReader(text), 1, 3, 2, nil)
		require.NoError(t, err, "a part of good answers is good")
		require.Equal(t, answered[1:], part)
	})
}
