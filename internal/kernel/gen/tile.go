package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tiles writes tiles32, which computes at most 16 columns of a matrix product. With a mask, tiles32 does not
// access memory beyond the last column.
func tiles() {
	function("tiles32", "func(c *float32, ldc int, a *float32, rs, cs int, b *float32, ldb int, m, height, k, run int, add int, mask *int32)")
	g := registersOfTile
	load("c ldc a rs cs ldb m mask", g.c, g.ldc, g.a, g.rs, g.cs, g.ldb, g.m, g.work)
	TESTQ(g.work, g.work)
	JNE(operand.LabelRef("edge"))
	g.vectors, g.unroll = 2, 4
	g.blocks("whole")
	Label("edge")
	CMPL(operand.Mem{Base: g.work, Disp: 32}, operand.U8(0))
	JE(operand.LabelRef("half"))
	g.masked, g.unroll = true, 1
	g.blocks("masked")
	g.vectors, g.unroll = 1, 4
	g.blocks("half")
}

type tile struct {
	vectors, unroll                                               int
	masked                                                        bool
	label                                                         string
	c, ldc, a, rs, cs, ldb, m, aw, a3, bw, left, count, add, work reg.Register
}

var registersOfTile = tile{
	c: reg.RDI, ldc: reg.RSI, a: reg.RDX, rs: reg.R8, cs: reg.R9, ldb: reg.R10, m: reg.R11, aw: reg.RAX,
	a3: reg.RBX, bw: reg.RCX, left: reg.R12, count: reg.R13, add: reg.R14, work: reg.R15,
}

const maxRows = 6

func (g tile) acc(row, half int) reg.VecPhysical { return y(g.vectors*row + half) }

func (g tile) blocks(label string) {
	g.label = label
	Label(label)
	for rows := maxRows; rows >= 1; rows-- {
		if rows == maxRows {
			TESTQ(g.m, g.m)
			JE(operand.LabelRef(label + "_done"))
			MOVQ(argument("height"), g.work)
			CMPQ(g.m, g.work)
			CMOVQLT(g.m, g.work)
		}
		if rows > 1 {
			CMPQ(g.work, operand.U8(rows))
			JE(operand.LabelRef(fmt.Sprintf("%s_%d", label, rows)))
		}
	}
	for rows := 1; rows <= maxRows; rows++ {
		g.block(rows)
		JMP(operand.LabelRef(label))
	}
	Label(label + "_done")
	finish()
}

func (g tile) block(rows int) {
	name := func(part string) string { return fmt.Sprintf("%s_%d%s", g.label, rows, part) }
	Label(name(""))
	MOVQ(g.a, g.aw)
	if rows > 3 {
		thirdRow(g.a3, g.a, g.rs)
	}
	g.fetch(rows)
	MOVQ(argument("b"), g.bw)
	MOVQ(argument("k"), g.left)
	MOVQ(argument("add"), g.add)
	if g.masked {
		MOVQ(argument("mask"), g.work)
		g.loadMask(0)
	}
	Label(name("_run"))
	clear(rows * g.vectors)
	nextRun(g.count, g.left)
	if g.unroll > 1 {
		SUBQ(operand.U8(g.unroll), g.count)
		JLT(operand.LabelRef(name("_rest")))
		Label(name("_more"))
		for range g.unroll {
			g.step(rows)
		}
		SUBQ(operand.U8(g.unroll), g.count)
		JGE(operand.LabelRef(name("_more")))
		Label(name("_rest"))
		ADDQ(operand.U8(g.unroll), g.count)
		JE(operand.LabelRef(name("_sum")))
	}
	Label(name("_one"))
	g.step(rows)
	DECQ(g.count)
	JNE(operand.LabelRef(name("_one")))
	Label(name("_sum"))
	TESTQ(g.add, g.add)
	JE(operand.LabelRef(name("_store")))
	g.rows(rows, func(i, half int, c operand.Mem) {
		if g.masked {
			g.maskOf(half)
			VMASKMOVPS(c, y(15), y(14))
			VADDPS(y(14), g.acc(i, half), g.acc(i, half))
			return
		}
		VADDPS(c, g.acc(i, half), g.acc(i, half))
	})
	Label(name("_store"))
	g.rows(rows, func(i, half int, c operand.Mem) {
		if g.masked {
			g.maskOf(half)
			VMASKMOVPS(g.acc(i, half), y(15), c)
			return
		}
		VMOVUPS(g.acc(i, half), c)
	})
	MOVQ(operand.U32(1), g.add)
	TESTQ(g.left, g.left)
	JNE(operand.LabelRef(name("_run")))
	for range rows {
		ADDQ(g.rs, g.a)
		ADDQ(g.ldc, g.c)
	}
	SUBQ(operand.U8(rows), g.m)
}

