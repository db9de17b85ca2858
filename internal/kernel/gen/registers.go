package main

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func y(n int) reg.VecPhysical { return vectors[n] }
func x(n int) reg.VecPhysical { return vectors[n].AsX().(reg.VecPhysical) }

var vectors = []reg.VecPhysical{
	reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
	reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
}

func z(n int) reg.VecPhysical {
	return []reg.VecPhysical{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
		reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
		reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}[n]
}

// lanes writes code that sets the mask to the first n <= 16 lanes. The code overwrites RAX.
func lanes(n, mask reg.Register) {
	ones := reg.RAX
	MOVQ(operand.I32(-1), ones)
	BZHIL(n.(reg.GP).As32(), ones.As32(), ones.As32())
	KMOVW(ones.As32(), mask)
}

func at(base, third, stride reg.Register, i, disp int) operand.Mem {
	m := operand.Mem{Base: base, Disp: disp}
	if i >= 3 {
		m.Base, i = third, i-3
	}
	if i > 0 {
		m.Index, m.Scale = stride, uint8(i)
	}
	return m
}

func argument(name string) operand.Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

func parameter(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

func load(names string, to ...reg.Register) {
	for i, name := range strings.Fields(names) {
		Load(Param(name), to[i])
	}
}

func advance(bytes int, addresses ...reg.Register) {
	for _, p := range addresses {
		ADDQ(operand.U8(bytes), p)
	}
}

func next(n reg.Register, addresses ...reg.Register) {
	advance(32, addresses...)
	again(n, 8)
}

func again(n reg.Register, lanes int) {
	repeat("loop", n, lanes)
	finish()
}

func repeat(loop string, n reg.Register, lanes int) {
	SUBQ(operand.U8(lanes), n)
	JNE(operand.LabelRef(loop))
}

func clear(n int) {
	for i := range n {
		VXORPS(y(i), y(i), y(i))
	}
}

func thirdRow(third, base, stride reg.Register) {
	LEAQ(operand.Mem{Base: base, Index: stride, Scale: 2}, third)
	ADDQ(stride, third)
}

func nextRun(count, left reg.Register) {
	MOVQ(argument("run"), count)
	CMPQ(left, count)
	CMOVQLT(left, count)
	SUBQ(count, left)
}

func finish() {
	VZEROUPPER()
	RET()
}
