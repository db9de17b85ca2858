package recipe

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/rng"
)

// Models that are named without their widths.
const (
	Linear = "linear" // softmax regression
	CNN    = "cnn"    // the small network of DP-SGD tutorials, on pixels
)

const mlp = "mlp"

// Models returns the names of models, for people.
func Models() []string { return []string{Linear, mlp + ":WIDTH[,WIDTH...]", CNN} }

const maxWidth, maxDepth = 1 << 14, 16

// newModel makes an untrained model. Its start is a function of the key.
func (r Recipe) newModel(s Shape, columns int, key rng.Key) (*nn.Model, error) {
	rnd := rand.New(key.Derive("initial").Stream())
	widths, err := r.widths()
	switch {
	case err != nil:
		return nil, err
	case r.Model == Linear:
		return nn.NewSoftmax(columns, s.Classes)
	case r.Model == CNN && r.Features != features.NamePixels:
		return nil, fmt.Errorf("model %q is for pixels: features %q, not %q", CNN, features.NamePixels, r.Features)
	case r.Model == CNN && s.Image.Rows == 0:
		return nil, fmt.Errorf("model %q is for images, and these rows are not", CNN)
	case r.Model == CNN:
		return nn.NewTutorialCNN(nn.Image(s.Image.Rows, s.Image.Cols, 1), s.Classes, rnd)
	}
	return nn.NewMLP(columns, widths, s.Classes, rnd)
}

// widths returns the widths of the hidden layers of a perceptron, and none of other models.
func (r Recipe) widths() ([]int, error) {
	if r.Model == Linear || r.Model == CNN {
		return nil, nil
	}
	kind, words, given := strings.Cut(r.Model, ":")
	if kind != mlp || !given {
		return nil, fmt.Errorf("model %q is not one of %s", r.Model, strings.Join(Models(), ", "))
	}
	var widths []int
	for _, word := range strings.Split(words, ",") {
		width, err := strconv.Atoi(word)
		if err != nil || width < 1 || width > maxWidth {
			return nil, fmt.Errorf("model %q: width %q must be from 1 to %d", r.Model, word, maxWidth)
		}
		if widths = append(widths, width); len(widths) > maxDepth {
			return nil, fmt.Errorf("model %q: more than %d hidden layers", r.Model, maxDepth)
		}
	}
	return widths, nil
}

// shift is by how many pixels a view is moved at most.
const shift = 2

// trained returns the model as it is trained: on views, if the recipe has them.
func (r Recipe) trained(m *nn.Model, s Shape, key rng.Key) (dpsgd.Model, error) {
	switch {
	case r.Views < 0:
		return nil, fmt.Errorf("%d views of an image", r.Views)
	case r.Views <= 1:
		return m, nil
	case s.Image.Rows <= shift || s.Image.Cols <= shift || r.Features != features.NamePixels:
		return nil, fmt.Errorf("views are of images, and for features %q", features.NamePixels)
	}
	move := dpsgd.Shift{Planes: 1, Rows: s.Image.Rows, Cols: s.Image.Cols, By: shift}
	return dpsgd.Augment(m, r.Views, move, key.Derive("views").Stream().Uint64())
}

// score returns the accuracy of a model on rows and the recall of each class; of no rows 0 and nil.
func score(ctx context.Context, m *nn.Model, x blas32.General, labels []int, classes int) (float64, []float64, error) {
	if x.Rows == 0 {
		return 0, nil, nil
	}
	predicted := make([]int, x.Rows)
	if err := m.Predict(ctx, predicted, x); err != nil {
		return 0, nil, wrapped(err)
	}
	return scores.Accuracy(predicted, labels), scores.Recall(predicted, labels, classes), nil
}

// area returns the area under the receiver operating characteristic of a model of two classes; nil for more
// classes, and where a class has no row.
func area(ctx context.Context, m *nn.Model, x blas32.General, labels []int, classes int) (*float64, error) {
	if classes != 2 {
		return nil, nil
	}
	outputs := dense.New(x.Rows, classes)
	if x.Rows > 0 {
		if err := m.Logits(ctx, outputs, x); err != nil {
			return nil, wrapped(err)
		}
	}
	return scores.AUROC(outputs, labels), nil
}
