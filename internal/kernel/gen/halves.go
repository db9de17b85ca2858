package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func halves() {
	function("halves32", "func(dst *float32, dstRow, dstStep int, even, odd *float32, pairs, rest, k int, "+
		"src, last *float32, srcRow, srcStep, strips int)")
	h := half{
		to: reg.RDI, toRow: reg.R8, even: reg.RDX, odd: reg.RCX, stride: reg.R10, front: reg.RBX, back: reg.RSI,
		row: reg.R13, evenAt: reg.RAX, oddAt: reg.R9, left: reg.R14, work: reg.R15, src: reg.R12, last: reg.R11,
	}
	load("dstRow k", h.toRow, h.stride)
	SHLQ(operand.U8(2), h.stride)
	load("src last srcRow", h.src, h.last, h.row)
	Label("strip")
	MOVQ(argument("dst"), h.to)
	MOVQ(argument("even"), h.even)
	MOVQ(argument("odd"), h.odd)
	MOVQ(argument("pairs"), h.left)
	Label("rows")
	twoOrThree(h.left, "pairs")
	TESTQ(h.left, h.left)
	JE(operand.LabelRef("rest"))
	for pairs := 1; pairs <= mirrorRows; pairs++ {
		Label(fmt.Sprintf("pairs%d", pairs))
		h.block(fmt.Sprintf("loop%d", pairs), pairs, 2)
		repeat("rows", h.left, pairs)
		if pairs < mirrorRows {
			JMP(operand.LabelRef("rest"))
		}
	}
	Label("rest")
	CMPQ(argument("rest"), operand.U8(0))
	JE(operand.LabelRef("next"))
	h.block("loop", 1, 1)
	Label("next")
	MOVQ(argument("dstStep"), h.work)
	ADDQ(h.work, argument("dst"))
	MOVQ(argument("srcStep"), h.work)
	ADDQ(h.work, h.src)
	ADDQ(h.work, h.last)
	DECQ(argument("strips"))
	JNE(operand.LabelRef("strip"))
	finish()
}

type half struct {
	to, toRow, even, odd, stride, front, back, row, evenAt, oddAt, left, work, src, last reg.Register
}

func (h half) block(loop string, pairs, kinds int) {
	acc := func(kind, r, part int) reg.VecPhysical { return y(2*mirrorRows*kind + 2*r + part) }
	each := func(f func(kind, r, part int)) {
		for r := range pairs {
			for kind := range kinds {
				for part := range 2 {
					f(kind, r, part)
				}
			}
		}
	}
	each(func(kind, r, part int) { VXORPS(acc(kind, r, part), acc(kind, r, part), acc(kind, r, part)) })
	MOVQ(h.even, h.evenAt)
	MOVQ(h.odd, h.oddAt)
	MOVQ(h.src, h.front)
	MOVQ(h.last, h.back)
	MOVQ(argument("k"), h.work)
	Label(loop)
	for kind := range kinds {
		coefficients := []reg.Register{h.evenAt, h.oddAt}[kind]
		for part := range 2 {
			v, mirrored := y(12+part), operand.Mem{Base: h.back, Disp: 32 * part}
			VMOVUPS(operand.Mem{Base: h.front, Disp: 32 * part}, v)
			if kind == 0 {
				VADDPS(mirrored, v, v)
			} else {
				VSUBPS(mirrored, v, v)
			}
		}
		for r := range pairs {
			VBROADCASTSS(at(coefficients, nil, h.stride, r, 0), y(14))
			VFMADD231PS(y(12), y(14), acc(kind, r, 0))
			VFMADD231PS(y(13), y(14), acc(kind, r, 1))
		}
		ADDQ(operand.U8(4), coefficients)
	}
	ADDQ(h.row, h.front)
	SUBQ(h.row, h.back)
	DECQ(h.work)
	JNE(operand.LabelRef(loop))
	each(func(kind, r, part int) {
		VMOVUPS(acc(kind, r, part), operand.Mem{Base: h.to, Disp: 32 * part})
		if part == 1 {
			ADDQ(h.toRow, h.to)
			ADDQ(h.stride, []reg.Register{h.even, h.odd}[kind])
		}
	})
}
