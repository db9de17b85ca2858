//go:build cgo

package golearn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/sjwhitworth/golearn/base"
	"github.com/sjwhitworth/golearn/knn"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// NewKNN returns a learner that predicts the most frequent class among the nearest neighbours, by Euclidean
// distance on the pooled features. With fewer training rows than neighbours, all rows vote. The model
// contains its training data. Without cgo, the error is [ErrNeedsCgo].
func NewKNN(neighbours int, pool Pooling) (teachers.Learner, error) {
	if neighbours < 1 {
		return nil, fmt.Errorf("golearn: %d neighbours, want at least 1", neighbours)
	}
	return knnLearner{neighbours: neighbours, pool: pool}, nil
}

type knnLearner struct {
	neighbours int
	pool       Pooling
}

func (l knnLearner) Fit(ctx context.Context, data teachers.Dataset, _ *rand.Rand) (teachers.Classifier, error) {
	return fit(ctx, "nearest neighbours", data, l.pool, func(pooled teachers.Dataset) (teachers.Classifier, error) {
		m := &knnModel{pool: l.pool, features: data.X.Cols, pooled: pooled.X.Cols, class: labels(data.Classes)}
		for j := range m.pooled {
			m.attributes = append(m.attributes, base.NewFloatAttribute(strconv.Itoa(j)))
		}
		share, err := m.instances(pooled.X, pooled.Y)
		if err != nil {
			return nil, err
		}
		m.model = knn.NewKnnClassifier("euclidean", "linear", min(l.neighbours, data.X.Rows))
		return m, m.model.Fit(share)
	})
}

type knnModel struct {
	pool             Pooling
	features, pooled int
	class            *base.CategoricalAttribute // all labels are registered, so goroutines only read it
	attributes       []base.Attribute
	model            *knn.KNNClassifier
}

func (m *knnModel) instances(x teachers.Matrix, y []int) (*base.DenseInstances, error) {
	const floats, class = "floats", "class"
	out := base.NewDenseInstances()
	for _, group := range []string{floats, class} {
		if err := out.CreateAttributeGroup(group, 8); err != nil {
			return nil, err
		}
	}
	specs := make([]base.AttributeSpec, m.pooled)
	for j, attribute := range m.attributes {
		var err error
		if specs[j], err = out.AddAttributeToAttributeGroup(attribute, floats); err != nil {
			return nil, err
		}
	}
	classSpec, err := out.AddAttributeToAttributeGroup(m.class, class)
	if err != nil {
		return nil, err
	}
	if err := out.AddClassAttribute(m.class); err != nil {
		return nil, err
	}
	if err := out.Extend(x.Rows); err != nil {
		return nil, err
	}
	for i := range x.Rows {
		for j, v := range dense.Row(x, i) {
			out.Set(specs[j], i, base.PackFloatToBytes(float64(v)))
		}
		if y != nil {
			out.Set(classSpec, i, m.class.GetSysVal(strconv.Itoa(y[i])))
		}
	}
	return out, nil
}

func (m *knnModel) Predict(dst []int, x teachers.Matrix) (err error) {
	if err := teachers.ValidateQueries(dst, x, m.features); err != nil {
		return err
	}
	if x.Rows == 0 {
		return nil
	}
	defer catch("nearest neighbours", &err)
	queries, err := m.instances(m.pool.matrix(x, m.pooled), nil)
	if err != nil {
		return fmt.Errorf("golearn: nearest neighbours: %w", err)
	}
	answers, err := m.model.Predict(queries)
	if err != nil {
		return fmt.Errorf("golearn: nearest neighbours: %w", err)
	}
	for i := range dst {
		if dst[i], err = strconv.Atoi(base.GetClass(answers, i)); err != nil {
			return fmt.Errorf("golearn: nearest neighbours answer no class: %w", err)
		}
	}
	return nil
}