func (g tile) fetch(rows int) {
	MOVQ(g.c, g.count)
	for i := range rows {
		PREFETCHT0(operand.Mem{Base: g.count})
		PREFETCHT0(operand.Mem{Base: g.count, Disp: 32*g.vectors - 1})
		if i+1 < rows {
			ADDQ(g.ldc, g.count)
		}
	}
}

func (g tile) rows(rows int, f func(i, half int, c operand.Mem)) {
	MOVQ(g.c, g.count)
	for i := range rows {
		for half := range g.vectors {
			f(i, half, operand.Mem{Base: g.count, Disp: 32 * half})
		}
		if i+1 < rows {
			ADDQ(g.ldc, g.count)
		}
	}
}

func (g tile) loadMask(half int) { VMOVUPS(operand.Mem{Base: g.work, Disp: 32 * half}, y(15)) }

func (g tile) maskOf(half int) {
	if g.vectors > 1 {
		g.loadMask(half)
	}
}

func (g tile) step(rows int) {
	for half := range g.vectors {
		b := operand.Mem{Base: g.bw, Disp: 32 * half}
		if g.masked {
			g.maskOf(half)
			VMASKMOVPS(b, y(15), y(12+half))
		} else {
			VMOVUPS(b, y(12+half))
		}
	}
	ADDQ(g.ldb, g.bw)
	for i := range rows {
		a := y(14)
		if g.vectors > 1 && i%2 > 0 {
			a = y(15)
		}
		VBROADCASTSS(at(g.aw, g.a3, g.rs, i, 0), a)
		for half := range g.vectors {
			VFMADD231PS(a, y(12+half), g.acc(i, half))
		}
	}
	ADDQ(g.cs, g.aw)
	if rows > 3 {
		ADDQ(g.cs, g.a3)
	}
}

func wide() {
	function("wide32", "func(c, a *float32, cs int, b *float32, ldb, n, k, run, add int)")
	const vectors, size = 8, 32
	c, a, cs := parameter("c"), parameter("a"), parameter("cs")
	b, ldb, n := parameter("b"), parameter("ldb"), parameter("n")
	aw, bw, left, count, add := GP64(), GP64(), GP64(), GP64(), GP64()
	Label("columns")
	MOVQ(a, aw)
	MOVQ(b, bw)
	MOVQ(argument("k"), left)
	MOVQ(argument("add"), add)
	Label("run")
	clear(vectors)
	nextRun(count, left)
	Label("one")
	VBROADCASTSS(operand.Mem{Base: aw}, y(15))
	ADDQ(cs, aw)
	for i := range vectors {
		VFMADD231PS(operand.Mem{Base: bw, Disp: size * i}, y(15), y(i))
	}
	ADDQ(ldb, bw)
	DECQ(count)
	JNE(operand.LabelRef("one"))
	TESTQ(add, add)
	JE(operand.LabelRef("store"))
	for i := range vectors {
		VADDPS(operand.Mem{Base: c, Disp: size * i}, y(i), y(i))
	}
	Label("store")
	for i := range vectors {
		VMOVUPS(y(i), operand.Mem{Base: c, Disp: size * i})
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
