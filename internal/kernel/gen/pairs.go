package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var pairsOf = []int{1: 3, 2: 3, 3: 3, 4: 3, 5: 3, 6: 3, 10: 2}

// dots512 writes the AVX-512 version of the assembly function dots32, with the same order of operations. The
// row count m must be a multiple of 6 for at most 6 columns, and of 4 for 10 columns.
func dots512() {
	function("dots512", "func(c *float32, ldc int, a *float32, lda int, b *float32, ldb int, m, n, k int, add int)")
	g := registersOfPairs
	Load(Param("k"), g.count)
	ANDQ(operand.U8(7), g.count)
	lanes(g.count, g.tail)
	load("c ldc lda ldb n", g.c, g.ldc, g.lda, g.ldb, g.count)
	ANDQ(operand.U8(3), g.count)
	lanes(g.count, g.some)
	Load(Param("n"), g.count)
	for n, pairs := range pairsOf {
		if pairs > 0 && n > 1 {
			CMPQ(g.count, operand.U8(n))
			JE(operand.LabelRef(fmt.Sprintf("n%d", n)))
		}
	}
	for n, count := range pairsOf {
		if count == 0 {
			continue
		}
		name := fmt.Sprintf("n%d", n)
		Label(name)
		g.block(name, count, n)
		SUBQ(operand.U8(2*count), argument("m"))
		JNE(operand.LabelRef(name))
		finish()
	}
}

type pairs struct {
	c, ldc, lda, ldb, aw, a3, count, tail, some reg.Register
}

var registersOfPairs = pairs{
	c: reg.RDI, ldc: reg.RSI, lda: reg.R8, ldb: reg.R10, aw: reg.RDX, a3: reg.RBX, count: reg.R11,
	tail: reg.K1, some: reg.K2,
}

func (pairs) bw(i int) reg.Register {
	return []reg.Register{reg.RCX, reg.R9, reg.R12, reg.R13}[i]
}

func (g pairs) block(label string, count, n int) {
	name := func(part string) string { return label + "_" + part }
	const (
		second = 3 // second row of a pair, at the end
		b      = 4
	)
	acc := func(pair, j int) int { return 31 - pair*n - j }
	addresses := []reg.Register{g.aw, g.a3, g.bw(0)}
	MOVQ(argument("a"), g.aw)
	thirdRow(g.a3, g.aw, g.lda)
	MOVQ(argument("b"), g.bw(0))
	for i := 1; i < (n+2)/3; i++ {
		thirdRow(g.bw(i), g.bw(i-1), g.ldb)
		addresses = append(addresses, g.bw(i))
	}
	rowOfA := func(i, disp int) operand.Mem { return at(g.aw, g.a3, g.lda, i, disp) }
	rowOfB := func(j, disp int) operand.Mem { return at(g.bw(j/3), nil, g.ldb, j%3, disp) }
	for pair := range count {
		for j := range n {
			sum := z(acc(pair, j))
			VPXORD(sum, sum, sum)
		}
	}
	multiply := func(j int) {
		for pair := range count {
			VFMADD231PS(z(pair), z(b), z(acc(pair, j)))
		}
	}
	inVectors(name, g.count, addresses, func(disp int) {
		for pair := range count {
			VMOVUPS(rowOfA(2*pair, disp), y(pair))
			VINSERTF32X8(operand.U8(1), rowOfA(2*pair+1, disp), z(pair), z(pair))
		}
		for j := range n {
			VBROADCASTF32X8(rowOfB(j, disp), z(b))
			multiply(j)
		}
	})
	for pair := range count {
		VMOVUPS_Z(rowOfA(2*pair, 0), g.tail, y(pair))
		VMOVUPS_Z(rowOfA(2*pair+1, 0), g.tail, y(second))
		VINSERTF32X8(operand.U8(1), y(second), z(pair), z(pair))
	}
	for j := range n {
		VMOVUPS_Z(rowOfB(j, 0), g.tail, y(b))
		VINSERTF32X8(operand.U8(1), y(b), z(b), z(b))
		multiply(j)
	}
	Label(name("sum"))
	for pair := range count {
		var sums []int // one per group of at most four columns
		for j := 0; j < n; j += 4 {
			var columns []int
			for c := j; c < min(j+4, n); c++ {
				columns = append(columns, acc(pair, c))
			}
			sums = append(sums, g.lanes(columns))
		}
		for i := 0; i < len(sums); i += 2 {
			g.halves(sums[i], sums[min(i+1, len(sums)-1)])
			g.store(name(fmt.Sprintf("pair_%d_%d", pair, i)), 4*i, min(8, n-4*i))
		}
		LEAQ(operand.Mem{Base: g.c, Index: g.ldc, Scale: 2}, g.c)
	}
	IMUL3Q(operand.U8(2*count), g.lda, g.count)
	ADDQ(g.count, argument("a"))
}

func (g pairs) lanes(registers []int) int {
	pairs := func(a, b int) {
		VSHUFPS(operand.U8(0x88), z(b), z(a), z(0))
		VSHUFPS(operand.U8(0xdd), z(b), z(a), z(1))
		VADDPS(z(1), z(0), z(a))
	}
	last := len(registers) - 1
	pairs(registers[0], registers[min(1, last)])
	if last < 2 {
		pairs(registers[0], registers[0])
		return registers[0]
	}
	pairs(registers[2], registers[last])
	pairs(registers[0], registers[2])
	return registers[0]
}

func (g pairs) halves(a, b int) {
	VSHUFF32X4(operand.U8(0x88), z(b), z(a), z(0))
	VSHUFF32X4(operand.U8(0xdd), z(b), z(a), z(1))
	VADDPS(z(1), z(0), z(0))
}

func (g pairs) store(label string, j, n int) {
	each := func(f func(part operand.U8, c operand.Mem, whole bool)) {
		for part := range 2 * ((n + 3) / 4) { // two rows, and two again
			c := operand.Mem{Base: g.c, Disp: 4 * (j + part/2*4)}
			if part%2 > 0 {
				c.Index, c.Scale = g.ldc, 1
			}
			f(operand.U8(part), c, n-part/2*4 >= 4)
		}
	}
	CMPQ(argument("add"), operand.U8(0))
	JE(operand.LabelRef(label))
	each(func(part operand.U8, c operand.Mem, whole bool) {
		VEXTRACTF32X4(part, z(0), x(1))
		if whole {
			VADDPS(c, x(1), x(1))
			VMOVUPS(x(1), c)
			return
		}
		VADDPS(c, x(1), g.some, x(1))
		VMOVUPS(x(1), g.some, c)
	})
	JMP(operand.LabelRef(label + "_done"))
	Label(label)
	each(func(part operand.U8, c operand.Mem, whole bool) {
		if whole {
			VEXTRACTF32X4(part, z(0), c)
			return
		}
		VEXTRACTF32X4(part, z(0), x(1)) // a masked VEXTRACTF32X4 would fault behind the last column
		VMOVUPS(x(1), g.some, c)
	})
	Label(label + "_done")
}
