package golearn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/sjwhitworth/golearn/naive"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/teachers"
)

// BernoulliNB is naive Bayes on binary features with Laplace smoothing. The class frequencies of the training
// data are the prior.
type BernoulliNB struct {
	Threshold float64 // a feature is present if it exceeds this public constant, in feature units; may be 0
	Pool      Pooling // applied before the threshold
}

// Fit counts features and classes. It does not use the random stream (see [teachers.Learner]).
func (l BernoulliNB) Fit(ctx context.Context, data teachers.Dataset, _ *rand.Rand) (teachers.Classifier, error) {
	if err := checkThreshold("BernoulliNB", l.Threshold); err != nil {
		return nil, err
	}
	return fit(ctx, "naive Bayes", data, l.Pool, func(pooled teachers.Dataset) (teachers.Classifier, error) {
		instances, err := binary(pooled, all(pooled.X.Rows), all(pooled.X.Cols), l.Threshold)
		if err != nil {
			return nil, err
		}
		model := naive.NewBernoulliNBClassifier()
		if err := model.Fit(instances); err != nil {
			return nil, err
		}
		return &bernoulliModel{BernoulliNB: l, model: model, features: data.X.Cols, pooled: pooled.X.Cols}, nil
	})
}

func checkThreshold(learner string, threshold float64) error {
	if !mathx.IsFinite(threshold) {
		return fmt.Errorf("golearn: %s.Threshold is %v", learner, threshold)
	}
	return nil
}

type bernoulliModel struct {
	BernoulliNB
	model            *naive.BernoulliNBClassifier
	features, pooled int
}

func (m *bernoulliModel) Predict(dst []int, x teachers.Matrix) (err error) {
	if err := teachers.ValidateQueries(dst, x, m.features); err != nil {
		return err
	}
	defer catch("naive Bayes", &err)
	absent, present := []byte{0}, []byte{1}
	pooled := make([]float32, m.pooled)
	vector := make([][]byte, m.pooled+1)
	vector[m.pooled] = present // alwaysOn has probability 1 in every class and adds log 1 = 0
	for i := range dst {
		m.Pool.apply(pooled, dense.Row(x, i))
		for j, v := range pooled {
			vector[j] = absent
			if float64(v) > m.Threshold {
				vector[j] = present
			}
		}
		class, err := strconv.Atoi(m.model.PredictOne(vector))
		if err != nil {
			return fmt.Errorf("golearn: naive Bayes answers no class: %w", err)
		}
		dst[i] = class
	}
	return nil
}
