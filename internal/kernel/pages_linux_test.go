package kernel

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestLargePagesAreAskedFor reads what the system says of the memory of a large slice.
func TestLargePagesAreAskedFor(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil {
		t.Logf("this system has no large pages: %v", err)
		return
	}
	made := Make[float32](5 * largePage / 8)
	require.True(t, asked(t, &made[0]))
	require.True(t, asked(t, &made[largePage/2-1]))
}

// asked reports whether large pages are asked for at an address.
func asked(t *testing.T, address *float32) bool {
	f, err := os.Open("/proc/self/smaps")
	require.NoError(t, err)
	defer f.Close()
	var from, to uintptr
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			continue
		}
		flags, found := strings.CutPrefix(line, "VmFlags:")
		if place := uintptr(unsafe.Pointer(address)); found && from <= place && place < to {
			return strings.Contains(flags+" ", " hg ")
		}
	}
	require.Fail(t, "no such address")
	return false
}
