package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gaussian512 writes what gaussian does for n a positive multiple of 16. The table stays in eight
// registers: a gather of as many numbers takes several times as long.
func gaussian512() {
	function("gaussian512", "func(dst, norms *float32, n int, norm, factor float32, table *uint64)")
	dst, norms, n, table := parameter("dst"), parameter("norms"), parameter("n"), parameter("table")
	norm, factor, limit := ZMM(), ZMM(), ZMM()
	VBROADCASTSS(argument("norm"), norm)
	VBROADCASTSS(argument("factor"), factor)
	VBROADCASTSS(ConstData("gaussian_limit512", operand.U32(math.Float32bits(-87))), limit)
	constant := func(name string, bits uint64) reg.VecVirtual {
		v := ZMM()
		VBROADCASTSD(ConstData("gaussian512_"+name, operand.U64(bits)), v)
		return v
	}
	const unit = math.Ln2 / 64
	perUnit := constant("per_unit", math.Float64bits(1/unit))
	shift := constant("magic", math.Float64bits(3<<51))
	linear := constant("linear", math.Float64bits(unit))
	square := constant("square", math.Float64bits(unit*unit/2))
	second, fourth := constant("second", 16), constant("fourth", 32) // bits of a place
	roots := make([]reg.VecVirtual, 8)
	for i := range roots {
		roots[i] = ZMM()
		VMOVUPD(operand.Mem{Base: table, Disp: 64 * i}, roots[i])
	}
	x, zero := ZMM(), ZMM()
	VPXORD(zero, zero, zero)
	t, rounded, power, above := ZMM(), ZMM(), ZMM(), ZMM()
	quarters := []reg.VecVirtual{ZMM(), ZMM(), ZMM()}
	odd, high, large := K(), K(), K()
	// exp sets half a vector of single precision to powers of e.
	exp := func(half, out reg.Register) {
		VCVTPS2PD(half, t)
		VMULPD(perUnit, t, t)
		VADDPD(shift, t, rounded)
		// Of the place's six bits four choose within a quarter of the table, two the quarter.
		VPTESTMQ(second, rounded, odd)
		VPTESTMQ(fourth, rounded, high)
		VMOVAPD(rounded, power)
		VPERMI2PD(roots[1], roots[0], power)
		for i, q := range quarters {
			VMOVAPD(rounded, q)
			VPERMI2PD(roots[2*i+3], roots[2*i+2], q)
		}
		VMOVAPD(quarters[0], odd, power)
		VMOVAPD(quarters[2], odd, quarters[1])
		VMOVAPD(quarters[1], high, power)
		VSUBPD(shift, rounded, above)
		VSUBPD(above, t, t)
		VPSRLQ(operand.U8(6), rounded, rounded)
		VPSLLQ(operand.U8(52), rounded, rounded)
		VPADDQ(rounded, power, power)
		VMULPD(square, t, rounded)
		VADDPD(linear, rounded, rounded)
		VMULPD(t, rounded, rounded)
		VMULPD(power, rounded, rounded)
		VADDPD(power, rounded, rounded)
		VCVTPD2PS(rounded, out)
	}
	upper := ZMM()
	Label("loop")
	VMOVUPS(operand.Mem{Base: dst}, upper)
	VADDPS(upper, upper, upper)
	VADDPS(operand.Mem{Base: norms}, norm, x)
	VSUBPS(upper, x, x)
	VMAXPS(x, zero, x) // NaN stays
	VMULPS(factor, x, x)
	VCMPPS(operand.U8(30), limit, x, large) // above, and not NaN
	VEXTRACTF64X4(operand.U8(1), x, upper.AsY())
	exp(x.AsY(), x.AsY())
	exp(upper.AsY(), upper.AsY())
	VINSERTF64X4(operand.U8(1), upper.AsY(), x, x)
	VMOVAPS_Z(x, large, x)
	VMOVUPS(x, operand.Mem{Base: dst})
	ADDQ(operand.U8(64), dst)
	ADDQ(operand.U8(64), norms)
	SUBQ(operand.U8(16), n)
	JNE(operand.LabelRef("loop"))
	finish()
}
