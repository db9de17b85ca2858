package dpsgd

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/rng"
)

// release is the private heart of a step, and of [Sum]: the clipped sum of a
// Poisson sample on the grid, under exact discrete Gaussian noise.
type release struct {
	key     Key
	workers int

	grid  grid
	noise *rng.DiscreteGaussian // nil without privacy

	batch *batcher
	sum   *summer
	total []int64 // noise, then noise plus sum, in units; nil without privacy
}

// newRelease prepares releases of a sum with the given noise multiplier, or
// without noise where it is 0.
func newRelease(model Model, data Data, q, noiseMultiplier, clip float64, workers int) (*release, error) {
	parameters := len(model.Parameters())
	r := &release{workers: workers, batch: newBatcher(q, data.X.Rows)}
	if noiseMultiplier > 0 {
		var err error
		if r.grid, err = newGrid(noiseMultiplier, clip, parameters, data.X.Rows); err != nil {
			return nil, err
		}
		if r.noise, err = rng.NewDiscreteGaussian(r.grid.sigma); err != nil {
			return nil, fmt.Errorf("dpsgd: %w", err)
		}
		r.total = make([]int64, parameters)
	}
	r.sum = newSummer(model, data, clip, r.grid.unit, workers)
	return r, nil
}

// run makes the release of one step. The noise is drawn before the data is
// touched.
func (r *release) run(ctx context.Context, step uint64) (Tally, error) {
	if r.noise != nil {
		r.drawNoise(step)
	}
	r.batch.draw(r.key.Derive("sample", step).Stream(), r.key.Derive("deal", step).Stream())
	tally, err := r.sum.add(ctx, r.batch)
	if err != nil {
		return Tally{}, err
	}
	if r.noise != nil {
		for _, lane := range r.sum.ints {
			for j, v := range lane {
				r.total[j] += v
			}
		}
	}
	return tally, nil
}

// drawNoise sets total to the step's noise. A run of parameters has a stream of
// its own, so that goroutines share the work.
func (r *release) drawNoise(step uint64) {
	const run = 1024
	parallel(r.workers, (len(r.total)+run-1)/run, func(_, i int) {
		stream := r.key.Derive("noise", step, uint64(i)).Stream()
		part := r.total[i*run : min((i+1)*run, len(r.total))]
		for j := range part {
			part[j] = r.noise.Sample(stream)
		}
	})
}

// read sets dst to the release of the last run divided by divisor.
func (r *release) read(dst []float64, divisor float64) {
	if r.noise != nil {
		for j, v := range r.total {
			dst[j] = float64(v) * r.grid.unit / divisor
		}
		return
	}
	clear(dst)
	for _, lane := range r.sum.floats {
		for j, v := range lane {
			dst[j] += v
		}
	}
	for j := range dst {
		dst[j] /= divisor
	}
}

// fingerprint hashes all that a release is a function of, so that no two
// different sums ever meet the same noise: their difference would be bare. The
// numbers are those of the configuration.
func fingerprint(name string, model Model, data Data, workers int, numbers ...float64) []byte {
	h := sha256.New()
	own := model.Fingerprint()
	b := fmt.Appendf(nil, "%s %T %d", name, model, len(own))
	b = append(b, own...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(numbers)))
	for _, v := range numbers {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	parameters := model.Parameters()
	for _, n := range []int{data.X.Rows, data.X.Cols, data.Targets.Cols, len(data.Y), len(parameters)} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	h.Write(appendFloats(b, parameters))
	for _, piece := range data.digest(workers) {
		h.Write(piece[:])
	}
	return h.Sum(nil)
}
