package features

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// abandonedAfter is for how long nobody has written to a temporary file that
// nobody is writing any more. Writing takes seconds; who was halted in between for
// longer than that fails to write the cache, and no more.
const abandonedAfter = time.Hour

// sweep removes the temporary files of processes that were killed. What cannot be
// removed stays.
func sweep(dir string, now time.Time) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return // reading there will say so
	}
	pattern := "." + strings.Repeat("[0-9a-f]", hex.EncodedLen(sha256.Size)) + extension + ".*.tmp" // of package durable
	for _, entry := range found {
		if ours, err := filepath.Match(pattern, entry.Name()); err != nil || !ours {
			continue
		}
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > abandonedAfter {
			os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}
