package aggregate

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// InteractiveGNMaxConfig holds the parameters of an Interactive-GNMax mechanism. Predict is required.
type InteractiveGNMaxConfig struct {
	Threshold  float64 // for the largest excess of a count over its prediction plus noise, in votes; in [-2^40, 2^40]
	Sigma1     float64 // standard deviation of the noise on that excess, in votes; [2^-10, 2^40]
	Sigma2     float64 // standard deviation of the noise on each count of an answer, in votes; [2^-10, 2^40]
	Teachers   int     // public number of teachers that may vote; [1, 2^40]
	Confidence float64 // the student's label is used if its probability is above Confidence; [0, 1]; 1: never
	Queries    int     // cap on queries; the whole cap is charged; >= 1
	Answers    int     // cap on answers of the teachers; the whole cap is charged; in [1, Queries]
	// Predict returns the student's probability of each class. It must use only public data and released
	// answers. The probabilities must add up to 1 within 0.001.
	Predict func(query uint64) ([]float64, error)
}

// InteractiveGNMax uses the teachers' votes if the votes contradict the student (Papernot et al. 2018,
// Algorithm 2). Class j has n_j votes and the predicted probability p_j. Let T be the number of teachers. If
// the largest n_j - round(T p_j) plus noise is at least Threshold, the mechanism answers like GNMax with
// Sigma2. Otherwise it answers with the student's label, or declines if the label's probability is at most
// Confidence. InteractiveGNMax costs as much as ConfidentGNMax. If another session repeats a query with other
// values round(T p_j), the query gets independent noise.
type InteractiveGNMax struct {
	cfg      InteractiveGNMaxConfig
	teachers *ConfidentGNMax
}

func NewInteractiveGNMax(cfg InteractiveGNMaxConfig) (*InteractiveGNMax, error) {
	teachers, err := NewConfidentGNMax(ConfidentGNMaxConfig{
		Threshold: cfg.Threshold, Sigma1: cfg.Sigma1, Sigma2: cfg.Sigma2, Queries: cfg.Queries, Answers: cfg.Answers,
	})
	switch {
	case err != nil:
		return nil, err
	case cfg.Teachers < 1 || int64(cfg.Teachers) > maxCount:
		return nil, fmt.Errorf("aggregate: Teachers must be in [1, 2^40], not %d", cfg.Teachers)
	case !(cfg.Confidence >= 0 && cfg.Confidence <= 1):
		return nil, fmt.Errorf("aggregate: Confidence must be in [0, 1], not %g", cfg.Confidence)
	case cfg.Predict == nil:
		return nil, errors.New("aggregate: interactive needs the student's predictions")
	}
	return &InteractiveGNMax{cfg: cfg, teachers: teachers}, nil
}

// Event implements [Mechanism]. It composes one threshold test per query and one noisy argmax per answer of
// the teachers. The test uses the largest excess of a count over its predicted count. Predicted counts are
// public integers, so one moved vote changes this excess by at most 1.
func (m *InteractiveGNMax) Event() accountant.Event { return m.teachers.Event() }

func (m *InteractiveGNMax) Start(r *ledger.Reservation, key rng.Key) (Session, error) {
	s, err := start(m, prediction{mechanism: m}, r, key, m.cfg.Queries, m.cfg.Answers)
	if err != nil {
		return nil, err
	}
	s.predict = m.predict
	return s, nil
}

// CheckPrediction returns an error unless all probabilities are in [0, 1] and add up to 1 within 0.001. It
// does not check len(probabilities). Call it before the charge.
func CheckPrediction(probabilities []float64) error {
	sum := 0.0
	for j, x := range probabilities {
		if !(x >= 0 && x <= 1) {
			return fmt.Errorf("aggregate: predicted probability of class %d must be in [0, 1], not %g", j, x)
		}
		sum += x
	}
	if !(math.Abs(sum-1) <= 1e-3) {
		return fmt.Errorf("aggregate: predicted probabilities add up to %g, not 1", sum)
	}
	return nil
}

