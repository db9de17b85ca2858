package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// search writes the count of elements before the first vector in which one is not below a bound,
// for n a positive multiple of 8.
func search() {
	function("search32", "func(x, y *float32, n int, floor float32) int")
	from, less, n, place := parameter("x"), parameter("y"), parameter("n"), GP64()
	floor, v, found := YMM(), YMM(), GP32()
	VBROADCASTSS(argument("floor"), floor)
	XORQ(place, place)
	Label("loop")
	VMOVUPS(operand.Mem{Base: from, Index: place, Scale: 4}, v)
	VSUBPS(operand.Mem{Base: less, Index: place, Scale: 4}, v, v)
	VCMPPS(operand.U8(5), floor, v, v) // not below, or NaN
	VMOVMSKPS(v, found)
	TESTL(found, found)
	JNE(operand.LabelRef("done"))
	ADDQ(operand.U8(8), place)
	CMPQ(place, n)
	JLT(operand.LabelRef("loop"))
	Label("done")
	Store(place, ReturnIndex(0))
	finish()
}
