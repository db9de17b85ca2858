package namedsets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/unpack"
)

func idx(dims []uint32, data ...byte) string {
	raw := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		raw = binary.BigEndian.AppendUint32(raw, d)
	}
	return string(append(raw, data...))
}

func small(name string) []string {
	switch name {
	case "fashion-mnist", "mnist":
		return []string{idx([]uint32{2, 1, 2}, 0, 51, 102, 153), idx([]uint32{2}, 9, 0), idx([]uint32{1, 1, 2}, 9, 9), idx([]uint32{1}, 3)}
	case "adult":
		return []string{"39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K\n" +
			"52, ?, 287927, HS-grad, 9, Married-civ-spouse, Exec-managerial, Wife, White, Female, 15024, 0, 40, ?, >50K\n\n"}
	case "abalone":
		return []string{"M,0.4,0.3,0.1,0.5,0.2,0.1,0.1,15\nF,0.4,0.3,0.1,0.5,0.2,0.1,0.1,8\nI,0.4,0.3,0.1,0.5,0.2,0.1,0.1,9\nI,0.4,0.3,0.1,0.5,0.2,0.1,0.1,10\n"}
	case "reuters-r8":
		return []string{"Category\tText\nearn\tnet profit of mln\nacq\tbuys the company\n"}
	case "20newsgroups":
		return []string{"Category\tText\nsci.med\tthe doctor\n"}
	}
	return nil
}

// TestEverySet: each set that is listed has a licence and hashes, is missed with how to get it, and opens
// once its files are in $PATE_DATA, plain or compressed.
func TestEverySet(t *testing.T) {
	opened := map[string]dataset.Data{}
	for _, n := range All() {
		require.NotEmpty(t, n.Licence)
		if n.Files == nil {
			require.Empty(t, n.Install) // TestMNIST opens it
			continue
		}
		for _, root := range []string{"", t.TempDir()} {
			t.Setenv("PATE_DATA", root)
			if _, err := n.Find(n.Files[0]); err == nil { // installed by a package
				continue
			}
			_, err := Open(n.Name, dataset.Options{}, false)
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.ErrorContains(t, err, n.Install)
			require.ErrorContains(t, err, "$PATE_DATA/"+n.Name)
		}
		files := small(n.Name)
		require.Len(t, files, len(n.Files), "%s: give its files in small", n.Name)
		for i, f := range n.Files {
			require.Len(t, f.SHA256, 2*sha256.Size)
			path, text := filepath.Join(os.Getenv("PATE_DATA"), f.Path), []byte(files[i])
			if len(files) == 1 {
				path, text = path+".gz", testkit.Gzip(text)
			}
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, text, 0o600))
		}
		d := testkit.Must(Open(n.Name, dataset.Options{}, false))
		require.True(t, d.Published)
		opened[n.Name] = d
	}
	adult := opened["adult"].Table
	require.Equal(t, []string{"<=50K", ">50K"}, adult.Labels)
	require.Equal(t, []int{0, 1}, adult.Y)
	require.Len(t, adult.Columns, 13)
	for _, c := range adult.Columns {
		require.NotEqual(t, "fnlwgt", c.Name)
	}
	require.Equal(t, []int{2, 0, 1, 1}, opened["abalone"].Table.Y)
	require.Len(t, opened["abalone"].Table.Columns, 8)
	require.Equal(t, []int{0, 1}, opened["reuters-r8"].Table.Y)
	require.Equal(t, []dataset.Column{{Name: "Text", Values: []string{"the doctor"}}}, opened["20newsgroups"].Table.Columns)
	fashion := opened["fashion-mnist"].Train
	require.Equal(t, "T-shirt/top", fashion.Classes[0])
	require.Equal(t, 2, fashion.Len(), "PATE_DATA comes before the system's folder")
}

func TestOpenRefuses(t *testing.T) {
	for want, opt := range map[string]dataset.Options{
		"takes no files of labels, units or embeddings":                                 {Labels: "l.npy"},
		"has no columns, so flags of columns, such as --label or --silos, do not apply": {CSV: dataset.CSVOptions{Label: "1"}},
		"--classes, --class-names and --other-labels do not apply":                      {Rule: dataset.ClassRule{Names: []string{"a", "b"}}},
		"--kind does not apply": {Kind: dataset.Pictures},
	} {
		_, err := Open("mnist", opt, false)
		testkit.ErrorAs[*fault.Error](t, err)
		require.ErrorContains(t, err, want)
	}
	_, err := Open(filepath.Join(t.TempDir(), "glyph"), dataset.Options{}, false)
	require.ErrorContains(t, err, "known data sets are mnist, fashion-mnist, adult, abalone")
}

func TestMNIST(t *testing.T) {
	files := testkit.Must(mnistFiles(mnist))
	for name, want := range map[string]string{
		"train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
		"train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
		"t10k-images-idx3-ubyte":  "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
		"t10k-labels-idx1-ubyte":  "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
	} {
		z := testkit.Must(unpack.Reader(testkit.Must(files.Open(name + ".zst"))))
		h := sha256.New()
		require.NoError(t, testkit.Err(io.Copy(h, z)))
		require.Equal(t, want, hex.EncodeToString(h.Sum(nil)), name)
	}
	opened := testkit.Must(Open("mnist", dataset.Options{}, false))
	train, test := opened.Train, opened.Test
	for _, c := range []struct {
		set    dataset.Set
		rows   int
		labels []int // the first ones, as printed in every tutorial
		last   string
	}{
		{train, 60000, []int{5, 0, 4, 1, 9}, "train/59999"},
		{test, 10000, []int{7, 2, 1, 0, 4}, "test/9999"},
	} {
		require.NoError(t, c.set.Validate())
		require.Equal(t, c.rows, c.set.Len())
		require.Equal(t, dataset.Shape{Rows: 28, Cols: 28}, c.set.Image)
		require.Equal(t, 784, c.set.X.Cols)
		require.Equal(t, c.labels, c.set.Y[:5])
		require.Equal(t, c.last, c.set.Units[c.rows-1])
		require.Len(t, c.set.Classes, 10)
	}
	// Mean training pixel 0.1307, the constant known from other toolkits.
	var sum float64
	for _, v := range train.X.Data {
		sum += float64(v)
	}
	require.InDelta(t, 0.1307, sum/float64(len(train.X.Data)), 5e-5)

	kept := testkit.Must(Open("mnist", dataset.Options{}, true)).Test
	require.Nil(t, kept.X.Data)
	require.Equal(t, test.Hash(), kept.Hash())
	require.Equal(t, test.X, testkit.Must(features.Apply(t.Context(), kept, features.Raw{}, 2)))
	require.Equal(t, testkit.Must(features.Pack(t.Context(), test, features.Raw{}, 2)).Hash(1),
		testkit.Must(features.Pack(t.Context(), kept, features.Raw{}, 2)).Hash(1), "the key of cached features")
}
