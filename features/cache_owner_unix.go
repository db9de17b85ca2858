//go:build unix

package features

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// exposed is an error if somebody else may have written what info tells of: it
// belongs to another user, or its mode lets the group or all write.
func exposed(info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("belongs to user %d", s.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write to it, its mode is %v", info.Mode())
	}
	return nil
}
