package dpsgd

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
)

type cyclic struct{ bands int }

func (y cyclic) validate(c Config) error {
	if err := within("Config.Sampling.Bands", float64(y.bands), 1, math.Max(1, float64(c.TotalSteps()))); err != nil {
		return err
	}
	const slack = 1 + 0x1p-40 // for the rounding of a probability that was divided by the number of bands
	most := float64(y.bands) * c.phases()[0].SamplingProbability
	switch {
	case len(c.Phases) > 1:
		return fmt.Errorf("dpsgd: Config.Phases: %q is accounted for one phase, since noise is correlated over the steps", Cyclic)
	case most > slack:
		return fmt.Errorf("dpsgd: Config.Sampling.Bands times SamplingProbability is %g, must be at most 1: "+
			"a batch comes from one of the parts", most)
	case c.Clipping.Adaptive.on():
		return fmt.Errorf("dpsgd: Config.Clipping.Adaptive: the noise of %q is for one clip norm in all steps", Cyclic)
	}
	return nil
}

func (y cyclic) inTurn(q float64) float64  { return math.Min(1, float64(y.bands)*q) }
func (cyclic) probability(p Phase) float64 { return p.SamplingProbability }

func (y cyclic) event(p Phase, steps int, noise accountant.Gaussian) accountant.Event {
	e := accountant.BandedMatrix{
		Bands: int64(y.bands), Steps: int64(max(steps, y.bands)),
		Probability: y.inTurn(p.SamplingProbability), NoiseMultiplier: noise.NoiseMultiplier,
	}
	if steps == 0 {
		return accountant.Repeated{Event: e}
	}
	return e
}

func (y cyclic) sampler(probability float64, _, parts, blocks int) sampler {
	return &cyclicSampler{include: rng.NewBernoulli(y.inTurn(probability)), bands: y.bands, blocks: blocks, parts: make([]turns, parts)}
}

// cyclicSampler draws Poisson batches from one group of records at a time. The group of a record depends only
// on the key and on the record's index.
type cyclicSampler struct {
	include rng.Bernoulli
	bands   int
	blocks  int
	parts   []turns
}

type turns struct {
	key     rng.Key // key from which the turns were drawn; zero before
	records [][]int // records of each turn, ascending
}

func (c *cyclicSampler) draw(dst []pick, part, low, high int, key rng.Key, step int) []pick {
	own := &c.parts[part]
	if own.key != key {
		own.key, own.records = key, make([][]int, c.bands)
		w := newWords(key.Derive("turns").Derive("part", uint64(part)))
		for record := low; record < high; record++ {
			turn := w.below(uint64(c.bands))
			own.records[turn] = append(own.records[turn], record)
		}
	}
	records := own.records[step%c.bands]
	s := key.Derive("sample", uint64(step)).Derive("part", uint64(part)).Stream()
	c.include.Among(len(records), s, func(i int) {
		dst = append(dst, pick{records[i], int(s.Uint64N(uint64(c.blocks)))})
	})
	return dst
}

// bandedCoefficients returns the first column of the Toeplitz matrix C that defines the correlated noise.
func bandedCoefficients(bands int) []float64 {
	// The correlated noise is C^-1 z, where z holds independent noise for each step. The column has norm one,
	// as [accountant.BandedMatrix] requires.
	//
	// The coefficients are proportional to the first coefficients of the power series of (1-x)^(-1/2). The
	// full series gives the square root of the matrix of prefix sums. This square root is almost optimal for
	// gradient descent without momentum (Fichtenberger, Henzinger, Upadhyay 2023). The truncated series is
	// the banded square root of Kalinin and Lampert 2024. The guarantee holds for any coefficients of norm
	// one. C^-1 z is bounded, because the coefficients are positive and decrease (Eneström, Kakeya).
	c := make([]float64, bands)
	c[0] = 1
	sum := 1.0
	for i := 1; i < bands; i++ {
		c[i] = c[i-1] * (1 - 0.5/float64(i))
		sum += c[i] * c[i]
	}
	for i := range c {
		c[i] /= math.Sqrt(sum)
	}
	return c
}

