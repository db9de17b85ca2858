package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lessThan and greaterThan are the predicates LT_OQ and GT_OQ of VCMPPS, which are false for NaN.
const (
	lessThan    = 0x11
	greaterThan = 0x1e
)

func float(name string, v float32) operand.Mem {
	return ConstData(name, operand.U32(math.Float32bits(v)))
}

func polar() {
	function("polar32", "func(length, turn, right, left, below, above *float32, n int, perRadian float32)")
	length, turn := parameter("length"), parameter("turn")
	right, left := parameter("right"), parameter("left")
	below, above, n := parameter("below"), parameter("above"), parameter("n")
	zero, sign, perRadian := y(15), y(14), y(13)
	VXORPS(zero, zero, zero)
	VBROADCASTSS(float("sign", float32(math.Copysign(0, -1))), sign)
	VBROADCASTSS(argument("perRadian"), perRadian)
	constants := map[string]operand.Mem{
		"bisector": float("bisector", 0.41421357), "eighth": float("eighth", math.Pi/4), "quarter": float("quarter", math.Pi/2),
		"half": float("half", math.Pi), "full": float("full", 2*math.Pi),
		"c9": float("c9", 8.05374449538e-2), "c7": float("c7", 1.38776856032e-1),
		"c5": float("c5", 1.99777106478e-1), "c3": float("c3", 3.33329491539e-1),
	}
	x, v, short, long, t, den, angle, mask, z, c := y(0), y(1), y(2), y(3), y(4), y(5), y(6), y(7), y(8), y(9)
	constant := func(name string) reg.VecPhysical {
		VBROADCASTSS(constants[name], c)
		return c
	}
	// Where the mask is set, reflect replaces the angle by a constant minus the angle.
	reflect := func(from string) {
		VSUBPS(angle, constant(from), t)
		VBLENDVPS(mask, t, angle, angle)
	}
	Label("loop")
	VMOVUPS(operand.Mem{Base: right}, x)
	VSUBPS(operand.Mem{Base: left}, x, x)
	VMOVUPS(operand.Mem{Base: below}, v)
	VSUBPS(operand.Mem{Base: above}, v, v)
	VMULPS(x, x, t)
	VMULPS(v, v, z)
	VADDPS(z, t, t)
	VSQRTPS(t, t)
	VMOVUPS(t, operand.Mem{Base: length})
	ax, ay := y(10), y(11)
	VANDNPS(x, sign, ax)
	VANDNPS(v, sign, ay)
	VMINPS(ax, ay, short)
	VMAXPS(ay, ax, long)
	VMULPS(constant("bisector"), long, t)
	VCMPPS(operand.U8(greaterThan), t, short, mask)
	VSUBPS(long, short, t)
	VADDPS(long, short, den)
	VBLENDVPS(mask, t, short, t)
	VBLENDVPS(mask, den, long, den)
	VANDPS(constant("eighth"), mask, angle)
	VDIVPS(den, t, t)
	VMULPS(t, t, z)
	VMULPS(constant("c9"), z, den)
	VSUBPS(constant("c7"), den, den)
	VMULPS(z, den, den)
	VADDPS(constant("c5"), den, den)
	VMULPS(z, den, den)
	VSUBPS(constant("c3"), den, den)
	VMULPS(z, t, z)
	VMULPS(den, z, z)
	VADDPS(z, t, t)
	VADDPS(t, angle, angle)
	VCMPPS(operand.U8(greaterThan), ax, ay, mask)
	reflect("quarter")
	VCMPPS(operand.U8(lessThan), zero, x, mask)
	reflect("half")
	VCMPPS(operand.U8(lessThan), zero, v, mask)
	reflect("full")
	VMULPS(perRadian, angle, angle)
	VMOVUPS(angle, operand.Mem{Base: turn})
	next(n, length, turn, right, left, below, above)
}

