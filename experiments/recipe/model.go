package recipe

import (
	"encoding/binary"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dpsgd"
)

// model is what is trained and scored.
type model interface {
	dpsgd.Model
	Predict(dst []int, x blas32.General) error
}

// newModel makes an untrained model.
func newModel(name string, columns, classes int) (model, error) {
	if _, err := parseModel(name); err != nil {
		return nil, fmt.Errorf("recipe: %w", err)
	}
	m, err := dpsgd.NewSoftmax(columns, classes)
	if err != nil {
		return nil, fmt.Errorf("recipe: %w", err)
	}
	return m, nil
}

// parameterBytes is what a trained model releases.
func parameterBytes(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

// score is the accuracy of a model on rows.
func score(m model, x blas32.General, labels []int) (float64, error) {
	predicted := make([]int, x.Rows)
	if err := m.Predict(predicted, x); err != nil {
		return 0, fmt.Errorf("recipe: %w", err)
	}
	right := 0
	for i, y := range labels {
		if predicted[i] == y {
			right++
		}
	}
	return float64(right) / float64(len(labels)), nil
}
