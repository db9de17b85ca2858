//go:build !nomnist

package dataset

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed mnist/*.gz
var embedded embed.FS

const mnistEmbedded = true

// mnistFiles returns the four files of MNIST.
func mnistFiles() (fs.FS, error) {
	files, err := fs.Sub(embedded, "mnist")
	if err != nil {
		return nil, fmt.Errorf("dataset: mnist: %w", err)
	}
	return files, nil
}
