package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

func addInts() {
	// It converts an integer h 2^32 + l, with 0 <= l < 2^32, to float64 as follows. Bits l in the fraction of
	// 2^52 give the number 2^52 + l. Bits h + 2^31 in the fraction of 2^84 give the number 2^84 + 2^63 + h
	// 2^32. Subtracting 2^84 + 2^63 + 2^52 from the second number leaves h 2^32 - 2^52 exactly. Adding the
	// first number rounds once.
	function("addInts64", "func(scaled *float64, total, noise *int64, n int, scale float64)")
	scaled, total, noise, n := parameter("scaled"), parameter("total"), parameter("noise"), parameter("n")
	scale, low, high, both := y(0), y(1), y(2), y(3)
	VBROADCASTSD(argument("scale"), scale)
	for name, c := range []struct {
		bits uint64
		to   operand.Op
	}{{math.Float64bits(0x1p52), low}, {math.Float64bits(0x1p84) ^ 1<<31, high}, {math.Float64bits(0x1p84 + 0x1p63 + 0x1p52), both}} {
		VBROADCASTSD(ConstData("double"+string(rune('0'+name)), operand.U64(c.bits)), c.to)
	}
	sum, h := y(4), y(5)
	Label("loop")
	VMOVDQU(operand.Mem{Base: total}, sum)
	VPADDQ(operand.Mem{Base: noise}, sum, sum)
	VMOVDQU(sum, operand.Mem{Base: total})
	VPSRLQ(operand.U8(32), sum, h)
	VPXOR(high, h, h)
	VPBLENDD(operand.U8(0b10101010), low, sum, sum)
	VSUBPD(both, h, h)
	VADDPD(sum, h, h)
	VMULPD(scale, h, h)
	VMOVUPD(h, operand.Mem{Base: scaled})
	advance(32, total, noise, scaled)
	again(n, 4)
}

const differ = 4

func descend() {
	function("descend32", "func(parameters *float32, gradient *float64, n int, decay, rate float64) (odd int32)")
	parameters, gradient, n := parameter("parameters"), parameter("gradient"), parameter("n")
	decay, rate, from, move := y(0), y(1), y(2), y(3)
	next, zero, odd := x(4), x(5), x(6)
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
	VCVTPD2PSY(from, next)
	VMOVUPS(next, operand.Mem{Base: parameters})
	VSUBPS(next, next, next)
	VCMPPS(operand.U8(differ), zero, next, next)
	VORPS(next, odd, odd)
	ADDQ(operand.U8(16), parameters)
	ADDQ(operand.U8(32), gradient)
	repeat("loop", n, 4)
	result := GP32()
	VMOVMSKPS(odd, result)
	Store(result, ReturnIndex(0))
	finish()
}
