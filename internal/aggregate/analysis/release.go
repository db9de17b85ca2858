package analysis

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// SanitizerConfig holds all inputs of a release except the votes. All fields are public and must be fixed
// before anybody sees the votes. A value chosen from a private [Report] would reveal votes without a charge.
// A default depends only on other fields.
type SanitizerConfig struct {
	Mechanism Mechanism // GNMax or Confident-GNMax; required
	Queries   int       // number of queries, in [1, 2^22]; required
	Teachers  int       // number of teachers, with abstaining teachers, in [1, 2^20]; required
	Classes   int       // at least 2; required
	Delta     float64   // delta of Released.Epsilon, in (0, 1); required

	// Order is the order of the released Rényi divergence, above 1. The default, at most 500, nearly
	// minimises epsilon if queries cost a fifth of the worst case.
	Order float64
	// Beta is the smoothness of the sensitivity, at least 1e-5. Between neighbours, the sensitivity changes
	// by a factor of at most e^Beta. The release has finite Rényi divergence at orders below [OrderLimit].
	// The default is 1/(3 Order).
	Beta float64
	// Sigma is the standard deviation of the noise, divided by the smooth sensitivity. Let w be the
	// worst-case cost of the queries, and r the release's cost in the limit of infinite Sigma. By default the
	// release costs max(w/10, 2r). The cost r depends on Order, Beta and Margin.
	Sigma float64
	// Margin times the standard deviation of the noise is added to the result. The result is then below the
	// cost with probability at most P[N(0,1) < -Margin], or about 1/44 for Margin 2. Margin must be at least
	// 0.
	Margin float64
	// Grid is a power of two from 2^-40 to 1, by default 2^-20. The release is rounded up to a multiple of
	// Grid.
	Grid float64
}

const (
	assumedSaving = 5.0
	assumedShare  = 0.5 // cost of the release divided by the assumed cost of the queries
	defaultGrid   = 0x1p-20
	maxTeachers   = 1 << 20
	minBeta       = 1e-5
	maxOrder      = 500
)

// Sanitizer releases the data-dependent cost of a run once, with noise, as a charged event. The released cost
// is
//
//	cost + S Sigma (Z + Margin),   Z ~ N(0, 1)
//
// The result is rounded up to the grid. The term cost adds up bounds on the divergences of all queries at
// Order. Every query counts as answered. S is the smooth sensitivity of cost. Sigma and Margin are fields of
// the configuration. In Papernot et al. 2018, appendix B, Margin is 0.
type Sanitizer struct {
	cfg         SanitizerConfig
	sensitivity *sensitivity
	worst       float64 // cost of all queries on any votes at Order
	cost        float64 // cost of the release at Order
}

// NewSanitizer returns a Sanitizer for cfg. Fields of cfg that are 0 get their default, if they have one.
// If no sensitivity is known for Gaussian noise, the error is a [*ConditionError].
func NewSanitizer(cfg SanitizerConfig) (*Sanitizer, error) {
	m := cfg.Mechanism
	if err := m.validate(); err != nil {
		return nil, err
	}
	for _, sigma := range []float64{m.Sigma1, m.Noise} {
		if sigma != 0 && !m.Laplace && !(sigma >= 0x1p-10 && sigma <= 0x1p40) {
			return nil, fmt.Errorf("analysis: noise of %g votes is outside [2^-10, 2^40]", sigma)
		}
	}
	for _, f := range []struct {
		name               string
		value, least, most int
	}{{"Queries", cfg.Queries, 1, maxTallies}, {"Teachers", cfg.Teachers, 1, maxTeachers}, {"Classes", cfg.Classes, 2, math.MaxInt32}} {
		if f.value < f.least || f.value > f.most {
			return nil, fmt.Errorf("analysis: SanitizerConfig.%s must be in [%d, %d], not %d", f.name, f.least, f.most, f.value)
		}
	}
	if cfg.Grid == 0 {
		cfg.Grid = defaultGrid
	}
	for _, f := range []struct {
		name  string
		value float64
		ok    bool
	}{
		{"Delta", cfg.Delta, cfg.Delta > 0 && cfg.Delta < 1},
		{"Order", cfg.Order, cfg.Order == 0 || cfg.Order > 1},
		{"Beta", cfg.Beta, cfg.Beta == 0 || cfg.Beta >= minBeta},
		{"Sigma", cfg.Sigma, cfg.Sigma >= 0},
		{"Margin", cfg.Margin, cfg.Margin >= 0},
		{"Grid", cfg.Grid, cfg.Grid >= 0x1p-40 && cfg.Grid <= 1 && math.Exp2(math.Round(math.Log2(cfg.Grid))) == cfg.Grid},
	} {
		if !f.ok || math.IsInf(f.value, 1) {
			return nil, fmt.Errorf("analysis: SanitizerConfig.%s %v is out of range", f.name, f.value)
		}
	}
	s := &Sanitizer{cfg: cfg}
	if err := s.choose(); err != nil {
		return nil, err
	}
	var err error
	if s.cost, err = releaseCost(s.event(), s.cfg.Order); err != nil {
		return nil, err
	}
	if math.IsInf(s.cost, 1) {
		return nil, fmt.Errorf("analysis: SanitizerConfig.Order %v: with Beta %v the release has infinite cost at orders of at least %.6g",
			s.cfg.Order, s.cfg.Beta, OrderLimit(s.cfg.Beta))
	}
	if s.worst, err = s.worstCase(s.cfg.Order); err != nil {
		return nil, err
	}
	s.sensitivity, err = newSensitivity(s.cfg.Mechanism, s.cfg.Order, s.cfg.Classes)
	return s, err
}

