package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func sparse() {
	function("sparse32", "func(dst *float32, ldd int, start *int32, m int, places *int32, weights, b *float32, ldb, n int, mask *int32)")
	lanes, row := YMM(), GP64()
	MOVQ(argument("mask"), row)
	VMOVDQU(operand.Mem{Base: row}, lanes)
	sparseRows(YMM, func(s sparseSums) {
		CMPQ(s.left, operand.U8(8))
		JLE(operand.LabelRef("last"))
		s.edges("all", func(of operand.Mem) { VMULPS(of, s.w, s.v) })
		VMOVUPS(s.sum, operand.Mem{Base: s.out})
		advance(32, s.out, s.column)
		SUBQ(operand.U8(8), s.left)
		JMP(operand.LabelRef("columns"))
		Label("last")
		s.edges("some", func(of operand.Mem) {
			VMASKMOVPS(of, lanes, s.v)
			VMULPS(s.v, s.w, s.v)
		})
		VMASKMOVPS(s.sum, lanes, operand.Mem{Base: s.out})
	})
}

// sparse512 writes the AVX-512 version of sparse32.
func sparse512() {
	function("sparse512", "func(dst *float32, ldd int, start *int32, m int, places *int32, weights, b *float32, ldb, n int)")
	some, most, count := K(), GP64(), GP64()
	MOVQ(operand.I32(16), most)
	sparseRows(ZMM, func(s sparseSums) {
		MOVQ(s.left, count)
		CMPQ(count, most)
		CMOVQGT(most, count)
		lanes(count, some)
		s.edges("all", func(of operand.Mem) { VMULPS_Z(of, s.w, some, s.v) })
		VMOVUPS(s.sum, some, operand.Mem{Base: s.out})
		advance(64, s.out, s.column)
		SUBQ(most, s.left)
		JG(operand.LabelRef("columns"))
	})
}

type sparseSums struct {
	sum, v, w                         reg.VecVirtual
	places, weights, ldb, from, to, e reg.Register
	row, out, column, left            reg.Register
}

// edges writes a loop over the elements of a row. multiply sets v to w times a vector.
func (s sparseSums) edges(name string, multiply func(of operand.Mem)) {
	VXORPS(s.sum.AsX(), s.sum.AsX(), s.sum.AsX())
	MOVQ(s.from, s.e)
	JMP(operand.LabelRef(name + "_more"))
	Label(name)
	MOVLQSX(operand.Mem{Base: s.places, Index: s.e, Scale: 4}, s.row)
	IMULQ(s.ldb, s.row)
	VBROADCASTSS(operand.Mem{Base: s.weights, Index: s.e, Scale: 4}, s.w)
	multiply(operand.Mem{Base: s.column, Index: s.row, Scale: 1})
	VADDPS(s.v, s.sum, s.sum)
	INCQ(s.e)
	Label(name + "_more")
	CMPQ(s.e, s.to)
	JLT(operand.LabelRef(name))
}

// sparseRows writes a loop over rows. The code of columns computes a row, and may jump to its beginning.
func sparseRows(vector func() reg.VecVirtual, columns func(s sparseSums)) {
	dst, start, m := parameter("dst"), parameter("start"), parameter("m")
	s := sparseSums{
		sum: vector(), v: vector(), w: vector(), places: parameter("places"), weights: parameter("weights"), ldb: parameter("ldb"),
		from: GP64(), to: GP64(), e: GP64(), row: GP64(), out: GP64(), column: GP64(), left: GP64(),
	}
	Label("rows")
	MOVLQSX(operand.Mem{Base: start}, s.from)
	MOVLQSX(operand.Mem{Base: start, Disp: 4}, s.to)
	MOVQ(dst, s.out)
	load("b n", s.column, s.left)
	Label("columns")
	columns(s)
	ADDQ(operand.U8(4), start)
	Load(Param("ldd"), s.row)
	ADDQ(s.row, dst)
	DECQ(m)
	JNE(operand.LabelRef("rows"))
	finish()
}

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
