package kernel

import "syscall"

func adviseLarge(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
