package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// exponential writes code that replaces half a vector of float32 by exponentials.
type exponential struct {
	perUnit, shift, linear, square reg.VecVirtual
	t, rounded, place, power       reg.VecVirtual
	find                           func(e exponential) // sets power to the table's element rounded mod 64
	narrow                         func(...operand.Op)
}

func newExponential(name string, vector func() reg.VecVirtual) exponential {
	number := func(part string, v float64) reg.VecVirtual {
		return constant(vector(), name+part, math.Float64bits(v))
	}
	const unit = math.Ln2 / 64
	return exponential{
		perUnit: number("_per_unit", 1/unit), shift: number("_magic", 3<<51),
		linear: number("_linear", unit), square: number("_square", unit*unit/2),
		t: vector(), rounded: vector(), place: vector(), power: vector(),
	}
}

func constant(v reg.VecVirtual, name string, bits uint64) reg.VecVirtual {
	VBROADCASTSD(ConstData(name, operand.U64(bits)), v)
	return v
}

func (e exponential) of(x reg.Register) {
	t, rounded := e.t, e.rounded
	VCVTPS2PD(x, t)
	VMULPD(e.perUnit, t, t)
	VADDPD(e.shift, t, rounded)
	e.find(e)
	VSUBPD(e.shift, rounded, e.place)
	VSUBPD(e.place, t, t)
	VPSRLQ(operand.U8(6), rounded, rounded)
	VPSLLQ(operand.U8(52), rounded, rounded)
	VPADDQ(rounded, e.power, e.power)
	VMULPD(e.square, t, rounded)
	VADDPD(e.linear, rounded, rounded)
	VMULPD(t, rounded, rounded)
	VMULPD(e.power, rounded, rounded)
	VADDPD(e.power, rounded, rounded)
	e.narrow(rounded, x)
}

func gaussian() {
	function("gaussian32", "func(dst, norms *float32, n int, norm, factor float32, table *uint64)")
	dst, norms, n, table := parameter("dst"), parameter("norms"), parameter("n"), parameter("table")
	exp := newExponential("gaussian", YMM)
	places, all := constant(YMM(), "gaussian_places", 63), YMM()
	exp.find = func(e exponential) {
		VPAND(places, e.rounded, e.place)
		VPCMPEQD(all, all, all)
		VGATHERQPD(all, operand.Mem{Base: table, Index: e.place, Scale: 8}, e.power)
	}
	exp.narrow = VCVTPD2PSY
	norm, factor, limit := distanceRange("gaussian", YMM)
	x, large, upper := YMM(), YMM(), YMM()
	Label("loop")
	VMOVUPS(operand.Mem{Base: dst}, upper)
	VMOVUPS(operand.Mem{Base: norms}, x)
	VXORPS(exp.t, exp.t, exp.t)
	exponents(x, upper, norm, factor, exp.t)
	VCMPPS(operand.U8(30), limit, x, large) // above, and not NaN
	VEXTRACTF128(operand.U8(1), x, upper.AsX())
	exp.of(x.AsX())
	exp.of(upper.AsX())
	VINSERTF128(operand.U8(1), upper.AsX(), x, x)
	VANDPS(large, x, x)
	VMOVUPS(x, operand.Mem{Base: dst})
	next(n, dst, norms)
}

func distanceRange(name string, vector func() reg.VecVirtual) (norm, factor, limit reg.VecVirtual) {
	norm, factor, limit = vector(), vector(), vector()
	VBROADCASTSS(argument("norm"), norm)
	VBROADCASTSS(argument("factor"), factor)
	VBROADCASTSS(ConstData(name+"_limit", operand.U32(math.Float32bits(-87))), limit)
	return norm, factor, limit
}

// exponents sets norms to the exponents of a vector of inner products.
func exponents(norms, products, norm, factor, zero reg.VecVirtual) {
	VADDPS(products, products, products)
	VADDPS(norms, norm, norms)
	VSUBPS(products, norms, norms)
	VMAXPS(norms, zero, norms) // NaN stays
	VMULPS(factor, norms, norms)
}

// gaussian512 writes the AVX-512 version of gaussian32, with the same operations on each element. It
// permits any positive n. Permutations of registers that hold the table are faster than loads from the table.
func gaussian512() {
	function("gaussian512", "func(dst, norms *float32, n int, norm, factor float32, table *uint64)")
	dst, norms, n, table := parameter("dst"), parameter("norms"), parameter("n"), parameter("table")
	exp := newExponential("broad", ZMM)
	bit4, bit5, is4, is5 := constant(ZMM(), "broad_bit4", 1<<4), constant(ZMM(), "broad_bit5", 1<<5), K(), K()
	var roots [8]reg.VecVirtual
	for i := range roots {
		roots[i] = ZMM()
		VMOVUPD(operand.Mem{Base: table, Disp: 64 * i}, roots[i])
	}
	found := [4]reg.VecVirtual{exp.power, ZMM(), ZMM(), ZMM()}
	exp.find = func(e exponential) {
		VPTESTMQ(bit4, e.rounded, is4)
		VPTESTMQ(bit5, e.rounded, is5)
		for i, v := range found { // by bits 0 to 3
			VMOVDQA64(e.rounded, v)
			VPERMI2PD(roots[2*i+1], roots[2*i], v)
		}
		VBLENDMPD(found[1], found[0], is4, found[0])
		VBLENDMPD(found[3], found[2], is4, found[2])
		VBLENDMPD(found[2], found[0], is5, e.power)
	}
	exp.narrow = VCVTPD2PS
	norm, factor, limit := distanceRange("broad", ZMM)
	x, upper, some, large := ZMM(), ZMM(), K(), K()
	most, count := GP64(), GP64()
	MOVQ(operand.I32(16), most)
	Label("loop")
	MOVQ(n, count)
	CMPQ(n, most)
	CMOVQGT(most, count)
	lanes(count, some)
	VMOVUPS_Z(operand.Mem{Base: dst}, some, upper)
	VMOVUPS_Z(operand.Mem{Base: norms}, some, x)
	VPXORD(exp.t, exp.t, exp.t)
	exponents(x, upper, norm, factor, exp.t)
	VCMPPS(operand.U8(30), limit, x, large) // above, and not NaN
	VEXTRACTF64X4(operand.U8(1), x, upper.AsY())
	exp.of(x.AsY())
	exp.of(upper.AsY())
	VINSERTF64X4(operand.U8(1), upper.AsY(), x, x)
	VMOVUPS_Z(x, large, x)
	VMOVUPS(x, some, operand.Mem{Base: dst})
	advance(64, dst, norms)
	SUBQ(most, n)
	JG(operand.LabelRef("loop"))
	finish()
}
