package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func wideConstant(name string, bits uint64) reg.VecVirtual {
	v := YMM()
	VBROADCASTSD(ConstData(name, operand.U64(bits)), v)
	return v
}

func gaussian() {
	function("gaussian32", "func(dst, norms *float32, n int, norm, factor float32, table *uint64)")
	dst, norms, n, table := parameter("dst"), parameter("norms"), parameter("n"), parameter("table")
	norm, factor, limit := YMM(), YMM(), YMM()
	VBROADCASTSS(argument("norm"), norm)
	VBROADCASTSS(argument("factor"), factor)
	VBROADCASTSS(ConstData("gaussian_limit", operand.U32(math.Float32bits(-87))), limit)
	const unit = math.Ln2 / 64
	perUnit := wideConstant("gaussian_per_unit", math.Float64bits(1/unit))
	shift := wideConstant("gaussian_magic", math.Float64bits(3<<51))
	linear := wideConstant("gaussian_linear", math.Float64bits(unit))
	square := wideConstant("gaussian_square", math.Float64bits(unit*unit/2))
	places := wideConstant("gaussian_places", 63)
	x, large, upper := YMM(), YMM(), YMM()
	t, rounded, place, power, all := YMM(), YMM(), YMM(), YMM(), YMM()
	// exp replaces a half vector of float32 by its exponentials.
	exp := func(x reg.VecVirtual) {
		VCVTPS2PD(x, t)
		VMULPD(perUnit, t, t)
		VADDPD(shift, t, rounded)
		VPAND(places, rounded, place)
		VPCMPEQD(all, all, all)
		VGATHERQPD(all, operand.Mem{Base: table, Index: place, Scale: 8}, power)
		VSUBPD(shift, rounded, place)
		VSUBPD(place, t, t)
		VPSRLQ(operand.U8(6), rounded, rounded)
		VPSLLQ(operand.U8(52), rounded, rounded)
		VPADDQ(rounded, power, power)
		VMULPD(square, t, rounded)
		VADDPD(linear, rounded, rounded)
		VMULPD(t, rounded, rounded)
		VMULPD(power, rounded, rounded)
		VADDPD(power, rounded, rounded)
		VCVTPD2PSY(rounded, x)
	}
	Label("loop")
	VMOVUPS(operand.Mem{Base: dst}, upper)
	VADDPS(upper, upper, upper)
	VADDPS(operand.Mem{Base: norms}, norm, x)
	VSUBPS(upper, x, x)
	VXORPS(t, t, t)
	VMAXPS(x, t, x) // NaN stays
	VMULPS(factor, x, x)
	VCMPPS(operand.U8(30), limit, x, large) // above, and not NaN
	VEXTRACTF128(operand.U8(1), x, upper.AsX())
	exp(x.AsX().(reg.VecVirtual))
	exp(upper.AsX().(reg.VecVirtual))
	VINSERTF128(operand.U8(1), upper.AsX(), x, x)
	VANDPS(large, x, x)
	VMOVUPS(x, operand.Mem{Base: dst})
	next(n, dst, norms)
}
