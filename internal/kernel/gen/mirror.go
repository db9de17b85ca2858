package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func mirrors() {
	g := registersOfMirror
	g.write("mirrorStrips32", []string{"up", "down"}, func() {}, g.block)
}

type mirror struct {
	up, down, ups, dns, even, es, odd, os, src, srow, aw, bw, left, work reg.Register
}

var registersOfMirror = mirror{
	up: reg.RDI, down: reg.RSI, ups: reg.R8, dns: reg.R9, even: reg.RDX, es: reg.R10, odd: reg.RCX,
	os: reg.R11, src: reg.R12, srow: reg.R13, aw: reg.RAX, bw: reg.RBX, left: reg.R14, work: reg.R15,
}

const mirrorRows = 3

func (mirror) acc(odd, row, half int) reg.VecPhysical { return y(2*mirrorRows*odd + 2*row + half) }

func (g mirror) write(name string, results []string, begin func(), block func(rows int)) {
	function(name, "func("+strings.Join(results, ", ")+" *float32, upRow, downRow, dstStep int, even, odd *float32, "+
		"m, ke, ko int, src *float32, srcOdd, srcRow, srcStep, strips int)")
	load("upRow downRow ke", g.ups, g.dns, g.es)
	SHLQ(operand.U8(2), g.es)
	Load(Param("ko"), g.os)
	SHLQ(operand.U8(2), g.os)
	load("src srcRow", g.src, g.srow)
	Label("strip")
	MOVQ(argument("up"), g.up)
	MOVQ(argument("down"), g.down)
	begin()
	g.rows(block)
	MOVQ(argument("dstStep"), g.work)
	for _, result := range results {
		ADDQ(g.work, argument(result))
	}
	ADDQ(argument("srcStep"), g.src)
	DECQ(argument("strips"))
	JNE(operand.LabelRef("strip"))
	finish()
}

func (g mirror) rows(block func(rows int)) {
	MOVQ(argument("even"), g.even)
	MOVQ(argument("odd"), g.odd)
	MOVQ(argument("m"), g.left)
	Label("rows")
	twoOrThree(g.left, "rows")
	for rows := 1; rows <= mirrorRows; rows++ {
		block(rows)
	}
	Label("next")
	JNE(operand.LabelRef("rows"))
}

func twoOrThree(left reg.Register, block string) {
	CMPQ(left, operand.U8(4))
	JE(operand.LabelRef(block + "2"))
	CMPQ(left, operand.U8(3))
	JGE(operand.LabelRef(block + "3"))
	CMPQ(left, operand.U8(2))
	JE(operand.LabelRef(block + "2"))
}

func (g mirror) block(rows int) {
	Label(fmt.Sprintf("rows%d", rows))
	for i := range 4 * mirrorRows {
		if i%(2*mirrorRows) < 2*rows {
			VXORPS(y(i), y(i), y(i))
		}
	}
	MOVQ(g.src, g.bw)
	g.product(rows, 0, "ke", g.even, g.es)
	MOVQ(g.src, g.bw)
	ADDQ(argument("srcOdd"), g.bw)
	g.product(rows, 1, "ko", g.odd, g.os)
	for r := range rows {
		g.store(r)
		ADDQ(g.ups, g.up)
		ADDQ(g.dns, g.down)
		ADDQ(g.es, g.even)
		ADDQ(g.os, g.odd)
	}
	SUBQ(operand.U8(rows), g.left)
	if rows < mirrorRows {
		JMP(operand.LabelRef("next"))
	}
}

func (g mirror) product(rows, odd int, k string, a, stride reg.Register) {
	loop, done := fmt.Sprintf("loop%d_%d", rows, odd), fmt.Sprintf("done%d_%d", rows, odd)
	MOVQ(a, g.aw)
	MOVQ(argument(k), g.work)
	TESTQ(g.work, g.work)
	JE(operand.LabelRef(done))
	Label(loop)
	VMOVUPS(operand.Mem{Base: g.bw}, y(12))
	VMOVUPS(operand.Mem{Base: g.bw, Disp: 32}, y(13))
	ADDQ(g.srow, g.bw)
	for r := range rows {
		VBROADCASTSS(at(g.aw, nil, stride, r, 0), y(14))
		VFMADD231PS(y(12), y(14), g.acc(odd, r, 0))
		VFMADD231PS(y(13), y(14), g.acc(odd, r, 1))
	}
	ADDQ(operand.U8(4), g.aw)
	DECQ(g.work)
	JNE(operand.LabelRef(loop))
	Label(done)
}

