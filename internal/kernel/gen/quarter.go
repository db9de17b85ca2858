package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func quarters() {
	for i, name := range []string{"quarterStrips32", "quarterModuli32"} {
		g, results := quarter{registersOfMirror, i == 1}, []string{"up", "down", "up2", "down2"}
		g.write(name, results, func() {
			ends, waiting = AllocLocal(16), AllocLocal(32*4*mirrorRows)
			for i, end := range results[2:] {
				MOVQ(argument(end), g.work)
				MOVQ(g.work, ends.Offset(8*i))
			}
		}, g.block)
	}
}

type quarter struct {
	mirror
	moduli bool
}

var ends, waiting operand.Mem

func place(other, row, half int) operand.Mem {
	return waiting.Offset(32 * (2*mirrorRows*other + 2*row + half))
}

func (g quarter) block(rows int) {
	Label(fmt.Sprintf("rows%d", rows))
	MOVQ(g.src, g.bw)
	g.products(rows, 0, "ke", g.even, g.es)
	for r := range rows {
		for half := range 2 {
			a, b := g.acc(0, r, half), g.acc(1, r, half)
			VADDPS(b, a, y(15))
			VSUBPS(b, a, a)
			VMOVUPS(y(15), place(0, r, half))
			VMOVUPS(a, place(1, r, half))
		}
	}
	MOVQ(g.src, g.bw)
	ADDQ(argument("srcOdd"), g.bw)
	g.products(rows, 1, "ko", g.odd, g.os)
	for r := range rows {
		for half := range 2 {
			a, b := g.acc(0, r, half), g.acc(1, r, half)
			VSUBPS(b, a, y(15))
			VADDPS(b, a, a)
			VMOVAPS(y(15), b)
		}
	}
	MOVQ(ends.Offset(0), g.aw)
	MOVQ(ends.Offset(8), g.bw)
	for r := range rows {
		g.storeRow(0, r, g.up, g.down)
		ADDQ(g.ups, g.up)
		ADDQ(g.dns, g.down)
		ADDQ(g.es, g.even)
		ADDQ(g.os, g.odd)
		g.storeRow(1, r, g.aw, g.bw)
		SUBQ(g.ups, g.aw)
		SUBQ(g.dns, g.bw)
	}
	MOVQ(g.aw, ends.Offset(0))
	MOVQ(g.bw, ends.Offset(8))
	SUBQ(operand.U8(rows), g.left)
	if rows < mirrorRows {
		JMP(operand.LabelRef("next"))
	}
}

func (g quarter) products(rows, odd int, k string, a, stride reg.Register) {
	for other := range 2 {
		for r := range rows {
			for half := range 2 {
				v := g.acc(other, r, half)
				VXORPS(v, v, v)
			}
		}
	}
	loop, last, done := fmt.Sprintf("loop%d_%d", rows, odd), fmt.Sprintf("last%d_%d", rows, odd), fmt.Sprintf("done%d_%d", rows, odd)
	term := func(other int) {
		VMOVUPS(operand.Mem{Base: g.bw}, y(12))
		VMOVUPS(operand.Mem{Base: g.bw, Disp: 32}, y(13))
		ADDQ(g.srow, g.bw)
		for r := range rows {
			VBROADCASTSS(at(g.aw, nil, stride, r, 4*other), y(14))
			VFMADD231PS(y(12), y(14), g.acc(other, r, 0))
			VFMADD231PS(y(13), y(14), g.acc(other, r, 1))
		}
	}
	MOVQ(a, g.aw)
	MOVQ(argument(k), g.work)
	SUBQ(operand.U8(2), g.work)
	JL(operand.LabelRef(last))
	Label(loop)
	term(0)
	term(1)
	ADDQ(operand.U8(8), g.aw)
	SUBQ(operand.U8(2), g.work)
	JGE(operand.LabelRef(loop))
	Label(last)
	CMPQ(g.work, operand.I8(-1))
	JNE(operand.LabelRef(done))
	term(0)
	Label(done)
}

func (g quarter) storeRow(other, r int, up, down reg.Register) {
	if !g.moduli {
		for half := range 2 {
			o := g.acc(other, r, half)
			VMOVUPS(place(other, r, half), y(12))
			VADDPS(o, y(12), y(13))
			VSUBPS(o, y(12), y(12))
			VMOVUPS(y(13), operand.Mem{Base: up, Disp: 32 * half})
			VMOVUPS(y(12), operand.Mem{Base: down, Disp: 32 * half})
		}
		return
	}
	for half := range 2 {
		o := g.acc(other, r, half)
		VMOVUPS(place(other, r, half), y(14+half))
		VADDPS(o, y(14+half), y(12+half))
		VSUBPS(o, y(14+half), y(14+half))
	}
	g.moduliOf(up, down)
}
