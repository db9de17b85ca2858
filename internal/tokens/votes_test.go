package tokens_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
)

// TestCaps: the caps follow from the answers so far.
func TestCaps(t *testing.T) {
	in := tokens.Input{Counts: tokens.Counts{Size: 9, Tokens: []int{2, 7}, Votes: []int64{3, 40}}}
	m := testkit.Must(tokens.NewConfident(aggregate.ConfidentGNMaxConfig{Threshold: 20, Sigma1: 2, Sigma2: 2, Queries: 3, Answers: 2}))
	session := m.Start(rng.SeedKey(1))
	for _, c := range []struct {
		state tokens.State
		over  bool
	}{
		{tokens.State{}, false}, {tokens.State{Voted: 1, Declined: 1}, false}, {tokens.State{Declined: 2}, false},
		{tokens.State{Voted: 2}, true}, {tokens.State{Voted: 1, Declined: 2}, true},
	} {
		a, err := session.Answer(c.state, 5, in)
		if c.over {
			require.ErrorIs(t, err, tokens.ErrExhausted)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tokens.Answer{Token: 7, Source: tokens.Vote}, a)
	}
}
