package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

func unpackInt16() {
	function("unpack16", "func(dst *float32, src *int16, n int, unit float32)")
	dst, src, n := parameter("dst"), parameter("src"), parameter("n")
	unit, a, b := YMM(), YMM(), YMM()
	VBROADCASTSS(argument("unit"), unit)
	Label("loop")
	VPMOVSXWD(operand.Mem{Base: src}, a)
	VPMOVSXWD(operand.Mem{Base: src, Disp: 16}, b)
	VCVTDQ2PS(a, a)
	VCVTDQ2PS(b, b)
	VMULPS(unit, a, a)
	VMULPS(unit, b, b)
	VMOVUPS(a, operand.Mem{Base: dst})
	VMOVUPS(b, operand.Mem{Base: dst, Disp: 32})
	ADDQ(operand.U8(64), dst)
	ADDQ(operand.U8(32), src)
	again(n, 16)
}

func fetchInt16() {
	function("fetch16", "func(x *int16, n int)")
	x, n := parameter("x"), parameter("n")
	Label("loop")
	PREFETCHT1(operand.Mem{Base: x})
	ADDQ(operand.U8(64), x)
	SUBQ(operand.U8(32), n)
	JGT(operand.LabelRef("loop"))
	RET()
}

func packInt16() {
	function("pack16", "func(dst *int16, src *float32, n int, perUnit float32)")
	dst, src, n := parameter("dst"), parameter("src"), parameter("n")
	unit, a, b := YMM(), YMM(), YMM()
	VBROADCASTSS(argument("perUnit"), unit)
	Label("loop")
	VMULPS(operand.Mem{Base: src}, unit, a)
	VMULPS(operand.Mem{Base: src, Disp: 32}, unit, b)
	VCVTPS2DQ(a, a)
	VCVTPS2DQ(b, b)
	VPACKSSDW(b, a, a) // within halves of 128 bits
	VPERMQ(operand.U8(0xd8), a, a)
	VMOVDQU(a, operand.Mem{Base: dst})
	ADDQ(operand.U8(64), src)
	ADDQ(operand.U8(32), dst)
	again(n, 16)
}

func largest() {
	function("largest32", "func(lanes *uint32, x *float32, n int)")
	lanes, from, n := parameter("lanes"), parameter("x"), parameter("n")
	bits, a, b, v, w := YMM(), YMM(), YMM(), YMM(), YMM()
	VPCMPEQD(bits, bits, bits)
	VPSRLD(operand.U8(1), bits, bits)
	VPXOR(a, a, a)
	VPXOR(b, b, b)
	Label("loop")
	VPAND(operand.Mem{Base: from}, bits, v)
	VPAND(operand.Mem{Base: from, Disp: 32}, bits, w)
	VPMAXUD(v, a, a)
	VPMAXUD(w, b, b)
	ADDQ(operand.U8(64), from)
	repeat("loop", n, 16)
	VPMAXUD(b, a, a)
	VMOVDQU(a, operand.Mem{Base: lanes})
	finish()
}
