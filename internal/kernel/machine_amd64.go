//go:build !noasm

package kernel

import "golang.org/x/sys/cpu"

// machine is the fastest path that the processor and the operating system support. GODEBUG can disable
// instruction sets, as in GODEBUG=cpu.avx512f=off.
var machine = func() path {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA:
		return portable
	case !x.HasAVX512F || !x.HasAVX512VL || !x.HasAVX512DQ || !x.HasBMI2:
		return avx2
	}
	return avx512
}()
