package dpsgd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/bits"

	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/rng"
)

type release struct {
	key        rng.Key
	workers    int
	records    int // public: see Config.Records
	parameters int
	setting    setting // of the last step

	grid  grid
	noise noiseLaw // nil without noise
	scale float64  // scale of the noise: grid.sigma, or the Laplace scale
	units int64    // grid units for one record of the count; see setting

	batch  *batcher
	sum    *summer
	banded *banded // nil if the noise of steps is independent
	total  []int64 // the sum, and after read the noisy sum, in units; the count is last
	fresh  rng.Key // key of the noise that read adds; zero after read
	step   uint64  // index of the step that total belongs to

	scratch []*scratch // of each goroutine
}

type setting struct {
	probability     float64 // that a given record is in the batch
	sampling        Sampling
	start           int     // first step of the phase, for sampling by epochs
	noiseMultiplier float64 // 0: no noise
	laplace         bool    // discrete Laplace noise, for one parameter
	clip            Clip
	// The count is one more coordinate of the discrete Gaussian mechanism, with the same standard deviation
	// S. Each record adds k units to the count. Here k is the largest integer with k countMultiplier <= S.
	// The sums of neighbours differ by at most S/noiseMultiplier, and the counts by at most
	// S/countMultiplier. Together they differ by at most S sqrt(noiseMultiplier^-2 + countMultiplier^-2) in
	// Euclidean norm. So the proof at type grid applies with one more coordinate and with the noise
	// multiplier of jointMultiplier.

	// countMultiplier, if positive, is the standard deviation of the noise on the count of unclipped records.
	countMultiplier float64
}

// jointMultiplier returns the noise multiplier of two releases on one sample, with noise multipliers a and b.
// The result is (a^-2 + b^-2)^-1/2, rounded down (Andrew et al. 2021, Theorem 1).
func jointMultiplier(a, b float64) float64 {
	low, high := min(a, b), max(a, b)
	ratio := low / high
	return low / math.Sqrt(1+ratio*ratio) * (1 - 0x1p-50)
}

type noiseLaw interface {
	Fill(dst []int64, s *rng.Stream)
}

type laplaceLaw struct{ *rng.DiscreteLaplace }

func (l laplaceLaw) Fill(dst []int64, s *rng.Stream) {
	for i := range dst {
		dst[i] = l.Sample(s)
	}
}

func newRelease(model Model, data Data, s setting, records, workers int) (*release, error) {
	r := &release{workers: workers, records: cmp.Or(records, data.Records()), parameters: len(model.Parameters())}
	integers := 0
	if s.noiseMultiplier > 0 {
		integers = r.parameters
		if s.countMultiplier > 0 {
			integers++
		}
		r.banded = newBanded(s.sampling.Bands, r.parameters)
	}
	r.scratch = make([]*scratch, spansOf(max(integers, r.parameters)))
	r.sum = newSummer(model, data, integers, workers)
	return r, r.set(s)
}

func (r *release) set(s setting) error {
	was := r.setting
	if r.batch == nil || was.probability != s.probability || was.sampling != s.sampling || was.start != s.start {
		blocks := r.sum.group.blocks(s.probability * float64(r.records))
		r.batch = newBatcher(s.sampling, s.probability, s.start, r.sum.data.Records(), blocks)
	}
	r.setting = s
	if s.noiseMultiplier == 0 {
		return nil
	}
	g, err := newGrid(s.noiseMultiplier, s.clip.Norm(), r.parameters, r.sum.data.Records(), r.floors())
	if err != nil {
		return err
	}
	if s.countMultiplier > 0 {
		units := math.Floor(g.sigma / s.countMultiplier)
		if n := r.sum.data.Records(); units < 1 || units*float64(n) > 0x1p61 {
			return fmt.Errorf("dpsgd: Adaptive.CountNoise %g does not suit %d records", s.countMultiplier, n)
		}
		r.units = int64(units)
	}
	r.grid = g
	return r.setNoise(s)
}

func (r *release) floors() int {
	if r.banded == nil {
		return 0
	}
	return len(r.banded.noise)
}

