package durable

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// WriteTagged is [WriteFile] with a tag in the name of the temporary file, by which [Sweep] finds it after
// the process was killed.
func WriteTagged(path, tag string, mode os.FileMode, write func(io.Writer) error) error {
	return writeFile(path, temporary(path, tag), mode, write)
}

// Sweep removes the temporary files with this tag beside path. No process may be writing with the tag at
// that time. Files that cannot be removed stay.
func Sweep(path, tag string) {
	before, after, _ := strings.Cut(temporary(path, tag), "*")
	sweep(filepath.Dir(path), func(name string) (random string) {
		random, ours := strings.CutPrefix(name, before)
		random, ends := strings.CutSuffix(random, after)
		if !ours || !ends {
			return ""
		}
		return random
	})
}

// SweepFolder removes the temporary files of this package from a folder in which nobody is writing. Files
// that cannot be removed stay.
func SweepFolder(dir string) {
	sweep(dir, func(name string) (random string) {
		name, ours := strings.CutSuffix(name, ".tmp")
		dot := strings.LastIndexByte(name, '.')
		if !ours || dot <= 0 || name[0] != '.' {
			return ""
		}
		return name[dot+1:]
	})
}

// sweep removes the files of a folder whose names have a random part of digits alone.
func sweep(dir string, random func(name string) string) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return // writing there will fail
	}
	for _, f := range found {
		if r := random(f.Name()); r != "" && strings.Trim(r, "0123456789") == "" {
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
