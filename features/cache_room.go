package features

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// used marks a file as the one used last. Without that mark, which a file system may
// refuse, it only goes sooner.
func (c Cache) used(path string) {
	now := time.Now()
	if err := os.Chtimes(path, now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.warn(fmt.Errorf("features: in the cache: %w", err))
	}
}

// makeRoom deletes features, and no other files, that were used longest ago until a file of this size fits, and says
// whether one may be written. Another process may write or delete at the same time: a
// file that is gone when it is wanted is computed anew, one that is open stays readable
// or cannot be deleted, and what two write at once is over the limit until the next
// file is written.
func (c Cache) makeRoom(dir string, size int64) bool {
	limit := c.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	if size > limit {
		return false
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		c.warn(fmt.Errorf("features: the cache was not looked through: %w", err))
		return true
	}
	var files []fs.FileInfo
	total := size
	for _, e := range entries {
		if filepath.Ext(e.Name()) != extension || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil { // it is gone
			continue
		}
		files, total = append(files, info), total+info.Size()
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, f := range files {
		if total <= limit {
			break
		}
		if err := os.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.warn(fmt.Errorf("features: in the cache: %w", err))
			continue
		}
		total -= f.Size()
	}
	return total <= limit
}

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
