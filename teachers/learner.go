package teachers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers/votes"
)

// Matrix is a row-major float32 matrix, one row per example.
type Matrix = blas32.General

// Dataset is labelled data, usually one teacher's private share. It may have no rows:
// shares are as large as the keyed hash makes them.
type Dataset struct {
	X       Matrix // Rows x Cols features, finite
	Y       []int  // len X.Rows, each in [0, Classes)
	Classes int    // number of classes, at least 2
}

// Learner trains a model on one share. It is called from several goroutines at once, with
// different data. It must obey the following, and the kit in teachers/teachertest checks
// it.
//
//   - It refuses data that [Dataset.Validate] refuses.
//   - It neither modifies nor retains data: the model owns copies of what it needs.
//   - All randomness comes from rnd, so that a teacher depends on its share and its own
//     stream and on nothing else. It must not use rnd after Fit returns. A learner that
//     draws from elsewhere must not say that it is [Reproducible].
//   - Fit returns soon after ctx is done, with an error that wraps ctx.Err().
//   - An empty share is no error: the model answers class 0 on everything. A share of a
//     single class gives a model that answers that class.
type Learner interface {
	Fit(ctx context.Context, data Dataset, rnd *rand.Rand) (Classifier, error)
}

// Classifier is a trained model.
type Classifier interface {
	// Predict writes the class of row i of x to dst[i]. It refuses, before it writes, what
	// [ValidateQueries] refuses. It neither modifies nor retains x. Calls may be
	// concurrent. A class of -1 is an abstention.
	Predict(dst []int, x Matrix) error
}

// Scorer is the optional ability of a [Classifier] to say how strongly it supports every
// class. Predict answers the class with the largest score.
type Scorer interface {
	// Scores writes a row of scores, one per class, for every row of x. The matrix dst is
	// x.Rows x Classes. The scale of scores is the classifier's own.
	Scores(dst Matrix, x Matrix) error
}

// Reproducible is the optional ability of a [Learner] to repeat itself. If Reproducible
// returns true, the same data and the same random stream give a model with the same
// answers, on the same machine and build.
type Reproducible interface {
	Reproducible() bool
}

var errNonFinite = errors.New("teachers: feature is NaN or infinite")

// Validate returns an error for a malformed matrix, features that are NaN or infinite, a
// label outside [0, Classes), fewer than 2 or more than [votes.MaxClasses] classes, and a
// number of labels that differs from the number of rows.
func (d Dataset) Validate() error {
	if d.Classes < 2 || d.Classes > votes.MaxClasses {
		return fmt.Errorf("teachers: Classes is %d, want 2 to %d", d.Classes, votes.MaxClasses)
	}
	if len(d.Y) != d.X.Rows {
		return fmt.Errorf("teachers: %d labels for %d rows", len(d.Y), d.X.Rows)
	}
	if err := CheckMatrix(d.X); err != nil {
		return err
	}
	for _, y := range d.Y {
		if y < 0 || y >= d.Classes {
			return fmt.Errorf("teachers: label %d outside [0, %d)", y, d.Classes)
		}
	}
	return nil
}

// ValidateQueries returns an error for what no [Classifier] trained on the given number of
// features may accept: another number of columns, another length of dst than x has rows, a
// malformed matrix, NaN and infinite features.
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

// CheckMatrix returns an error for a matrix without columns, for one whose data are too few
// for its rows and stride, and for features that are NaN or infinite. A matrix may have no
// rows.
func CheckMatrix(m Matrix) error {
	if err := dense.Check(m); err != nil {
		return fmt.Errorf("teachers: %w", err)
	}
	if i := dense.NotFinite(m); i >= 0 {
		return fmt.Errorf("%w (row %d)", errNonFinite, i)
	}
	return nil
}