func (g mirror) store(r int) {
	for half := range 2 {
		e, o := g.acc(0, r, half), g.acc(1, r, half)
		VADDPS(o, e, y(12))
		VSUBPS(o, e, y(13))
		VMOVUPS(y(12), operand.Mem{Base: g.up, Disp: 32 * half})
		VMOVUPS(y(13), operand.Mem{Base: g.down, Disp: 32 * half})
	}
}

func (mirror) moduliOf(up, down reg.Register) {
	for i := 12; i < 16; i++ {
		VMULPS(y(i), y(i), y(i))
	}
	VADDPS(y(13), y(12), y(12))
	VADDPS(y(15), y(14), y(14))
	VSQRTPS(y(12), y(12))
	VSQRTPS(y(14), y(14))
	VADDPS(y(14), y(12), y(13))
	VSUBPS(y(14), y(12), y(15))
	VMOVUPS(y(13), operand.Mem{Base: up})
	VMOVUPS(y(15), operand.Mem{Base: down})
}

func groups() {
	function("mulGroups32", "func(sum, difference *float32, out *int32, weights, src *float32, in, counts *int32, groups int)")
	const outputs = 4
	sum, difference, out := parameter("sum"), parameter("difference"), parameter("out")
	weights, src := parameter("weights"), parameter("src")
	in, counts, groups := parameter("in"), parameter("counts"), parameter("groups") // in and out hold offsets in bytes
	place, left := GP64(), GP64()
	Label("group")
	for half, label := range []string{"first", "second"} {
		for i := range outputs {
			VXORPS(y(outputs*half+i), y(outputs*half+i), y(outputs*half+i))
		}
		MOVLQSX(operand.Mem{Base: counts, Disp: 4 * half}, left)
		TESTQ(left, left)
		JE(operand.LabelRef(label + "_done"))
		Label(label)
		MOVLQSX(operand.Mem{Base: in}, place)
		VMOVUPS(operand.Mem{Base: src, Index: place, Scale: 1}, y(8))
		for i := range outputs {
			VBROADCASTSS(operand.Mem{Base: weights, Disp: 4 * i}, y(9+i))
			VFMADD231PS(y(8), y(9+i), y(outputs*half+i))
		}
		ADDQ(operand.U8(4), in)
		ADDQ(operand.U8(4*outputs), weights)
		DECQ(left)
		JNE(operand.LabelRef(label))
		Label(label + "_done")
	}
	for i := range outputs {
		MOVLQSX(operand.Mem{Base: out, Disp: 4 * i}, place)
		VADDPS(y(outputs+i), y(i), y(8))
		VSUBPS(y(outputs+i), y(i), y(9))
		VMOVUPS(y(8), operand.Mem{Base: sum, Index: place, Scale: 1})
		VMOVUPS(y(9), operand.Mem{Base: difference, Index: place, Scale: 1})
	}
	ADDQ(operand.U8(4*outputs), out)
	ADDQ(operand.U8(8), counts)
	DECQ(groups)
	JNE(operand.LabelRef("group"))
	finish()
}

func butterfly() {
	function("butterfly32", "func(sum, difference, a, b *float32, n int)")
	sum, difference := parameter("sum"), parameter("difference")
	a, b, n := parameter("a"), parameter("b"), parameter("n")
	v, w, s := YMM(), YMM(), YMM()
	Label("loop")
	VMOVUPS(operand.Mem{Base: a}, v)
	VMOVUPS(operand.Mem{Base: b}, w)
	VADDPS(w, v, s)
	VSUBPS(w, v, v)
	VMOVUPS(s, operand.Mem{Base: sum})
	VMOVUPS(v, operand.Mem{Base: difference})
	next(n, sum, difference, a, b)
}
