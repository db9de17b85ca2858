//go:build !nomnist

package namedsets

import (
	"embed"
	"io/fs"
)

//go:embed mnist/*.zst
var embedded embed.FS

var mnist = Named{Name: "mnist", Licence: "CC BY-SA 3.0, as commonly stated", open: openMNIST}

func mnistFiles(Named) (fs.FS, error) { return fs.Sub(embedded, "mnist") }