const bandBits = 31

// wholeCoefficients returns bandedCoefficients times 2^bandBits, rounded down to integers. The norm of the
// result is at most 2^bandBits, as the proof at grid requires.
func wholeCoefficients(bands int) []uint64 {
	real := bandedCoefficients(bands)
	whole := make([]uint64, bands)
	for shrink := 0.0; ; shrink = max(0x1p-40, 2*shrink) {
		rest, fits := uint64(1)<<(2*bandBits), true
		for i, c := range real {
			whole[i] = uint64(math.Ldexp(c*(1-shrink), bandBits))
			if square := whole[i] * whole[i]; fits && square <= rest {
				rest -= square
			} else {
				fits = false
			}
		}
		if fits {
			return whole
		}
	}
}

// Let s_t be the sum of step t, z_t independent noise, and c_0, c_1, ... the coefficients divided by 2^31.
// Step t computes
//
//	y_t = floor(c_0 s_t - c_1 w_(t-1) - c_2 w_(t-2) - ...) + z_t
//	x_t = y_t / c_0, truncated to an integer
//	w_t = x_t - s_t, the noise in x_t
//
// The released value x_t replaces the sum. Except for the rounding, C w equals z. Since w_t = x_t - s_t, the
// argument of floor is c_0 s_t + c_1 s_(t-1) + ... minus a function of earlier releases. So a record changes
// y only by the record's change of C s, rounded down. x depends only on y. The computation is exact.
//
// The state w takes eight bytes per band and parameter, and is as private as the sums.

type banded struct {
	coefficients []uint64
	noise        [][]int64 // w of a step, at index step modulo bands; between `before` and `after`, s of the current step
}

func newBanded(bands, parameters int) *banded {
	if bands <= 1 {
		return nil
	}
	b := &banded{coefficients: wholeCoefficients(bands), noise: make([][]int64, bands)}
	for i := range b.noise {
		b.noise[i] = make([]int64, parameters)
	}
	return b
}

func (b *banded) at(step int) []int64 { return b.noise[step%len(b.noise)] }

func (b *banded) before(sums []int64, low, step int) {
	copy(b.at(step)[low:], sums)
	earlier := make([][]int64, 0, len(b.noise))
	for l := 1; l < len(b.noise) && l <= step; l++ {
		earlier = append(earlier, b.at(step - l)[low:low+len(sums)])
	}
	for j, s := range sums {
		high, rest := times(s, b.coefficients[0])
		for l, noise := range earlier {
			h, r := times(noise[j], b.coefficients[l+1])
			var borrow uint64
			rest, borrow = bits.Sub64(rest, r, 0)
			high, _ = bits.Sub64(high, h, borrow)
		}
		sums[j] = int64(high<<(64-bandBits) | rest>>bandBits)
	}
}

func (b *banded) after(released []int64, low, step int) {
	noise := b.at(step)[low : low+len(released)]
	for j, y := range released {
		size := uint64(max(y, -y))
		x, _ := bits.Div64(size>>(64-bandBits), size<<bandBits, b.coefficients[0])
		if y < 0 {
			x = -x
		}
		released[j] = int64(x)
		noise[j] = int64(x) - noise[j]
	}
}

func times(v int64, c uint64) (high, low uint64) {
	high, low = bits.Mul64(uint64(v), c)
	if v < 0 {
		high -= c
	}
	return high, low
}

func (b *banded) state() []int64 {
	if b == nil {
		return nil
	}
	return slices.Concat(b.noise...)
}

func (b *banded) restore(state []int64) {
	if b == nil {
		return
	}
	for _, noise := range b.noise {
		copy(noise, state)
		state = state[len(noise):]
	}
}
