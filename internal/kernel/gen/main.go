// Command gen writes the AVX2 and FMA assembly of package kernel. Run go generate in that
// package after a change here.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64,!noasm")
	tiles()
	wide()
	dots()
	foldInt64()
	squaredNorm()
	moduli()
	addRows()
	scale()
	transpose()
	spread()
	rectify()
	gate()
	addToRows()
	maxTaps()
	addToTaps()
	mirrors()
	groups()
	butterfly()
	unpackInt16()
	packInt16()
	Generate()
}
