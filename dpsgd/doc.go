// Package dpsgd trains a model by differentially private stochastic gradient descent (DP-SGD). Added noise
// bounds what all iterates together reveal about one record.
//
// A step works as follows, for data of n records:
//
//  1. Every record joins the batch independently with probability q, or by another scheme of [Sampling].
//  2. The gradient g of each record is scaled by min(1, C/|g|), where C is the clip norm.
//  3. The clipped gradients are summed on an integer grid, and exact discrete Gaussian noise is added. The
//     standard deviation of the noise is just above NoiseMultiplier times C.
//  4. The noisy sum is divided by the expected batch size q n, never by the actual batch size. The update
//     rule uses the quotient as the gradient.
//
// A gradient that is not finite counts as zero. [Config] also selects update rules (package
// [github.com/pate-go/pate/dpsgd/optim]), schedules of the learning rate and the noise, other ways of
// clipping, and averages of iterates. [Augment] trains on several views of every record. [Sum] releases a
// single sum of all contributions, for example for a private mean.
//
// Memory does not limit the batch size. Besides the model, training needs twelve bytes per parameter and
// goroutine, the optimizer state, and a few 64-bit words per record.
//
// # Guarantee
//
// [Config.Event] covers the sequence of all iterates. For Poisson batches the event is Steps adaptive
// repetitions of a Poisson-sampled Gaussian mechanism (Abadi et al. 2016, Algorithm 1). Neighbouring data
// sets differ by one added or removed record. With adaptive clipping the event also covers the noisy count of
// unclipped records. Learning rates, update rules and averages only process released values. Event does not
// cover a replaced record, which costs more.
//
// [Train] needs a ledger reservation for exactly this event, and charges it before step 0. Each privacy unit
// of the ledger must be one record. A record is one row, or with Data.Ends all rows of the unit.
//
// The guarantee holds for the floating-point computation, not only for real numbers. The noise covers the
// effect of rounding. This makes the noise at most 0.2 % larger (0.3 % above 65,536 parameters). The proof is
// in the comment on type grid. Sampling uses the exact binary value of the sampling probability. The noise
// comes from an exact sampler. With and without sampling, the Rényi divergences at integer orders equal the
// divergences of the continuous Gaussian. At other orders the difference is below 2^-1000. For accountants
// that use privacy loss distributions, see Caveats.
//
// # Sampling
//
// Two schemes of [Sampling] divide the run into epochs of t steps. In random allocation every record joins k
// steps of each epoch. In the balls-in-bins scheme every record joins one of t batches, and all epochs use
// the same batches. The steps of a record are drawn independently of all other records, so batch sizes are
// random.
//
// The scheme [Cyclic] correlates the noise of different steps (banded matrix factorisation, Choquette-Choo et
// al. 2023). Each step subtracts part of the earlier noise, so sums over many steps have less noise. Cyclic
// needs eight more bytes for each parameter and band.
//
// # Units of several rows
//
// With Data.Ends a unit contributes the mean gradient of its rows, clipped as a whole. The norm of the
// contribution is at most C for any number of rows, so the event is the same as for single rows. The mean
// costs two more passes over the parameters for each unit.
//
// If Data.Ends is nil, a unit of k rows has only the weaker guarantee for groups of k records.
//
// # Caveats
//
//   - The number of records n is public, because the expected batch size q n depends on n. [Config.Records]
//     sets n. By default n is the number of records in the data, and the run publishes this number. The proof
//     assumes that adding or removing a record does not change the public n.
//   - The key must be secret. For a release it must come from rng.NewKey. All randomness is a function of the
//     key and of a hash of configuration, data and initial parameters. The noise also depends on the clipped
//     sum. If two machines round this sum differently, they draw equal noise only with probability 2^-128. A
//     run with a key of rng.SeedKey is not releasable.
//   - [Diagnostics] and the running time are private and unprotected. All other [Metrics] may be published.
//   - The whole event is charged, even if the run ends early.
//   - Features must be public functions of their own row. This package does not charge for statistics fitted
//     on the data, or for hyper-parameters and stopping points chosen on the data.
//   - The drawn noise is discrete. If you compute delta by privacy loss distributions for continuous noise,
//     add [LatticeDelta] to the result. For 62,740 parameters, 200 steps and epsilon 8, LatticeDelta is
//     1e-10. If the ledger uses privacy loss distributions, choose a failure probability d for which
//     [LatticeCovered] returns true. Then reserve accountant.WithFailure{event, d}.
//
// # Use
//
//	model, err := nn.NewSoftmax(cols, classes)
//	reservation, err := budget.Reserve(cfg.Event())
//	result, err := dpsgd.Train(ctx, model, data, cfg, reservation, key)
package dpsgd
