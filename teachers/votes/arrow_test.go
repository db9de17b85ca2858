package votes_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers/votes"
)

// ofArrow reads a file of votes that pyarrow wrote.
func ofArrow(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata/arrow", name))
	require.NoError(t, err)
	return raw
}

// TestArrowVotes: votes and counts as pyarrow writes them mean what the same matrix means.
func TestArrowVotes(t *testing.T) {
	plain, named := votes.Options{Classes: 3}, votes.Options{ClassNames: diseases}
	want, err := votes.OpenIn(plain, []byte(text(",", "\n", number)))
	require.NoError(t, err)
	for name, opt := range map[string]votes.Options{
		"whole.arrows": plain, "floats.arrow": plain, "lz4.feather": plain, "zstd.arrow": plain,
		"words.arrow": named, "dictionary.arrows": named, "counts.arrows": {Counts: true, Teachers: 4},
	} {
		raw := ofArrow(t, name)
		s, err := votes.OpenIn(opt, raw)
		require.NoError(t, err, name)
		requireMeant(t, s)
		if !opt.Counts {
			require.Equal(t, want.Hash(), s.Hash(), name)
		}
		require.Equal(t, "Arrow", s.Kind())
		gz, _ := packed(t, raw)
		s, err = votes.OpenIn(opt, gz)
		require.NoError(t, err, name)
		requireMeant(t, s)
		require.Equal(t, "gzip of Arrow", s.Kind())
	}
	s, err := votes.OpenIn(votes.Options{Classes: 2}, ofArrow(t, "missing.arrow"))
	require.NoError(t, err)
	m, err := s.Load(context.Background())
	require.NoError(t, err)
	for q, row := range [][]int{{1, -1, 1, 0}, {-1, -1, 0, 1}, {0, -1, -1, -1}} {
		for teacher, vote := range row {
			require.Equal(t, vote, m.At(q, teacher))
		}
	}
}

// TestArrowVotesThatAreRefused: with what mends them; and whatever is cut off.
func TestArrowVotesThatAreRefused(t *testing.T) {
	for name, want := range map[string][2]string{
		"odd.feather":       {"row 1, column 1 holds a number that is not whole", `pd.read_feather("votes0").values`},
		"timestamps.arrows": {`column "when" holds timestamps`, "astype(str)"},
		"grows.arrows":      {"grows from batch to batch", "unify_dictionaries"},
	} {
		opt := votes.Options{Classes: 2}
		if name == "grows.arrows" {
			opt = votes.Options{ClassNames: diseases}
		}
		_, err := votes.OpenIn(opt, ofArrow(t, name))
		var told *votes.Error
		require.ErrorAs(t, err, &told, name)
		require.Contains(t, told.What, want[0])
		require.Contains(t, told.Fix, want[1])
	}
	for _, name := range []string{"whole.arrows", "zstd.arrow", "dictionary.arrows"} {
		raw := ofArrow(t, name)
		opt := votes.Options{Classes: 3}
		if name == "dictionary.arrows" {
			opt = votes.Options{ClassNames: diseases}
		}
		for n := 8; n < len(raw); n++ {
			_, err := votes.OpenIn(opt, raw[:n])
			require.Error(t, err, "%s cut to %d bytes", name, n)
		}
	}
}
