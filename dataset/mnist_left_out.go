//go:build nomnist

package dataset

import (
	"io/fs"
	"os"
	"path/filepath"
)

// mnistEmbedded is false in a small build: the files are 11 MB.
const mnistEmbedded = false

// mnistFiles returns the folder of the four files of MNIST.
func mnistFiles() (fs.FS, error) {
	path, err := locate("mnist", installMNIST, filepath.Join("mnist", "train-images-idx3-ubyte"))
	if err != nil {
		return nil, err
	}
	return os.DirFS(filepath.Dir(path)), nil
}
