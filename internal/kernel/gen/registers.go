package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// y and x return the vector register with a number: all of it, or its lower half.
func y(n int) reg.VecPhysical { return vectors[n] }
func x(n int) reg.VecPhysical { return vectors[n].AsX().(reg.VecPhysical) }

var vectors = []reg.VecPhysical{
	reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
	reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
}

// at returns the memory of row i, one of three or six rows that start at base, stride
// apart. The register third holds base plus three strides.
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

// argument returns a parameter in memory.
func argument(name string) operand.Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}
