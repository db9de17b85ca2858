package tokens

import (
	"math"

	"github.com/pate-go/pate/rng"
)

// Coordinated returns the vote of one teacher of a coordinated ensemble (Hot PATE; Cohen et al. 2023). If no
// token has a positive probability, Coordinated returns None. The slices have one value for each token that
// the teacher can choose.
func Coordinated(seed, query uint64, tokens []int, logProbs []float64) int {
	// All teachers share the public exponentials E_t of a query. A teacher with probabilities p_t votes for
	// the token with the least E_t/p_t, which is token t with probability p_t. Teachers with similar
	// distributions mostly agree. The exponentials follow from the public seed alone, and never from the key
	// of the noise: a seed has no releasable key.
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
