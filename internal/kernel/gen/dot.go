package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var dotRows = []int{1: 4, 2: 4, 3: 3, 4: 2, 5: 2, 6: 2}

func dots() {
	function("dots32", "func(c *float32, ldc int, a *float32, lda int, b *float32, ldb int, m, n, k int, add int, mask *int32)")
	g := registersOfDot
	load("c ldc a lda ldb m", g.c, g.ldc, g.a, g.lda, g.ldb, g.m)
	MOVQ(argument("n"), g.aw)
	for n := 2; n < len(dotRows); n++ {
		CMPQ(g.aw, operand.U8(n))
		JE(operand.LabelRef(fmt.Sprintf("n%d", n)))
	}
	for n := 1; n < len(dotRows); n++ {
		next, one, done := fmt.Sprintf("n%d", n), fmt.Sprintf("n%d_one", n), fmt.Sprintf("n%d_done", n)
		Label(next)
		CMPQ(g.m, operand.U8(dotRows[n]))
		JLT(operand.LabelRef(one))
		g.block(dotRows[n], n)
		JMP(operand.LabelRef(next))
		Label(one)
		TESTQ(g.m, g.m)
		JE(operand.LabelRef(done))
		g.block(1, n)
		JMP(operand.LabelRef(one))
		Label(done)
		finish()
	}
}

type dot struct {
	c, ldc, a, lda, ldb, m, aw, a3, bw, count, work, b3 reg.Register
}

var registersOfDot = dot{
	c: reg.RDI, ldc: reg.RSI, a: reg.RDX, lda: reg.R8, ldb: reg.R10, m: reg.R11, aw: reg.RAX, a3: reg.RBX,
	bw: reg.RCX, count: reg.R13, work: reg.R14, b3: reg.R9,
}

func (g dot) block(rows, n int) {
	name := func(part string) string { return fmt.Sprintf("n%d_%d_%s", n, rows, part) }
	acc := func(i, j int) reg.VecPhysical { return y(i*n + j) }
	MOVQ(g.a, g.aw)
	addresses := []reg.Register{g.aw}
	if rows > 3 {
		thirdRow(g.a3, g.a, g.lda)
		addresses = append(addresses, g.a3)
	}
	MOVQ(argument("b"), g.bw)
	addresses = append(addresses, g.bw)
	if n > 3 {
		thirdRow(g.b3, g.bw, g.ldb)
		addresses = append(addresses, g.b3)
	}
	clear(rows * n)
	// step processes a vector of each row at offset disp. load loads it.
	step := func(disp int, load func(m operand.Mem, v reg.VecPhysical)) {
		for i := range rows {
			load(at(g.aw, g.a3, g.lda, i, disp), y(rows*n+i))
		}
		for j := range n {
			b := y(rows*n + rows)
			load(at(g.bw, g.b3, g.ldb, j, disp), b)
			for i := range rows {
				VFMADD231PS(y(rows*n+i), b, acc(i, j))
			}
		}
	}
	inVectors(name, g.count, addresses, func(disp int) {
		step(disp, func(m operand.Mem, v reg.VecPhysical) { VMOVUPS(m, v) })
	})
	MOVQ(argument("mask"), g.work)
	VMOVUPS(operand.Mem{Base: g.work}, y(15))
	step(0, func(m operand.Mem, v reg.VecPhysical) { VMASKMOVPS(m, y(15), v) })
	Label(name("sum"))
	sums := g.sums(rows, n)
	for _, s := range sums {
		s.reduce(15)
	}
	MOVQ(argument("add"), g.count)
	TESTQ(g.count, g.count)
	JE(operand.LabelRef(name("store")))
	g.results(sums, func(s sum, c operand.Mem) {
		if s.width > 1 {
			VADDPS(c, x(s.from), x(s.from))
		} else {
			VADDSS(c, x(s.from), x(s.from))
		}
	})
	Label(name("store"))
	g.results(sums, func(s sum, c operand.Mem) {
		if s.width > 1 {
			VMOVUPS(x(s.from), c)
		} else {
			VMOVSS(x(s.from), c)
		}
	})
	for range rows {
		ADDQ(g.lda, g.a)
		ADDQ(g.ldc, g.c)
	}
	SUBQ(operand.U8(rows), g.m)
}

// inVectors writes a loop over a row, in vectors of 8 elements. The function step writes the code for one
// vector at the byte offset disp. If no elements remain, the loop jumps to the label name("sum"). The caller
// must write code for the remaining elements, and then this label.
func inVectors(name func(part string) string, count reg.Register, addresses []reg.Register, step func(disp int)) {
	const lanes = 8
	MOVQ(argument("k"), count)
	SUBQ(operand.U8(2*lanes), count)
	JLT(operand.LabelRef(name("rest")))
	Label(name("two"))
	step(0)
	step(4 * lanes)
	advance(8*lanes, addresses...)
	SUBQ(operand.U8(2*lanes), count)
	JGE(operand.LabelRef(name("two")))
	Label(name("rest"))
	ADDQ(operand.U8(2*lanes), count)
	CMPQ(count, operand.U8(lanes))
	JLT(operand.LabelRef(name("tail")))
	step(0)
	advance(4*lanes, addresses...)
	SUBQ(operand.U8(lanes), count)
	Label(name("tail"))
	TESTQ(count, count)
	JE(operand.LabelRef(name("sum")))
}

type sum struct{ row, col, from, width int }

func (g dot) sums(rows, n int) (sums []sum) {
	for i := range rows {
		for j := 0; j < n; {
			width := 4
			if j+width > n {
				width = 1
			}
			sums = append(sums, sum{i, j, i*n + j, width})
			j += width
		}
	}
	return sums
}

func (s sum) reduce(scratch int) {
	if s.width == 1 {
		for range 2 {
			VHADDPS(y(s.from), y(s.from), y(s.from))
		}
	}
	for step := 1; step < s.width; step *= 2 {
		for i := 0; i < s.width; i += 2 * step {
			VHADDPS(y(s.from+i+step), y(s.from+i), y(s.from+i))
		}
	}
	VEXTRACTF128(operand.U8(1), y(s.from), x(scratch))
	if s.width == 1 {
		VADDSS(x(scratch), x(s.from), x(s.from))
	} else {
		VADDPS(x(scratch), x(s.from), x(s.from))
	}
}

func (g dot) results(sums []sum, f func(s sum, c operand.Mem)) {
	MOVQ(g.c, g.count)
	row := 0
	for _, s := range sums {
		if s.row > row {
			ADDQ(g.ldc, g.count)
			row = s.row
		}
		f(s, operand.Mem{Base: g.count, Disp: 4 * s.col})
	}
}
