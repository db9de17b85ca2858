package tokens

import (
	"math"

	"github.com/pate-go/pate/rng"
)

// Coordinated returns the token that one teacher votes for in a coordinated ensemble (Hot PATE; Cohen et al.
// 2023). All teachers share the public exponentials E_t of a query. A teacher whose probability of token t is
// p_t votes for the token with the least E_t/p_t. Each vote has the teacher's own distribution. Teachers with
// similar distributions mostly vote for the same token, so the diversity of the distribution survives.
//
// The exponentials follow from the public seed alone, and never from the key of the noise. So the vote is a
// function of the teacher and public numbers. The slices have one value for each token that the teacher can
// choose. Coordinated returns None if no token has a positive probability.
func Coordinated(seed, query uint64, tokens []int, logProbs []float64) int {
	shared := rng.SeedKey(seed).Derive("coordinated ensemble", query).Streams("token")
	best, least := None, math.Inf(1)
	for i, token := range tokens {
		u := (float64(shared.Of(uint64(token)).Uint64()>>11) + 0.5) / (1 << 53)
		if e := math.Log(-math.Log(u)) - logProbs[i]; e < least {
			best, least = token, e
		}
	}
	return best
}
