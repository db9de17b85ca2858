package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tiles512 writes the AVX-512 version of the assembly function tiles32. Both functions have the same order of
// operations on each element.
func tiles512() {
	// The generated function computes n columns of a product, at most three vectors, in register tiles of at
	// most nine rows. Its parameter apart is the distance in bytes between vectors of a row of b.
	//
	// A tile of 9 x 3 vectors takes 27 registers and loads 12 operands for 27 products. Two loads per cycle
	// suffice for two products per cycle.
	function("tiles512", "func(c *float32, ldc int, a *float32, rs, cs int, b *float32, ldb, apart int, m, height, k, run int, add int, n int)")
	g := registersOfBroad
	load("c rs cs ldb apart", g.c, g.rs, g.cs, g.ldb, g.apart)
	LEAQ(operand.Mem{Base: g.rs, Index: g.rs, Scale: 2}, g.rs3)
	Load(Param("n"), g.count)
	for vectors := broadest; vectors > 1; vectors-- {
		CMPQ(g.count, operand.U8(16*(vectors-1)))
		g.vectors = vectors
		JGT(operand.LabelRef(g.name("")))
	}
	for vectors := 1; vectors <= broadest; vectors++ {
		g.vectors = vectors
		g.blocks()
	}
}

type broad struct {
	vectors                                                 int
	c, rs, rs3, cs, ldb, bw, apart, left, count, work, mask reg.Register
}

var registersOfBroad = broad{
	c: reg.RDI, rs: reg.RSI, rs3: reg.RDX, cs: reg.R8, ldb: reg.R9, bw: reg.RCX, apart: reg.R13, left: reg.R10,
	count: reg.R11, work: reg.RAX, mask: reg.K1,
}

const (
	broadest  = 3
	broadRows = 9
	group     = 5
)

func (broad) aw(i int) reg.Register { return []reg.Register{reg.RBX, reg.R12}[i] }

func (g broad) acc(row, vector int) int { return g.vectors*row + vector }

func (g broad) row(i int) operand.Mem {
	m := operand.Mem{Base: g.aw(i / group)}
	switch i % group {
	case 1, 2, 4:
		m.Index, m.Scale = g.rs, uint8(i%group)
	case 3:
		m.Index, m.Scale = g.rs3, 1
	}
	return m
}

func (g broad) right(vector int) operand.Mem {
	m := operand.Mem{Base: g.bw}
	if vector > 0 {
		m.Index, m.Scale = g.apart, uint8(vector)
	}
	return m
}

func (g broad) last(vector int) bool { return vector == g.vectors-1 }

func (g broad) name(part string) string { return fmt.Sprintf("vectors_%d%s", g.vectors, part) }

func (g broad) blocks() {
	Label(g.name(""))
	SUBQ(operand.U8(16*(g.vectors-1)), g.count)
	lanes(g.count, g.mask)
	Label(g.name("_rows"))
	MOVQ(argument("m"), g.work)
	TESTQ(g.work, g.work)
	JE(operand.LabelRef(g.name("_done")))
	MOVQ(argument("height"), g.count)
	CMPQ(g.work, g.count)
	CMOVQGT(g.count, g.work)
	SUBQ(g.work, argument("m"))
	for rows := broadRows; rows > 1; rows-- {
		CMPQ(g.work, operand.U8(rows))
		JE(operand.LabelRef(g.name(fmt.Sprintf("_%d", rows))))
	}
	for rows := 1; rows <= broadRows; rows++ {
		g.block(rows)
		JMP(operand.LabelRef(g.name("_rows")))
	}
	Label(g.name("_done"))
	finish()
}

func (g broad) block(rows int) {
	name := func(part string) string { return g.name(fmt.Sprintf("_%d%s", rows, part)) }
	groups := (rows + group - 1) / group
	Label(name(""))
	// Prefetch the tile's memory, which is used only after the first run.
	g.rows(rows, func(i, v int, c operand.Mem) {
		PREFETCHT0(c)
		if g.last(v) {
			c.Disp += 63
			PREFETCHT0(c)
		}
	})
	MOVQ(argument("a"), g.aw(0))
	for i := 1; i < groups; i++ {
		LEAQ(operand.Mem{Base: g.aw(i - 1), Index: g.rs, Scale: 4}, g.aw(i))
		ADDQ(g.rs, g.aw(i))
	}
	MOVQ(argument("b"), g.bw)
	MOVQ(argument("k"), g.left)
	MOVQ(argument("add"), g.work)
	Label(name("_run"))
	for i := range rows {
		for v := range g.vectors {
			sum := z(g.acc(i, v))
			VPXORD(sum, sum, sum)
		}
	}
	nextRun(g.count, g.left)
	g.steps(rows, name("_one"))
	TESTQ(g.work, g.work)
	JE(operand.LabelRef(name("_store")))
	g.rows(rows, func(i, v int, c operand.Mem) {
		if sum := z(g.acc(i, v)); g.last(v) {
			VADDPS(c, sum, g.mask, sum)
		} else {
			VADDPS(c, sum, sum)
		}
		g.store(i, v, c)
	})
	JMP(operand.LabelRef(name("_stored")))
	Label(name("_store"))
	g.rows(rows, g.store)
	Label(name("_stored"))
	MOVQ(operand.U32(1), g.work)
	TESTQ(g.left, g.left)
	JNE(operand.LabelRef(name("_run")))
	MOVQ(g.count, g.c) // the last row
	ADDQ(argument("ldc"), g.c)
	IMUL3Q(operand.U8(rows), g.rs, g.work)
	ADDQ(g.work, argument("a"))
}

func (g broad) store(row, vector int, c operand.Mem) {
	if g.last(vector) {
		VMOVUPS(z(g.acc(row, vector)), g.mask, c)
		return
	}
	VMOVUPS(z(g.acc(row, vector)), c)
}

func (g broad) steps(rows int, label string) {
	b := func(vector int) reg.VecPhysical { return z(31 - vector) } // at most 27 of 32 registers are sums
	Label(label)
	for v := range g.vectors {
		if g.last(v) {
			VMOVUPS_Z(g.right(v), g.mask, b(v))
		} else {
			VMOVUPS(g.right(v), b(v))
		}
	}
	ADDQ(g.ldb, g.bw)
	for i := range rows {
		if g.vectors == 1 {
			VFMADD231PS_BCST(g.row(i), b(0), z(g.acc(i, 0)))
			continue
		}
		a := z(31 - g.vectors - i%2)
		VBROADCASTSS(g.row(i), a)
		for v := range g.vectors {
			VFMADD231PS(b(v), a, z(g.acc(i, v)))
		}
	}
	for i := range (rows + group - 1) / group {
		ADDQ(g.cs, g.aw(i))
	}
	DECQ(g.count)
	JNE(operand.LabelRef(label))
}

func (g broad) rows(rows int, f func(i, v int, c operand.Mem)) {
	MOVQ(g.c, g.count)
	for i := range rows {
		for v := range g.vectors {
			f(i, v, operand.Mem{Base: g.count, Disp: 64 * v})
		}
		if i+1 < rows {
			ADDQ(argument("ldc"), g.count)
		}
	}
}
