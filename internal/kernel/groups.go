package kernel

import (
	"math"
	"unsafe"
)

// GroupOutputs is the number of results of a group.
const GroupOutputs = 4

// Groups is a pair of sparse matrices, of a filter and of its mirror image, that multiply vectors of eight
// numbers. Every group of four results is the sum of two products in one matrix and their difference in the
// other. Places are indices of the first of eight numbers. The zero value has no groups; many goroutines
// may multiply by one.
type Groups struct {
	in, out          []int32 // places in bytes
	counts           []int32 // of inputs, of every product
	weights          []float32
	srcSize, dstSize int // the least lengths
}

// GroupInputs is the inputs of one of the two products of a group: In are their places, and Weights[4j+i]
// is the weight of input j in result i. There may be none.
type GroupInputs struct {
	In      []int
	Weights []float32
}

// Add adds a group with its two products.
func (g *Groups) Add(out [GroupOutputs]int, first, second GroupInputs) {
	const lanes, bytes = 8, 4
	place := func(p int, size *int) int32 {
		if p < 0 || p > math.MaxInt32/bytes-lanes {
			panic("kernel: place out of range")
		}
		*size = max(*size, p+lanes)
		return int32(bytes * p)
	}
	for _, inputs := range []GroupInputs{first, second} {
		match(len(inputs.Weights) == GroupOutputs*len(inputs.In))
		for _, p := range inputs.In {
			g.in = append(g.in, place(p, &g.srcSize))
		}
		g.counts, g.weights = append(g.counts, int32(len(inputs.In))), append(g.weights, inputs.Weights...)
	}
	for _, p := range out {
		g.out = append(g.out, place(p, &g.dstSize))
	}
}

// Mul sets the results of both matrices. Of results with one place the last group's stays. Sum and
// difference may be the same: differences stay there.
func (g *Groups) Mul(sum, difference, src []float32) {
	g.check(sum, difference, src)
	if len(g.out) == 0 {
		return
	}
	if pathOf[float32]() > portable {
		mulGroups32(&sum[0], &difference[0], &g.out[0], first(g.weights), first(src), unsafe.SliceData(g.in), &g.counts[0],
			len(g.out)/GroupOutputs)
		return
	}
	const lanes, bytes = 8, 4
	at := 0
	for group := range len(g.out) / GroupOutputs {
		var products [2][GroupOutputs][lanes]float32
		for half := range products {
			for range g.counts[2*group+half] {
				x, weights := src[g.in[at]/bytes:][:lanes], g.weights[at*GroupOutputs:]
				for i := range products[half] {
					for l, v := range x {
						products[half][i][l] += float32(weights[i] * v)
					}
				}
				at++
			}
		}
		for i, place := range g.out[group*GroupOutputs:][:GroupOutputs] {
			for l, v := range products[0][i] {
				sum[int(place/bytes)+l], difference[int(place/bytes)+l] = v+products[1][i][l], v-products[1][i][l]
			}
		}
	}
}

// check panics unless everything fits.
func (g *Groups) check(sum, difference, src []float32) {
	if len(sum) < g.dstSize || len(difference) < g.dstSize || len(src) < g.srcSize {
		panic("kernel: slice too short for its dimensions")
	}
}
