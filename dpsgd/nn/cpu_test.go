//go:build unix

package nn_test

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of this process, which other processes do not slow
// down as they do the clock.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
