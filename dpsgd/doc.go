// Package dpsgd trains a model by differentially private stochastic gradient descent (DP-SGD). Each step
// clips the gradient of every record, sums the gradients and adds noise. The added noise bounds what all
// iterates together reveal about one record.
//
// One step works as follows, for data of n records:
//
//  1. Every record joins the batch independently with probability q, or by another scheme of [Sampling].
//  2. The gradient g of each record is scaled by min(1, C/|g|), where C is the clip norm.
//  3. The clipped gradients are summed on an integer grid, and exact discrete Gaussian noise is added. The
//     standard deviation of the noise is just above NoiseMultiplier times C.
//  4. The noisy sum is divided by the expected batch size q n, never by the actual batch size. The update
//     rule uses the quotient as the gradient.
//
// A batch may be empty. The sum of an empty batch is pure noise. A gradient that is not finite counts as
// zero. [Config] also selects update rules (package [github.com/pate-go/pate/dpsgd/optim]), schedules of the
// learning rate and the noise, other ways of clipping, and averages of iterates. [Augment] trains on several
// views of every record. [Sum] releases a single sum of all contributions, for example for a private mean.
//
// A logical batch may have any size, because at most 256 records are processed at a time. Training needs
// twelve bytes per parameter and goroutine, besides the model. It also needs eight bytes per number in the
// optimizer state, and a few 64-bit words per record.
//
// # Guarantee
//
// [Config.Event] covers the sequence of all iterates. For Poisson batches the event is Steps adaptive
// repetitions of a Poisson-sampled Gaussian mechanism (Abadi et al. 2016, Algorithm 1). Neighbouring data
// sets differ by one added or removed record, and a record is one row of the data. With adaptive clipping the
// noise multiplier covers the sum and the count together. Learning rates, update rules and averages only
// process released values. Event does not cover replacing a record, which costs more.
//
// [Train] charges before step 0, and needs a ledger reservation for exactly this event. Each privacy unit of
// the ledger must be one record. A record is one row, or with Data.Ends all rows of the unit.
//
// The guarantee holds for the floating-point computation, not only for real numbers. The comment on type grid
// bounds the effect of floating point on the sum. The noise is enlarged to cover this effect. The noise grows
// by at most 0.2 % (above 65,536 parameters: 0.3 %). Sampling compares random integers with the exact binary
// value of the sampling probability. The noise comes from an exact sampler. At integer orders the Rényi
// divergences equal those of the continuous Gaussian, with and without sampling. At other orders the
// difference is below 2^-1000. For accountants that use privacy loss distributions, see Caveats.
//
// # Sampling
//
// [Sampling] has two schemes by epochs. Random allocation puts every record in k of the t steps of each
// epoch. Balls in bins puts every record in one of t batches, which are the same in all epochs. The steps of
// a record are drawn independently of all other records, so batch sizes are random. Sums are divided by the
// expected batch size. The scheme [Cyclic] correlates the noise of different steps (banded matrix
// factorisation, Choquette-Choo et al. 2023). Each step subtracts part of the earlier noise, so sums over
// many steps have less noise. Cyclic needs eight more bytes for each parameter and band.
//
// # Units of several rows
//
// With Data.Ends a record is all rows of a unit. A unit contributes the mean gradient of the unit's rows,
// clipped as a whole. The contribution has norm at most C for any number of rows, so the event is the same as
// for single rows. No cheaper event exists, because a unit of equal rows behaves like a single row. Sampling
// and clipping k rows one by one would be worse. The unit would be in a batch with probability 1-(1-q)^k and
// could move the sum by k C. Clipping rows to C/k would give the same event, but shorter contributions. The
// mean costs two more passes over the parameters for each unit.
//
// If Data.Ends is nil, a unit of k rows has only the weaker guarantee for groups of k records.
//
// # Caveats
//
//   - The number of records n is public. The divisor q n and the number of summation blocks depend on n. n is
//     [Config.Records], or else the number of records in the data, which the run then makes public. The proof
//     assumes that neighbouring data sets have the same n.
//   - The key must be secret. For a release it must come from [NewKey]. All randomness is a function of the
//     key and of a hash of configuration, data and initial parameters. The noise also depends on the sum, so
//     two different sums get different noise, except with probability 2^-128. This holds even if two machines
//     round differently. A repeated run gives the same result. A run with a [SeedKey] is not releasable.
//   - [Diagnostics] and the running time are private and unprotected. All other [Metrics] may be shown.
//   - The whole event is charged, even if the run ends early.
//   - Features must be public functions of their own row. This package does not charge for statistics fitted
//     on the data, or for hyper-parameters and stopping points chosen on the data.
//   - Bounds of hockey-stick divergence for continuous noise hold only with a delta larger by [LatticeDelta].
//     For 62,740 parameters, 200 steps and epsilon 8 this is 1e-10. The reason is that discrete noise differs
//     from rounded continuous noise. Their total variation distance is at most 1/(24 s^2) per parameter and
//     step. Here s >= 2^32 is the standard deviation in grid units.
//
// # Use
//
//	model, err := nn.NewSoftmax(cols, classes)
//	reservation, err := budget.Reserve(cfg.Event())
//	result, err := dpsgd.Train(ctx, model, data, cfg, reservation, key)
package dpsgd
