//go:build !noasm

#include "textflag.h"

// CELLS4 looks up the slots of words N to N+3 behind word AX in the guide and writes what it finds,
// 16 bits each, to where DX points. A slot is the first 13 bits of a word. This is faster than the
// instructions that gather.
#define CELLS4(N) \
	MOVWLZX (8*N+6)(SI)(AX*8), R8; MOVWLZX (8*N+14)(SI)(AX*8), R9; MOVWLZX (8*N+22)(SI)(AX*8), R10; MOVWLZX (8*N+30)(SI)(AX*8), R11; \
	SHRL $3, R8; SHRL $3, R9; SHRL $3, R10; SHRL $3, R11; \
	MOVWLZX (BX)(R8*2), R8; MOVWLZX (BX)(R9*2), R9; MOVWLZX (BX)(R10*2), R10; MOVWLZX (BX)(R11*2), R11; \
	MOVW R8, (2*N)(DX)(AX*2); MOVW R9, (2*N+2)(DX)(AX*2); MOVW R10, (2*N+4)(DX)(AX*2); MOVW R11, (2*N+6)(DX)(AX*2)

// CELLS looks up the slots of all words, before the rest is done in vectors.
#define CELLS \
	LEAQ cells-128(SP), DX; \
	XORL AX, AX; \
look: \
	CELLS4(0); \
	CELLS4(4); \
	ADDQ $8, AX; \
	CMPQ AX, $64; \
	JLT look; \
	XORL AX, AX

// NEXT takes the bits of eight words from R8 to R12, and goes on to the next eight.
#define NEXT \
	SHLQ $56, R8; SHRQ $8, R12; ORQ R8, R12; \
	ADDQ $8, AX; CMPQ AX, $64; JLT loop; \
	VZEROUPPER; MOVQ R12, odd+40(FP); RET

// FOUR does the work of quick256 for words N to N+3 behind word AX, and sets R to four bits. Y9 holds
// the signs of lanes, Y10 ones, Y12 the bits of J, and Y13 and Y14 the halves of reach. A lane of Y6
// becomes negative where the word alone does not give a value. Slots are open from 2^15.
#define FOUR(N, R) \
	VMOVDQU (8*N)(SI)(AX*8), Y0; \
	VPMOVZXWQ (2*N)(DX)(AX*2), Y4; \
	VPADDQ Y4, Y4, Y5; \
	VPADDQ Y10, Y5, Y5; \
	VPMULUDQ Y14, Y5, Y6; \
	VPMULUDQ Y13, Y5, Y7; \
	VPSLLQ $32, Y7, Y7; \
	VPADDQ Y7, Y6, Y6; \
	VPSLLQ $13, Y0, Y7; \
	VPXOR Y9, Y6, Y6; \
	VPXOR Y9, Y7, Y7; \
	VPCMPGTQ Y7, Y6, Y6; \
	VPSLLQ $48, Y4, Y7; \
	VPOR Y7, Y6, Y6; \
	VPSLLQ X15, Y4, Y4; \
	VPSRLQ $1, Y0, Y7; \
	VPAND Y12, Y7, Y7; \
	VPOR Y7, Y4, Y4; \
	VPCMPEQQ Y8, Y4, Y7; \
	VPOR Y7, Y6, Y6; \
	VPAND Y10, Y0, Y0; \
	VPSUBQ Y0, Y8, Y7; \
	VPXOR Y7, Y4, Y4; \
	VPADDQ Y0, Y4, Y4; \
	VMOVDQU Y4, (8*N)(DI)(AX*8); \
	VMOVMSKPD Y6, R

// func quick256(values *int64, words *[64]uint64, guide *uint16, fine, reach uint64) (odd uint64)
TEXT ·quick256(SB), NOSPLIT, $128-48
	MOVQ values+0(FP), DI
	MOVQ words+8(FP), SI
	MOVQ guide+16(FP), BX
	CELLS
	VMOVQ fine+24(FP), X15
	VPBROADCASTQ reach+32(FP), Y14
	VPSRLQ $32, Y14, Y13
	VPXOR Y8, Y8, Y8
	VPCMPEQD Y11, Y11, Y11
	VPSRLQ $63, Y11, Y10
	VPSLLQ $63, Y11, Y9
	VPSLLQ X15, Y11, Y12
	VPXOR Y11, Y12, Y12

loop:
	FOUR(0, R8)
	FOUR(4, R9)
	SHLL $4, R9
	ORL R9, R8
	NEXT

// func copy32(dst, src *[32]int64)
TEXT ·copy32(SB), NOSPLIT, $0-16
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	VMOVDQU 0(SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
	VMOVDQU 128(SI), Y4
	VMOVDQU 160(SI), Y5
	VMOVDQU 192(SI), Y6
	VMOVDQU 224(SI), Y7
	VMOVDQU Y0, 0(DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	VMOVDQU Y4, 128(DI)
	VMOVDQU Y5, 160(DI)
	VMOVDQU Y6, 192(DI)
	VMOVDQU Y7, 224(DI)
	VZEROUPPER
	RET
