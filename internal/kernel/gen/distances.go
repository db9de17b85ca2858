package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// distances writes the four sums of each of count squared distances, for count and k positive
// multiples of 4. The stride ld is in bytes. Half a vector belongs to a row.
func distances() {
	function("distances32", "func(sums, x, rows *float32, ld int, places *int32, count, k int)")
	sums, rows, ld := parameter("sums"), parameter("rows"), parameter("ld")
	places, count := parameter("places"), parameter("count")
	at, left := GP64(), GP64()
	a, b, c, d := GP64(), GP64(), GP64(), GP64()
	v, one, two, sumOne, sumTwo := YMM(), YMM(), YMM(), YMM(), YMM()
	Label("loop")
	for i, row := range []reg.Register{a, b, c, d} {
		MOVLQSX(operand.Mem{Base: places, Disp: 4 * i}, row)
		IMULQ(ld, row)
		ADDQ(rows, row)
	}
	load("x k", at, left)
	VXORPS(sumOne, sumOne, sumOne)
	VXORPS(sumTwo, sumTwo, sumTwo)
	Label("four")
	VBROADCASTF128(operand.Mem{Base: at}, v)
	VMOVUPS(operand.Mem{Base: a}, one.AsX())
	VINSERTF128(operand.U8(1), operand.Mem{Base: b}, one, one)
	VMOVUPS(operand.Mem{Base: c}, two.AsX())
	VINSERTF128(operand.U8(1), operand.Mem{Base: d}, two, two)
	VSUBPS(one, v, one)
	VSUBPS(two, v, two)
	VMULPS(one, one, one)
	VMULPS(two, two, two)
	VADDPS(one, sumOne, sumOne)
	VADDPS(two, sumTwo, sumTwo)
	advance(16, at, a, b, c, d)
	SUBQ(operand.U8(4), left)
	JNE(operand.LabelRef("four"))
	VMOVUPS(sumOne, operand.Mem{Base: sums})
	VMOVUPS(sumTwo, operand.Mem{Base: sums, Disp: 32})
	ADDQ(operand.U8(64), sums)
	ADDQ(operand.U8(16), places)
	again(count, 4)
}
