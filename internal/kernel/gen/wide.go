package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// wide and wide512 write the functions that compute one row of a product, n columns. The number n is a
// positive multiple of eight vectors. Strides are in bytes.
func wide()    { row("wide32", 32, y) }
func wide512() { row("wide512", 64, z) }

func row(name string, size int, v func(int) reg.VecPhysical) {
	function(name, "func(c, a *float32, cs int, b *float32, ldb, n, k, run, add int)")
	const vectors = 8
	c, a, cs := parameter("c"), parameter("a"), parameter("cs")
	b, ldb, n := parameter("b"), parameter("ldb"), parameter("n")
	aw, bw, left, count, add := GP64(), GP64(), GP64(), GP64(), GP64()
	Label("columns")
	MOVQ(a, aw)
	MOVQ(b, bw)
	MOVQ(argument("k"), left)
	MOVQ(argument("add"), add)
	Label("run")
	for i := range vectors {
		VXORPS(v(i), v(i), v(i))
	}
	MOVQ(argument("run"), count)
	CMPQ(left, count)
	CMOVQLT(left, count)
	SUBQ(count, left)
	Label("one")
	VBROADCASTSS(operand.Mem{Base: aw}, v(15))
	ADDQ(cs, aw)
	for i := range vectors {
		VFMADD231PS(operand.Mem{Base: bw, Disp: size * i}, v(15), v(i))
	}
	ADDQ(ldb, bw)
	DECQ(count)
	JNE(operand.LabelRef("one"))
	TESTQ(add, add)
	JE(operand.LabelRef("store"))
	for i := range vectors {
		VADDPS(operand.Mem{Base: c, Disp: size * i}, v(i), v(i))
	}
	Label("store")
	for i := range vectors {
		VMOVUPS(v(i), operand.Mem{Base: c, Disp: size * i})
	}
	MOVQ(operand.U32(1), add)
	TESTQ(left, left)
	JNE(operand.LabelRef("run"))
	ADDQ(operand.U32(size*vectors), b)
	ADDQ(operand.U32(size*vectors), c)
	SUBQ(operand.U32(size*vectors/4), n)
	JNE(operand.LabelRef("columns"))
	finish()
}
