package durable

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// WriteTagged writes a file as [WriteFile] does. The name of its temporary file has a tag, so that [Sweep]
// finds the file after a process was killed.
func WriteTagged(path, tag string, mode os.FileMode, write func(io.Writer) error) error {
	return writeFile(path, temporary(path, tag), mode, write)
}

// Sweep removes the temporary files with this tag that were made beside path, and no others. No process may
// be writing with the tag at that time. Files that cannot be removed stay.
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

// SweepFolder removes the temporary files of this package from a folder in which nobody is writing. What
// cannot be removed stays.
func SweepFolder(dir string) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return // writing there will say so
	}
	for _, f := range found {
		name, ours := strings.CutSuffix(f.Name(), ".tmp")
		dot := strings.LastIndexByte(name, '.')
		if ours && dot > 0 && name[0] == '.' && name[dot+1:] != "" && strings.Trim(name[dot+1:], "0123456789") == "" {
			os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}

// temporary returns the pattern, for os.CreateTemp, of the temporary files beside path.
func temporary(path, tag string) string {
	if tag != "" {
		tag = "." + tag
	}
	return "." + strings.ReplaceAll(filepath.Base(path), "*", "_") + strings.ReplaceAll(tag, "*", "_") + ".*.tmp"
}
