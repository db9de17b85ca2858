package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func sparse() {
	function("sparse32", "func(dst *float32, ldd int, start *int32, m int, places *int32, weights, b *float32, ldb, n int, mask *int32)")
	dst, start, m := parameter("dst"), parameter("start"), parameter("m")
	places, weights, ldb := parameter("places"), parameter("weights"), parameter("ldb")
	from, to, e, row := GP64(), GP64(), GP64(), GP64()
	out, column, left := GP64(), GP64(), GP64()
	lanes, sum, v, w := YMM(), YMM(), YMM(), YMM()
	MOVQ(argument("mask"), row)
	VMOVDQU(operand.Mem{Base: row}, lanes)
	edges := func(name string, multiply func(of operand.Mem)) {
		VXORPS(sum, sum, sum)
		MOVQ(from, e)
		JMP(operand.LabelRef(name + "_more"))
		Label(name)
		MOVLQSX(operand.Mem{Base: places, Index: e, Scale: 4}, row)
		IMULQ(ldb, row)
		VBROADCASTSS(operand.Mem{Base: weights, Index: e, Scale: 4}, w)
		multiply(operand.Mem{Base: column, Index: row, Scale: 1})
		VADDPS(v, sum, sum)
		INCQ(e)
		Label(name + "_more")
		CMPQ(e, to)
		JLT(operand.LabelRef(name))
	}
	Label("rows")
	MOVLQSX(operand.Mem{Base: start}, from)
	MOVLQSX(operand.Mem{Base: start, Disp: 4}, to)
	MOVQ(dst, out)
	load("b n", column, left)
	Label("columns")
	CMPQ(left, operand.U8(8))
	JLE(operand.LabelRef("last"))
	edges("all", func(of operand.Mem) { VMULPS(of, w, v) })
	VMOVUPS(sum, operand.Mem{Base: out})
	advance(32, out, column)
	SUBQ(operand.U8(8), left)
	JMP(operand.LabelRef("columns"))
	Label("last")
	edges("some", func(of operand.Mem) {
		VMASKMOVPS(of, lanes, v)
		VMULPS(v, w, v)
	})
	VMASKMOVPS(sum, lanes, operand.Mem{Base: out})
	ADDQ(operand.U8(4), start)
	Load(Param("ldd"), row)
	ADDQ(row, dst)
	DECQ(m)
	JNE(operand.LabelRef("rows"))
	finish()
}

// distances writes the assembly of SquaredDistances.
func distances() {
	function("distances32", "func(sums, x, rows *float32, ld int, places *int32, count, k int)")
	sums, rows, ld := parameter("sums"), parameter("rows"), parameter("ld")
	places, count := parameter("places"), parameter("count") // count and k are multiples of 4
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
	repeat("four", left, 4)
	VMOVUPS(sumOne, operand.Mem{Base: sums})
	VMOVUPS(sumTwo, operand.Mem{Base: sums, Disp: 32})
	ADDQ(operand.U8(64), sums)
	ADDQ(operand.U8(16), places)
	again(count, 4)
}
