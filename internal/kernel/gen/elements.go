package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rectify writes the assembly of max(x, 0), which keeps NaN. If an operand is NaN, VMAXPS returns the first
// operand in the order of package avo, here x. Adding zero turns -0 into 0.
func rectify() {
	function("rectify32", "func(dst, src *float32, n int)")
	dst, src, n := parameter("dst"), parameter("src"), parameter("n")
	zero, v := YMM(), YMM()
	VXORPS(zero, zero, zero)
	Label("loop")
	VMAXPS(operand.Mem{Base: src}, zero, v)
	VADDPS(zero, v, v)
	VMOVUPS(v, operand.Mem{Base: dst})
	next(n, dst, src)
}

func gate() {
	function("gate32", "func(dst, y, src *float32, n int)")
	dst, y, src, n := parameter("dst"), parameter("y"), parameter("src"), parameter("n")
	zero, v := YMM(), YMM()
	VXORPS(zero, zero, zero)
	Label("loop")
	VMOVDQU(operand.Mem{Base: y}, v)
	VPCMPGTD(zero, v, v)
	VPAND(operand.Mem{Base: src}, v, v)
	VMOVDQU(v, operand.Mem{Base: dst})
	next(n, dst, y, src)
}

func addToRows() {
	function("addToRows32", "func(dst *float32, ldd int, v *float32, m, n int)")
	dst, ldd := parameter("dst"), parameter("ldd")
	m, n := parameter("m"), parameter("n")
	v, row, left, sum := GP64(), GP64(), GP64(), YMM()
	Label("rows")
	Load(Param("v"), v)
	MOVQ(dst, row)
	MOVQ(n, left)
	Label("loop")
	VMOVUPS(operand.Mem{Base: row}, sum)
	VADDPS(operand.Mem{Base: v}, sum, sum)
	VMOVUPS(sum, operand.Mem{Base: row})
	advance(32, row, v)
	repeat("loop", left, 8)
	ADDQ(ldd, dst)
	DECQ(m)
	JNE(operand.LabelRef("rows"))
	finish()
}

func maxTaps() {
	function("maxTaps32", "func(best *float32, winner *uint8, x *float32, taps *int, count, n int)")
	best, winner := parameter("best"), parameter("winner")
	x, taps := parameter("x"), parameter("taps")
	count, n := parameter("count"), parameter("n")
	tap, t := GP64(), GP64()
	one, top, code, won, v, mask := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	VPCMPEQD(one, one, one)
	VPSRLD(operand.U8(31), one, one)
	// order maps floats to integers with the same order, and is its own inverse.
	order := func(v reg.VecVirtual) {
		VPSRAD(operand.U8(31), v, mask)
		VPSRLD(operand.U8(1), mask, mask)
		VPXOR(mask, v, v)
	}
	Label("loop")
	MOVQ(operand.Mem{Base: taps}, tap)
	VMOVDQU(operand.Mem{Base: x, Index: tap, Scale: 4}, top)
	order(top)
	VPXOR(code, code, code)
	VPXOR(won, won, won)
	MOVQ(operand.U32(1), t)
	JMP(operand.LabelRef("more"))
	Label("tap")
	MOVQ(operand.Mem{Base: taps, Index: t, Scale: 8}, tap)
	VMOVDQU(operand.Mem{Base: x, Index: tap, Scale: 4}, v)
	order(v)
	VPADDD(one, code, code)
	VPCMPGTD(top, v, mask)
	VPMAXSD(v, top, top)
	VPBLENDVB(mask, code, won, won)
	INCQ(t)
	Label("more")
	CMPQ(t, count)
	JLT(operand.LabelRef("tap"))
	order(top)
	VMOVDQU(top, operand.Mem{Base: best})
	VEXTRACTI128(operand.U8(1), won, mask.AsX())
	VPACKUSDW(mask.AsX(), won.AsX(), won.AsX())
	VPACKUSWB(won.AsX(), won.AsX(), won.AsX())
	VMOVQ(won.AsX(), operand.Mem{Base: winner})
	ADDQ(operand.U8(8), winner)
	next(n, best, x)
}

func addToTaps() {
	function("addToTaps32", "func(dst *float32, winner *uint8, src *float32, taps *int, count, n int)")
	taps, count := parameter("taps"), parameter("count")
	dst, winner, src, left := GP64(), GP64(), GP64(), GP64()
	code, v := YMM(), YMM()
	Label("tap") // the last tap first
	DECQ(count)
	Load(Param("dst"), dst)
	MOVQ(operand.Mem{Base: taps, Index: count, Scale: 8}, left)
	LEAQ(operand.Mem{Base: dst, Index: left, Scale: 4}, dst)
	load("winner src n", winner, src, left)
	VMOVD(count.As32(), code.AsX())
	VPBROADCASTD(code.AsX(), code)
	Label("loop")
	VPMOVZXBD(operand.Mem{Base: winner}, v)
	VPCMPEQD(code, v, v)
	VPAND(operand.Mem{Base: src}, v, v)
	VADDPS(operand.Mem{Base: dst}, v, v)
	VMOVUPS(v, operand.Mem{Base: dst})
	ADDQ(operand.U8(8), winner)
	advance(32, src, dst)
	repeat("loop", left, 8)
	TESTQ(count, count)
	JNE(operand.LabelRef("tap"))
	finish()
}

