//go:build unix

package shell

import (
	"errors"
	"syscall"
)

// isQuota reports whether a user's share of a disk is used up.
func isQuota(err error) bool { return errors.Is(err, syscall.EDQUOT) }
