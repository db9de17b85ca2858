package teachers

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/rng"
)

// DPSGD is softmax regression by DP-SGD. It simulates silos with private models. Each teacher has its own
// ledger in memory, with budget Epsilon and Delta, because the teachers' training data are disjoint.
//
// The votes cost as much as with other learners, because training noise does not reduce the cost of
// aggregation. If the data are empty or have one class, the model is constant and untrained. All random keys
// come from the teacher's random stream. So the learner is Reproducible, but its models have no privacy
// guarantee. [Train] drops the models after voting.
type DPSGD struct {
	// Config configures the training. Workers is by default 1, because teachers train in parallel.
	Config dpsgd.Config
	// Epsilon and Delta are the budget of one teacher for adding or removing a record. Fit refuses a training
	// that exceeds the budget. If Config.NonPrivate is set, Fit ignores the budget.
	Epsilon, Delta float64
}

func (DPSGD) Reproducible() bool { return true }

func (l DPSGD) Fit(ctx context.Context, data Dataset, rnd *rand.Rand) (Classifier, error) {
	cfg := l.Config
	cfg.Workers = cmp.Or(cfg.Workers, 1)
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("teachers: DP-SGD: %w", err)
	}
	if c, err := begin(ctx, "DP-SGD", data); c != nil || err != nil {
		return c, err
	}
	model, err := nn.NewSoftmax(data.X.Cols, data.Classes)
	if err != nil {
		return nil, fmt.Errorf("teachers: DP-SGD: %w", err)
	}
	reservation, err := l.reserve(cfg)
	if err != nil {
		return nil, fmt.Errorf("teachers: DP-SGD: %w", err)
	}
	// A seeded key suffices because the model is never released.
	key := rng.SeedKey(rnd.Uint64())
	if _, err := dpsgd.Train(ctx, model, dpsgd.Data{X: data.X, Y: data.Y}, cfg, reservation, key); err != nil {
		return nil, fmt.Errorf("teachers: DP-SGD: %w", err)
	}
	return &dpsgdModel{model: model, features: data.X.Cols, classes: data.Classes}, nil
}

func (l DPSGD) reserve(cfg dpsgd.Config) (*ledger.Reservation, error) {
	if cfg.NonPrivate {
		return nil, nil
	}
	budget, err := ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: l.Epsilon, Delta: l.Delta})
	if err != nil {
		return nil, err
	}
	return budget.Reserve(cfg.Event())
}

type dpsgdModel struct {
	model             *nn.Model
	features, classes int
}

func (m *dpsgdModel) Predict(dst []int, x Matrix) error {
	if err := ValidateQueries(dst, x, m.features); err != nil || x.Rows == 0 {
		return err
	}
	return m.model.Predict(context.Background(), dst, dpsgd.Data{X: x})
}

func (m *dpsgdModel) Scores(dst, x Matrix) error {
	if err := checkScores("teachers", dst, x, m.classes, m.features); err != nil || x.Rows == 0 {
		return err
	}
	return m.model.Logits(context.Background(), dst, dpsgd.Data{X: x})
}
