package nn

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

func small(t testing.TB, seed uint64) *Model {
	m, err := New(Image(4, 4, 1), CrossEntropy,
		Conv2D{Filters: 2, Kernel: 2, Stride: 2}, GroupNorm{Groups: 2}, ReLU{}, Flatten{}, Dense{Units: 3, Weights: Glorot})
	require.NoError(t, err)
	m.Init(rand.New(rand.NewPCG(seed, 1)))
	return m
}

func TestSaveAndLoad(t *testing.T) {
	from, into := small(t, 1), small(t, 2)
	require.NotEqual(t, from.Parameters(), into.Parameters())
	var b bytes.Buffer
	require.NoError(t, from.Save(&b))
	whole := slices.Clone(b.Bytes())
	b.WriteString("more")
	require.NoError(t, into.Load(&b))
	require.Equal(t, from.Parameters(), into.Parameters())
	require.Equal(t, "more", b.String())

	before := small(t, 2)
	other := testkit.Must(NewSoftmax(16, 3))
	require.ErrorContains(t, other.Load(bytes.NewReader(whole)), "the file is for")
	for i := range whole {
		damaged := slices.Clone(whole)
		damaged[i] ^= 4
		m := small(t, 2)
		require.Error(t, m.Load(bytes.NewReader(damaged)), "byte %d", i)
		require.Error(t, m.Load(bytes.NewReader(whole[:i])), "first %d bytes", i)
		require.Equal(t, before.Parameters(), m.Parameters())
	}
	from.Parameters()[3] = float32(math.Inf(1))
	b.Reset()
	require.NoError(t, from.Save(&b))
	require.ErrorContains(t, into.Load(&b), "not finite")
}

// FuzzLoad checks that no input makes Load panic, or leaves a parameter that is not finite.
func FuzzLoad(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, small(f, 1).Save(&b))
	f.Add(b.Bytes())
	f.Add([]byte(fileMagic + "\xff\xff\xff\xff"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := small(t, 2)
		err := m.Load(bytes.NewReader(raw))
		// Put the hash right, so that the checks after the hash are reached.
		if err != nil && len(raw) > sha256.Size+len(fileMagic)+4 {
			body := slices.Clone(raw[:len(raw)-sha256.Size])
			copy(body, fileMagic)
			name := m.arch.String()
			binary.LittleEndian.PutUint32(body[len(fileMagic):], uint32(len(name)))
			sum := sha256.Sum256(body)
			_ = m.Load(bytes.NewReader(append(body, sum[:]...)))
		}
		for _, v := range m.Parameters() {
			require.Zero(t, v-v)
		}
	})
}

// TestAFileOfAnEarlierVersion checks that testdata/small.model, written when the format was
// new, is read, and written again byte for byte.
func TestAFileOfAnEarlierVersion(t *testing.T) {
	written := testkit.Must(os.ReadFile(filepath.Join("testdata", "small.model")))
	m := small(t, 2)
	require.NoError(t, m.Load(bytes.NewReader(written)))
	var again bytes.Buffer
	require.NoError(t, m.Save(&again))
	require.Equal(t, written, again.Bytes())
}
