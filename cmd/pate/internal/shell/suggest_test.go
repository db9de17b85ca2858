package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"lable", "label", 1}, {"vrify", "verify", 1}, {"kitten", "sitting", 3}, {"né", "ne", 1}} {
		require.Equal(t, c.want, editDistance(c.a, c.b), "%q %q", c.a, c.b)
		require.Equal(t, c.want, editDistance(c.b, c.a), "%q %q", c.b, c.a)
	}
	require.Empty(t, didYouMean("zzz", []string{"label", "ledger"}))
	require.Empty(t, didYouMean("q", []string{"a", "b"}), "any letter is one edit from any other")
}