func (r *release) setNoise(s setting) error {
	scale := r.grid.sigma
	if s.laplace {
		scale = laplaceScale(s.noiseMultiplier, r.grid)
	}
	if r.noise != nil && r.scale == scale {
		return nil
	}
	var err error
	if s.laplace {
		var law *rng.DiscreteLaplace
		law, err = rng.NewDiscreteLaplace(scale)
		r.noise = laplaceLaw{law}
	} else {
		r.noise, err = rng.NewDiscreteGaussian(scale)
	}
	if err != nil {
		return fmt.Errorf("dpsgd: %w", err)
	}
	r.scale = scale
	return nil
}

// run computes the sum of one step without noise. Afterwards, the method read adds the noise.
func (r *release) run(ctx context.Context, step uint64) (Tally, error) {
	r.batch.draw(r.workers, r.key, int(step))
	tally, err := r.sumBatch(ctx)
	if err != nil || r.noise == nil {
		return tally, err
	}
	r.step = step
	if r.banded != nil {
		spans(r.workers, r.parameters, func(_, _, low, high int) { r.banded.before(r.total[low:high], low, int(step)) })
	}
	r.fresh = r.noiseKey(step)
	return tally, nil
}

func (r *release) sumBatch(ctx context.Context) (Tally, error) {
	tally, err := r.sum.add(ctx, r.batch, r.setting.clip, r.grid.perUnit)
	if err != nil {
		return Tally{}, err
	}
	if r.noise == nil {
		return tally, nil
	}
	r.total = r.sum.total()
	if r.setting.countMultiplier > 0 {
		r.total[r.parameters] = r.units * (int64(len(r.batch.rows)) - tally.Clipped - tally.NonFinite)
	}
	return tally, nil
}

func (r *release) noiseKey(step uint64) rng.Key {
	// Equal sums get equal noise, and different sums get different noise. Sums of a repeated step may differ
	// between processors or versions, or if a Worker does not match its Fingerprint. If the noise depended
	// only on the step, the difference of two such releases would have no noise.
	hasher := newHasher(r.key.Derive("hash of sum", step).Stream())
	hashes := make([]byte, hashSize*spansOf(len(r.total)))
	spans(r.workers, len(r.total), func(_, i, low, high int) {
		sum := hasher.sum(r.total[low:high])
		copy(hashes[hashSize*i:], sum[:])
	})
	h := sha256.Sum256(hashes)
	return r.key.Derive("noise", step).DeriveBytes("sum", h[:])
}

type scratch struct {
	noise   [pieceLength]int64
	mean    [pieceLength]float64
	streams *rng.Streams // noise streams of the spans of this step; nil before the first draw
}

func (s *scratch) pieces(low, high int) iter.Seq[[]float64] {
	return func(yield func([]float64) bool) {
		for ; low < high; low += pieceLength {
			if !yield(s.mean[:min(pieceLength, high-low)]) {
				return
			}
		}
	}
}

const pieceLength = 1024

func (r *release) scratchOf(worker int) *scratch {
	if r.scratch[worker] == nil {
		r.scratch[worker] = new(scratch)
	}
	return r.scratch[worker]
}

// read passes v = (noisy sum)/divisor to the function `use` in parts. A part starts at v[low], in block i of
// spanLength elements. The function must not keep part.
func (r *release) read(divisor float64, use func(i, low int, part []float64)) {
	if r.noise == nil {
		spans(r.workers, r.parameters, func(worker, i, low, high int) {
			for part := range r.scratchOf(worker).pieces(low, high) {
				r.sum.readFloats(part, low)
				for j := range part {
					part[j] /= divisor
				}
				use(i, low, part)
				low += len(part)
			}
		})
		return
	}
	scale := 1 / (r.grid.perUnit * divisor)
	spans(r.workers, len(r.total), func(worker, i, low, high int) {
		s := r.scratchOf(worker)
		if s.streams == nil {
			s.streams = r.fresh.Streams("span")
		}
		stream := s.streams.Of(uint64(i))
		for part := range s.pieces(low, high) {
			noise, total := s.noise[:len(part)], r.total[low:low+len(part)]
			r.noise.Fill(noise, stream)
			kernel.AddInts(part, total, noise, scale)
			part = part[:min(len(part), r.parameters-low)] // without the count
			if r.banded != nil {
				r.banded.after(total[:len(part)], low, int(r.step))
				for j := range part {
					part[j] = float64(total[j]) * scale
				}
			}
			if len(part) > 0 {
				use(i, low, part)
			}
			low += len(noise)
		}
	})
	r.fresh = rng.Key{}
	for _, s := range r.scratch {
		if s != nil {
			s.streams = nil
		}
	}
}

