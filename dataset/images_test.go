package dataset

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pate-go/pate/fault"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEmbeddedMNISTIsThePublishedOne(t *testing.T) {
	files, err := mnistFiles()
	require.NoError(t, err)
	for name, want := range map[string]string{
		"train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
		"train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
		"t10k-images-idx3-ubyte":  "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
		"t10k-labels-idx1-ubyte":  "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
	} {
		f, err := files.Open(name + ".gz")
		require.NoError(t, err)
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		h := sha256.New()
		_, err = io.Copy(h, z)
		require.NoError(t, err)
		assert.Equal(t, want, hex.EncodeToString(h.Sum(nil)), name)
	}
}

// openMNIST reads the embedded files once for all tests, which must not change them.
var openMNIST = sync.OnceValues(func() (Data, error) { return Open("mnist", Options{}) })

func TestMNIST(t *testing.T) {
	d, err := openMNIST()
	train, test := d.Train, d.Test
	require.NoError(t, err)
	for _, c := range []struct {
		set    Set
		rows   int
		labels []int // the first ones, as printed in every tutorial
		last   string
	}{
		{train, 60000, []int{5, 0, 4, 1, 9}, "train/59999"},
		{test, 10000, []int{7, 2, 1, 0, 4}, "test/9999"},
	} {
		require.NoError(t, c.set.Validate())
		assert.Equal(t, c.rows, c.set.Len())
		assert.Equal(t, Shape{Rows: 28, Cols: 28}, c.set.Image)
		assert.Equal(t, 784, c.set.X.Cols)
		assert.Equal(t, c.labels, c.set.Y[:5])
		assert.Equal(t, c.last, c.set.Units[c.rows-1])
		assert.Len(t, c.set.Classes, 10)
	}
	// Mean training pixel 0.1307, the constant known from other toolkits.
	var sum float64
	for _, v := range train.X.Data {
		sum += float64(v)
	}
	assert.InDelta(t, 0.1307, sum/float64(len(train.X.Data)), 5e-5)
}

// writeFolder writes two 2x3 images for training and one for testing.
func writeFolder(t *testing.T, path string, edit func(map[string][]byte)) {
	t.Helper()
	files := map[string][]byte{
		"train-images-idx3-ubyte": idxBytes([]uint32{2, 2, 3}, []byte{0, 51, 102, 153, 204, 255, 1, 2, 3, 4, 5, 6}),
		"train-labels-idx1-ubyte": idxBytes([]uint32{2}, []byte{9, 0}),
		"t10k-images-idx3-ubyte":  idxBytes([]uint32{1, 2, 3}, []byte{9, 9, 9, 9, 9, 9}),
		"t10k-labels-idx1-ubyte":  idxBytes([]uint32{1}, []byte{3}),
	}
	if edit != nil {
		edit(files)
	}
	require.NoError(t, os.MkdirAll(path, 0o755))
	for name, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(path, name), data, 0o600))
	}
}

func TestDirReadsPlainAndCompressed(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "digits")
	writeFolder(t, plain, nil)
	packed := filepath.Join(t.TempDir(), "my-fashion")
	writeFolder(t, packed, func(files map[string][]byte) {
		for _, name := range []string{"train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"} {
			files[name+".gz"] = gzipped(t, files[name])
			delete(files, name)
		}
	})
	train, test, err := Dir(plain, ClassRule{})
	require.NoError(t, err)
	require.NoError(t, train.Validate())
	require.NoError(t, test.Validate())
	assert.Equal(t, []float32{0, 0.2, 0.4, 0.6, 0.8, 1}, train.X.Data[:6])
	assert.Equal(t, []int{9, 0}, train.Y)
	assert.Equal(t, []string{"train/0", "train/1"}, train.Units)
	assert.Equal(t, "9", train.Classes[9])

	other, _, err := Dir(packed, ClassRule{})
	require.NoError(t, err)
	assert.Equal(t, train.X, other.X)
	assert.Equal(t, "9", other.Classes[9], "the name of a folder decides nothing")
}

func TestDirNamesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(map[string][]byte)
		want string
	}{
		"missing":    {func(f map[string][]byte) { delete(f, "t10k-labels-idx1-ubyte") }, "no readable t10k-labels-idx1-ubyte"},
		"counts":     {func(f map[string][]byte) { f["train-labels-idx1-ubyte"] = idxBytes([]uint32{1}, []byte{1}) }, "has 1 labels, the images file has 2"},
		"truncated":  {func(f map[string][]byte) { f["train-images-idx3-ubyte"] = f["train-images-idx3-ubyte"][:20] }, "claims 12 bytes of data, there are 4"},
		"trailing":   {func(f map[string][]byte) { f["train-labels-idx1-ubyte"] = append(f["train-labels-idx1-ubyte"], 1) }, "more than the 2 bytes"},
		"other size": {func(f map[string][]byte) { f["t10k-images-idx3-ubyte"] = idxBytes([]uint32{1, 1, 1}, []byte{1}) }, "test images of 1x1"},
		"swapped":    {func(f map[string][]byte) { f["train-images-idx3-ubyte"] = f["train-labels-idx1-ubyte"] }, "header of an idx3 file"},
		"not idx":    {func(f map[string][]byte) { f["train-images-idx3-ubyte"] = []byte("P5 28 28 255 and more") }, "begins with 50 35"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "d")
			writeFolder(t, path, c.edit)
			train, test, err := Dir(path, ClassRule{})
			assert.ErrorContains(t, err, c.want)
			var input *fault.Error
			assert.ErrorAs(t, err, &input)
			assert.Zero(t, train)
			assert.Zero(t, test)
		})
	}
}
