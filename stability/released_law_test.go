package stability

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// TestSubsampleAggregateReleasesByRecords checks that the probability of a release is the one that the
// law has at the distance in records: votes that one record holds in several parts count once. Every part
// here is one record, in three parts, so that k records vote 3k times.
func TestSubsampleAggregateReleasesByRecords(t *testing.T) {
	const records, repetitions, sessions, questions = 20, 3, 80, 50
	split := testkit.Must(Repeated(records, records, repetitions, rng.SeedKey(1).Derive("split")))
	m := newMStab(t, MStabConfig{Noise: Laplace, Epsilon: 0.5, Delta: 0.01, Questions: questions})
	vote := func(_ context.Context, part []int) (int, bool) { return part[0], true }
	for _, yes := range []int{20, 18, 16, 13} {
		data := make([]int, records)
		for i := range yes {
			data[i] = 1
		}
		released := 0
		for i := range uint64(sessions) {
			session := testkit.Must(Start[int](m, reserve(t, m.Event()), rng.SeedKey(uint64(yes)<<32+i)))
			for q := range uint64(questions) {
				a := testkit.Must(SubsampleAggregate(t.Context(), session, q, data, split, vote))
				if a.Released {
					require.Equal(t, 1, a.Value)
					released++
				}
			}
		}
		lead := repetitions * (2*yes - records)
		logp, _ := m.Law(int64((lead - 1) / 2 / repetitions))
		p := math.Exp(logp)
		// The false-alarm rate is below 1e-8 by Hoeffding's inequality.
		require.InDelta(t, p, float64(released)/(sessions*questions), math.Sqrt(math.Log(2e8)/(2*sessions*questions)), "%d votes lead", lead)
		perVote, _ := m.Law(int64((lead - 1) / 2)) // the mistake is far from that
		require.Greater(t, math.Abs(math.Exp(perVote)-p), 0.1)
	}
}

// TestMeanChargesTheRoundingOfEveryCoordinate uses two records whose integers differ by nearly all that
// the rounding is charged: every coordinate of one is rounded up, and of the other down.
func TestMeanChargesTheRoundingOfEveryCoordinate(t *testing.T) {
	const d = 6
	spread := func(x float64) []float64 {
		row := make([]float64, d)
		for i := range row {
			row[i] = x
		}
		return row
	}
	const k = 1 << 27 // about the units of a coordinate
	for _, cfg := range []MeanConfig{
		{Records: 2, Dimension: d, Clip: d*k + 4, Noise: Laplace, Epsilon: 1},
		{Records: 2, Dimension: d, Clip: math.Sqrt(d) * k, Noise: Gaussian, NoiseMultiplier: 1},
	} {
		unit := newMean(t, cfg).grid.unit
		x := (math.Floor(k/unit) + 0.5625) * unit
		if cfg.Noise == Gaussian {
			cfg.Clip = math.Sqrt(d) * (x + unit/16)
		}
		m := newMean(t, cfg)
		require.Equal(t, unit, m.grid.unit)
		up, down := make([]int64, d), make([]int64, d)
		m.addClipped(up, spread(x))
		m.addClipped(down, spread(-x))
		l1, l2 := 0.0, 0.0
		for i := range up {
			l1 += float64(up[i] - down[i])
			l2 = math.Hypot(l2, float64(up[i]-down[i]))
		}
		clip := 2 * cfg.Clip / unit
		switch e := m.Event().(type) {
		case accountant.DiscreteLaplace:
			require.Greater(t, l1, clip+3, "rounding adds to the clip norm")
			require.LessOrEqual(t, l1, float64(e.Sensitivity))
		case accountant.DiscreteGaussian:
			require.Greater(t, l2, clip+1)
			require.LessOrEqual(t, l2, e.Sensitivity)
		}
	}
}

// TestPTRChargesItsRounding uses two values that differ by the proposed bound. When they
// are rounded they may differ by a unit more, and that is charged.
func TestPTRChargesItsRounding(t *testing.T) {
	p := testkit.Must(NewPTR(PTRConfig{Bound: 1<<20 + 0.75, Epsilon: 1, TestEpsilon: 1, Delta: 1e-6}))
	unit := p.grid.unit
	bound := (math.Floor(p.cfg.Bound/unit) + 0.75) * unit
	p = testkit.Must(NewPTR(PTRConfig{Bound: bound, Epsilon: 1, TestEpsilon: 1, Delta: 1e-6}))
	require.Equal(t, unit, p.grid.unit)
	low := 0.4375 * unit
	moved := p.grid.round(low+bound) - p.grid.round(low)
	require.Greater(t, float64(moved), bound/unit)
	require.LessOrEqual(t, moved, p.sensitivity)
	charged := p.Event().(accountant.Composed).Events[1].(accountant.DiscreteLaplace)
	require.Equal(t, p.sensitivity, charged.Sensitivity)
	require.GreaterOrEqual(t, charged.Scale*p.cfg.Epsilon, float64(moved))
}
