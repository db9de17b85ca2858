package votes

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/npy"
)

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

// Votes of a byte are counted as votes of two are, again and again by the same tally.
func TestTally(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var tally tally
	for _, classes := range []int{2, 3, 10, 127} {
		got, want := make([]int, classes), make([]int, classes)
		for _, n := range []int{0, 1, 7, 8, 15, 255, 1000} {
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

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

func inMemory(files [][]byte) (in []*input, perTeacher bool) {
	for i, file := range files {
		in = append(in, &input{name: fmt.Sprintf("votes%d", i), size: int64(len(file)), open: func() (openInput, error) {
			return memory{bytes.NewReader(file)}, nil
		}})
	}
	return in, len(files) > 1
}

// OpenIn opens files that are in memory: one is a matrix, several are one for each teacher.
func OpenIn(opt Options, files ...[]byte) (*Source, error) {
	in, perTeacher := inMemory(files)
	return open(context.Background(), in, perTeacher, opt)
}

// OpenFull is OpenIn with less room for what is unpacked.
func OpenFull(opt Options, most int64, file []byte) (*Source, error) {
	in, _ := inMemory([][]byte{file})
	var err error
	if in[0], err = unpackInput(context.Background(), in[0], packingOf(file), &store{full: most}, opt); err != nil {
		return nil, err
	}
	return open(context.Background(), in, false, opt)
}

// Packed reports whether a file is unpacked before it is read.
func Packed(file []byte) bool { return packingOf(file) != "" }

// OpenInTiles is OpenIn with less room for columns.
func OpenInTiles(opt Options, cells int, file []byte) (*Source, error) {
	in, _ := inMemory([][]byte{file})
	s, err := newSource(context.Background(), in, false, opt)
	if err != nil {
		return nil, err
	}
	s.tile = cells
	s.hash, err = s.read(context.Background(), nil)
	return s, err
}

// CheckIn is Check for files that are in memory.
func CheckIn(opt Options, files ...[]byte) (*Report, error) {
	in, perTeacher := inMemory(files)
	s, err := newSource(context.Background(), in, perTeacher, opt)
	if err != nil {
		return nil, err
	}
	return s.check(context.Background(), perTeacher)
}
