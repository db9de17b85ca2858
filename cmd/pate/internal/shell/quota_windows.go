package shell

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isQuota reports whether a disk, or a user's share of it, is used up.
func isQuota(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) || errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

// isHeld reports whether another process has a file open or locked in a way that keeps this
// one out.
func isHeld(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}
