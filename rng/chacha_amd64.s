//go:build !noasm

#include "textflag.h"

// ROTATE turns the lanes of A left by N bits, with the help of T.
#define ROTATE(N, A, T) \
	VPSLLD $N, A, T; VPSRLD $(32-N), A, A; VPOR T, A, A

// QUARTER is the quarter round of ChaCha on A, B, C, D, with the help of T. Turns by 16 and
// by 8 bits move whole bytes.
#define QUARTER(A, B, C, D, T) \
	VPADDD B, A, A; VPXOR A, D, D; VPSHUFB turn16<>(SB), D, D; \
	VPADDD D, C, C; VPXOR C, B, B; ROTATE(12, B, T); \
	VPADDD B, A, A; VPXOR A, D, D; VPSHUFB turn8<>(SB), D, D; \
	VPADDD D, C, C; VPXOR C, B, B; ROTATE(7, B, T)

// STORE writes row R of the first four blocks, and then of the other four.
#define STORE(R, Y, X) \
	VMOVDQU X, (16*R)(DI); VEXTRACTI128 $1, Y, (256+16*R)(DI)

// STOREKEY adds word I of the key to row 4+I and writes it.
#define STOREKEY(I, Y, X) \
	VPBROADCASTD (4*I)(SI), Y0; VPADDD Y0, Y, Y; STORE((4+I), Y, X)

// func chacha8(words *[128]uint64, key *[4]uint64, counter uint32)
TEXT ·chacha8(SB), NOSPLIT, $32-20
	MOVQ words+0(FP), DI
	MOVQ key+8(FP), SI
	MOVL counter+16(FP), AX
	VMOVD AX, X12
	VPBROADCASTD X12, Y12
	VPADDD counters<>(SB), Y12, Y12
	VPBROADCASTD letters<>+0(SB), Y0
	VPBROADCASTD letters<>+4(SB), Y1
	VPBROADCASTD letters<>+8(SB), Y2
	VPBROADCASTD letters<>+12(SB), Y3
	VPBROADCASTD 0(SI), Y4
	VPBROADCASTD 4(SI), Y5
	VPBROADCASTD 8(SI), Y6
	VPBROADCASTD 12(SI), Y7
	VPBROADCASTD 16(SI), Y8
	VPBROADCASTD 20(SI), Y9
	VPBROADCASTD 24(SI), Y10
	VPBROADCASTD 28(SI), Y11
	VPXOR Y13, Y13, Y13
	VPXOR Y14, Y14, Y14
	VMOVDQU Y14, 0(SP)
	MOVL $4, CX

loop:
	// Sixteen rows fill the registers, so one at a time lies on the stack: row 15, then row 4.
	QUARTER(Y0, Y4, Y8, Y12, Y15)
	QUARTER(Y1, Y5, Y9, Y13, Y15)
	VMOVDQU 0(SP), Y15
	VMOVDQU Y4, 0(SP)
	QUARTER(Y2, Y6, Y10, Y14, Y4)
	QUARTER(Y3, Y7, Y11, Y15, Y4)
	QUARTER(Y0, Y5, Y10, Y15, Y4)
	QUARTER(Y1, Y6, Y11, Y12, Y4)
	VMOVDQU 0(SP), Y4
	VMOVDQU Y15, 0(SP)
	QUARTER(Y2, Y7, Y8, Y13, Y15)
	QUARTER(Y3, Y4, Y9, Y14, Y15)
	DECL CX
	JNZ loop

	VMOVDQU 0(SP), Y15
	STORE(0, Y0, X0)
	STORE(1, Y1, X1)
	STORE(2, Y2, X2)
	STORE(3, Y3, X3)
	STORE(12, Y12, X12)
	STORE(13, Y13, X13)
	STORE(14, Y14, X14)
	STORE(15, Y15, X15)
	STOREKEY(0, Y4, X4)
	STOREKEY(1, Y5, X5)
	STOREKEY(2, Y6, X6)
	STOREKEY(3, Y7, X7)
	STOREKEY(4, Y8, X8)
	STOREKEY(5, Y9, X9)
	STOREKEY(6, Y10, X10)
	STOREKEY(7, Y11, X11)
	VPXOR Y0, Y0, Y0
	VMOVDQU Y0, 0(SP)
	VZEROUPPER
	RET

DATA letters<>+0(SB)/8, $0x3320646e61707865
DATA letters<>+8(SB)/8, $0x6b20657479622d32
GLOBL letters<>(SB), RODATA|NOPTR, $16

DATA counters<>+0(SB)/8, $0x0000000100000000
DATA counters<>+8(SB)/8, $0x0000000300000002
DATA counters<>+16(SB)/8, $0x0000000500000004
DATA counters<>+24(SB)/8, $0x0000000700000006
DATA counters<>+32(SB)/8, $0x0000000900000008
DATA counters<>+40(SB)/8, $0x0000000b0000000a
DATA counters<>+48(SB)/8, $0x0000000d0000000c
DATA counters<>+56(SB)/8, $0x0000000f0000000e
GLOBL counters<>(SB), RODATA|NOPTR, $64

DATA turn16<>+0(SB)/8, $0x0504070601000302
DATA turn16<>+8(SB)/8, $0x0D0C0F0E09080B0A
DATA turn16<>+16(SB)/8, $0x0504070601000302
DATA turn16<>+24(SB)/8, $0x0D0C0F0E09080B0A
GLOBL turn16<>(SB), RODATA|NOPTR, $32

DATA turn8<>+0(SB)/8, $0x0605040702010003
DATA turn8<>+8(SB)/8, $0x0E0D0C0F0A09080B
DATA turn8<>+16(SB)/8, $0x0605040702010003
DATA turn8<>+24(SB)/8, $0x0E0D0C0F0A09080B
GLOBL turn8<>(SB), RODATA|NOPTR, $32
