package votes

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/npy"
)

// TestAllWithinOnEveryByte puts every byte at every place, alone among good ones.
func TestAllWithinOnEveryByte(t *testing.T) {
	for _, c := range []struct{ add, limit int }{{0, 0}, {0, 1}, {0, 9}, {0, 126}, {1, 2}, {1, 10}, {1, 127}} {
		for length := range 18 {
			for at := range length {
				raw := make([]byte, length)
				for v := range 256 {
					raw[at] = byte(v)
					require.Equal(t, int(byte(v+c.add)) <= c.limit, allWithin(raw, c.add, c.limit), "%+v: %d at %d of %d", c, v, at, length)
				}
			}
		}
	}
}

// TestOneBadVoteIsFound writes one bad byte among good ones, for a signed and an unsigned type.
func TestOneBadVoteIsFound(t *testing.T) {
	for v := range 256 {
		raw := []byte{0, 1, 2, 0, 1, 2, 0, byte(v), 0, 1, 2}
		dst := make([]byte, len(raw))
		bad := decode(dst, raw, npy.Type{Kind: 'i', Size: 1}, domain{low: Abstention, limit: 3})
		require.Equal(t, int8(v) >= -1 && int8(v) < 3, bad == 0)
		require.Equal(t, bad > 0, signed(dst[7]) < Abstention)
		bad = decode(dst, raw, npy.Type{Kind: 'u', Size: 1}, domain{low: Abstention, limit: 3})
		require.Equal(t, v < 3, bad == 0)
		require.Equal(t, bad > 0, signed(dst[7]) < Abstention)
	}
}

// Votes of a byte are counted as those of two are, for numbers of votes about all limits of the sums, and
// again by the same tally.
func TestTally(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var tally tally
	for _, classes := range []int{2, 3, 9, fewLanes, fewLanes + 1, 127} {
		got, want := make([]int, classes), make([]int, classes)
		for _, n := range []int{0, 1, 7, 8, 15, 62, 63, 64, 247, 250, 251, 252, 253, 255, 503, 504, 505, 1000, 5003} {
			for _, alike := range []bool{false, true} {
				narrow, wide := make([]byte, n), make([]int16, n)
				for i := range narrow {
					vote := rnd.IntN(classes+1) - 1
					if alike {
						vote = classes - 1
					}
					narrow[i], wide[i] = byte(vote), int16(vote)
				}
				tally.count(got, narrow)
				countWide(want, wide)
				require.Equal(t, want, got, "%d votes for %d classes", n, classes)
			}
		}
	}
}

func TestTranspose(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var x [8]uint64
	for i := range x {
		x[i] = rnd.Uint64()
	}
	turned := x
	transpose(&turned)
	for i := range 8 {
		for j := range 8 {
			require.Equal(t, byte(x[i]>>(8*j)), byte(turned[j]>>(8*i)))
		}
	}
}

// Groups of valid votes say of teachers and classes what single votes say.
func TestValidBlocks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		const classes = 4
		queries, teachers := 1+rnd.IntN(40), 1+rnd.IntN(30)
		abstain := rnd.IntN(2) * rnd.IntN(10) // tenths
		kind := make([]int, teachers)
		for i := range kind {
			kind[i] = rnd.IntN(6)
		}
		cells := make([]byte, 0, queries*teachers)
		for range queries {
			row := make([]byte, teachers)
			for i := range row {
				row[i] = byte(rnd.IntN(classes))
				switch {
				case kind[i] == 0: // one class
					row[i] = 2
				case kind[i] == 1: // nothing
					row[i] = 0xff
				case kind[i] == 2 && i > 0: // the one before
					row[i] = row[i-1]
				}
				if kind[i] != 2 && rnd.IntN(10) < abstain {
					row[i] = 0xff
				}
			}
			cells = append(cells, row...)
		}
		checked := func(look func(c *checker)) Report {
			c := &checker{Report: Report{Queries: queries, Teachers: teachers, Classes: classes, ClassVotes: make([]int64, classes), Pluralities: make([]int64, classes), LeastVotes: math.MaxInt},
				voters: make([]teacherVotes, teachers), counts: make([]int, classes)}
			look(c)
			c.finish()
			return c.Report
		}
		singly := checked(func(c *checker) { labelBlock(c, 0, cells) })
		require.Equal(t, singly, checked(func(c *checker) { c.validBlock(cells) }))
		at := rnd.IntN(queries+1) * teachers // in two blocks
		require.Equal(t, singly, checked(func(c *checker) { c.validBlock(cells[:at]); c.validBlock(cells[at:]) }))
	}
}
