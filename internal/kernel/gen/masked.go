package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The functions here do with AVX-512 what those of elements.go and vector.go do with AVX2,
// for any positive n. A mask says which lanes of a vector exist: all but in the last one.

// exist is the mask of the lanes that exist.
const exist = 1

func mask(n int) reg.OpmaskPhysical {
	return []reg.OpmaskPhysical{reg.K0, reg.K1, reg.K2, reg.K3}[n]
}

// vectors512 writes a loop over n elements, a vector at a time. The body moves the
// addresses.
func vectors512(label string, n reg.GPVirtual, body func()) {
	limit, ones := GP64(), GP32()
	Label(label)
	MOVQ(operand.U32(16), limit)
	CMPQ(n, limit)
	CMOVQLT(n, limit)
	MOVL(operand.U32(0xffffffff), ones)
	BZHIL(limit.As32(), ones, ones)
	KMOVW(ones, mask(exist))
	body()
	SUBQ(operand.U8(16), n)
	JGT(operand.LabelRef(label))
}

// load reads the lanes that exist, and zeros for the others.
func load(from reg.Register, v reg.VecVirtual) {
	VMOVUPS_Z(operand.Mem{Base: from}, mask(exist), v)
}

// store writes the lanes that exist.
func store(v reg.VecVirtual, to reg.Register) { VMOVUPS(v, mask(exist), operand.Mem{Base: to}) }

// advance moves addresses by a vector.
func advance(addresses ...reg.Register) {
	for _, p := range addresses {
		ADDQ(operand.U8(64), p)
	}
}

func zeroed() reg.VecVirtual {
	v := ZMM()
	VPXORD(v, v, v)
	return v
}

func rectify512() {
	function("rectify512", "func(dst, src *float32, n int)")
	dst, src, n := parameter("dst"), parameter("src"), parameter("n")
	zero, v := zeroed(), ZMM()
	vectors512("loop", n, func() {
		load(src, v)
		VMAXPS(v, zero, v)
		VADDPS(zero, v, v)
		store(v, dst)
		advance(dst, src)
	})
	finish()
}

func gate512() {
	function("gate512", "func(dst, y, src *float32, n int)")
	dst, y, src, n := parameter("dst"), parameter("y"), parameter("src"), parameter("n")
	zero, v, positive := zeroed(), ZMM(), mask(2)
	vectors512("loop", n, func() {
		load(y, v)
		VPCMPGTD(zero, v, mask(exist), positive)
		VMOVUPS_Z(operand.Mem{Base: src}, positive, v)
		store(v, dst)
		advance(dst, y, src)
	})
	finish()
}

// addToRows512 writes AddToRows for m positive. The stride ldd is in bytes.
func addToRows512() {
	function("addToRows512", "func(dst *float32, ldd int, v *float32, m, n int)")
	dst, ldd, m := parameter("dst"), parameter("ldd"), parameter("m")
	v, row, left, sum, more := GP64(), GP64(), GP64(), ZMM(), ZMM()
	Label("rows")
	Load(Param("v"), v)
	MOVQ(dst, row)
	Load(Param("n"), left)
	vectors512("loop", left.(reg.GPVirtual), func() {
		load(row, sum)
		load(v, more)
		VADDPS(more, sum, sum)
		store(sum, row)
		advance(row, v)
	})
	ADDQ(ldd, dst)
	DECQ(m)
	JNE(operand.LabelRef("rows"))
	finish()
}

func scale512() {
	function("scale512", "func(dst, src *float32, n int, factor float32)")
	dst, src, n := parameter("dst"), parameter("src"), parameter("n")
	factor, v := ZMM(), ZMM()
	VBROADCASTSS(argument("factor"), factor)
	vectors512("loop", n, func() {
		load(src, v)
		VMULPS(v, factor, v)
		store(v, dst)
		advance(dst, src)
	})
	finish()
}

func moduli512() {
	function("moduli512", "func(dst, re, im *float32, n int)")
	dst, re, im, n := parameter("dst"), parameter("re"), parameter("im"), parameter("n")
	a, b := ZMM(), ZMM()
	vectors512("loop", n, func() {
		load(re, a)
		load(im, b)
		VMULPS(a, a, a)
		VMULPS(b, b, b)
		VADDPS(b, a, a)
		VSQRTPS(a, a)
		store(a, dst)
		advance(dst, re, im)
	})
	finish()
}

