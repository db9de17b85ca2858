//go:build !noasm

#include "textflag.h"

// func quickFours(dst *int64, words *uint64, n int, guide *uint16, fine, reach uint64) (done int)
//
// Y9 holds the signs of lanes, Y10 ones, Y12 the bits of J, and Y13 and Y14 the halves of reach.
// A lane of Y6 becomes negative where the word does not tell its value. Slots are found with 13
// bits, and are open from 2^15.
TEXT ·quickFours(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ words+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ guide+24(FP), BX
	VMOVQ fine+32(FP), X15
	VPBROADCASTQ reach+40(FP), Y14
	VPSRLQ $32, Y14, Y13
	VPXOR Y8, Y8, Y8
	VPCMPEQD Y11, Y11, Y11
	VPSRLQ $63, Y11, Y10
	VPSLLQ $63, Y11, Y9
	VPSLLQ X15, Y11, Y12
	VPXOR Y11, Y12, Y12
	XORQ AX, AX

loop:
	VMOVDQU (SI)(AX*8), Y0
	VPSRLQ $51, Y0, Y1
	VPCMPEQD Y2, Y2, Y2
	VPGATHERQQ Y2, (BX)(Y1*2), Y3
	VPSLLQ $48, Y3, Y3
	VPSRLQ $48, Y3, Y4
	// The bound is (2x + 1) reach, and what it bounds is the word without its slot.
	VPADDQ Y4, Y4, Y5
	VPADDQ Y10, Y5, Y5
	VPMULUDQ Y14, Y5, Y6
	VPMULUDQ Y13, Y5, Y7
	VPSLLQ $32, Y7, Y7
	VPADDQ Y7, Y6, Y6
	VPSLLQ $13, Y0, Y7
	VPXOR Y9, Y6, Y6
	VPXOR Y9, Y7, Y7
	VPCMPGTQ Y7, Y6, Y6
	VPOR Y3, Y6, Y6
	VPSLLQ X15, Y4, Y4
	VPSRLQ $1, Y0, Y7
	VPAND Y12, Y7, Y7
	VPOR Y7, Y4, Y4
	VPCMPEQQ Y8, Y4, Y7
	VPOR Y7, Y6, Y6
	VPAND Y10, Y0, Y0
	VPSUBQ Y0, Y8, Y7
	VPXOR Y7, Y4, Y4
	VPADDQ Y0, Y4, Y4
	VMOVDQU Y4, (DI)(AX*8)
	VMOVMSKPD Y6, DX
	TESTL DX, DX
	JNZ stop
	ADDQ $4, AX
	CMPQ AX, CX
	JLT loop

done:
	VZEROUPPER
	MOVQ AX, done+48(FP)
	RET

stop:
	BSFL DX, DX
	ADDQ DX, AX
	JMP done
