package trees

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// Booster is gradient boosting on histograms. Each round adds one regression
// tree for every class that the share has (one tree in all for two classes),
// fitted to the gradient and the curvature of the multinomial loss, on a part
// of the rows and columns. Classes that the share does not have are never
// answered.
type Booster struct {
	Rounds  int     // 0 means 100
	Rate    float64 // each tree is added times this; 0 means 0.1
	Depth   int     // of a tree; 0 means 4
	MinLeaf int     // rows of a leaf; 0 means 5
	L2      float64 // penalty on leaf values, in units of curvature; 0 means 1
	Rows    float64 // part of the rows drawn for a round; 0 means 0.8
	Columns float64 // part of the columns drawn for a tree; 0 means 0.5
	Bins    int     // of a column, 2 to 256; 0 means 64
}

// Reproducible says that fits repeat themselves.
func (Booster) Reproducible() bool { return true }

func (l Booster) withDefaults() (Booster, error) {
	if l.Rounds < 0 || l.Depth < 0 || l.MinLeaf < 0 {
		return l, fmt.Errorf("trees: Booster has a negative field: Rounds %d, Depth %d, MinLeaf %d", l.Rounds, l.Depth, l.MinLeaf)
	}
	for _, f := range []struct {
		name     string
		value    *float64
		standard float64
		most     float64
	}{{"Rate", &l.Rate, 0.1, 1}, {"L2", &l.L2, 1, math.MaxFloat32}, {"Rows", &l.Rows, 0.8, 1}, {"Columns", &l.Columns, 0.5, 1}} {
		if *f.value == 0 {
			*f.value = f.standard
		}
		if !(*f.value > 0 && *f.value <= f.most) {
			return l, fmt.Errorf("trees: Booster.%s is %v, want a positive number up to %g", f.name, *f.value, f.most)
		}
	}
	for _, f := range []struct {
		value    *int
		standard int
	}{{&l.Rounds, 100}, {&l.Depth, 4}, {&l.MinLeaf, 5}} {
		if *f.value == 0 {
			*f.value = f.standard
		}
	}
	var err error
	l.Bins, err = binsOrDefault("Booster", l.Bins, 64)
	return l, err
}

// Fit adds the trees. See [teachers.Learner].
func (l Booster) Fit(ctx context.Context, data teachers.Dataset, rnd *rand.Rand) (teachers.Classifier, error) {
	l, err := l.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := data.Validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("trees: booster: %w", err)
	}
	if c, ok := teachers.Constant(data); ok {
		return c, nil
	}
	bins, err := newBinned(ctx, data.X, l.Bins)
	if err != nil {
		return nil, fmt.Errorf("trees: booster: %w", err)
	}
	present, index := dense.Present[int32](data.Y, data.Classes)
	m := &booster{ensemble: ensemble{features: data.X.Cols, classes: data.Classes, present: present}}
	if err := newBoosting(m, l, data.X, bins, index).run(ctx, rnd); err != nil {
		return nil, fmt.Errorf("trees: booster: %w", err)
	}
	return m, nil
}

// booster is a fitted Booster. It has a logit for each class present, or for
// two classes one, that of the second against the first. Trees take turns:
// tree t is for logit t modulo their number.
type booster struct {
	ensemble
	prior []float32 // of each logit
}

func (m *booster) score(scores, x []float32) {
	logits := scores[:len(m.prior)]
	copy(logits, m.prior)
	for t, root := range m.roots {
		logits[t%len(logits)] += walk(m.nodes, root, x).at
	}
	if len(logits) == 1 {
		scores[0], scores[1] = 0, scores[0]
	}
	probabilities(scores)
}

// probabilities replaces logits.
func probabilities(v []float32) {
	top := v[0]
	for _, x := range v {
		top = max(top, x)
	}
	var sum float64
	for k, x := range v {
		e := math.Exp(float64(x - top))
		v[k] = float32(e)
		sum += e
	}
	for k := range v {
		v[k] = float32(float64(v[k]) / sum)
	}
}

// Predict answers the most probable class; see [teachers.Classifier].
func (m *booster) Predict(dst []int, x teachers.Matrix) error { return m.predict(dst, x, m.score) }

// Scores gives the model's probabilities; see [teachers.Scorer].
func (m *booster) Scores(dst, x teachers.Matrix) error { return m.scores(dst, x, m.score) }
