package votes_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

func randomVotes(t require.TestingT, queries, count, classes int, seed uint64) *votes.Matrix {
	v := testkit.Must(votes.New(queries, count, classes))
	rnd := rand.New(rand.NewPCG(seed, 1))
	for q := range queries {
		for c := range count {
			require.NoError(t, v.Set(q, c, rnd.IntN(classes+1)-1))
		}
	}
	return v
}

func TestVotesComeBackFromTheirFile(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.SampledFrom([]int{2, 10, 127, 128, 1000, votes.MaxClasses}).Draw(t, "classes")
		v := randomVotes(t, rapid.IntRange(0, 20).Draw(t, "queries"), rapid.IntRange(1, 20).Draw(t, "teachers"), classes, rapid.Uint64().Draw(t, "seed"))
		path := filepath.Join(dir, "votes.npy")
		require.NoError(t, v.Save(path))
		back := testkit.Must(votes.Load(path, classes))
		require.Equal(t, v.Hash(), back.Hash())
		for q := range v.Queries() {
			for c := range v.Teachers() {
				require.Equal(t, v.At(q, c), back.At(q, c))
			}
		}
	})
	require.Equal(t, os.FileMode(0o600), testkit.Must(os.Stat(filepath.Join(dir, "votes.npy"))).Mode().Perm())
}

// npy puts a file together as NumPy does.
func npy(version byte, dict string, data []byte) []byte {
	head := []byte("\x93NUMPY")
	head = append(head, version, 0)
	if version == 1 {
		head = binary.LittleEndian.AppendUint16(head, uint16(len(dict)))
	} else {
		head = binary.LittleEndian.AppendUint32(head, uint32(len(dict)))
	}
	return append(append(head, dict...), data...)
}

func TestVotesCount(t *testing.T) {
	v := testkit.Must(votes.New(4, 5, 4))
	for q, line := range [][]int{
		{2, 2, 1, 2, -1},
		{3, 1, 1, 3, 0},      // a tie: the lowest class
		{-1, -1, -1, -1, -1}, // nobody
		{0, 0, 0, 0, 0},
	} {
		for c, vote := range line {
			require.NoError(t, v.Set(q, c, vote))
		}
	}
	require.Equal(t, []int{2, 1, 0, 0}, v.Pluralities())
	require.Equal(t, []int{2, 0, 0, 5}, v.Gaps())
	require.Equal(t, []int{0, 1, 3, 0}, testkit.Must(v.Histogram(0)).Reveal())
	for _, q := range []int{-1, 4} {
		require.Error(t, testkit.Err(v.Histogram(q)))
	}
	require.Error(t, v.Set(0, 0, 4))
	require.Error(t, v.Set(0, 0, -2))
	require.Panics(t, func() { v.At(0, 5) })
}

func TestVotesShapesThatAreRefused(t *testing.T) {
	for _, shape := range [][3]int{{-1, 1, 2}, {1, 0, 2}, {1, votes.MaxTeachers + 1, 2}, {1, 1, 1}, {1, 1, votes.MaxClasses + 1}, {1 << 62, 250, 10}} {
		require.Error(t, testkit.Err(votes.New(shape[0], shape[1], shape[2])), "%v", shape)
	}
}

func TestHashTellsVotesApart(t *testing.T) {
	v := randomVotes(t, 3, 4, 5, 1)
	before := v.Hash()
	require.NoError(t, v.Set(2, 3, (v.At(2, 3)+2)%5))
	require.NotEqual(t, before, v.Hash())
	seen := map[[32]byte]bool{}
	for _, shape := range [][3]int{{3, 4, 5}, {4, 3, 5}, {12, 1, 5}, {3, 4, 6}, {3, 4, 200}} {
		empty := testkit.Must(votes.New(shape[0], shape[1], shape[2]))
		require.False(t, seen[empty.Hash()])
		seen[empty.Hash()] = true
	}
}

// TestVotesStaySecretWhenPrinted fills a matrix with one telling class.
func TestVotesStaySecretWhenPrinted(t *testing.T) {
	v := testkit.Must(votes.New(3, 2, 100))
	for q := range 3 {
		require.NoError(t, v.Set(q, 0, 77))
	}
	var text strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
		fmt.Fprintf(&text, verb+verb, v, *v)
	}
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: noTime})).Info("votes", "a", v, "b", *v)
	//lint:ignore SA9005 that nothing comes out is what is tested
	asJSON := testkit.Must(json.Marshal(v))
	text.Write(asJSON)
	for _, secret := range []string{"77", "4d", "-1"} {
		require.NotContains(t, text.String(), secret)
	}
	require.Contains(t, text.String(), "2 teachers on 3 queries")
}