type prediction struct {
	mechanism *InteractiveGNMax
	votes     []int64 // predicted count of each class
	declined  Answer  // answer to release if the teachers decline
}

func (m *InteractiveGNMax) predict(query uint64, h Histogram) (prediction, error) {
	if err := h.check(); err != nil {
		return prediction{}, err
	}
	probabilities, err := m.cfg.Predict(query)
	if err != nil {
		return prediction{}, err
	}
	if len(probabilities) != h.Classes() {
		return prediction{}, fmt.Errorf("aggregate: a prediction of %d probabilities for %d classes", len(probabilities), h.Classes())
	}
	if err := CheckPrediction(probabilities); err != nil {
		return prediction{}, err
	}
	p := prediction{mechanism: m, votes: make([]int64, len(probabilities)), declined: Answer{Label: NoLabel}}
	best := 0
	for j, x := range probabilities {
		p.votes[j] = int64(math.Round(float64(m.cfg.Teachers) * x))
		if x > probabilities[best] {
			best = j
		}
	}
	if probabilities[best] > m.cfg.Confidence {
		p.declined = Answer{Label: best, Answered: true, Reused: true}
	}
	return p, nil
}

// lead changes by at most 1 if one vote moves.
func (p prediction) lead(counts []int64) int64 {
	lead := counts[0] - p.votes[0]
	for j, n := range counts {
		lead = max(lead, n-p.votes[j])
	}
	return lead
}

func (p prediction) noise() (string, []uint64) {
	_, params := p.mechanism.teachers.noise()
	return "interactive-gnmax", append(params, uint64(p.mechanism.cfg.Teachers))
}

func (p prediction) draw(noise []int64, s *rng.Stream, classes int) []int64 {
	return p.mechanism.teachers.draw(noise, s, classes)
}

func (p prediction) decide(counts, noise []int64) Answer {
	if a := p.mechanism.teachers.answer(counts, noise, p.lead(counts)); a.Answered {
		return a
	}
	return p.declined
}

// Law implements [Mechanism] with the prediction for query 0. LogDeclined is the log probability that the
// teachers do not answer, even if the student answers instead.
func (m *InteractiveGNMax) Law(h Histogram) (Law, error) {
	p, err := m.predict(0, h)
	if err != nil {
		return Law{}, err
	}
	return m.teachers.lawOf(h.counts(), p.lead(h.counts()))
}

func interactiveDescription() Description {
	return Description{
		Name: "interactive", Short: "as gnmax, if the teachers contradict the student", Cost: "as confident",
		Parameters: append(testedParameters("threshold for the largest excess of a count over the predicted count"), Parameter{
			Name: "confidence", Doc: "probability above which a label of the student is used, unless the teachers contradict it",
			Kind: "share", Min: 0, Max: 1, Default: func(int) float64 { return 0.95 }, DefaultDoc: "0.95",
		}),
		New: making(func(s Setting) (*InteractiveGNMax, error) {
			return NewInteractiveGNMax(InteractiveGNMaxConfig{
				Threshold: s.Values["threshold"], Sigma1: s.Values["sigma1"], Sigma2: s.Values["sigma2"], Teachers: s.Teachers,
				Confidence: s.Values["confidence"], Queries: s.Queries, Answers: int(s.Values["answers"]), Predict: s.Predict})
		}),
		Declines: true, Predicts: true,
		Laws: []NamedLaw{{Name: "interactive", Short: "Answer only if the teachers contradict the student", Noise: "discrete"}},
		Audit: Setting{Mechanism: "interactive", Teachers: 10,
			Values:  map[string]float64{"threshold": 2, "sigma1": 3, "sigma2": 2, "confidence": 0.6},
			Predict: func(uint64) ([]float64, error) { return []float64{0.7, 0.2, 0.1}, nil }},
		Neighbours: [2][]int{{8, 2, 0}, {9, 1, 0}},
	}
}
