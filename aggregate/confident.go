package aggregate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// ConfidentGNMaxConfig holds the parameters of a Confident-GNMax mechanism. Every parameter except Threshold
// must be positive.
type ConfidentGNMaxConfig struct {
	Threshold float64 // for the largest count plus noise, in votes; in [-2^40, 2^40]
	Sigma1    float64 // standard deviation of the noise on the largest count, in votes; [2^-10, 2^40]
	Sigma2    float64 // standard deviation of the noise on each count of an answer, in votes; [2^-10, 2^40]
	Queries   int     // cap on queries; the whole cap is charged; >= 1
	Answers   int     // cap on answers; the whole cap is charged; in [1, Queries]
}

// ConfidentGNMax adds noise of standard deviation Sigma1 to the largest count. If the sum is at least
// Threshold, ConfidentGNMax answers like GNMax with Sigma2. Otherwise it declines (Papernot et al. 2018,
// Algorithm 1).
type ConfidentGNMax struct {
	cfg       ConfidentGNMaxConfig
	threshold int64 // the least integer not below cfg.Threshold
	largest   *rng.DiscreteGaussian
	counts    *rng.DiscreteGaussian
}

func NewConfidentGNMax(cfg ConfidentGNMaxConfig) (*ConfidentGNMax, error) {
	if !(math.Abs(cfg.Threshold) <= maxCount) {
		return nil, fmt.Errorf("aggregate: Threshold must be between -2^40 and 2^40 votes, not %g", cfg.Threshold)
	}
	largest, failed := sampler("Sigma1", cfg.Sigma1)
	counts, err := sampler("Sigma2", cfg.Sigma2)
	err = cmp.Or(failed, err, checkCap("Queries", cfg.Queries, maxQueries), checkCap("Answers", cfg.Answers, cfg.Queries))
	if err != nil {
		return nil, err
	}
	return &ConfidentGNMax{cfg: cfg, threshold: int64(math.Ceil(cfg.Threshold)), largest: largest, counts: counts}, nil
}

// Event composes one threshold test per query and one noisy argmax per answer.
func (m *ConfidentGNMax) Event() accountant.Event {
	return accountant.Composed{Events: []accountant.Event{
		accountant.Repeated{Event: accountant.Threshold{Sigma: m.largest.Sigma(), Discrete: true}, Count: int64(m.cfg.Queries)},
		accountant.Repeated{Event: accountant.GNMax{Sigma: m.counts.Sigma(), Discrete: true}, Count: int64(m.cfg.Answers)},
	}}
}

func (m *ConfidentGNMax) Start(r *ledger.Reservation, key rng.Key) (Session, error) {
	return start(m, m, r, key, m.cfg.Queries, m.cfg.Answers)
}

func (m *ConfidentGNMax) noise() (string, []uint64) {
	return "confident-gnmax", []uint64{
		math.Float64bits(m.cfg.Threshold), math.Float64bits(m.largest.Sigma()), math.Float64bits(m.counts.Sigma()),
	}
}

func (m *ConfidentGNMax) draw(noise []int64, s *rng.Stream, classes int) []int64 {
	return append(drawEach(noise, classes, m.counts, s), m.largest.Sample(s))
}

func (m *ConfidentGNMax) decide(counts, noise []int64) Answer {
	return m.answer(counts, noise, slices.Max(counts))
}

func (m *ConfidentGNMax) answer(counts, noise []int64, statistic int64) Answer {
	label := argmax(counts, noise)
	if statistic+noise[len(counts)] < m.threshold {
		return Answer{Label: NoLabel}
	}
	return Answer{Label: label, Answered: true}
}

// testedParameters sets the default ratio sigma1/sigma2 to 150/40 (Papernot et al. 2018).
func testedParameters(threshold string) []Parameter {
	test := noiseParameter("sigma1", "noise of the threshold test")
	test.Ratio = 150.0 / 40
	return []Parameter{
		{Name: "threshold", Doc: threshold, Unit: "votes", Kind: "threshold", Min: -maxCount, Max: maxCount},
		test,
		noiseParameter("sigma2", "noise on each count of an answer"),
		answersCap(),
	}
}

func confidentDescription() Description {
	one := func(s Setting) (*ConfidentGNMax, error) {
		return NewConfidentGNMax(ConfidentGNMaxConfig{Threshold: s.Values["threshold"], Sigma1: s.Values["sigma1"],
			Sigma2: s.Values["sigma2"], Queries: s.Queries, Answers: int(s.Values["answers"])})
	}
	return Description{
		Name: "confident", Short: "as gnmax, if the largest count passes a noisy threshold",
		Cost:       "rho = 1/(2 sigma1^2) for the test, plus 1/sigma2^2 for an answer",
		Parameters: testedParameters("threshold for the largest count"),
		New:        making(one),
		Declines:   true,
		Chances: func(s Setting, classes int, _ bool) (c Chances, err error) {
			if c.Right, err = gaussianChance(s.Values["sigma2"], classes); err != nil {
				return c, err
			}
			c.Answered, err = thresholdChance(s.Values["sigma1"], int64(math.Ceil(s.Values["threshold"])))
			return c, err
		},
		Laws: []NamedLaw{{
			Name: "confident", Short: "Answer only if the largest count passes a noisy threshold", Noise: "continuous",
			Law: continuous(one),
		}},
		Audit:      Setting{Mechanism: "confident", Values: map[string]float64{"threshold": 8, "sigma1": 3, "sigma2": 2}},
		Neighbours: [2][]int{{10, 0, 0}, {9, 1, 0}},
	}
}

// Law returns the output distribution of one query. Time, memory and errors are as for GNMax.Law.
func (m *ConfidentGNMax) Law(h Histogram) (Law, error) {
	if err := h.check(); err != nil {
		return Law{}, err
	}
	return m.lawOf(h.counts(), slices.Max(h.counts()))
}

func (m *ConfidentGNMax) ContinuousLaw(h Histogram) (Law, error) {
	if err := h.check(); err != nil {
		return Law{}, err
	}
	return m.continuousLawOf(h.counts(), float64(slices.Max(h.counts())))
}

func (m *ConfidentGNMax) lawOf(counts []int64, statistic int64) (Law, error) {
	if points := gaussianReach * m.largest.Sigma(); points > maxLawPoints {
		return Law{}, errLawTooWide(points)
	}
	labels, err := discreteArgmax(counts, gaussianNoise{m.counts})
	if err != nil {
		return Law{}, err
	}
	short := m.threshold - statistic
	return gate(labels, logAtLeast(m.largest, short), logAtLeast(m.largest, 1-short)), nil
}

func (m *ConfidentGNMax) continuousLawOf(counts []int64, statistic float64) (Law, error) {
	labels, err := gaussianArgmax(counts, m.counts.Sigma())
	if err != nil {
		return Law{}, err
	}
	z := (statistic - m.cfg.Threshold) / m.largest.Sigma()
	return gate(labels, mathx.LogNormalCDF(z), mathx.LogNormalCDF(-z)), nil
}

func gate(labels []float64, logPass, logFail float64) Law {
	for i := range labels {
		labels[i] += logPass
	}
	return Law{LogLabels: labels, LogDeclined: logFail}
}
