package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// halves512 writes what does with AVX-512 what halves does with AVX2, for m results, in the same
// order for every number. A strip is a vector. Of height, at most stripRows, even results and the
// odd ones behind them all but the last are together.
func halves512() {
	function("halves512", "func(dst *float32, dstRow, dstStep int, even, odd *float32, m, height, k int, src, last *float32, srcRow, srcStep, strips int)")
	h := half512{
		half: half{
			to: reg.RDI, toRow: reg.R8, even: reg.RDX, odd: reg.RCX, stride: reg.R10, front: reg.RBX, back: reg.RSI,
			row: reg.R13, evenAt: reg.RAX, oddAt: reg.R9, left: reg.R14, work: reg.R15,
		},
		third: [2]reg.Register{reg.R11, reg.R12},
	}
	Load(Param("dstRow"), h.toRow)
	Load(Param("k"), h.stride)
	SHLQ(operand.U8(2), h.stride)
	Load(Param("srcRow"), h.row)
	Label("strip")
	MOVQ(argument("dst"), h.to)
	MOVQ(argument("even"), h.even)
	MOVQ(argument("odd"), h.odd)
	MOVQ(argument("m"), h.left)
	Label("rows")
	MOVQ(argument("height"), h.work)
	ADDQ(h.work, h.work)
	CMPQ(h.left, h.work)
	CMOVQLT(h.left, h.work)
	for m := 2 * stripRows; m > 1; m-- {
		CMPQ(h.work, operand.U8(m))
		JE(operand.LabelRef(fmt.Sprintf("rows%d", m)))
	}
	for m := 1; m <= 2*stripRows; m++ {
		Label(fmt.Sprintf("rows%d", m))
		h.results(m)
		SUBQ(operand.U8(m), h.left)
		if m < 2*stripRows {
			JMP(operand.LabelRef("next"))
		}
	}
	Label("next")
	JNE(operand.LabelRef("rows"))
	MOVQ(argument("dstStep"), h.work)
	ADDQ(h.work, argument("dst"))
	MOVQ(argument("srcStep"), h.work)
	ADDQ(h.work, argument("src"))
	ADDQ(h.work, argument("last"))
	DECQ(argument("strips"))
	JNE(operand.LabelRef("strip"))
	finish()
}

// half512 is the registers of halves512. Third is three rows behind evenAt and oddAt.
type half512 struct {
	half
	third [2]reg.Register
}

// results computes m results and goes to the next ones.
func (h half512) results(m int) {
	coefficients := []reg.Register{h.evenAt, h.oddAt}
	for r := range m {
		VPXORD(z(r), z(r), z(r))
	}
	MOVQ(h.even, h.evenAt)
	MOVQ(h.odd, h.oddAt)
	for kind := range 2 {
		LEAQ(operand.Mem{Base: coefficients[kind], Index: h.stride, Scale: 2}, h.third[kind])
		ADDQ(h.stride, h.third[kind])
	}
	MOVQ(argument("src"), h.front)
	MOVQ(argument("last"), h.back)
	MOVQ(argument("k"), h.work)
	loop := fmt.Sprintf("loop%d", m)
	sum, difference, front := z(2*stripRows), z(2*stripRows+1), z(2*stripRows+2)
	Label(loop)
	VMOVUPS(operand.Mem{Base: h.front}, front)
	VMOVUPS(operand.Mem{Base: h.back}, difference)
	VADDPS(difference, front, sum)
	VSUBPS(difference, front, difference)
	for r := range m {
		VFMADD231PS_BCST(at(coefficients[r%2], h.third[r%2], h.stride, r/2, 0), []reg.VecPhysical{sum, difference}[r%2], z(r))
	}
	for kind := range 2 {
		ADDQ(operand.U8(4), coefficients[kind])
		ADDQ(operand.U8(4), h.third[kind])
	}
	ADDQ(h.row, h.front)
	SUBQ(h.row, h.back)
	DECQ(h.work)
	JNE(operand.LabelRef(loop))
	for r := range m {
		VMOVUPS(z(r), operand.Mem{Base: h.to})
		ADDQ(h.toRow, h.to)
		ADDQ(h.stride, []reg.Register{h.even, h.odd}[r%2])
	}
}
