package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// wide writes the function that computes one row of a product, n columns. The number n is a
// positive multiple of eight vectors. Strides are in bytes.
func wide() {
	function("wide32", "func(c, a *float32, cs int, b *float32, ldb, n, k, run, add int)")
	const vectors = 8
	c, a, cs := Load(Param("c"), GP64()), Load(Param("a"), GP64()), Load(Param("cs"), GP64())
	b, ldb, n := Load(Param("b"), GP64()), Load(Param("ldb"), GP64()), Load(Param("n"), GP64())
	aw, bw, left, count, add := GP64(), GP64(), GP64(), GP64(), GP64()
	Label("columns")
	MOVQ(a, aw)
	MOVQ(b, bw)
	MOVQ(argument("k"), left)
	MOVQ(argument("add"), add)
	Label("run")
	for i := range vectors {
		VXORPS(y(i), y(i), y(i))
	}
	MOVQ(argument("run"), count)
	CMPQ(left, count)
	CMOVQLT(left, count)
	SUBQ(count, left)
	Label("one")
	VBROADCASTSS(operand.Mem{Base: aw}, y(15))
	ADDQ(cs, aw)
	for i := range vectors {
		VFMADD231PS(operand.Mem{Base: bw, Disp: 32 * i}, y(15), y(i))
	}
	ADDQ(ldb, bw)
	DECQ(count)
	JNE(operand.LabelRef("one"))
	TESTQ(add, add)
	JE(operand.LabelRef("store"))
	for i := range vectors {
		VADDPS(operand.Mem{Base: c, Disp: 32 * i}, y(i), y(i))
	}
	Label("store")
	for i := range vectors {
		VMOVUPS(y(i), operand.Mem{Base: c, Disp: 32 * i})
	}
	MOVQ(operand.U32(1), add)
	TESTQ(left, left)
	JNE(operand.LabelRef("run"))
	ADDQ(operand.U32(32*vectors), b)
	ADDQ(operand.U32(32*vectors), c)
	SUBQ(operand.U8(32*vectors/4), n)
	JNE(operand.LabelRef("columns"))
	VZEROUPPER()
	RET()
}
