package teachers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/teachers/votes"
)

// Matrix is a row-major float32 matrix with one row per example.
type Matrix = blas32.General

// Dataset is labelled data, usually the private data of one teacher. It may have no rows.
type Dataset struct {
	X       Matrix // Rows x Cols features, finite
	Y       []int  // len X.Rows, each in [0, Classes)
	Classes int    // number of classes, at least 2
}

// Learner trains a model on one teacher's data. Package teachers/teachertest checks these rules:
//
//   - Fit may be called by several goroutines at once.
//   - Fit refuses data that [Dataset.Validate] refuses. It neither modifies nor retains data.
//   - All randomness comes from rnd. A learner with other randomness is not [Reproducible].
//   - Fit does not use rnd after it returns.
//   - Fit returns soon after ctx is done, with an error that wraps ctx.Err().
//   - Empty data are no error: the model always predicts class 0. Data of one class give a model that always
//     predicts this class.
type Learner interface {
	Fit(ctx context.Context, data Dataset, rnd *rand.Rand) (Classifier, error)
}

// Classifier is a trained model.
type Classifier interface {
	// Predict sets dst[i] to the class of row i of x, or to -1 for an abstention. Predict must first return
	// any error of [ValidateQueries]. Predict must not modify or retain x. Calls may be concurrent.
	Predict(dst []int, x Matrix) error
}

// Scorer is an optional interface of a [Classifier]. Predict must return the class with the largest score.
type Scorer interface {
	// Scores sets dst to one row of scores per row of x, with one column per class. The scale of scores
	// depends on the kind of classifier.
	Scores(dst Matrix, x Matrix) error
}

// Reproducible is an optional interface of a [Learner]. If Reproducible returns true, equal data and random
// streams give equal predictions on one machine and build.
type Reproducible interface {
	Reproducible() bool
}

// Validate refuses fewer than 2 or more than [votes.MaxClasses] classes, and labels outside [0, Classes). The
// matrix X must pass [CheckMatrix], and Y must have one label per row.
func (d Dataset) Validate() error {
	switch {
	case d.Classes < 2 || d.Classes > votes.MaxClasses:
		return fmt.Errorf("teachers: Classes is %d, want 2 to %d", d.Classes, votes.MaxClasses)
	case len(d.Y) != d.X.Rows:
		return fmt.Errorf("teachers: %d labels for %d rows", len(d.Y), d.X.Rows)
	}
	if err := CheckMatrix(d.X); err != nil {
		return err
	}
	if i := slices.IndexFunc(d.Y, func(y int) bool { return y < 0 || y >= d.Classes }); i >= 0 {
		return fmt.Errorf("teachers: label %d outside [0, %d)", d.Y[i], d.Classes)
	}
	return nil
}

// ValidateQueries returns an error unless x.Cols = features, len(dst) = x.Rows and x passes [CheckMatrix]. A
// [Classifier] must return this error.
func ValidateQueries(dst []int, x Matrix, features int) error {
	if len(dst) != x.Rows {
		return fmt.Errorf("teachers: %d places for the classes of %d rows", len(dst), x.Rows)
	}
	return checkQueries(x, features)
}

func checkQueries(x Matrix, features int) error {
	if x.Cols != features {
		return fmt.Errorf("teachers: %d features, the model was trained on %d", x.Cols, features)
	}
	return CheckMatrix(x)
}

// CheckMatrix refuses a matrix without columns, with too little data for its rows and stride, or with NaN or
// infinite features. A matrix may have no rows.
func CheckMatrix(m Matrix) error {
	if err := dense.Check(m); err != nil {
		return fmt.Errorf("teachers: %w", err)
	}
	if i := dense.NotFinite(m); i >= 0 {
		return fmt.Errorf("teachers: feature is NaN or infinite (row %d)", i)
	}
	return nil
}

type constant struct{ ScoreModel }

// Constant returns the constant classifier (see [Learner]) if valid data have fewer than two classes.
// Otherwise ok is false.
func Constant(data Dataset) (c Classifier, ok bool) {
	class := 0
	if len(data.Y) > 0 {
		class = data.Y[0]
	}
	if slices.ContainsFunc(data.Y, func(y int) bool { return y != class }) {
		return nil, false
	}
	return &constant{ScoreModel{
		Name: "teachers", Features: data.X.Cols, Classes: data.Classes, Present: []int{class},
		Score: func(dst, _ Matrix) error {
			for i := range dst.Rows {
				dense.Row(dst, i)[0] = 1
			}
			return nil
		},
	}}, true
}

