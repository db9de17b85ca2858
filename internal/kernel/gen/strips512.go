package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The functions here do with AVX-512 what those of mirrors and quarters do with AVX2, in the same
// order for every number: a strip is a vector, and there are registers for twice as many rows.

// stripRows is the greatest number of rows of results that are computed together.
const stripRows = 6

// strips512 writes them. Of height, at most stripRows, rows of results all but the last are
// together; all other arguments are those of AVX2.
func strips512() {
	for _, g := range []strips{{mirror{"mirrorStrips512", false}, 1}, {mirror{"quarterStrips512", false}, 2}, {mirror{"quarterModuli512", true}, 2}} {
		g.write()
	}
}

// strips has the registers of mirror but for those of strides of coefficients. A row of results
// is at one end, or at both: then it has that many accumulators for each product.
type strips struct {
	mirror
	ends int
}

func (strips) stride() reg.Register { return reg.R10 } // of the coefficients of a product
func (strips) third() reg.Register  { return reg.R11 } // three rows behind aw

// free is a register that no product needs. Those of spare behind it are for what is stored.
const free, spare = 24, 25

func (g strips) write() {
	other := ""
	if g.ends == 2 {
		other = "up2, down2 *float32, "
	}
	function(g.name, "func(up, down *float32, "+other+"upRow, downRow, dstStep int, even, odd *float32, m, height, ke, ko int, src *float32, srcOdd, srcRow, srcStep, strips int)")
	var waiting operand.Mem // the rows at the other end
	if g.ends == 2 {
		waiting = AllocLocal(16)
	}
	Load(Param("upRow"), g.ups())
	Load(Param("downRow"), g.dns())
	Load(Param("src"), g.src())
	Load(Param("srcRow"), g.srow())
	Label("strip")
	MOVQ(argument("up"), g.up())
	MOVQ(argument("down"), g.down())
	others := []string{"up2", "down2"}[:2*(g.ends-1)]
	for i, name := range others {
		MOVQ(argument(name), g.work())
		MOVQ(g.work(), waiting.Offset(8*i))
	}
	MOVQ(argument("even"), g.even())
	MOVQ(argument("odd"), g.odd())
	MOVQ(argument("m"), g.left())
	Label("rows")
	MOVQ(argument("height"), g.work())
	CMPQ(g.left(), g.work())
	CMOVQLT(g.left(), g.work())
	for rows := stripRows; rows > 1; rows-- {
		CMPQ(g.work(), operand.U8(rows))
		JE(operand.LabelRef(fmt.Sprintf("rows%d", rows)))
	}
	for rows := 1; rows <= stripRows; rows++ {
		Label(fmt.Sprintf("rows%d", rows))
		even, unused := g.results(rows, 0, z(free))
		odd, _ := g.results(rows, 1, unused)
		if g.ends == 2 {
			MOVQ(waiting.Offset(0), g.aw())
			MOVQ(waiting.Offset(8), g.bw())
		}
		for r := range rows {
			g.storeRow(even[0][r], odd[0][r], g.up(), g.down())
			ADDQ(g.ups(), g.up())
			ADDQ(g.dns(), g.down())
			if g.ends == 2 {
				g.storeRow(even[1][r], odd[1][r], g.aw(), g.bw())
				SUBQ(g.ups(), g.aw())
				SUBQ(g.dns(), g.bw())
			}
		}
		if g.ends == 2 {
			MOVQ(g.aw(), waiting.Offset(0))
			MOVQ(g.bw(), waiting.Offset(8))
		}
		SUBQ(operand.U8(rows), g.left())
		if rows < stripRows {
			JMP(operand.LabelRef("next"))
		}
	}
	Label("next")
	JNE(operand.LabelRef("rows"))
	MOVQ(argument("dstStep"), g.work())
	for _, name := range append([]string{"up", "down"}, others...) {
		ADDQ(g.work(), argument(name))
	}
	ADDQ(argument("srcStep"), g.src())
	DECQ(argument("strips"))
	JNE(operand.LabelRef("strip"))
	finish()
}

