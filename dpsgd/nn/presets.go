package nn

import "math/rand/v2"

// NewSoftmax returns softmax regression: logits W x + b with cross-entropy, and all
// parameters zero.
func NewSoftmax(cols, classes int) (*Model, error) {
	return New(Vector(cols), CrossEntropy, Dense{Units: classes, Weights: Zero})
}

// NewMLP returns a perceptron with ReLU after every hidden layer and cross-entropy over
// classes. It draws the initial parameters from rnd.
func NewMLP(cols int, hidden []int, classes int, rnd *rand.Rand) (*Model, error) {
	var layers []Layer
	for _, units := range hidden {
		layers = append(layers, Dense{Units: units}, ReLU{})
	}
	m, err := New(Vector(cols), CrossEntropy, append(layers, Dense{Units: classes, Weights: Glorot})...)
	if err != nil {
		return nil, err
	}
	m.Init(rnd)
	return m, nil
}

// NewTutorialCNN returns the small network for MNIST of the DP-SGD tutorials of TensorFlow
// Privacy and Opacus. It has 26,010 parameters for pictures of 28 x 28 with one channel. It
// draws the initial parameters from rnd.
func NewTutorialCNN(in Shape, classes int, rnd *rand.Rand) (*Model, error) {
	m, err := New(in, CrossEntropy,
		Conv2D{Filters: 16, Kernel: 8, Stride: 2, Padding: 3}, ReLU{}, MaxPool{Kernel: 2, Stride: 1},
		Conv2D{Filters: 32, Kernel: 4, Stride: 2}, ReLU{}, MaxPool{Kernel: 2, Stride: 1},
		Flatten{}, Dense{Units: 32}, ReLU{}, Dense{Units: classes, Weights: Glorot})
	if err != nil {
		return nil, err
	}
	m.Init(rnd)
	return m, nil
}
