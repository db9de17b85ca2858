package kernel

import "syscall"

// adviseLarge requests large pages. Without large pages nothing changes.
func adviseLarge(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