// results computes the even or the odd parts of rows of results, and goes to the next coefficients.
// It returns the registers they are in, by end, and one that is unused then as the given one was
// before.
func (g strips) results(rows, odd int, unused reg.VecPhysical) ([][]reg.VecPhysical, reg.VecPhysical) {
	k, coefficients := []string{"ke", "ko"}[odd], []reg.Register{g.even(), g.odd()}[odd]
	acc := make([][]reg.VecPhysical, g.ends)
	for end := range acc {
		for r := range rows {
			v := z((odd*g.ends+end)*stripRows + r)
			VPXORD(v, v, v)
			acc[end] = append(acc[end], v)
		}
	}
	label := func(name string) string { return fmt.Sprintf("%s%d_%d", name, rows, odd) }
	MOVQ(g.src(), g.bw())
	if odd == 1 {
		ADDQ(argument("srcOdd"), g.bw())
	}
	MOVQ(coefficients, g.aw())
	MOVQ(argument(k), g.work())
	MOVQ(g.work(), g.stride())
	SHLQ(operand.U8(2), g.stride())
	if rows > 3 {
		LEAQ(operand.Mem{Base: g.aw(), Index: g.stride(), Scale: 2}, g.third())
		ADDQ(g.stride(), g.third())
	}
	term := func(end int) {
		v := z(spare + end)
		VMOVUPS(operand.Mem{Base: g.bw()}, v)
		ADDQ(g.srow(), g.bw())
		for r, sum := range acc[end] {
			VFMADD231PS_BCST(at(g.aw(), g.third(), g.stride(), r, 4*end), v, sum)
		}
	}
	SUBQ(operand.U8(g.ends), g.work())
	JL(operand.LabelRef(label("last")))
	Label(label("loop"))
	for end := range g.ends {
		term(end)
	}
	ADDQ(operand.U8(4*g.ends), g.aw())
	if rows > 3 {
		ADDQ(operand.U8(4*g.ends), g.third())
	}
	SUBQ(operand.U8(g.ends), g.work())
	JGE(operand.LabelRef(label("loop")))
	Label(label("last"))
	if g.ends == 2 {
		CMPQ(g.work(), operand.I8(-1))
		JNE(operand.LabelRef(label("done")))
		term(0)
		Label(label("done"))
		for r := range rows {
			a, b := acc[0][r], acc[1][r]
			VADDPS(b, a, unused)
			VSUBPS(b, a, b)
			acc[0][r], unused = unused, a
		}
	}
	IMUL3Q(operand.U8(rows), g.stride(), g.work())
	ADDQ(g.work(), coefficients)
	return acc, unused
}

// storeRow stores sum and difference of an even and an odd part, or of their moduli.
func (g strips) storeRow(e, o reg.VecPhysical, up, down reg.Register) {
	sum, difference := z(spare), z(spare+1)
	VADDPS(o, e, sum)
	VSUBPS(o, e, difference)
	if !g.moduli {
		VMOVUPS(sum, operand.Mem{Base: up})
		VMOVUPS(difference, operand.Mem{Base: down})
		return
	}
	// The moduli of both, one behind the other.
	both, more := z(spare+2), z(spare+3)
	VMULPS(sum, sum, sum)
	VMULPS(difference, difference, difference)
	VSHUFF32X4(operand.U8(0x44), difference, sum, both)
	VSHUFF32X4(operand.U8(0xee), difference, sum, more)
	VADDPS(more, both, both)
	VSQRTPS(both, both)
	VEXTRACTF32X8(operand.U8(1), both, more.AsY())
	VADDPS(more.AsY(), both.AsY(), sum.AsY())
	VSUBPS(more.AsY(), both.AsY(), difference.AsY())
	VMOVUPS(sum.AsY(), operand.Mem{Base: up})
	VMOVUPS(difference.AsY(), operand.Mem{Base: down})
}

// groups512 writes Groups.MulTwo for a positive number of groups, in the order of groups. Apart
// is a number of bytes.
func groups512() {
	function("mulGroups512", "func(sum, difference *float32, apart int, out *int32, weights, src *float32, in, counts *int32, groups int)")
	const outputs = 4
	sum, difference, apart, out := parameter("sum"), parameter("difference"), parameter("apart"), parameter("out")
	weights, src := parameter("weights"), parameter("src")
	in, counts := parameter("in"), parameter("counts")
	place, left := GP64(), GP64()
	Label("group")
	for half, label := range []string{"first", "second"} {
		for i := range outputs {
			VPXORD(z(outputs*half+i), z(outputs*half+i), z(outputs*half+i))
		}
		MOVLQSX(operand.Mem{Base: counts, Disp: 4 * half}, left)
		TESTQ(left, left)
		JE(operand.LabelRef(label + "_done"))
		Label(label)
		MOVLQSX(operand.Mem{Base: in}, place)
		VMOVUPS(operand.Mem{Base: src, Index: place, Scale: 1}, z(8))
		for i := range outputs {
			VFMADD231PS_BCST(operand.Mem{Base: weights, Disp: 4 * i}, z(8), z(outputs*half+i))
		}
		ADDQ(operand.U8(4), in)
		ADDQ(operand.U8(4*outputs), weights)
		DECQ(left)
		JNE(operand.LabelRef(label))
		Label(label + "_done")
	}
	for i := range outputs {
		MOVLQSX(operand.Mem{Base: out, Disp: 4 * i}, place)
		VADDPS(z(outputs+i), z(i), z(8))
		VSUBPS(z(outputs+i), z(i), z(9))
		store := func(at reg.Register) {
			for k, to := range []reg.Register{sum, difference} {
				VMOVUPS(y(8+k), operand.Mem{Base: to, Index: at, Scale: 1})
			}
		}
		store(place)
		ADDQ(apart, place)
		for k := range 2 {
			VEXTRACTF32X8(operand.U8(1), z(8+k), y(8+k))
		}
		store(place)
	}
	ADDQ(operand.U8(4*outputs), out)
	ADDQ(operand.U8(8), counts)
	DECQ(argument("groups"))
	JNE(operand.LabelRef("group"))
	finish()
}