// maxTaps512 writes MaxTaps for count positive.
func maxTaps512() {
	function("maxTaps512", "func(best *float32, winner *uint8, x *float32, taps *int, count, n int)")
	best, winner := parameter("best"), parameter("winner")
	x, taps := parameter("x"), parameter("taps")
	count, n := parameter("count"), parameter("n")
	tap, t := GP64(), GP64()
	one, top, code, won, v, sign := ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
	above := mask(2)
	VPTERNLOGD(operand.U8(0xff), one, one, one)
	VPSRLD(operand.U8(31), one, one)
	// ordered reads what lies at a tap. It makes v sort like a float as an integer; order
	// makes it a float again.
	order := func(v reg.VecVirtual) {
		VPSRAD(operand.U8(31), v, sign)
		VPSRLD(operand.U8(1), sign, sign)
		VPXORD(sign, v, v)
	}
	ordered := func(v reg.VecVirtual) {
		VMOVDQU32_Z(operand.Mem{Base: x, Index: tap, Scale: 4}, mask(exist), v)
		order(v)
	}
	vectors512("loop", n, func() {
		MOVQ(operand.Mem{Base: taps}, tap)
		ordered(top)
		VPXORD(code, code, code)
		VPXORD(won, won, won)
		MOVQ(operand.U32(1), t)
		JMP(operand.LabelRef("more"))
		Label("tap")
		MOVQ(operand.Mem{Base: taps, Index: t, Scale: 8}, tap)
		ordered(v)
		VPADDD(one, code, code)
		VPCMPGTD(top, v, above)
		VPMAXSD(v, top, top)
		VMOVDQA32(code, above, won)
		INCQ(t)
		Label("more")
		CMPQ(t, count)
		JLT(operand.LabelRef("tap"))
		order(top)
		VMOVDQU32(top, mask(exist), operand.Mem{Base: best})
		VPMOVDB(won, mask(exist), operand.Mem{Base: winner})
		ADDQ(operand.U8(16), winner)
		advance(best, x)
	})
	finish()
}

// addToTaps512 writes AddToTaps for count positive, in the order of addToTaps.
func addToTaps512() {
	function("addToTaps512", "func(dst *float32, winner *uint8, src *float32, taps *int, count, n int)")
	code, v, sum, won := ZMM(), ZMM(), ZMM(), mask(2)
	lastTapFirst(func(count, dst, winner, src, left reg.GPVirtual) {
		VPBROADCASTD(count.As32(), code)
		vectors512("loop", left, func() {
			VPMOVZXBD_Z(operand.Mem{Base: winner}, mask(exist), v)
			VPCMPEQD(code, v, mask(exist), won)
			VMOVUPS_Z(operand.Mem{Base: src}, won, v)
			load(dst, sum)
			VADDPS(sum, v, v)
			store(v, dst)
			ADDQ(operand.U8(16), winner)
			advance(src, dst)
		})
	})
}

// addRows512 writes AddRows for m positive. The stride lda is in bytes.
func addRows512() {
	function("addRows512", "func(dst, a *float32, lda, m, n, run int)")
	dst, a, lda, n := parameter("dst"), parameter("a"), parameter("lda"), parameter("n")
	from, left, count := GP64(), GP64(), GP64()
	for _, width := range []int{4, 1} {
		name := map[int]string{4: "four", 1: "one"}[width]
		v := make([]reg.VecVirtual, width)
		for i := range v {
			v[i] = ZMM()
		}
		columns := func() {
			MOVQ(a, from)
			MOVQ(argument("m"), left)
			Label(name + "_run")
			for i := range v {
				VPXORD(v[i], v[i], v[i])
			}
			MOVQ(argument("run"), count)
			CMPQ(left, count)
			CMOVQLT(left, count)
			SUBQ(count, left)
			Label(name + "_row")
			for i := range v {
				VADDPS(operand.Mem{Base: from, Disp: 64 * i}, v[i], mask(exist), v[i])
			}
			ADDQ(lda, from)
			DECQ(count)
			JNE(operand.LabelRef(name + "_row"))
			for i := range v {
				to := operand.Mem{Base: dst, Disp: 64 * i}
				VADDPS(to, v[i], mask(exist), v[i])
				VMOVUPS(v[i], mask(exist), to)
			}
			TESTQ(left, left)
			JNE(operand.LabelRef(name + "_run"))
			ADDQ(operand.U32(64*width), a)
			ADDQ(operand.U32(64*width), dst)
		}
		if width == 1 {
			TESTQ(n, n)
			JE(operand.LabelRef("done"))
			vectors512(name, n, columns)
			Label("done")
			continue
		}
		KXNORW(mask(exist), mask(exist), mask(exist))
		Label(name)
		CMPQ(n, operand.U32(16*width))
		JLT(operand.LabelRef(name + "_done"))
		columns()
		SUBQ(operand.U8(16*width), n)
		JMP(operand.LabelRef(name))
		Label(name + "_done")
	}
	finish()
}

