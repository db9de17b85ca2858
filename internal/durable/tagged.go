package durable

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// WriteTagged is [WriteFile] whose temporary file has a tag in its name, by which
// [Sweep] finds it when a process was killed.
func WriteTagged(path, tag string, mode os.FileMode, write func(io.Writer) error) error {
	return writeFile(path, temporary(path, tag), mode, write)
}

// Sweep removes the temporary files with this tag that were made beside path, and no
// others. Nobody may be writing with the tag. What cannot be removed stays.
func Sweep(path, tag string) {
	found, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return // writing there will say so
	}
	before, after, _ := strings.Cut(temporary(path, tag), "*")
	for _, f := range found {
		random, ours := strings.CutPrefix(f.Name(), before)
		random, ends := strings.CutSuffix(random, after)
		if ours && ends && random != "" && strings.Trim(random, "0123456789") == "" {
			os.Remove(filepath.Join(filepath.Dir(path), f.Name()))
		}
	}
}

// temporary is the pattern of the temporary files beside path, as of os.CreateTemp.
func temporary(path, tag string) string {
	if tag != "" {
		tag = "." + tag
	}
	return "." + strings.ReplaceAll(filepath.Base(path), "*", "_") + strings.ReplaceAll(tag, "*", "_") + ".*.tmp"
}
