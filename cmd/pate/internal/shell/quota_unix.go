//go:build unix

package shell

import (
	"errors"
	"syscall"
)

// isQuota reports whether a user's share of a disk is used up.
func isQuota(err error) bool { return errors.Is(err, syscall.EDQUOT) }

// isHeld reports whether another process keeps this one out of a file. Locks do not, here:
// they only make those wait who ask for one.
func isHeld(error) bool { return false }