func squareRoots() {
	function("squareRoots32", "func(dst, src *float32, n int)")
	dst, src, n := parameter("dst"), parameter("src"), parameter("n")
	zero, v := YMM(), YMM()
	VXORPS(zero, zero, zero)
	Label("loop")
	VMOVUPS(operand.Mem{Base: src}, v)
	VMAXPS(zero, v, v)
	VSQRTPS(v, v)
	VMOVUPS(v, operand.Mem{Base: dst})
	next(n, dst, src)
}

func scaleUpTo() {
	function("scaleUpTo32", "func(dst, src *float32, n int, factor, most float32)")
	dst, src, n := parameter("dst"), parameter("src"), parameter("n")
	factor, most, v := YMM(), YMM(), YMM()
	VBROADCASTSS(argument("factor"), factor)
	VBROADCASTSS(argument("most"), most)
	Label("loop")
	VMULPS(operand.Mem{Base: src}, factor, v)
	VMINPS(v, most, v)
	VMOVUPS(v, operand.Mem{Base: dst})
	next(n, dst, src)
}

func between() {
	function("between32", "func(dst, upper, lower *float32, n int, weights *float32)")
	dst, upper, lower := parameter("dst"), parameter("upper"), parameter("lower")
	n, weights := parameter("n"), parameter("weights")
	for i := range 4 {
		VBROADCASTSS(operand.Mem{Base: weights, Disp: 4 * i}, y(i))
	}
	Label("loop")
	VMULPS(operand.Mem{Base: upper}, y(0), y(4))
	VMULPS(operand.Mem{Base: upper, Disp: 4}, y(1), y(5))
	VMULPS(operand.Mem{Base: lower}, y(2), y(6))
	VMULPS(operand.Mem{Base: lower, Disp: 4}, y(3), y(7))
	for i := 5; i < 8; i++ {
		VADDPS(y(i), y(4), y(4))
	}
	VMOVUPS(y(4), operand.Mem{Base: dst})
	next(n, dst, upper, lower)
}

func affine() {
	function("affine32", "func(dst, src *float32, n int, shift, factor float64)")
	dst, src, n := parameter("dst"), parameter("src"), parameter("n")
	shift, factor := YMM(), YMM()
	VBROADCASTSD(argument("shift"), shift)
	VBROADCASTSD(argument("factor"), factor)
	Label("loop")
	for i := range 2 {
		VCVTPS2PD(operand.Mem{Base: src, Disp: 16 * i}, y(8+i))
		VSUBPD(shift, y(8+i), y(8+i))
		VMULPD(factor, y(8+i), y(8+i))
		VCVTPD2PSY(y(8+i), x(8+i))
		VMOVUPS(x(8+i), operand.Mem{Base: dst, Disp: 16 * i})
	}
	next(n, dst, src)
}

func sums() {
	function("sum32", "func(lanes *float64, x *float32, n int)")
	inLanes(func(i int) { VADDPD(y(4+i), y(i), y(i)) })
}

func squaresAbout() {
	function("squaresAbout32", "func(lanes *float64, x *float32, n int, centre float64)")
	VBROADCASTSD(argument("centre"), y(8))
	inLanes(func(i int) {
		VSUBPD(y(8), y(4+i), y(4+i))
		VMULPD(y(4+i), y(4+i), y(4+i))
		VADDPD(y(4+i), y(i), y(i))
	})
}

// inLanes writes assembly that computes 16 partial sums over x. Registers 0 to 3 hold four sums each. The
// function add writes the code for register i. At the start of this code, register 4+i holds the next four
// elements. The code must add their terms to register i.
func inLanes(add func(i int)) {
	lanes, from, n := parameter("lanes"), parameter("x"), parameter("n")
	clear(4)
	Label("loop")
	for i := range 4 {
		VCVTPS2PD(operand.Mem{Base: from, Disp: 16 * i}, y(4+i))
		add(i)
	}
	ADDQ(operand.U8(64), from)
	repeat("loop", n, 16)
	for i := range 4 {
		VMOVUPD(y(i), operand.Mem{Base: lanes, Disp: 32 * i})
	}
	finish()
}