func copyRuns() {
	runs("copyRuns32", "src", "dst", func(run, row operand.Mem) {
		VMOVUPS(run, y(0))
		VMOVUPS(y(0), row)
	})
}

func addRuns() {
	runs("addRuns32", "dst", "src", func(run, row operand.Mem) {
		VMOVUPS(row, y(0))
		VADDPS(run, y(0), y(0))
		VMOVUPS(y(0), run)
	})
}

// runs writes a loop over runs of n elements. The number n must be a multiple of 8. The runs are scattered
// over one matrix, and consecutive in the other one. The loop ends before a place that is negative or above
// `last`. The assembly returns the number of remaining runs.
func runs(name, scattered, consecutive string, step func(run, row operand.Mem)) {
	function(name, "func(dst, src *float32, places *int32, count, n, last int) (left int)")
	base, row, places := parameter(scattered), parameter(consecutive), parameter("places")
	count, n, last := parameter("count"), parameter("n"), parameter("last")
	run, left := GP64(), GP64()
	Label("run")
	MOVLQSX(operand.Mem{Base: places}, run)
	CMPQ(run, last)
	JHI(operand.LabelRef("done"))
	LEAQ(operand.Mem{Base: base, Index: run, Scale: 4}, run)
	MOVQ(n, left)
	Label("loop")
	step(operand.Mem{Base: run}, operand.Mem{Base: row})
	advance(32, run, row)
	repeat("loop", left, 8)
	ADDQ(operand.U8(4), places)
	DECQ(count)
	JNE(operand.LabelRef("run"))
	Label("done")
	Store(count, ReturnIndex(0))
	finish()
}

func copyRow() {
	function("copyRow32", "func(dst, src, next *float32, n int)")
	dst, src, ahead, n := parameter("dst"), parameter("src"), parameter("next"), parameter("n")
	a, b := y(0), y(1)
	Label("loop")
	PREFETCHT0(operand.Mem{Base: ahead})
	VMOVUPS(operand.Mem{Base: src}, a)
	VMOVUPS(operand.Mem{Base: src, Disp: 32}, b)
	VMOVUPS(a, operand.Mem{Base: dst})
	VMOVUPS(b, operand.Mem{Base: dst, Disp: 32})
	advance(64, src, ahead, dst)
	again(n, 16)
}

// centre writes assembly that keeps NaN. If v is NaN, VMINPS and VMAXPS return v, because v is the first
// operand in package avo's order.
func centre() {
	function("centre32", "func(dst, src, mean *float32, n int, scale float64, far float32)")
	dst, src, mean, n := parameter("dst"), parameter("src"), parameter("mean"), parameter("n")
	scale, far, opposite, v, upper := YMM(), YMM(), YMM(), YMM(), YMM()
	VBROADCASTSD(argument("scale"), scale)
	VBROADCASTSS(argument("far"), far)
	VXORPS(opposite, opposite, opposite)
	VSUBPS(far, opposite, opposite)
	Label("loop")
	VMOVUPS(operand.Mem{Base: src}, v)
	VSUBPS(operand.Mem{Base: mean}, v, v)
	VEXTRACTF128(operand.U8(1), v, upper.AsX())
	for _, half := range []reg.VecVirtual{v, upper} {
		VCVTPS2PD(half.AsX(), half)
		VMULPD(scale, half, half)
		VCVTPD2PSY(half, half.AsX())
	}
	VINSERTF128(operand.U8(1), upper.AsX(), v, v)
	VMINPS(v, far, v)
	VMAXPS(v, opposite, v)
	VMOVUPS(v, operand.Mem{Base: dst})
	next(n, dst, src, mean)
}

func search() {
	function("search32", "func(x, y *float32, n int, floor float32) int")
	from, less, n, place := parameter("x"), parameter("y"), parameter("n"), GP64()
	floor, v, found := YMM(), YMM(), GP32()
	VBROADCASTSS(argument("floor"), floor)
	XORQ(place, place)
	Label("loop")
	VMOVUPS(operand.Mem{Base: from, Index: place, Scale: 4}, v)
	VSUBPS(operand.Mem{Base: less, Index: place, Scale: 4}, v, v)
	VCMPPS(operand.U8(5), floor, v, v) // not below, or NaN
	VMOVMSKPS(v, found)
	TESTL(found, found)
	JNE(operand.LabelRef("done"))
	ADDQ(operand.U8(8), place)
	CMPQ(place, n)
	JLT(operand.LabelRef("loop"))
	Label("done")
	Store(place, ReturnIndex(0))
	finish()
}
