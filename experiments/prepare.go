package experiments

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/experiments/dataset"
	"github.com/pate-go/pate/experiments/features"
	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/teachers"
)

// Feature sets.
const (
	HOG = "hog" // histograms of oriented gradients, standardised per image
	Raw = "raw" // pixels, or the encoded columns of a table
	// Deskewed and DeskewedHOG straighten each image by its own moments first:
	// right for handwriting, wrong for what has a natural slant, such as shoes.
	Deskewed    = "deskewed"
	DeskewedHOG = "deskewed-hog"
)

// FeatureSets lists the names.
func FeatureSets() []string { return []string{DeskewedHOG, HOG, Deskewed, Raw} }

// minHOG is the smallest image side that gives HOG two cells to block.
const minHOG = 8

func defaultFeatures(t dataset.Task, learner string) string {
	switch {
	case t.Image.Rows > 0 && ofGolearn(learner):
		return Deskewed
	case t.Image.Rows < minHOG || t.Image.Cols < minHOG:
		return Raw
	case t.Name == "mnist":
		return DeskewedHOG
	default:
		return HOG
	}
}

// Extractor returns what computes a feature set; all are per example, so they
// cost no privacy.
func Extractor(name string, shape dataset.Shape) (features.Extractor, error) {
	switch {
	case name == Raw:
		return features.Raw{}, nil
	case shape == dataset.Shape{}:
		return nil, fmt.Errorf("features %q are for images, and these rows are not images; use %q", name, Raw)
	case name == Deskewed:
		return features.Standardize{Of: features.Deskew{}}, nil
	case name == DeskewedHOG:
		return features.Standardize{Of: features.Deskew{Of: features.StandardHOG()}}, nil
	default:
		return features.Standardize{Of: features.StandardHOG()}, nil
	}
}

// prepared is a task with its features.
type prepared struct {
	private, pool, test teachers.Matrix
	classes             int
	public              *student.Pool // what is learned from the pool without labels
	answers             int           // how many a mechanism plans for
}

func prepare(ctx context.Context, c Config) (prepared, error) {
	e, err := Extractor(c.Features, c.Task.Image)
	if err != nil {
		return prepared{}, err
	}
	p := prepared{classes: len(c.Task.Classes)}
	sets := []struct {
		set dataset.Set
		to  *teachers.Matrix
	}{{c.Task.Private, &p.private}, {c.Task.Pool, &p.pool}, {c.Task.Test, &p.test}}
	for i, s := range sets {
		c.Progress(Progress{Stage: "features", Done: i, Total: len(sets)})
		if *s.to, err = features.Apply(ctx, s.set, e, c.Workers); err != nil {
			return prepared{}, fmt.Errorf("experiments: %w", err)
		}
	}
	c.Progress(Progress{Stage: "features", Done: len(sets), Total: len(sets)})
	if p.answers, err = planAnswers(ctx, c, p); err != nil {
		return prepared{}, err
	}
	p.public, err = learnPool(ctx, c, p)
	return p, err
}

// rows copies rows of a matrix.
func rows(x teachers.Matrix, indices []int) teachers.Matrix {
	out := teachers.Matrix{Rows: len(indices), Cols: x.Cols, Stride: x.Cols, Data: make([]float32, len(indices)*x.Cols)}
	for i, r := range indices {
		copy(out.Data[i*x.Cols:(i+1)*x.Cols], x.Data[r*x.Stride:r*x.Stride+x.Cols])
	}
	return out
}

// accuracy is the share of predictions that equal the labels.
func accuracy(predicted, labels []int) float64 {
	right := 0
	for i, y := range labels {
		if predicted[i] == y {
			right++
		}
	}
	return float64(right) / float64(len(labels))
}

// score is the accuracy of what predicts the classes of rows.
func score(predict func(dst []int, x teachers.Matrix) error, x teachers.Matrix, labels []int) (float64, error) {
	predicted := make([]int, x.Rows)
	if err := predict(predicted, x); err != nil {
		return 0, fmt.Errorf("experiments: %w", err)
	}
	return accuracy(predicted, labels), nil
}
