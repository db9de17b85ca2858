package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

const magic = "pate test 1\n"

func sample() []byte {
	return Seal(Append(Append(append([]byte(magic), 'a', 'b', 7, 1), []float32{1.5, -2}), []float64{math.Pi}))
}

func TestFieldsComeBack(t *testing.T) {
	r := testkit.Must(Open(sample(), magic))
	require.Equal(t, []byte("ab"), r.Bytes(2))
	require.Equal(t, uint64(0x107), r.Uint(2))
	require.Equal(t, []float32{1.5, -2}, Numbers[float32](r, 2))
	require.ErrorContains(t, r.End(), "8 bytes too many")
	require.Equal(t, []float64{math.Pi}, Numbers[float64](r, 1))
	require.NoError(t, r.End())
	require.Nil(t, r.Bytes(1))
	require.Zero(t, r.Uint(8), "after an error all is zero")
	require.ErrorContains(t, r.End(), "ends early: 1 bytes are needed, but 0 are left")
}

func TestNumbersThatAreNotFiniteAreRefused(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		r := testkit.Must(Open(Seal(Append([]byte(magic), []float64{1, bad, 2})), magic))
		Numbers[float64](r, 3)
		require.ErrorContains(t, r.End(), "number 1 is not finite")
		r = testkit.Must(Open(Seal(Append([]byte(magic), []float32{float32(bad)})), magic))
		Numbers[float32](r, 1)
		require.Error(t, r.Err())
	}
}

func TestDamageIsFound(t *testing.T) {
	file := sample()
	intact := func(b []byte) bool { return testkit.Must(Intact(bytes.NewReader(b), int64(len(b)), magic)) }
	require.True(t, intact(file))
	for i := range file {
		bad := bytes.Clone(file)
		bad[i] ^= 0x10
		for _, b := range [][]byte{bad, file[:i], append(bytes.Clone(file), file[i])} {
			_, err := Open(b, magic)
			require.True(t, err == ErrKind || err == ErrDamaged, "byte %d: %v", i, err)
			require.False(t, intact(b), "byte %d", i)
		}
	}
	_, err := Open([]byte(magic), magic)
	require.Equal(t, ErrDamaged, err)
	_, err = Intact(bytes.NewReader(file[:40]), int64(len(file)), magic)
	require.Error(t, err, "a file that is shorter than it was said to be")
}

// FuzzReader reads fields of kinds and lengths that the input asks for. Nothing panics, no field takes more
// memory than its bytes, and what is read has the bytes it was read from.
func FuzzReader(f *testing.F) {
	f.Add(sample()[:len(sample())-sha256.Size], []byte{2, 9, 42, 81})
	f.Add([]byte(magic), []byte{255, 3})
	f.Fuzz(func(t *testing.T, body, script []byte) {
		file := Seal(append(body, 0)[:len(body)])
		r, err := Open(file, magic)
		whole, _ := Intact(bytes.NewReader(file), int64(len(file)), magic)
		require.Equal(t, whole, err == nil)
		if err != nil {
			require.Equal(t, ErrKind, err)
			return
		}
		again := []byte(magic)
		for _, op := range script {
			n := int(op >> 2)
			if op == 255 {
				n = 1 << 60
			}
			before := len(r.rest)
			switch op & 3 {
			case 0:
				again = append(again, r.Bytes(uint64(n))...)
			case 1:
				v := r.Uint(2)
				again = append(again, byte(v), byte(v>>8))
			case 2:
				again = Append(again, Numbers[float32](r, n))
			case 3:
				again = Append(again, Numbers[float64](r, n))
			}
			if r.Err() != nil {
				require.Error(t, r.End())
				return
			}
			require.Equal(t, len(file)-sha256.Size-len(r.rest), len(again), "%d bytes read", before-len(r.rest))
		}
		require.True(t, bytes.HasPrefix(file, again))
		require.Equal(t, len(r.rest) == 0, r.End() == nil)
	})
}

func TestAppendIsTheSameOnAllMachines(t *testing.T) {
	single := []float32{0, 1, -2.5, math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Inf(-1)), float32(math.NaN())}
	double := []float64{0, 1, -2.5, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(-1), math.NaN()}
	for n := range len(single) + 1 {
		require.Equal(t, testkit.Must(binary.Append([]byte{7}, binary.LittleEndian, single[:n])), Append([]byte{7}, single[:n]))
		require.Equal(t, testkit.Must(binary.Append([]byte{7}, binary.LittleEndian, double[:n])), Append([]byte{7}, double[:n]))
	}
	require.Equal(t, []byte{7, 0, 0, 0x80, 0x3f}, Append([]byte{7}, single[1:2]))
}
