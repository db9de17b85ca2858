package rng

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestStreamsAreThoseOfDerivedKeys asks for streams in any order, some of them twice and
// after others were read to any length.
func TestStreamsAreThoseOfDerivedKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := SeedKey(rapid.Uint64().Draw(t, "seed"))
		label := rapid.StringN(0, 300, 300).Draw(t, "label")
		names := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint64(), 0, 40), 1, 4).Draw(t, "names")
		names = append(names, []uint64{0}) // the first query of all
		streams := k.Streams(label)
		for range 8 {
			ids := names[rapid.IntRange(0, len(names)-1).Draw(t, "which")]
			got, want := streams.Of(ids...), k.Derive(label, ids...).Stream()
			for range rapid.IntRange(1, 100).Draw(t, "words") {
				require.Equal(t, want.Uint64(), got.Uint64())
			}
		}
	})
}

func TestStreamsPrintNoSecret(t *testing.T) {
	s := SeedKey(5).Streams("a")
	s.Of(1)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		require.Equal(t, "rng.Streams(redacted)", fmt.Sprintf(verb, s))
	}
}

func TestStreamsAllocateNothing(t *testing.T) {
	s, query := SeedKey(1).Streams("query"), uint64(0)
	s.Of(0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		query++
		s.Of(query).Uint64()
	}))
}
