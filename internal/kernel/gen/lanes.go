package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// foldFloats writes FoldFloat64 for n a positive multiple of 8.
func foldFloats() {
	function("foldFloats32", "func(dst *float64, src *float32, n int)")
	dst, src, n := parameter("dst"), parameter("src"), parameter("n")
	a, b, zero := YMM(), YMM(), YMM()
	VXORPS(zero, zero, zero)
	Label("loop")
	VCVTPS2PD(operand.Mem{Base: src}, a)
	VCVTPS2PD(operand.Mem{Base: src, Disp: 16}, b)
	VADDPD(operand.Mem{Base: dst}, a, a)
	VADDPD(operand.Mem{Base: dst, Disp: 32}, b, b)
	VMOVUPD(a, operand.Mem{Base: dst})
	VMOVUPD(b, operand.Mem{Base: dst, Disp: 32})
	VMOVUPS(zero, operand.Mem{Base: src})
	ADDQ(operand.U8(64), dst)
	ADDQ(operand.U8(32), src)
	again(n, 8)
}

// addFloats writes AddFloat64 for n a positive multiple of 8.
func addFloats() {
	function("addFloats64", "func(dst, src *float64, n int)")
	dst, src, n := parameter("dst"), parameter("src"), parameter("n")
	a, b := YMM(), YMM()
	Label("loop")
	VMOVUPD(operand.Mem{Base: dst}, a)
	VMOVUPD(operand.Mem{Base: dst, Disp: 32}, b)
	VADDPD(operand.Mem{Base: src}, a, a)
	VADDPD(operand.Mem{Base: src, Disp: 32}, b, b)
	VMOVUPD(a, operand.Mem{Base: dst})
	VMOVUPD(b, operand.Mem{Base: dst, Disp: 32})
	advance(64, dst, src)
	again(n, 8)
}
