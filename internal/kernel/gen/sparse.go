package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// sparse writes a product of m rows of a sparse matrix with b, for m and n positive. Strides are in bytes.
// The last columns, at most 8, are the lanes of the mask.
func sparse() {
	function("sparse32", "func(dst *float32, ldd int, start *int32, m int, places *int32, weights, b *float32, ldb, n int, mask *int32)")
	dst, start, m := parameter("dst"), parameter("start"), parameter("m")
	places, weights, ldb := parameter("places"), parameter("weights"), parameter("ldb")
	from, to, e, row := GP64(), GP64(), GP64(), GP64()
	out, column, left := GP64(), GP64(), GP64()
	lanes, sum, v, w := YMM(), YMM(), YMM(), YMM()
	MOVQ(argument("mask"), row)
	VMOVDQU(operand.Mem{Base: row}, lanes)
	// edges adds up all rows of b that a row of the sparse matrix names.
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
