package nntest_test

import (
	"fmt"
	"testing"

	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/dpsgd/nn/nntest"
)

func TestLayersOfNN(t *testing.T) {
	for _, c := range []struct {
		layer nn.Layer
		in    nn.Shape
	}{
		{nn.Dense{Units: 3}, nn.Vector(5)},
		{nn.Dense{Units: 40, Weights: nn.Glorot}, nn.Vector(33)},
		{nn.Conv2D{Filters: 3, Kernel: 3, Stride: 1, Padding: 1}, nn.Image(5, 4, 2)},
		{nn.Conv2D{Filters: 5, Kernel: 4, Stride: 3}, nn.Image(8, 9, 1)},
		{nn.Conv2D{Filters: 2, Kernel: 5, Stride: 2, Padding: 3}, nn.Image(6, 6, 3)},
		{nn.MaxPool{Kernel: 2, Stride: 1}, nn.Image(5, 6, 3)},
		{nn.MaxPool{Kernel: 3, Stride: 2}, nn.Image(7, 7, 2)},
		{nn.AveragePool{Kernel: 2, Stride: 2}, nn.Image(6, 4, 3)},
		{nn.AveragePool{Kernel: 3, Stride: 1}, nn.Image(4, 4, 1)},
		{nn.ReLU{}, nn.Vector(9)},
		{nn.Tanh{}, nn.Image(2, 3, 2)},
		{nn.GroupNorm{Groups: 2}, nn.Image(3, 2, 4)},
		{nn.GroupNorm{Groups: 1}, nn.Vector(6)},
		{nn.GroupNorm{Groups: 3}, nn.Image(2, 2, 3)},
		{nn.Flatten{}, nn.Image(2, 3, 2)},
		{nn.FromChannels{Shape: nn.Image(2, 3, 4)}, nn.Vector(24)},
	} {
		t.Run(fmt.Sprintf("%v of %v", c.layer, c.in), func(t *testing.T) { nntest.TestLayer(t, c.layer, c.in) })
	}
}
