//go:build peers

package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// settle returns unused memory, lets the peak start again from here, and returns the resident memory in MB:
// 0 where the machine is not Linux.
func settle() float64 {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0
	}
	return resident("VmRSS:")
}

// resident returns a size from the status of the process in MB, 0 where there is none.
func resident(field string) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), field)
	var kibibytes float64
	if _, err := fmt.Sscan(rest, &kibibytes); err != nil {
		return 0
	}
	return kibibytes * 1024 / 1e6
}