func OrderLimit(beta float64) float64 { return -1 / math.Expm1(-2*beta) }

func (s *Sanitizer) choose() error {
	c := &s.cfg
	unit, err := s.worstCase(1) // the worst case is proportional to the order
	if err != nil {
		return err
	}
	if c.Order == 0 {
		best := 1 + math.Sqrt(-math.Log(c.Delta)*assumedSaving/unit)
		c.Order = math.Min(math.Ceil(2*best)/2, maxOrder)
	}
	if c.Beta == 0 {
		c.Beta = math.Max(minBeta, 1/(3*c.Order))
	}
	if c.Sigma > 0 {
		return nil
	}
	at := func(sigma float64) (float64, error) {
		return releaseCost(accountant.GNSS{Beta: c.Beta, Sigma: sigma, Margin: c.Margin}, c.Order)
	}
	const low, high = 0x1p-20, 0x1p40
	least, err := at(high)
	if err != nil {
		return err
	}
	target := math.Max(assumedShare*unit*c.Order/assumedSaving, 2*least)
	from, to := math.Log(low), math.Log(high)
	for range 60 {
		middle := (from + to) / 2
		cost, err := at(math.Exp(middle))
		if err != nil {
			return err
		}
		if cost > target {
			from = middle
		} else {
			to = middle
		}
	}
	c.Sigma = math.Exp(to)
	return nil
}

func (s *Sanitizer) worstCase(order float64) (float64, error) {
	m := s.cfg.Mechanism
	if m.Laplace {
		return 0, errNoSmoothLNMax
	}
	each := gnmaxWorst(m.Noise, order)
	if m.Tested {
		each += thresholdWorst(m.Sigma1, order)
	}
	return float64(s.cfg.Queries) * each, nil
}

func (s *Sanitizer) Config() SanitizerConfig { return s.cfg }

func (s *Sanitizer) event() accountant.GNSS {
	return accountant.GNSS{Beta: s.cfg.Beta, Sigma: s.cfg.Sigma, Margin: s.cfg.Margin}
}

func (s *Sanitizer) Event() accountant.Event { return s.event() }

// Released is a sanitised cost, the only result of this package that may be public.
type Released struct {
	Order float64 // order of the divergences
	// Cost is a multiple of Grid in [0, worst case + Grid). Cost bounds the cost of the queries on the votes,
	// unless the noise was below -Margin standard deviations. The bound is one-sided (see the package's
	// Guarantee).
	Cost        float64
	ReleaseCost float64 // cost of the release at Order
	Delta       float64
	// Epsilon is Cost + ReleaseCost, converted to an epsilon at Delta. It is no guarantee.
	Epsilon float64
	// TooLow bounds the probability that Cost is below the true cost.
	TooLow float64
	// Releasable reports whether the fields may be released: the noise key must be secret.
	Releasable bool
}

