package kernel

import "math"

// GroupOutputs is the number of results of a group.
const GroupOutputs = 4

// Groups is a pair of sparse matrices by which vectors of eight numbers are multiplied. Every
// group of four results is the sum of two products of as many inputs, K each, and in the other
// matrix their difference: that of a filter and of its mirror image. Places are indices of the
// first of eight numbers. The zero value has no groups; many goroutines may multiply by one.
type Groups struct {
	k                int
	in, out          []int32 // places in bytes
	weights          []float32
	srcSize, dstSize int // the least lengths
}

// NewGroups returns groups of two times at most k inputs.
func NewGroups(k int) *Groups { return &Groups{k: max(k, 1)} }

// GroupInputs is the inputs of one of the two products of a group: In are their places, and
// Weights[4j+i] is the weight of input j in result i. There may be none.
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
		if len(inputs.In) > g.k || len(inputs.Weights) != GroupOutputs*len(inputs.In) {
			panic("kernel: dimension mismatch")
		}
		// Inputs that are fewer than others are filled up with zeros.
		for j := range g.k {
			p, weights := 0, make([]float32, GroupOutputs)
			if j < len(inputs.In) {
				p, weights = inputs.In[j], inputs.Weights[GroupOutputs*j:][:GroupOutputs]
			}
			g.in, g.weights = append(g.in, place(p, &g.srcSize)), append(g.weights, weights...)
		}
	}
	for _, p := range out {
		g.out = append(g.out, place(p, &g.dstSize))
	}
}

// Mul sets the results of both matrices. Of results with one place the last group's stays.
func (g *Groups) Mul(sum, difference, src []float32) {
	g.mul(pathOf[float32](), sum, difference, src)
}

func (g *Groups) mul(on path, sum, difference, src []float32) {
	if len(sum) < g.dstSize || len(difference) < g.dstSize || len(src) < g.srcSize {
		panic("kernel: slice too short for its dimensions")
	}
	if len(g.out) == 0 {
		return
	}
	if on > portable {
		fmaGroups(g, sum, difference, src)
		return
	}
	const lanes, bytes = 8, 4
	for i, place := range g.out {
		var products [2][lanes]float32
		group, output := i/GroupOutputs, i%GroupOutputs
		for half := range products {
			at := (2*group + half) * g.k
			for j, from := range g.in[at : at+g.k] {
				w := g.weights[(at+j)*GroupOutputs+output]
				for l, v := range src[from/bytes:][:lanes] {
					products[half][l] += float32(w * v)
				}
			}
		}
		for l, v := range products[0] {
			sum[int(place/bytes)+l], difference[int(place/bytes)+l] = v+products[1][l], v-products[1][l]
		}
	}
}
