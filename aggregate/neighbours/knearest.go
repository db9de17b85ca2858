package neighbours

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/rng"
)

// KNearestConfig holds the parameters of private k-NN. No parameter has a default.
type KNearestConfig struct {
	Neighbours          int     // number of nearest units that vote; >= 1
	SamplingProbability float64 // of each unit in each question's sample; [2^-64, 1]
	Sigma               float64 // standard deviation of the noise on each count, in votes
	Questions           int     // number of questions; all are charged; >= 1
}

// KNearest draws a Poisson sample of the units for each question. The nearest units in the sample vote on the
// label. The answer is the noisy argmax of the votes.
type KNearest struct {
	cfg    KNearestConfig
	noise  *rng.DiscreteGaussian
	sample rng.Bernoulli
}

// NewKNearest returns the mechanism for cfg.
func NewKNearest(cfg KNearestConfig) (*KNearest, error) {
	switch q := cfg.SamplingProbability; {
	case cfg.Neighbours < 1:
		return nil, fmt.Errorf("neighbours: Neighbours must be at least 1, not %d", cfg.Neighbours)
	case cfg.Questions < 1:
		return nil, fmt.Errorf("neighbours: Questions must be at least 1, not %d", cfg.Questions)
	case !(q >= 0x1p-64 && q <= 1):
		return nil, fmt.Errorf("neighbours: SamplingProbability must be in [2^-64, 1], not %v", q)
	}
	noise, err := rng.NewDiscreteGaussian(cfg.Sigma)
	if err != nil {
		return nil, fmt.Errorf("neighbours: Sigma: %w", err)
	}
	return &KNearest{cfg, noise, rng.NewBernoulli(cfg.SamplingProbability)}, nil
}

// Event returns the event to charge for all questions together. Neighbours differ by one added or removed
// unit.
func (m *KNearest) Event() accountant.Event {
	return accountant.Repeated{
		Event: accountant.PoissonSampled{
			Probability: m.cfg.SamplingProbability,
			Event:       accountant.GNMax{Sigma: m.noise.Sigma(), Discrete: true},
		},
		Count: int64(m.cfg.Questions),
	}
}

const questionsAtOnce = 32

// Release returns the label of every question. It fails if r was used before, has an event other than
// m.Event(), or a relation other than add_remove. Equal keys, ledger entries, rows and questions give equal
// labels.
func (m *KNearest) Release(ctx context.Context, r *ledger.Reservation, key rng.Key, private Rows, questions blas32.General) ([]int, error) {
	if err := private.check(questions); err != nil {
		return nil, err
	}
	if questions.Rows != m.cfg.Questions {
		return nil, fmt.Errorf("neighbours: %d questions were given, but %d were charged", questions.Rows, m.cfg.Questions)
	}
	key, err := begin(r, key, m.Event(), "k nearest", uint64(m.cfg.Neighbours), math.Float64bits(m.cfg.SamplingProbability),
		math.Float64bits(m.noise.Sigma()), uint64(m.cfg.Questions))
	if err != nil {
		return nil, err
	}
	noise := draw(key, m.noise, m.cfg.Questions, private.Classes) // before any row is read
	labels := make([]int, questions.Rows)
	err = m.each(ctx, key, private, questions, func(q int, votes []int) {
		noisy := noise[q*private.Classes : (q+1)*private.Classes]
		for class, v := range votes {
			noisy[class] += int64(v)
		}
		labels[q] = dense.Argmax(noisy)
	})
	if err != nil {
		return nil, err
	}
	return labels, nil
}

func (m *KNearest) each(ctx context.Context, key rng.Key, private Rows, questions dense.Matrix, use func(question int, votes []int)) error {
	g := private.group()
	batches := (questions.Rows + questionsAtOnce - 1) / questionsAtOnce
	parallel.Each(0, batches, func(_, batch int) {
		first := batch * questionsAtOnce
		p := newPanel(dense.Rows(questions, first, min(first+questionsAtOnce, questions.Rows)), first)
		places, streams := make([]nearest, p.rows()), make([]*rng.Stream, p.rows())
		for q := range places {
			places[q].reset(m.cfg.Neighbours)
			streams[q] = key.Derive("sample", uint64(first+q)).Stream()
		}
		b := newBlock(p.rows())
		turned, marks := make([]float32, p.rows()*unitsAtOnce), make([]byte, unitsAtOnce/8)
		for from := 0; from < g.units(); from += unitsAtOnce {
			if ctx.Err() != nil {
				return
			}
			to := min(from+unitsAtOnce, g.units())
			first, units, largest := g.starts[from], to-from, 0.
			single := g.starts[to]-first == units // every unit has one row
			if single {
				b.multiply(p, g, first, first+units)
				kernel.Transpose(turned, units, b.products, p.rows(), units, p.rows())
				largest = largestOf(g.norms[first : first+units])
			} else {
				b.measure(p, g, from, to)
			}
			for q := range places {
				kept := &places[q]
				for u := 0; u < units; u += 8 {
					marks[u/8] = m.sample.Eight(streams[q], units-u)
				}
				if single {
					kept.offerSample(p, q, turned[q*units:(q+1)*units], g, first, largest, marks)
					continue
				}
				for u := range units {
					at := u*p.rows() + q
					if d := b.distance[at]; marks[u/8]>>(u%8)&1 == 1 && !kept.beyond(d) {
						kept.offer(near{d, b.label[at], from + u})
					}
				}
			}
		}
		votes := make([]int, private.Classes)
		for q, kept := range places {
			clear(votes)
			for _, n := range kept.first() {
				votes[n.label]++
			}
			use(first+q, votes)
		}
	})
	return ctx.Err()
}

// begin uses up the reservation and returns the key for the noise. The key depends on the ledger entry, the
// mechanism and the parameters, so two charges never share noise.
func begin(r *ledger.Reservation, key rng.Key, e accountant.Event, name string, params ...uint64) (rng.Key, error) {
	if key.IsZero() {
		return key, errors.New("neighbours: zero Key: make one with rng.NewKey or rng.SeedKey")
	}
	if err := r.Begin(e, ledger.Use{Relation: accountant.AddRemove, Secret: key.Releasable()}); err != nil {
		return key, fmt.Errorf("neighbours: %w", err)
	}
	return key.Derive("entry", uint64(r.Entry())).Derive(name, params...), nil
}

func draw(key rng.Key, law *rng.DiscreteGaussian, questions, classes int) []int64 {
	noise := make([]int64, questions*classes)
	const part = 256 // number of questions per random stream
	parallel.Each(0, (questions+part-1)/part, func(_, p int) {
		s := key.Derive("noise", uint64(p)).Stream()
		for i := p * part * classes; i < min((p+1)*part, questions)*classes; i++ {
			noise[i] = law.Sample(s)
		}
	})
	return noise
}
