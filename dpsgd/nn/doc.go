// Package nn builds models for DP-SGD from layers: dense, convolution, pooling, activation and group
// normalisation. A [Model] is a [dpsgd.Model]. One backward pass computes the gradient norm of every example
// and the sum of the clipped gradients, at nearly the cost of plain SGD.
//
// # Guarantee
//
// Workers satisfy the three obligations of [dpsgd.Worker]. Check your own [Layer] with package nntest.
//
// # Caveats
//
//   - The values of an image are ordered by row, column, channel. If your data are ordered by channel, row,
//     column, start the model with [FromChannels].
//   - The parameters of a new model are zero. Only models that are linear in their parameters can be trained
//     from zero parameters. For other models call Init or set the parameters, but not from private data.
//   - If the values of an example at a layer have a norm above 2^64, the example may count as not finite. The
//     gradient of the example's loss with respect to these values has the same limit, 2^64.
//   - Clipping by group bounds every layer separately. The weights and intercepts of a layer form one group.
//   - Predictions, and losses outside training, are exact and have no noise. Evaluate on public data.
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
