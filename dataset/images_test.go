package dataset

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/testkit"
)

func imageData(train, test int) Data {
	part := func(name string, n int) Set {
		s := Set{Name: "digits", X: blas32.General{Rows: n, Cols: 6, Stride: 6, Data: make([]float32, 6*n)},
			Units: numbered(name, n), IDs: numbered(name, n), Classes: Numbers(10), Image: Shape{Rows: 2, Cols: 3}}
		for i := range n {
			s.X.Data[6*i], s.X.Data[6*i+1] = float32(i%256)/255, float32(i/256)/255
			s.Y = append(s.Y, i%10)
		}
		return s
	}
	return Data{Name: "digits", Train: part("train", train), Test: part("test", test)}
}

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

type keptBytes struct{ fs.FS }

func (keptBytes) KeepBytes() {}

// TestSetsThatKeepBytes: they have the rows, parts and hashes of sets with numbers.
func TestSetsThatKeepBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "digits")
	writeFolder(t, path, nil)
	train, test := testkit.Must2(DirFS(os.DirFS(path), path, ClassRule{}))
	kept, keptTest := testkit.Must2(DirFS(keptBytes{os.DirFS(path)}, path, ClassRule{}))
	require.Nil(t, kept.X.Data)
	require.NoError(t, kept.Validate())
	same := func(want, got Set) {
		t.Helper()
		require.Equal(t, want.Hash(), got.Hash())
		require.Equal(t, want, testkit.Must(got.Slice(0, got.Len())))
	}
	same(train, kept)
	same(test, keptTest)
	same(testkit.Must(train.Slice(1, 2)), testkit.Must(kept.Slice(1, 2)))
	same(testkit.Must(train.Slice(1, 1)), testkit.Must(kept.Slice(1, 1)))
	same(testkit.Must(train.slice(1, 2)), testkit.Must(kept.slice(1, 2)))
	same(train.with(test), kept.with(keptTest))
	same(testkit.Must(train.Sample(1)), testkit.Must(kept.Sample(1)))
	both := []string{"u", "u"}
	train.Units, kept.Units = both, both
	same(train.OnePerUnit(), kept.OnePerUnit())
	want, _ := train.PerUnit(1, []byte("key"))
	got, ends := kept.PerUnit(1, []byte("key"))
	same(want, got)
	require.Equal(t, []int{1}, ends)
	parts := [3]Set{kept, kept, keptTest}
	split := testkit.Must(newTask(FullTest, parts, [3][2]int{{0, 1}, {1, 2}, {0, 1}}))
	require.Nil(t, split.Private.X.Data)
	parts = [3]Set{train, train, test}
	require.Equal(t, testkit.Must(newTask(FullTest, parts, [3][2]int{{0, 1}, {1, 2}, {0, 1}})).Hash(), split.Hash())
}

func TestDirReadsPlainAndCompressed(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "digits")
	writeFolder(t, plain, nil)
	packed := filepath.Join(t.TempDir(), "my-fashion")
	writeFolder(t, packed, func(files map[string][]byte) {
		for _, name := range []string{"train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"} {
			files[name+".gz"] = testkit.Gzip(files[name])
			delete(files, name)
		}
	})
	train, test := testkit.Must2(DirFS(os.DirFS(plain), plain, ClassRule{}))
	require.NoError(t, train.Validate())
	require.NoError(t, test.Validate())
	assert.Equal(t, []float32{0, 0.2, 0.4, 0.6, 0.8, 1}, train.X.Data[:6])
	assert.Equal(t, []int{9, 0}, train.Y)
	assert.Equal(t, []string{"train/0", "train/1"}, train.Units)
	assert.Equal(t, "9", train.Classes[9])

	other, _ := testkit.Must2(DirFS(os.DirFS(packed), packed, ClassRule{}))
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
			train, test, err := DirFS(os.DirFS(path), path, ClassRule{})
			assert.ErrorContains(t, err, c.want)
			testkit.ErrorAs[*fault.Error](t, err)
			assert.Zero(t, train)
			assert.Zero(t, test)
		})
	}
}

func idxBytes(dims []uint32, data []byte) []byte {
	out := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		out = binary.BigEndian.AppendUint32(out, d)
	}
	return append(out, data...)
}

func TestReadIDXReturnsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dims := rapid.SliceOfN(rapid.Uint32Range(1, 40), 1, 3).Draw(r, "dims")
		size := 1
		for _, d := range dims {
			size *= int(d)
		}
		data := bytes.Repeat([]byte{rapid.Byte().Draw(r, "value")}, size)
		file := idxBytes(dims, data)
		if rapid.Bool().Draw(r, "gzip") {
			file = testkit.Gzip(file)
		}
		assert.Equal(r, data, testkit.Must(readIDX(bytes.NewReader(file), len(dims))).data)
		assert.Error(r, testkit.Err(readIDX(bytes.NewReader(file[:len(file)-1]), len(dims))), "one byte short")
	})
}

func TestReadIDXDoesNotBelieveTheHeader(t *testing.T) {
	kilobyte := make([]byte, 1000)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"10^12 bytes":        {idxBytes([]uint32{1e6, 1e3, 1e3}, kilobyte), "claims more than"},
		"product overflows":  {idxBytes([]uint32{1 << 31, 1 << 31, 1 << 31}, kilobyte), "claims more than"},
		"no rows":            {idxBytes([]uint32{0, 28, 28}, nil), "dimension 1 is 0"},
		"just below the cap": {idxBytes([]uint32{1 << 10, 1 << 10, 1 << 10}, kilobyte), "there are 1000"},
		"the same, packed":   {testkit.Gzip(idxBytes([]uint32{1 << 10, 1 << 10, 1 << 10}, kilobyte)), "there are 1000"},
		"broken gzip":        {[]byte{0x1f, 0x8b, 8, 0, 0}, "EOF"},
		"empty":              {nil, "0 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			used := testkit.Allocated(func() { assert.ErrorContains(t, testkit.Err(readIDX(bytes.NewReader(c.file), 3)), c.want) })
			assert.Less(t, used, uint64(1<<20), "bytes allocated for a file of 1 KB")
		})
	}
}

func FuzzReadIDX(f *testing.F) {
	f.Add(idxBytes([]uint32{2, 1, 3}, make([]byte, 6)))
	f.Add(testkit.Gzip(idxBytes([]uint32{2, 1, 3}, make([]byte, 6))))
	f.Add(idxBytes([]uint32{1e6, 1e3, 1e3}, make([]byte, 6)))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := readIDX(bytes.NewReader(file), 3)
		if err == nil && len(a.data) != a.dims[0]*a.dims[1]*a.dims[2] {
			t.Fatalf("%d bytes for dimensions %v", len(a.data), a.dims)
		}
	})
}