// Fingerprint returns a hash of all inputs of [Train] except the key. The hash is secret, because it can
// confirm a guess of the data. Key and hash together identify a run.
func Fingerprint(model Model, data Data, cfg Config) []byte {
	return fingerprint(cfg.identity(), forRecords(model, data), data, cfg.Workers)
}

// fingerprint returns a hash of all inputs of a run except the key. The run's random numbers derive from the
// key and this hash. So different runs with one key have different samples and noise.
func fingerprint(configuration string, model Model, data Data, workers int) []byte {
	h := sha256.New()
	own := model.Fingerprint()
	b := fmt.Appendf(nil, "%d %s %T %d", len(configuration), configuration, model, len(own))
	b = append(b, own...)
	parameters := model.Parameters()
	rows, cols := data.Dims()
	for _, n := range []int{rows, cols, data.Targets.Rows, data.Targets.Cols, len(data.Y), len(parameters)} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	h.Write(sealed.Append(b, parameters))
	for _, piece := range data.digest(workers) {
		h.Write(piece[:])
	}
	if data.Ends != nil {
		b = binary.LittleEndian.AppendUint64(b[:0], uint64(len(data.Ends)))
		for _, end := range data.Ends {
			b = binary.LittleEndian.AppendUint64(b, uint64(end))
		}
		h.Write(b)
	}
	return h.Sum(nil)
}

const hashSize = 32

// Two different sums have equal hashes with probability at most 2^-128 over these words. A hash consists of
// two NH hashes (Black, Halevi, Krawczyk, Krovetz, Rogaway 1999):
//
//	sum over i of (m[2i] + k[2i]) (m[2i+1] + k[2i+1]) modulo 2^128
//
// The inner additions are modulo 2^64. For uniform k and two different sequences m of equal length, the NH
// hashes are equal with probability at most 2^-64. The second NH hash uses k[i+2] for k[i], and the same
// bound holds independently. An adversary observes the secret words only through the equality of hashes.

// hasher hashes the integer sums of a step with secret 64-bit words.
type hasher struct{ words [spanLength + 2]uint64 }

func newHasher(s *rng.Stream) *hasher {
	h := new(hasher)
	for i := range h.words {
		h.words[i] = s.Uint64()
	}
	return h
}

func (h *hasher) sum(m []int64) (out [hashSize]byte) {
	even := len(m) &^ 1
	var sums [2]uint128
	addPairs(&sums, m[:even], h.words[:even+2])
	if even < len(m) {
		addPairs(&sums, []int64{m[even], 0}, h.words[even:even+4])
	}
	for i, v := range []uint64{sums[0].low, sums[0].high, sums[1].low, sums[1].high} {
		binary.LittleEndian.PutUint64(out[8*i:], v)
	}
	return out
}

type uint128 struct{ low, high uint64 }

func addPairs(sums *[2]uint128, m []int64, k []uint64) {
	a, b := sums[0], sums[1]
	for i := 0; i+1 < len(m) && i+3 < len(k); i += 2 {
		x, y := uint64(m[i]), uint64(m[i+1])
		var carry uint64
		high, low := bits.Mul64(x+k[i], y+k[i+1])
		a.low, carry = bits.Add64(a.low, low, 0)
		a.high, _ = bits.Add64(a.high, high, carry)
		high, low = bits.Mul64(x+k[i+2], y+k[i+3])
		b.low, carry = bits.Add64(b.low, low, 0)
		b.high, _ = bits.Add64(b.high, high, carry)
	}
	sums[0], sums[1] = a, b
}
