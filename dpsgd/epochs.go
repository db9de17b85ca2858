package dpsgd

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
)

type epochs struct{ steps, per int }

func (s Sampling) epochs() epochs { return epochs{s.EpochSteps, max(1, s.PerEpoch)} }

func (e epochs) validate(c Config) error {
	return cmp.Or(
		within("Config.Sampling.EpochSteps", float64(e.steps), 1, math.MaxInt32),
		within("Config.Sampling.PerEpoch", float64(c.Sampling.PerEpoch), 0, float64(e.steps)),
	)
}

func (e epochs) probability(Phase) float64 { return float64(e.per) / float64(e.steps) }

// count returns the number of started epochs, because a started epoch is charged as a whole.
func (e epochs) count(steps int) int64 {
	t := int64(e.steps)
	return (int64(steps) + t - 1) / max(1, t)
}

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

type allocation struct{ epochs }

func (a allocation) event(_ Phase, steps int, noise accountant.Gaussian) accountant.Event {
	e := accountant.RandomAllocation{K: int64(a.per), Steps: int64(a.steps), Event: noise}
	return accountant.Repeated{Event: e, Count: a.count(steps)}
}

func (a allocation) sampler(_ float64, start, parts, blocks int) sampler {
	return &epochSampler{epochs: a.epochs, start: start, blocks: blocks, parts: make([]epochPart, parts)}
}

type ballsInBins struct{ epochs }

func (b ballsInBins) validate(c Config) error {
	switch err := b.epochs.validate(c); {
	case err != nil:
		return err
	case b.per > 1:
		return fmt.Errorf("dpsgd: Config.Sampling.PerEpoch is for %q", Allocation)
	case len(c.Phases) > 1:
		return fmt.Errorf("dpsgd: Config.Phases: %q is accounted for one phase, since all epochs have the same batches", BallsInBins)
	}
	return nil
}

func (b ballsInBins) event(_ Phase, steps int, noise accountant.Gaussian) accountant.Event {
	e := accountant.BallsInBins{Bins: int64(b.steps), Epochs: max(1, b.count(steps)), Event: noise}
	if b.count(steps) == 0 {
		return accountant.Repeated{Event: e}
	}
	return e
}

func (b ballsInBins) sampler(_ float64, start, parts, blocks int) sampler {
	return &epochSampler{epochs: b.epochs, same: true, start: start, blocks: blocks, parts: make([]epochPart, parts)}
}

// epochSampler draws all batches of an epoch at once. A record's draw depends only on the key, the epoch and
// the record's index. So a resumed run draws the same batches, and no record affects the draws of other
// records.
type epochSampler struct {
	epochs
	same   bool // the batches are the same in all epochs
	start  int  // of the phase
	blocks int
	parts  []epochPart
}

type epochPart struct {
	key   rng.Key // key of the draws; zero before the first draw
	first int     // first step of the epoch
	picks []stepPick
	taken []bool // steps already drawn for the current record
}

type stepPick struct {
	step int // index within the epoch
	pick
}

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
		// Floyd's method draws a random subset of e.per steps.
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

// words draws uniform integers from a stream. Each draw takes exactly one 64-bit word, so a draw's position
// in the stream does not depend on earlier draws.
type words struct {
	key    rng.Key
	stream *rng.Stream
	used   uint64
}

func newWords(key rng.Key) *words { return &words{key: key, stream: key.Stream()} }

func (w *words) below(n uint64) uint64 {
	w.used++
	if v, ok := scaled(w.stream.Uint64(), n); ok {
		return v
	}
	return w.key.Derive("again", w.used).Stream().Uint64N(n)
}

// scaled maps a uniform 64-bit word to a uniform integer below n (Lemire 2019). The caller must reject the
// word if ok is false.
func scaled(word, n uint64) (v uint64, ok bool) {
	hi, lo := bits.Mul64(word, n)
	return hi, lo >= n || lo >= -n%n
}