// begin returns the constant model for data with fewer than two classes, and nil for other valid data.
func begin(ctx context.Context, kind string, data Dataset) (Classifier, error) {
	if err := data.Validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("teachers: %s: %w", kind, err)
	}
	c, _ := Constant(data)
	return c, nil
}

func (c *constant) Plain() *plain.Model {
	return &plain.Model{Constant: &plain.Constant{Class: c.Present[0]}}
}

func (m *softmaxModel) Plain() *plain.Model {
	return &plain.Model{Linear: &plain.Linear{
		Classes: slices.Clone(m.Present), Bias: plain.Wide(m.bias),
		Weights: plain.Widen(m.w.Data, m.w.Rows, m.w.Cols, m.w.Stride),
	}}
}

// Plain maps each score s to (s+1)/2.
func (m *kernelModel) Plain() *plain.Model {
	n := m.x.Rows
	k := &plain.Kernel{
		Classes: slices.Clone(m.Present), Gamma: float64(m.rbf.Gamma), Landmarks: plain.Widen(m.x.Data, n, m.x.Cols, m.x.Stride),
		Coefficients: make([][]float64, n), Intercept: make([]float64, len(m.Present)),
	}
	for i := range n {
		k.Coefficients[i] = make([]float64, len(m.Present))
		for c := range m.Present {
			k.Coefficients[i][c] = float64(m.coef.Data[c*m.coef.Stride+i]) / 2
		}
	}
	for c := range k.Intercept {
		k.Intercept[c] = .5
	}
	return &plain.Model{Kernel: k}
}

// ScoreModel makes a [Classifier] and [Scorer] from the function Score. It checks queries, and predicts the
// class with the largest score. In a tie, the lowest class wins.
type ScoreModel struct {
	Name              string // package name, for errors
	Features, Classes int
	Present           []int   // class of each score, ascending
	Absent            float32 // score of classes that are missing from the training data
	Rows              int     // maximum number of queries per call of Score; 0 means 256
	// Score sets one row of dst for each query. The row contains a score for each class in Present.
	Score func(dst, x Matrix) error
}

func (m *ScoreModel) Predict(dst []int, x Matrix) error {
	if err := ValidateQueries(dst, x, m.Features); err != nil {
		return err
	}
	return m.predict(dst, x)
}

func (m *ScoreModel) predict(dst []int, x Matrix) error {
	return m.blocks(x, func(i int, scores []float32) { dst[i] = m.Present[dense.Argmax(scores)] })
}

// Scores sets dst to the scores of all classes. Classes that are missing from Present get the score Absent.
func (m *ScoreModel) Scores(dst, x Matrix) error {
	if err := checkScores(m.Name, dst, x, m.Classes, m.Features); err != nil {
		return err
	}
	return m.blocks(x, func(i int, scores []float32) {
		out := dense.Row(dst, i)
		for c := range out {
			out[c] = m.Absent
		}
		for k, v := range scores {
			out[m.Present[k]] = v
		}
	})
}

func (m *ScoreModel) blocks(x Matrix, use func(i int, scores []float32)) error {
	rows := min(cmp.Or(m.Rows, 256), x.Rows)
	work := dense.New(rows, len(m.Present))
	for from := 0; from < x.Rows; from += rows {
		to := min(from+rows, x.Rows)
		block := dense.Rows(work, 0, to-from)
		if err := m.Score(block, dense.Rows(x, from, to)); err != nil {
			return err
		}
		for i := from; i < to; i++ {
			use(i, dense.Row(block, i-from))
		}
	}
	return nil
}

func checkScores(name string, dst, x Matrix, classes, features int) error {
	if dst.Rows != x.Rows || dst.Cols != classes || dense.Check(dst) != nil {
		return fmt.Errorf("%s: scores of %d rows and %d classes do not fit into %d x %d", name, x.Rows, classes, dst.Rows, dst.Cols)
	}
	return checkQueries(x, features)
}

func softmaxRow(v []float32) {
	top := v[dense.Argmax(v)]
	var sum float64
	for i, x := range v {
		e := math.Exp(float64(x - top))
		v[i] = float32(e)
		sum += e
	}
	scale := float32(1 / sum)
	for i := range v {
		v[i] *= scale
	}
}
