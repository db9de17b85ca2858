package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// centre writes Centre for n a positive multiple of 8. The minimum and the maximum return their
// last operand if that is NaN.
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
