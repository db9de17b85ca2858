package dpsgd

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
)

// cyclic divides the records into as many turns as the noise has bands.
type cyclic struct{ bands int }

// validate reports a Config with several phases or a moving clip norm, which the event does not cover.
func (y cyclic) validate(c Config) error {
	if err := within("Config.Sampling.Bands", float64(y.bands), 1, math.Max(1, float64(c.TotalSteps()))); err != nil {
		return err
	}
	const slack = 1 + 0x1p-40 // of a probability that was divided by the bands
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

// inTurn returns the probability, drawn and charged, that a record joins a batch of its turn. q is the
// probability over all turns.
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

// cyclicSampler draws Poisson batches from the records of one turn at a time. The turn of a record is drawn
// independently, once for all steps; a coin decides for each batch of this turn whether the record joins. The
// turn is a function of the key and the record's place in the data, so a resumed run has the same turns.
type cyclicSampler struct {
	include rng.Bernoulli
	bands   int
	blocks  int
	parts   []turns
}

type turns struct {
	key     rng.Key // from which they were drawn; zero before
	records [][]int // of every turn, ascending
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

// bandedCoefficients returns the first column of the Toeplitz matrix C of correlated noise, from the diagonal
// down: one number per band. Its norm is one, which fixes the cost of noise C^-1 z, for z of independent
// steps: see [accountant.BandedMatrix].
//
// The coefficients are the first of (1-x)^(-1/2): 1, 1/2, 3/8, ..., one per band, scaled. The full series is
// the square root of the matrix of prefix sums, which gradient descent without momentum takes of its
// gradients, and is all but optimal for it (Fichtenberger, Henzinger, Upadhyay 2023). Cut off, it is the
// banded square root of Kalinin and Lampert 2024. Coefficients shape learning, not privacy. They are positive
// and fall: all roots of their polynomial lie outside the unit circle (Eneström, Kakeya), C^-1 z is bounded.
func bandedCoefficients(bands int) []float64 {
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

// bandBits is the number of binary digits kept of the coefficients.
const bandBits = 31

// wholeCoefficients returns the coefficients times 2^bandBits as integers, with a sum of
// squares of at most 2^(2 bandBits): the norm of a column is at most one, exactly.
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

// banded makes noise that is correlated over steps, in integers of the grid. Let s be the sums of the steps
// and c the coefficients over 2^31. Step t releases
//
//	y_t = floor(c_0 s_t - c_1 w_(t-1) - c_2 w_(t-2) - ...) + z_t,   x_t = y_t / c_0, cut to an integer
//
// where z is the independent noise, x_t takes the place of the sum, and w_t = x_t - s_t is the noise in x_t.
// C w is z except for the cuts. Since w = x - s, the argument of floor is c_0 s_t + c_1 s_(t-1) + ... minus a
// number that was released. So a record changes y as it changes C s, rounded down, and x is computed from y
// alone. The computation is exact: no rounding depends on the sums.
//
// The memory is eight bytes per band and parameter. It is private, because the release minus the noise is the
// sum.
type banded struct {
	coefficients []uint64
	noise        [][]int64 // w of a step, at the step modulo the bands; s for the current step
}

// newBanded returns nil for one band: independent noise.
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

// before sets sums, for the parameters from low on, to the integers that receive the noise of the step.
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

// after replaces the released integers, for the parameters from low on, by estimates of their sums, and
// stores the noise of these estimates.
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

// times returns the 128-bit product, in two's complement.
func times(v int64, c uint64) (high, low uint64) {
	high, low = bits.Mul64(uint64(v), c)
	if v < 0 {
		high -= c
	}
	return high, low
}

// state returns the part of a checkpoint; nil without correlated noise.
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
