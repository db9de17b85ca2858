// Package sources sums up the files of the course that run in a browser: the generator of the
// packed program writes the sums beside it, and a test compares them with the files of today.
package sources

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"strings"
)

// patterns name the files of learn's own packages. What they compute with lies elsewhere and is
// left out: it changes far more often than a number of the course, and numbers are compared by
// running the packed program.
var patterns = []string{"*.go", "text/*.md", "page/*.go", "page/text/*.md", "page/wasm/main.go"}

// Sums returns a line for each file, SHA-256 and name, in the folder learn; without tests, and
// with line ends as in the repository.
func Sums(learn fs.FS) (string, error) {
	var b strings.Builder
	for _, pattern := range patterns {
		names, err := fs.Glob(learn, pattern)
		if err != nil {
			return "", fmt.Errorf("sources: %w", err)
		}
		if len(names) == 0 {
			return "", fmt.Errorf("sources: no file is called %s", pattern)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			data, err := fs.ReadFile(learn, name)
			if err != nil {
				return "", fmt.Errorf("sources: %w", err)
			}
			fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))), name)
		}
	}
	return b.String(), nil
}
