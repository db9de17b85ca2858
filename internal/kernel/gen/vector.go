package main

import (
	"math"
	"sync"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

func function(name, signature string) {
	TEXT(name, attr.NOSPLIT, signature)
	Pragma("noescape")
}

var magic = sync.OnceValue(func() operand.Mem { return ConstData("magic", operand.U64(math.Float64bits(0x1.8p52))) })

func foldInt64() {
	function("foldInt64", "func(dst *int64, src *float32, n int, perUnit float64, lanes *float64)")
	dst, src, n := parameter("dst"), parameter("src"), parameter("n")
	lanes := parameter("lanes")
	perUnit, shift, zero := y(13), y(14), y(15)
	VBROADCASTSD(argument("perUnit"), perUnit)
	VBROADCASTSD(magic(), shift)
	VXORPS(zero, zero, zero)
	clear(4)
	Label("loop")
	for i := range 4 {
		v := y(4 + i)
		VCVTPS2PD(operand.Mem{Base: src, Disp: 16 * i}, v)
		VFMADD231PD(v, v, y(i))
		VMULPD(perUnit, v, v)
		VADDPD(shift, v, v)
		VPSUBQ(shift, v, v)
		VPADDQ(operand.Mem{Base: dst, Disp: 32 * i}, v, v)
		VMOVDQU(v, operand.Mem{Base: dst, Disp: 32 * i})
	}
	VMOVUPS(zero, operand.Mem{Base: src})
	VMOVUPS(zero, operand.Mem{Base: src, Disp: 32})
	ADDQ(operand.U32(128), dst)
	ADDQ(operand.U8(64), src)
	repeat("loop", n, 16)
	for i := range 4 {
		VMOVUPD(y(i), operand.Mem{Base: lanes, Disp: 32 * i})
	}
	finish()
}

func squaredNorm() {
	function("squaredNorm32", "func(lanes *float64, x *float32, n int)")
	inLanes(func(i int) { VFMADD231PD(y(4+i), y(4+i), y(i)) })
}

func addRows() {
	function("addRows32", "func(dst, a *float32, lda, m, n, run int)")
	dst, a, lda, n := parameter("dst"), parameter("a"), parameter("lda"), parameter("n")
	from, left, count := GP64(), GP64(), GP64()
	for _, width := range []int{4, 1} {
		name := map[int]string{4: "four", 1: "one"}[width]
		Label(name)
		CMPQ(n, operand.U8(8*width))
		JLT(operand.LabelRef(name + "_done"))
		MOVQ(a, from)
		MOVQ(argument("m"), left)
		Label(name + "_run")
		clear(width)
		nextRun(count, left)
		Label(name + "_row")
		for i := range width {
			VADDPS(operand.Mem{Base: from, Disp: 32 * i}, y(i), y(i))
		}
		ADDQ(lda, from)
		DECQ(count)
		JNE(operand.LabelRef(name + "_row"))
		for i := range width {
			VADDPS(operand.Mem{Base: dst, Disp: 32 * i}, y(i), y(i))
			VMOVUPS(y(i), operand.Mem{Base: dst, Disp: 32 * i})
		}
		TESTQ(left, left)
		JNE(operand.LabelRef(name + "_run"))
		ADDQ(operand.U32(32*width), a)
		ADDQ(operand.U32(32*width), dst)
		SUBQ(operand.U8(8*width), n)
		JMP(operand.LabelRef(name))
		Label(name + "_done")
	}
	finish()
}

func scale() {
	function("scale32", "func(dst, src *float32, n int, factor float32)")
	dst, src, n := parameter("dst"), parameter("src"), parameter("n")
	factor, v := YMM(), YMM()
	VBROADCASTSS(argument("factor"), factor)
	Label("loop")
	VMULPS(operand.Mem{Base: src}, factor, v)
	VMOVUPS(v, operand.Mem{Base: dst})
	advance(32, dst, src)
	again(n, 8)
}

func transpose() {
	function("transpose32", "func(dst *float32, ldd int, b *float32, ldb, n int)")
	dst, ldd := parameter("dst"), parameter("ldd")
	b, ldb, n := parameter("b"), parameter("ldb"), parameter("n")
	b3, b6, dst3 := GP64(), GP64(), GP64()
	thirdRow(b3, b, ldb)
	thirdRow(b6, b3, ldb)
	thirdRow(dst3, dst, ldd)
	row := func(i, disp int) operand.Mem {
		if i >= 6 {
			return at(b6, nil, ldb, i-6, disp)
		}
		return at(b, b3, ldb, i, disp)
	}
	Label("loop")
	for half := range 2 { // four elements of each row
		for i := range 4 { // rows i and i+4 in the halves of a register
			VMOVUPS(row(i, 16*half), x(i))
			VINSERTF128(operand.U8(1), row(i+4, 16*half), y(i), y(i))
		}
		VUNPCKLPS(y(1), y(0), y(4))
		VUNPCKHPS(y(1), y(0), y(5))
		VUNPCKLPS(y(3), y(2), y(6))
		VUNPCKHPS(y(3), y(2), y(7))
		for i := range 4 {
			VSHUFPS(operand.U8([]uint8{0x44, 0xee}[i%2]), y(6+i/2), y(4+i/2), y(8))
			VMOVUPS(y(8), at(dst, dst3, ldd, i, 0))
		}
		LEAQ(operand.Mem{Base: dst, Index: ldd, Scale: 4}, dst)
		LEAQ(operand.Mem{Base: dst3, Index: ldd, Scale: 4}, dst3)
	}
	advance(32, b, b3, b6)
	again(n, 8)
}

func spread() {
	function("spread32", "func(dst *float32, stride int, src *float32, n int)")
	dst, stride := parameter("dst"), parameter("stride")
	src, n := parameter("src"), parameter("n")
	Label("loop")
	for i := range 2 {
		VMOVUPS(operand.Mem{Base: src, Disp: 32 * i}, y(i))
		VMOVUPS(y(i), operand.Mem{Base: dst, Disp: 32 * i})
	}
	ADDQ(operand.U8(64), src)
	ADDQ(stride, dst)
	again(n, 16)
}

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
