package kernel

import "syscall"

// adviseLarge asks for large pages. Where there are none, all is as before.
func adviseLarge(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
