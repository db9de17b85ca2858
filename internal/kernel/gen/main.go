// Command gen writes the assembly of package kernel: for AVX2 with FMA, and for AVX-512. Run go
// generate in that package after a change here. On a machine without AVX-512, .ci/avx512 runs
// the tests of that package in an emulator.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64,!noasm")
	for _, write := range []func(){
		tiles, wide, dots, foldInt64, addInts, foldFloats, addFloats, descend, copyRow, squaredNorm, addRows, scale, transpose, spread,
		rectify, gate, addToRows, maxTaps, addToTaps, mirrors, groups, butterfly,
		unpackInt16, fetchInt16, packInt16, largest,
		gaussian, sparse, distances, centre, search,
		quarters, halves, polar, squareRoots, scaleUpTo, between, affine, sums, squaresAbout,
		tiles512, wide512, dots512,
	} {
		write()
	}
	Generate()
}
