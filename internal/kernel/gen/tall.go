package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tiles512 writes the function that does what tiles32 does with AVX-512, in the same order
// for each element. A tile is one vector wide, and so as wide as a tile of tiles32, and at
// most 25 rows high. The last parameter is the number of its columns.
//
// Each product takes its element of a straight from memory. Then a tile reads one number for
// each product and one vector for all of them, which two loads a cycle keep up with.
func tiles512() {
	function("tiles512", "func(c *float32, ldc int, a *float32, rs, cs int, b *float32, ldb int, m, height, k, run int, add int, n int)")
	var g tall
	Load(Param("c"), g.c())
	Load(Param("rs"), g.rs())
	Load(Param("cs"), g.cs())
	Load(Param("ldb"), g.ldb())
	LEAQ(operand.Mem{Base: g.rs(), Index: g.rs(), Scale: 2}, g.rs3())
	Load(Param("n"), g.count())
	lanes(g.count(), g.mask())
	Label("rows")
	MOVQ(argument("m"), g.work())
	TESTQ(g.work(), g.work())
	JE(operand.LabelRef("done"))
	MOVQ(argument("height"), g.count())
	CMPQ(g.work(), g.count())
	CMOVQGT(g.count(), g.work())
	SUBQ(g.work(), argument("m"))
	g.choose(1, tallRows)
	for rows := tallRows; rows >= 1; rows-- {
		g.block(rows)
		JMP(operand.LabelRef("rows"))
	}
	Label("done")
	finish()
}

type tall struct{}

// choose jumps to the block of as many rows as the register work says.
func (g tall) choose(low, high int) {
	if low == high {
		JMP(operand.LabelRef(fmt.Sprintf("rows_%d", low)))
		return
	}
	middle := (low + high) / 2
	above := fmt.Sprintf("above_%d", middle)
	CMPQ(g.work(), operand.U8(middle))
	JGT(operand.LabelRef(above))
	g.choose(low, middle)
	Label(above)
	g.choose(middle+1, high)
}

// tallRows is the greatest height of a tile: five groups of five rows.
const tallRows = 5 * group

// group is the number of rows that are found from one address: 0, 1, 2, 3 and 4 strides away.
const group = 5

func (tall) c() reg.Register     { return reg.RDI }
func (tall) rs() reg.Register    { return reg.RSI }
func (tall) rs3() reg.Register   { return reg.RDX } // three strides
func (tall) cs() reg.Register    { return reg.R8 }
func (tall) ldb() reg.Register   { return reg.R9 }
func (tall) bw() reg.Register    { return reg.RCX } // moves along b
func (tall) left() reg.Register  { return reg.R10 } // of k
func (tall) count() reg.Register { return reg.R11 }
func (tall) work() reg.Register  { return reg.RAX }
func (tall) mask() reg.Register  { return reg.K1 }

// aw returns the address of the first row of a group, which moves along a.
func (tall) aw(i int) reg.Register {
	return []reg.Register{reg.RBX, reg.R12, reg.R13, reg.R14, reg.R15}[i]
}

// row returns the memory of the next element of row i.
func (g tall) row(i int) operand.Mem {
	m := operand.Mem{Base: g.aw(i / group)}
	switch i % group {
	case 1, 2, 4:
		m.Index, m.Scale = g.rs(), uint8(i%group)
	case 3:
		m.Index, m.Scale = g.rs3(), 1
	}
	return m
}

// block computes a tile.
func (g tall) block(rows int) {
	name := func(part string) string { return fmt.Sprintf("rows_%d%s", rows, part) }
	groups := (rows + group - 1) / group
	Label(name(""))
	// The sums meet the tile's place in memory only after the first run.
	g.rows(rows, func(i int, c operand.Mem) {
		PREFETCHT0(c)
		c.Disp += 63
		PREFETCHT0(c)
	})
	MOVQ(argument("a"), g.aw(0))
	for i := 1; i < groups; i++ {
		LEAQ(operand.Mem{Base: g.aw(i - 1), Index: g.rs(), Scale: 4}, g.aw(i))
		ADDQ(g.rs(), g.aw(i))
	}
	MOVQ(argument("b"), g.bw())
	MOVQ(argument("k"), g.left())
	MOVQ(argument("add"), g.work())
	Label(name("_run"))
	for i := range rows {
		VPXORD(z(i), z(i), z(i))
	}
	MOVQ(argument("run"), g.count())
	CMPQ(g.left(), g.count())
	CMOVQLT(g.left(), g.count())
	SUBQ(g.count(), g.left())
	step := func(part string, load func(b operand.Mem, v reg.VecPhysical)) {
		Label(name(part))
		b := z(31)
		load(operand.Mem{Base: g.bw()}, b)
		ADDQ(g.ldb(), g.bw())
		for i := range rows {
			VFMADD231PS_BCST(g.row(i), b, z(i))
		}
		for i := range groups {
			ADDQ(g.cs(), g.aw(i))
		}
		DECQ(g.count())
		JNE(operand.LabelRef(name(part)))
	}
	CMPQ(argument("n"), operand.U8(16))
	JNE(operand.LabelRef(name("_part")))
	step("_whole", func(b operand.Mem, v reg.VecPhysical) { VMOVUPS(b, v) })
	JMP(operand.LabelRef(name("_sum")))
	step("_part", func(b operand.Mem, v reg.VecPhysical) { VMOVUPS_Z(b, g.mask(), v) })
	Label(name("_sum"))
	TESTQ(g.work(), g.work())
	JE(operand.LabelRef(name("_store")))
	g.rows(rows, func(i int, c operand.Mem) { VADDPS(c, z(i), g.mask(), z(i)) })
	Label(name("_store"))
	g.rows(rows, func(i int, c operand.Mem) { VMOVUPS(z(i), g.mask(), c) })
	MOVQ(operand.U32(1), g.work())
	TESTQ(g.left(), g.left())
	JNE(operand.LabelRef(name("_run")))
	MOVQ(g.count(), g.c()) // the last row
	ADDQ(argument("ldc"), g.c())
	IMUL3Q(operand.U8(rows), g.rs(), g.work())
	ADDQ(g.work(), argument("a"))
}

// rows calls f for the rows of the tile in memory.
func (g tall) rows(rows int, f func(i int, c operand.Mem)) {
	MOVQ(g.c(), g.count())
	for i := range rows {
		f(i, operand.Mem{Base: g.count()})
		if i+1 < rows {
			ADDQ(argument("ldc"), g.count())
		}
	}
}