// Release returns the privacy cost of the votes, plus noise. If r was used before or charges an event
// other than s.Event(), Release fails before it reads votes. The caller must commit the result to the
// ledger before releasing it.
//
// The noise depends only on the key, the configuration and the votes. So a repeated run gives the same
// bits, and different votes get independent noise.
//
// The text of an error may reveal votes, but the fact that an error occurred may be released. Nobody may
// observe the running time, because it depends on votes and noise.
func (s *Sanitizer) Release(ctx context.Context, r *ledger.Reservation, key rng.Key, votes iter.Seq2[aggregate.Histogram, error]) (Released, error) {
	if key.IsZero() {
		return Released{}, errors.New("analysis: zero Key: make one with rng.NewKey or rng.SeedKey")
	}
	if err := r.Begin(s.Event(), ledger.Use{Secret: key.Releasable()}); err != nil {
		return Released{}, fmt.Errorf("analysis: releasing a cost: %w", err)
	}
	groups, queries, err := collect(ctx, votes, Options{})
	if err != nil {
		return Released{}, err
	}
	if queries != s.cfg.Queries || len(groups[0].tally) != s.cfg.Classes {
		return Released{}, fmt.Errorf("analysis: %d queries of %d classes, but the release was announced for %d of %d",
			queries, len(groups[0].tally), s.cfg.Queries, s.cfg.Classes)
	}
	if _, err := countTeachers(groups, s.cfg.Teachers); err != nil {
		return Released{}, err
	}
	slices.SortFunc(groups, func(a, b group) int { return slices.Compare(a.tally, b.tally) })
	mean, sd, err := s.noise(ctx, groups)
	if err != nil {
		return Released{}, err
	}
	normal, err := rng.NewRoundedNormal(mean+s.cfg.Grid/2, sd, s.cfg.Grid) // Grid/2 makes it round up
	if err != nil {
		return Released{}, fmt.Errorf("analysis: %w", err)
	}
	key = s.key(key, groups)
	steps := normal.Sample(key.Stream())
	return s.released(float64(steps)*s.cfg.Grid, key.Releasable())
}

func (s *Sanitizer) noise(ctx context.Context, groups []group) (mean, sd float64, err error) {
	// The error of the cost is below 1e-10 of the worst case, so S is raised by this amount. The relative
	// error of S between neighbours is below 1e-6 beta, so S is computed with a slightly smaller beta.
	orders := []float64{s.cfg.Order}
	cost := 0.0
	for _, g := range groups {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		q := s.cfg.Mechanism.bounds(g.tally, orders)
		for _, c := range []spent{q.test, q.argmax} {
			for _, at := range c { // one order, or no test
				cost += float64(g.queries) * at
			}
		}
	}
	profile, err := s.sensitivity.worst(ctx, groups, s.cfg.Teachers)
	if err != nil {
		return 0, 0, err
	}
	smooth := discounted(profile, s.cfg.Beta*(1-1e-6))*(1+1e-9) + 1e-10*s.worst
	sd = smooth * s.cfg.Sigma
	return cost + s.cfg.Margin*sd, sd, nil
}

func (s *Sanitizer) key(key rng.Key, groups []group) rng.Key {
	c := s.cfg
	ids := []uint64{uint64(c.Queries), uint64(c.Teachers), uint64(c.Classes)}
	numbers := []float64{c.Order, c.Beta, c.Sigma, c.Margin, c.Grid}
	if c.Mechanism.Tested {
		numbers = append(numbers, c.Mechanism.Threshold, c.Mechanism.Sigma1)
	}
	numbers = append(numbers, c.Mechanism.Noise)
	for _, x := range numbers {
		ids = append(ids, math.Float64bits(x))
	}
	hash := sha256.New()
	var b []byte
	for _, g := range groups {
		b = append(binary.AppendUvarint(b[:0], uint64(g.queries)), g.tally.key()...)
		hash.Write(b) // Classes+1 self-delimiting numbers per group
	}
	return key.Derive("gnss", ids...).DeriveBytes("votes", hash.Sum(nil))
}

func (s *Sanitizer) released(drawn float64, releasable bool) (Released, error) {
	out := Released{
		Order: s.cfg.Order, ReleaseCost: s.cost, Delta: s.cfg.Delta, TooLow: math.Exp(mathx.LogNormalCDF(-s.cfg.Margin)),
		Cost: math.Max(0, math.Min(drawn, math.Ceil(s.worst/s.cfg.Grid)*s.cfg.Grid)), Releasable: releasable,
	}
	epsilon, err := accountant.Improved.Epsilon(out.Order, mathx.Up(out.Cost+out.ReleaseCost), out.Delta)
	if err != nil {
		return Released{}, fmt.Errorf("analysis: %w", err)
	}
	out.Epsilon = mathx.Up(epsilon * (1 + 4e-16))
	return out, nil
}