// fold512 writes FoldInt64 for n a positive multiple of 16, as foldInt64 does.
func fold512() {
	function("fold512", "func(dst *int64, src *float32, n int, perUnit float64, lanes *float64)")
	dst, src, n, lanes := parameter("dst"), parameter("src"), parameter("n"), parameter("lanes")
	perUnit, shift, zero, v := ZMM(), ZMM(), zeroed(), ZMM()
	sums := []reg.VecVirtual{zeroed(), zeroed()}
	VBROADCASTSD(argument("perUnit"), perUnit)
	VBROADCASTSD(magic(), shift)
	Label("loop")
	for i, sum := range sums {
		to := operand.Mem{Base: dst, Disp: 64 * i}
		VCVTPS2PD(operand.Mem{Base: src, Disp: 32 * i}, v)
		VFMADD231PD(v, v, sum)
		VMULPD(perUnit, v, v)
		VADDPD(shift, v, v)
		VPSUBQ(shift, v, v)
		VPADDQ(to, v, v)
		VMOVDQU64(v, to)
	}
	VMOVUPS(zero, operand.Mem{Base: src})
	ADDQ(operand.U32(128), dst)
	ADDQ(operand.U8(64), src)
	SUBQ(operand.U8(16), n)
	JNE(operand.LabelRef("loop"))
	for i, sum := range sums {
		VMOVUPD(sum, operand.Mem{Base: lanes, Disp: 64 * i})
	}
	finish()
}

// squaredNorm512 writes what squaredNorm writes.
func squaredNorm512() {
	function("squaredNorm512", "func(lanes *float64, x *float32, n int)")
	lanes, x, n := parameter("lanes"), parameter("x"), parameter("n")
	v, sums := ZMM(), []reg.VecVirtual{zeroed(), zeroed()}
	Label("loop")
	for i, sum := range sums {
		VCVTPS2PD(operand.Mem{Base: x, Disp: 32 * i}, v)
		VFMADD231PD(v, v, sum)
	}
	ADDQ(operand.U8(64), x)
	SUBQ(operand.U8(16), n)
	JNE(operand.LabelRef("loop"))
	for i, sum := range sums {
		VMOVUPD(sum, operand.Mem{Base: lanes, Disp: 64 * i})
	}
	finish()
}

// addInts512 writes AddInts for n a positive multiple of 8. Here an instruction makes a double of
// an integer.
func addInts512() {
	function("addInts512", "func(scaled *float64, total, noise *int64, n int, scale float64)")
	scaled, total, noise, n := parameter("scaled"), parameter("total"), parameter("noise"), parameter("n")
	scale, sum := ZMM(), ZMM()
	VBROADCASTSD(argument("scale"), scale)
	Label("loop")
	VMOVDQU64(operand.Mem{Base: total}, sum)
	VPADDQ(operand.Mem{Base: noise}, sum, sum)
	VMOVDQU64(sum, operand.Mem{Base: total})
	VCVTQQ2PD(sum, sum)
	VMULPD(scale, sum, sum)
	VMOVUPD(sum, operand.Mem{Base: scaled})
	advance(scaled, total, noise)
	SUBQ(operand.U8(8), n)
	JNE(operand.LabelRef("loop"))
	finish()
}

// descend512 writes Descend for n a positive multiple of 8, as descend does.
func descend512() {
	function("descend512", "func(parameters *float32, gradient *float64, n int, decay, rate float64) (odd int32)")
	parameters, gradient, n := parameter("parameters"), parameter("gradient"), parameter("n")
	decay, rate, from, move := z(0), z(1), z(2), z(3)
	next, zero, odd := y(4), y(5), y(6)
	VBROADCASTSD(argument("decay"), decay)
	VBROADCASTSD(argument("rate"), rate)
	VXORPS(zero, zero, zero)
	VXORPS(odd, odd, odd)
	Label("loop")
	VCVTPS2PD(operand.Mem{Base: parameters}, from)
	VMULPD(from, decay, move)
	VADDPD(operand.Mem{Base: gradient}, move, move)
	VMULPD(rate, move, move)
	VSUBPD(move, from, from)
	VCVTPD2PS(from, next)
	VMOVUPS(next, operand.Mem{Base: parameters})
	VSUBPS(next, next, next) // 0, or not a number
	VORPS(next, odd, odd)
	ADDQ(operand.U8(32), parameters)
	ADDQ(operand.U8(64), gradient)
	SUBQ(operand.U8(8), n)
	JNE(operand.LabelRef("loop"))
	VCMPPS(operand.U8(differ), zero, odd, odd)
	result := GP32()
	VMOVMSKPS(odd, result)
	Store(result, ReturnIndex(0))
	finish()
}
