package dpsgd

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/pate-go/pate/rng"
)

// epochs is what the schemes have in common that draw the steps of an epoch together.
type epochs struct{ steps, per int }

// epochs returns those of the sampling; every record is in at least one step of each.
func (s Sampling) epochs() epochs { return epochs{s.EpochSteps, max(1, s.PerEpoch)} }

// validate returns an error for numbers that no epoch has.
func (e epochs) validate(c Config) error {
	return firstError(
		within("Config.Sampling.EpochSteps", float64(e.steps), 1, math.MaxInt32),
		within("Config.Sampling.PerEpoch", float64(c.Sampling.PerEpoch), 0, float64(e.steps)),
	)
}

func (e epochs) probability(Phase) float64 { return float64(e.per) / float64(e.steps) }

// count returns the number of epochs of so many steps. An epoch that has begun is charged as a
// whole.
func (e epochs) count(steps int) int64 {
	t := int64(e.steps)
	return (int64(steps) + t - 1) / max(1, t)
}

// checkWhole refuses a part of an epoch, for which no event stands.
func (e epochs) checkWhole(field string, steps int) error {
	if steps%e.steps == 0 {
		return nil
	}
	below := steps / e.steps * e.steps
	near := fmt.Sprintf("%d or %d", below, below+e.steps)
	if below == 0 {
		near = fmt.Sprint(e.steps)
	}
	return fmt.Errorf("dpsgd: %s is %d, not a whole number of epochs of %d steps: %s would be", field, steps, e.steps, near)
}

// epochSampler draws the batches of an epoch at once: for every record the steps it is in,
// and for each of them a block. What it draws for a record is a function of the key, the
// epoch and the record's place in the data. So a run that goes on draws the same batches
// again, and no record's draw moves with another's.
type epochSampler struct {
	epochs
	same   bool // batches in all epochs
	start  int  // first step of the phase
	blocks int
	parts  []epochPart
}

// epochPart is the plan of an epoch for the records that one goroutine looks after.
type epochPart struct {
	key   rng.Key // of the plan; zero before the first
	first int     // step of the epoch
	picks []stepPick
	taken []bool // steps of one record, while it is drawn
}

type stepPick struct {
	step int // of the epoch
	pick
}

// draw implements sampler.
func (e *epochSampler) draw(dst []pick, part, low, high int, key rng.Key, step int) []pick {
	own := &e.parts[part]
	within := (step - e.start) % e.steps
	if first := step - within; own.key != key || own.first != first {
		own.key, own.first = key, first
		e.plan(own, part, low, high)
	}
	for _, p := range own.picks {
		if p.step == within {
			dst = append(dst, p.pick)
		}
	}
	return dst
}

// plan draws the epoch of a part. Batches that are the same in all epochs are drawn from a key
// that these share. A random subset is drawn as by Floyd: for j from steps - per on take a
// uniform number up to j, or j itself if that one is taken.
func (e *epochSampler) plan(p *epochPart, part, low, high int) {
	steps := p.key.Derive("bins")
	if !e.same {
		steps = p.key.Derive("epoch", uint64(p.first))
	}
	chosen := newWords(steps.Derive("part", uint64(part)))
	blocks := newWords(p.key.Derive("blocks", uint64(p.first)).Derive("part", uint64(part)))
	if p.taken == nil {
		p.taken = make([]bool, e.steps)
	}
	p.picks = p.picks[:0]
	for record := low; record < high; record++ {
		before := len(p.picks)
		for j := e.steps - e.per; j < e.steps; j++ {
			at := int(chosen.below(uint64(j) + 1))
			if p.taken[at] {
				at = j
			}
			p.taken[at] = true
			p.picks = append(p.picks, stepPick{at, pick{record, int(blocks.below(uint64(e.blocks)))}})
		}
		for _, one := range p.picks[before:] {
			p.taken[one.step] = false
		}
	}
}

// words makes uniform integers of the words of a stream, one of each: so the place of a draw
// in the stream does not depend on earlier draws.
type words struct {
	key    rng.Key
	stream *rng.Stream
	used   uint64
}

func newWords(key rng.Key) *words { return &words{key: key, stream: key.Stream()} }

// below returns a uniform integer below n > 0.
func (w *words) below(n uint64) uint64 {
	w.used++
	if v, ok := scaled(w.stream.Uint64(), n); ok {
		return v
	}
	return w.key.Derive("again", w.used).Stream().Uint64N(n)
}

// scaled maps a uniform word to a uniform integer below n, without bias, but for 2^64 mod n
// of the words (Lemire 2019).
func scaled(word, n uint64) (v uint64, ok bool) {
	hi, lo := bits.Mul64(word, n)
	return hi, lo >= n || lo >= -n%n
}
