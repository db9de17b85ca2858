// Package nn builds models for DP-SGD from layers: dense, convolution, pooling, activations, group
// normalisation. A [Model] is a [dpsgd.Model]. One backward pass computes every example's gradient norm and
// the clipped sum, at nearly the cost of plain SGD. A dense layer needs no gradient per example: the squared
// norm is |g|^2 (|x|^2 + 1), and the sum is one matrix product with scaled rows. A convolution computes each
// gradient in a buffer of the worker, a few examples at a time, and uses it for the norm and for the sum.
//
// # Guarantee
//
// Workers meet the three obligations of [dpsgd.Worker]. Your own layer does so if it passes the tests of
// package nntest: see [Layer] and [Pass].
//
// # Caveats
//
//   - Images are laid out by row, column, channel. For data by channel, row, column, put [FromChannels]
//     first.
//   - Init, or the caller, sets the initial parameters. Parameters of a new model are zero, and from zero
//     only models that are linear in their parameters learn. Parameters learned from private data are
//     private.
//   - An example may count as not finite if its values exceed 2^64 in norm, at the input or between layers,
//     or if the gradients with respect to these values do.
//   - Clipping by group bounds every layer by itself, weights and intercepts together: Groups of [Model] has
//     one group for each layer with parameters.
//   - Predictions, and losses outside training, are exact, without noise: evaluate on public data.
//
// # Use
//
//	model, err := nn.New(nn.Image(28, 28, 1), nn.CrossEntropy,
//		nn.Conv2D{Filters: 16, Kernel: 8, Stride: 2, Padding: 3}, nn.ReLU{},
//		nn.MaxPool{Kernel: 2, Stride: 2},
//		nn.Flatten{}, nn.Dense{Units: 10, Weights: nn.Glorot})
//	model.Init(rand.New(rand.NewPCG(1, 2)))
//	result, err := dpsgd.Train(ctx, model, data, cfg, reservation, key)
package nn
