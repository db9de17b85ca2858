package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// float is an element type and the instructions on it.
type float struct {
	bits                      int
	load, add, broadcast, fma func(...operand.Op)
	addScalar, moveScalar     func(...operand.Op)
	hadd, mask                func(a, b, c operand.Op)
	halvings                  int // horizontal additions in a half of a register
}

var (
	single = float{32, VMOVUPS, VADDPS, VBROADCASTSS, VFMADD231PS, VADDSS, VMOVSS, VHADDPS, VMASKMOVPS, 2}
	double = float{64, VMOVUPD, VADDPD, VBROADCASTSD, VFMADD231PD, VADDSD, VMOVSD, VHADDPD, VMASKMOVPD, 1}
)

func (t float) bytes() int { return t.bits / 8 }

// function starts a function on pointers to elements; params may use it as %[1]s.
func (t float) function(name, params string) {
	TEXT(fmt.Sprintf("%s%d", name, t.bits), attr.NOSPLIT, fmt.Sprintf("func("+params+")", fmt.Sprintf("*float%d", t.bits)))
	Pragma("noescape")
}

// y and x are the vector registers by number, whole and lower half.
func y(n int) reg.VecPhysical { return vectors[n] }
func x(n int) reg.VecPhysical { return vectors[n].AsX().(reg.VecPhysical) }

var vectors = []reg.VecPhysical{
	reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
	reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
}

// at is the memory of row i of three or six from base, stride apart; third is
// base plus three strides.
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

// argument is a parameter in memory.
func argument(name string) operand.Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}
