package stability

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// MeanConfig holds the parameters of a [Mean]. No parameter has a default. Laplace noise needs Epsilon, and
// Gaussian noise needs NoiseMultiplier. The unused field must be 0.
type MeanConfig struct {
	Records         int     // number of records, which is public; [1, 2^40]
	Dimension       int     // of a record; [1, 2^24]
	Clip            float64 // largest norm of a record: L1 for Laplace, L2 for Gaussian; [2^-400, 2^400]
	Noise           Noise   // Laplace or Gaussian
	Epsilon         float64 // Laplace; [2^-10, 2^9]
	NoiseMultiplier float64 // Gaussian: standard deviation of the noise divided by 2 Clip; [2^-10, 2^20]
}

// Mean clips every record, sums the records, adds noise and divides by the number of records. One record
// can change the clipped sum by at most twice the clip norm. Neighbours differ in one record
// (accountant.ReplaceOne), and the number of records is public.
//
// For Gaussian noise at (epsilon, delta), accountant.GaussianNoise returns the NoiseMultiplier. It uses
// the analytic Gaussian mechanism (Balle, Wang 2018). The textbook formula sqrt(2
// log(1.25/delta))/epsilon is too small at large epsilon.
//
// Records are clipped towards 0, so first subtract a public guess of the mean. The clipped records are
// rounded to a grid. The grid unit is at most 2^-30 times the scale of the noise. The rounding error is
// at most one unit per coordinate, and is part of the sensitivity. The noise is exact integer noise.
type Mean struct {
	cfg   MeanConfig
	grid  grid
	event accountant.Event
	noise interface{ Sample(*rng.Stream) int64 }
}

func NewMean(cfg MeanConfig) (*Mean, error) {
	multiplier := cfg.NoiseMultiplier // noise divided by sensitivity
	if cfg.Noise == Laplace {
		multiplier = 1 / cfg.Epsilon
	}
	switch {
	case cfg.Records < 1 || int64(cfg.Records) > 1<<40:
		return nil, fmt.Errorf("stability: Records must be in [1, 2^40], not %d", cfg.Records)
	case cfg.Dimension < 1 || cfg.Dimension > 1<<24:
		return nil, fmt.Errorf("stability: Dimension must be in [1, 2^24], not %d", cfg.Dimension)
	case !within(cfg.Clip, 0x1p-400, 0x1p400):
		return nil, fmt.Errorf("stability: Clip must be in [2^-400, 2^400], not %g", cfg.Clip)
	case cfg.Noise != Laplace && cfg.Noise != Gaussian:
		return nil, fmt.Errorf("stability: the noise of a mean is Laplace or Gaussian, not %d", cfg.Noise)
	case cfg.Noise == Laplace && (!within(cfg.Epsilon, 0x1p-10, 0x1p9) || cfg.NoiseMultiplier != 0):
		return nil, fmt.Errorf("stability: Laplace noise needs Epsilon in [2^-10, 2^9], not %g, and no NoiseMultiplier", cfg.Epsilon)
	case cfg.Noise == Gaussian && (!within(cfg.NoiseMultiplier, 0x1p-10, 0x1p20) || cfg.Epsilon != 0):
		return nil, fmt.Errorf("stability: Gaussian noise needs NoiseMultiplier in [2^-10, 2^20], not %g, and no Epsilon", cfg.NoiseMultiplier)
	}
	m := &Mean{cfg: cfg, grid: gridFor(2*cfg.Clip*multiplier, meanBits)}
	// The clip norm in grid units, increased by more than the rounding errors of float64.
	clip := cfg.Clip / m.grid.unit * (1 + float64(cfg.Dimension+8)*0x1p-52)
	if float64(cfg.Records)*(clip+1) > 0x1p61 {
		return nil, fmt.Errorf("stability: %d records with so little noise do not fit the grid", cfg.Records)
	}
	var err error
	if cfg.Noise == Laplace {
		sensitivity := int64(math.Ceil(2*clip)) + int64(cfg.Dimension)
		scale := mathUp(float64(sensitivity) / cfg.Epsilon)
		m.noise, err = rng.NewDiscreteLaplace(scale)
		m.event = accountant.DiscreteLaplace{Scale: scale, Sensitivity: sensitivity}
	} else {
		sensitivity := mathUp(2*clip + math.Sqrt(float64(cfg.Dimension)))
		sigma := math.Ceil(mathUp(sensitivity * cfg.NoiseMultiplier))
		m.noise, err = rng.NewDiscreteGaussian(sigma)
		m.event = accountant.DiscreteGaussian{Sigma: sigma, Sensitivity: sensitivity}
	}
	if err != nil {
		return nil, fmt.Errorf("stability: the noise of a mean: %w", err)
	}
	return m, nil
}

const meanBits = 30

// Event returns the event of one release.
func (m *Mean) Event() accountant.Event { return m.event }

// Release is [Mean.ReleaseVector] for one dimension.
func (m *Mean) Release(r *ledger.Reservation, key rng.Key, data []float64) (float64, error) {
	rows := make([][]float64, len(data))
	for i := range data {
		rows[i] = data[i : i+1]
	}
	mean, err := m.ReleaseVector(r, key, rows)
	if err != nil {
		return 0, err
	}
	return mean[0], nil
}

// ReleaseVector releases the mean of the records, each of Dimension coordinates. NaN and infinities count as
// 0. If r was used before or does not charge exactly m.Event() under accountant.ReplaceOne, ReleaseVector
// fails.
func (m *Mean) ReleaseVector(r *ledger.Reservation, key rng.Key, data [][]float64) ([]float64, error) {
	if len(data) != m.cfg.Records {
		return nil, fmt.Errorf("stability: %d records, and Records is %d", len(data), m.cfg.Records)
	}
	for i, row := range data {
		if len(row) != m.cfg.Dimension {
			return nil, fmt.Errorf("stability: record %d has %d coordinates, and Dimension is %d", i, len(row), m.cfg.Dimension)
		}
	}
	key, err := begin(m.Event(), ledger.Use{Relation: accountant.ReplaceOne}, r, key)
	if err != nil {
		return nil, err
	}
	return m.release(key, data), nil
}

func (m *Mean) release(key rng.Key, data [][]float64) []float64 {
	stream := key.Derive("mean", uint64(m.cfg.Records), uint64(m.cfg.Dimension), math.Float64bits(m.cfg.Clip),
		uint64(m.cfg.Noise), math.Float64bits(m.cfg.Epsilon), math.Float64bits(m.cfg.NoiseMultiplier)).Stream()
	sum := make([]int64, m.cfg.Dimension)
	for i := range sum {
		sum[i] = m.noise.Sample(stream)
	}
	for _, row := range data {
		m.addClipped(sum, row)
	}
	mean := make([]float64, len(sum))
	for i, s := range sum {
		mean[i] = m.grid.value(s) / float64(m.cfg.Records)
	}
	return mean
}

func (m *Mean) addClipped(sum []int64, row []float64) {
	finite := func(x float64) float64 {
		if !mathx.IsFinite(x) {
			return 0
		}
		return x
	}
	norm := 0.0
	for _, x := range row {
		if x = finite(x); m.cfg.Noise == Laplace {
			norm += math.Abs(x)
		} else {
			norm = math.Hypot(norm, x)
		}
	}
	factor := min(1, m.cfg.Clip/norm) // 1 if norm is 0
	if factor < 0x1p-1000 {
		return // scaling could exceed the clip norm, so the record counts as 0
	}
	for i, x := range row {
		sum[i] += m.grid.round(finite(x) * factor)
	}
}
