package plan

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/stability"
)

// distances are examples for stability methods: the share of queries at each distance to instability, and the
// share of those with the right winner.
type distances struct {
	queries      int
	share, right []float64 // by distance, of all queries
}

func (c cases) distances() (distances, error) {
	d := distances{queries: len(c.counts), share: make([]float64, c.teachers/2+2), right: make([]float64, c.teachers/2+2)}
	each := 1 / float64(len(c.counts))
	votes := make([]int, len(c.counts[0]))
	for i, counts := range c.counts {
		for j, n := range counts {
			votes[j] = int(n)
		}
		winner, distance, err := stability.Plurality(votes, stability.VoteMoves, stability.LowestIndex)
		if err != nil {
			return d, fmt.Errorf("plan: %w", err)
		}
		d.share[distance] += each
		if winner == c.labels[i] {
			d.right[distance] += each
		}
	}
	return d, nil
}

// noiseReach is how many scales of exponential tails are summed: e^-32 is left out.
const noiseReach = 32

func laplaceMasses(scale float64) (rng.Masses, error) {
	noise, err := rng.NewDiscreteLaplace(scale)
	if err != nil {
		return rng.Masses{}, fmt.Errorf("plan: %w", err)
	}
	return rng.NewMasses(noise.LogProb, int64(math.Ceil(noiseReach*scale))+1), nil
}

// refusal returns, for a threshold with noise z on it, the chance that a random query is refused, P[query
// noise >= z + distance - threshold], and that it is released and right.
func (d distances) refusal(noise rng.Masses, threshold, z int64) (refused, right float64) {
	for distance, share := range d.share {
		if share == 0 {
			continue
		}
		released := noise.AtMost(z + int64(distance) - threshold - 1)
		refused += share * (1 - released)
		right += d.right[distance] * released
	}
	return refused, right
}

// oneThreshold adds up the stable sparse vector. Given the noise of its threshold queries are
// independent, and the run stops at the last of its refusals: by Wald's identity the
// queries asked are the expected refusals over the chance of one.
func (d distances) oneThreshold(o *Outcome, cfg stable.Config) error {
	threshold, failed := laplaceMasses(cfg.B1)
	query, err := laplaceMasses(cfg.B2)
	if err = cmp.Or(failed, err); err != nil {
		return err
	}
	threshold, query = threshold.OneSided(), query.OneSided()
	for z := int64(0); z <= threshold.Reach; z++ {
		weight := threshold.At(z)
		refused, right := d.refusal(query, cfg.Threshold, z)
		asked := float64(d.queries)
		if refused > 1e-15 {
			asked = untilCap(d.queries, math.Min(1, refused), cfg.Failures) / refused
		}
		o.Asked += weight * asked
		o.Released += weight * asked * (1 - refused)
		o.Right += weight * asked * right
	}
	return nil
}

// manyThresholds adds up M_svec, which draws its threshold anew after a refusal: stretches of queries up
// to a refusal, independent and alike. With S(k) = P[a stretch has more than k queries], which is a mean
// of powers over the noise of the threshold, and a_i = P[a stretch starts after i queries], the sum over
// q < Failures of the q-fold convolutions of the law of its length, the queries asked are sum_i a_i (S(0)
// + ... + S(m-i-1)) in expectation, and so the right answers.
func (d distances) manyThresholds(o *Outcome, cfg stable.Config) error {
	threshold, failed := laplaceMasses(cfg.Lambda)
	query, err := laplaceMasses(2 * cfg.Lambda)
	if err = cmp.Or(failed, err); err != nil {
		return err
	}
	// Noise of the threshold, in blocks around an integer.
	var weights, stays, rights []float64
	width := int64(cfg.Lambda/32) | 1
	for z := -threshold.Reach; z <= threshold.Reach; z += width {
		last := min(z+width-1, threshold.Reach)
		weight := threshold.AtMost(last) - threshold.AtMost(z-1)
		if weight < 1e-12 {
			continue
		}
		refused, right := d.refusal(query, cfg.Threshold, (z+last)/2)
		weights, stays, rights = append(weights, weight), append(stays, math.Max(0, 1-refused)), append(rights, right)
	}
	m := d.queries
	longer, correct := make([]float64, m+1), make([]float64, m+1)
	for k := range longer {
		for b, w := range weights {
			longer[k] += w
			correct[k] += w * rights[b]
			weights[b] = w * stays[b]
		}
	}
	length := make([]float64, m)
	for k := 1; k < m; k++ {
		length[k] = math.Max(0, longer[k-1]-longer[k])
	}
	starts := renewals(length, cfg.Failures)
	asked, right := 0.0, 0.0 // of a stretch, by the number of queries left
	for left := 1; left <= m; left++ {
		asked += longer[left-1]
		right += correct[left-1]
		a := starts[m-left]
		o.Asked += a * asked
		o.Right += a * right
		o.Released += a * (asked - (longer[0] - longer[left]))
	}
	o.Released = math.Max(o.Released, o.Right)
	return nil
}

// renewals returns sum_{q < n} law^q as power series up to the length of law, by doubling.
func renewals(law []float64, n int) []float64 {
	size := 1
	for size < 2*len(law) {
		size *= 2
	}
	fft := fourier.NewFFT(size)
	padded := make([]float64, size)
	times := func(a, b []float64) []float64 {
		clear(padded)
		copy(padded, a)
		x := fft.Coefficients(nil, padded)
		clear(padded)
		copy(padded, b)
		for i, y := range fft.Coefficients(nil, padded) {
			x[i] *= y
		}
		out := fft.Sequence(nil, x)[:len(law)]
		for i := range out {
			out[i] = math.Max(0, out[i]/float64(size))
		}
		return out
	}
	one := make([]float64, len(law))
	one[0] = 1
	sum, power := one, law // of the first k, and the k-th, for k = 1
	bits := 0
	for n>>bits > 1 {
		bits++
	}
	for bits--; bits >= 0; bits-- {
		next := times(power, sum)
		for i := range next {
			next[i] += sum[i]
		}
		sum, power = next, times(power, power)
		if n>>bits&1 == 1 { // sum + power, power law
			next := make([]float64, len(sum))
			for i := range next {
				next[i] = sum[i] + power[i]
			}
			sum, power = next, times(power, law)
		}
	}
	return sum
}
