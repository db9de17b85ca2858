package charged

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// variants returns transforms with all and with some of their parts.
func variants(records int) map[string]Config {
	deskewed := Default(records)
	deskewed.Deskew, deskewed.MeanNoise = true, 0
	return map[string]Config{
		"all":        Default(records),
		"deskewed":   deskewed,
		"scattering": {Scattering: true, SecondNoise: 20, SecondClip: 40.5, Ridge: 0.003, Records: records, Workers: 1},
		"gradients":  {HOG: true, Gradients: features.HOG{Bins: 8, Cell: 3, Block: 2, Clip: 0.3}, HOGMeanNoise: 3, Records: records, Workers: 1},
		"nothing":    {HOG: true, Records: records, Workers: 1},
	}
}

// TestTransformMakesWhatPrepareMade checks a transform, and one that was read from its bytes. Both make of
// images what Prepare made of them, to the last bit: of test images and of training images.
func TestTransformMakesWhatPrepareMade(t *testing.T) {
	ctx, train, test := context.Background(), images(150, 1), images(70, 2)
	for name, cfg := range variants(150) {
		t.Run(name, func(t *testing.T) {
			f := prepare(t, train, test, cfg)
			text := testkit.Must(f.Transform.MarshalBinary())
			var read Transform
			require.NoError(t, read.UnmarshalBinary(text))
			for _, transform := range []*Transform{f.Transform, &read} {
				require.Equal(t, f.Test.Cols, transform.cols)
				require.Equal(t, shape, transform.image)
				require.Equal(t, len(cfg.Events()) == 0, transform.Releasable(), "the key is seeded")
				for workers := 1; workers < 3; workers++ {
					x := testkit.Must(transform.Apply(ctx, test, workers))
					require.Equal(t, f.Test, x)
				}
				x := testkit.Must(transform.Apply(ctx, train, 2))
				require.Equal(t, f.Train.Float32(2), x)
				one := test
				one.X.Rows, one.X.Data = 1, dense.Row(test.X, 5)
				x = testkit.Must(transform.Apply(ctx, one, 1))
				require.Equal(t, dense.Row(f.Test, 5), x.Data)
			}
			again := testkit.Must(read.MarshalBinary())
			require.Equal(t, text, again)
		})
	}
}

// TestTransformHoldsItsStatistics checks that statistics are in the bytes: the transform of
// other training rows is another one.
func TestTransformHoldsItsStatistics(t *testing.T) {
	test := images(9, 2)
	for name, cfg := range variants(40) {
		a, b := prepare(t, images(40, 1), test, cfg), prepare(t, images(40, 7), test, cfg)
		if name == "nothing" {
			require.Equal(t, a.Test, b.Test)
		} else {
			require.NotEqual(t, a.Test, b.Test, name)
		}
	}
}

func TestTransformOfAReleasableKey(t *testing.T) {
	key := testkit.Must(rng.NewKey())
	cfg := faint(20)
	f := testkit.Must(Prepare(context.Background(), images(20, 1), nil, dataset.Set{}, cfg, reservations(t, cfg.Events()), key))
	require.True(t, f.Transform.Releasable())
}

func TestTransformRefusesOtherImages(t *testing.T) {
	ctx := context.Background()
	transform := prepare(t, images(20, 1), dataset.Set{}, Default(20)).Transform
	other := images(3, 1)
	other.Image = dataset.Shape{Rows: 9, Cols: 16}
	_, err := transform.Apply(ctx, other, 1)
	var shapes *ShapeError
	require.ErrorAs(t, err, &shapes)
	require.Equal(t, ShapeError{Got: other.Image, Want: shape}, *shapes)
	bad := images(3, 1)
	bad.X.Data[200] = float32(math.Inf(1))
	require.ErrorContains(t, testkit.Err(transform.Apply(ctx, bad, 1)), "not finite")
	require.Error(t, testkit.Err(transform.Apply(ctx, images(3, 1), 0)))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, testkit.Err(transform.Apply(cancelled, images(3, 1), 1)), context.Canceled)
}

// resealed returns the bytes with their hash made right again.
func resealed(b []byte) []byte {
	return sealed.Seal(append([]byte(nil), b[:max(0, len(b)-sha256.Size)]...))
}

func TestTransformRefusesDamage(t *testing.T) {
	text := testkit.Must(prepare(t, images(20, 1), dataset.Set{}, variants(20)["gradients"]).Transform.MarshalBinary())
	var read Transform
	require.NoError(t, read.UnmarshalBinary(resealed(text)))
	for i := range len(text) {
		if i > 600 && i%97 != 0 { // the numbers are all alike
			continue
		}
		bad := append([]byte(nil), text...)
		bad[i] ^= 1
		require.ErrorIs(t, read.UnmarshalBinary(bad), ErrTransform, "byte %d", i)
		require.ErrorIs(t, read.UnmarshalBinary(text[:i]), ErrTransform, "cut at %d", i)
		require.ErrorIs(t, read.UnmarshalBinary(resealed(text[:i])), ErrTransform, "cut at %d, with a hash", i)
	}
	longer := append(append([]byte(nil), text[:len(text)-sha256.Size]...), make([]byte, 8+sha256.Size)...)
	require.ErrorIs(t, read.UnmarshalBinary(resealed(longer)), ErrTransform)
	infinite := append([]byte(nil), text...)
	copy(infinite[len(text)-sha256.Size-8:], []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x7f})
	require.ErrorContains(t, read.UnmarshalBinary(resealed(infinite)), "not finite")
	require.NoError(t, testkit.Err(read.Apply(context.Background(), images(2, 1), 1)), "what failed changed nothing")
}

// FuzzTransform checks that bytes are refused, or are a transform that works and is written
// again as it was read.
func FuzzTransform(f *testing.F) {
	for _, cfg := range variants(8) {
		transform := testkit.Must(newTransform(cfg, shape))
		text := testkit.Must(transform.MarshalBinary())
		f.Add(text[:len(text)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var read Transform
		if err := read.UnmarshalBinary(resealed(append(body, make([]byte, sha256.Size)...))); err != nil {
			if !errors.Is(err, ErrTransform) {
				t.Fatal(err)
			}
			return
		}
		if _, err := read.MarshalBinary(); err != nil {
			t.Fatal(err)
		}
		if read.cols > 1<<16 || read.image.Pixels() > 1<<12 {
			return
		}
		set := dataset.Set{Image: read.image, X: dense.New(2, read.image.Pixels())}
		if x, err := read.Apply(context.Background(), set, 1); err == nil && x.Cols != read.cols {
			t.Fatal(x.Cols)
		}
	})
}

// TestTransformsOfAnEarlierVersion checks that what was written when the format was new is
// read, and written again byte for byte.
func TestTransformsOfAnEarlierVersion(t *testing.T) {
	for _, name := range []string{"scattering", "gradients"} {
		written := testkit.Must(os.ReadFile(filepath.Join("testdata", name+".transform")))
		var read Transform
		require.NoError(t, read.UnmarshalBinary(written))
		again := testkit.Must(read.MarshalBinary())
		require.True(t, bytes.Equal(written, again), name)
	}
}
